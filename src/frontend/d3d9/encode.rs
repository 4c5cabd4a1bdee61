//! Instructions → tokens: the inverse of decoding.
//!
//! A program that was decoded encodes to the same tokens, because tokens keep the bits that mean nothing.

use super::decode::{Body, Instruction, Program, instruction_token};
use super::opcode::Opcode;

impl Program {
    /// Its tokens, the version first and the end token last.
    ///
    /// ```
    /// use shaderjit::frontend::d3d9::Program;
    ///
    /// // ps_2_0: mov oC0, c0
    /// let tokens = [0xffff_0200u32, 0x0200_0001, 0x800f_0800, 0xa0e4_0000, 0xffff];
    /// let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    /// assert_eq!(Program::decode(&bytes, 0)?.encode(), tokens);
    /// # Ok::<(), shaderjit::error::DecodeError>(())
    /// ```
    pub fn encode(&self) -> Vec<u32> {
        let mut tokens = vec![self.version.encode()];
        for instruction in &self.instructions {
            instruction.append(&mut tokens);
        }
        tokens.push(instruction_token::END);
        tokens
    }
}

impl Instruction {
    /// Its tokens.
    pub fn encode(&self) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.append(&mut tokens);
        tokens
    }

    fn append(&self, tokens: &mut Vec<u32>) {
        tokens.push(self.token);
        match &self.body {
            Body::Operation(operation) => {
                let operands = operation.destination().into_iter().chain(&operation.predicate);
                operands.chain(operation.sources()).for_each(|operand| operand.encode(tokens));
            }
            Body::Declaration(declaration) => {
                tokens.push(declaration.token);
                declaration.register.encode(tokens);
            }
            Body::Constant { opcode, register, words } => {
                register.encode(tokens);
                let count = if *opcode == Opcode::DefB { 1 } else { words.len() };
                tokens.extend(&words[..count]);
            }
            Body::Comment(words) => tokens.extend(words),
        }
    }
}
