//! Subroutines: inlined where they are called.
//!
//! The format forbids recursion, so that inlining ends; what it costs is bounded by the number of instructions, each
//! counted as often as it is inlined. The calls that are open are a stack of [`Activation`]s beside the lowering's
//! place in the program, not calls of the lowering itself.

use foldhash::{HashMap, HashMapExt};

use shaderjit_ir::Block;

use super::flow::{Flow, Frame};
use super::{Lowering, MAX_CALL_DEPTH};
use crate::error::LowerError;
use crate::frontend::sm4::decode::Program;
use crate::frontend::sm4::opcode::Opcode;
use crate::frontend::sm4::operand::{Operand, RegisterFile};
use crate::frontend::sm4::token::OpcodeToken;

/// Where the subroutines of a program begin.
pub(super) struct Subroutines {
    /// The numbers of the instructions behind the labels, which are `label#` or, of functions of classes, `fb#`.
    starts: HashMap<(RegisterFile, u32), usize>,
}

/// A subroutine that is called.
#[derive(Clone, Copy)]
pub(super) struct Callee {
    label: (RegisterFile, u32),
    /// The number of its first instruction.
    start: usize,
}

/// A program or subroutine that has been entered. Its constructs are its own: nothing in it reaches those of its
/// caller.
pub(super) struct Activation {
    /// The subroutine's label; none of the program itself.
    label: Option<(RegisterFile, u32)>,
    /// The instruction to go on with afterwards.
    return_to: usize,
    /// What else the same call may run, and where it starts, the next one last.
    arms: Vec<(Block, Callee)>,
    /// Where its returns lead.
    pub exit: Block,
    /// Its open constructs, the innermost last.
    pub frames: Vec<Frame>,
}

impl Activation {
    /// What a program has from some instruction on: its returns lead to `exit`, and what comes afterwards is `next`.
    pub fn of_body(next: usize, exit: Block) -> Activation {
        Activation { label: None, return_to: next, arms: Vec::new(), exit, frames: Vec::new() }
    }
}

impl Subroutines {
    /// Finds the labels of a program.
    pub fn new(program: &Program) -> Result<Self, LowerError> {
        let mut starts = HashMap::new();
        for (number, instruction) in program.instructions.iter().enumerate() {
            let Some(label) = instruction.operands().first() else { continue };
            if let (Opcode::Label, file, Some(&[label])) =
                (instruction.opcode(), label.file(), label.constant_indices())
                && starts.insert((file, label), number + 1).is_some()
            {
                let what = format!("{}{label} is there twice", file.letters());
                return Err(LowerError::Invalid { what, offset: instruction.offset });
            }
        }
        Ok(Subroutines { starts })
    }
}

impl Flow {
    /// Whether the end of the program is still to come.
    pub fn is_running(&self) -> bool {
        !self.activations.is_empty()
    }
}

impl Lowering {
    /// Enters the program.
    pub(super) fn begin(&mut self) {
        let exit = self.b.create_block();
        self.flow.activations.push(Activation::of_body(0, exit));
        self.flow.live = true;
    }

    /// The end of the program or of a subroutine: goes to its exit, and on with what called it.
    pub(super) fn end_of_body(&mut self) -> Result<(), LowerError> {
        let Activation { return_to, arms, exit, frames, .. } =
            self.flow.activations.pop().expect("a body ends only where one was entered");
        if let Some(frame) = frames.last() {
            let what = "an if, loop or switch has no end".to_string();
            return Err(LowerError::Invalid { what, offset: frame.offset });
        }
        self.jump(exit);
        self.next = return_to;
        if !arms.is_empty() {
            self.enter_arms(exit, arms);
            return Ok(());
        }
        if self.flow.is_running() {
            self.start_joined(exit);
        } else if self.b.take_back_jump(exit) {
            // Most programs return where their last instruction is and nowhere else.
            self.flow.live = true;
        } else {
            // Outputs are set even where nothing gets to the end.
            self.b.seal_block(exit);
            self.start(exit);
        }
        Ok(())
    }

    /// A label ends what is in front of it.
    pub(super) fn label(&mut self) -> Result<(), LowerError> {
        if self.flow.live {
            return Err(self.invalid("the code in front of a label does not return"));
        }
        self.end_of_body()
    }

    /// Goes on in a subroutine.
    pub(super) fn call(&mut self, label: &Operand) -> Result<(), LowerError> {
        let callee = self.labelled(label)?;
        let exit = self.b.create_block();
        self.enter(callee, exit, Vec::new());
        Ok(())
    }

    /// Goes on in a subroutine where the test holds, else behind it.
    pub(super) fn call_if(&mut self, token: OpcodeToken, operands: &[Operand]) -> Result<(), LowerError> {
        let callee = self.labelled(&operands[1])?;
        let exit = self.b.create_block();
        self.jump_unless(token, operands, exit)?;
        self.enter(callee, exit, Vec::new());
        Ok(())
    }

    /// The subroutine at a `label#`.
    fn labelled(&self, operand: &Operand) -> Result<Callee, LowerError> {
        match (operand.file(), operand.constant_indices()) {
            (RegisterFile::Label, Some(&[label])) => self.callee(RegisterFile::Label, label),
            _ => Err(self.invalid("a call of what is no label")),
        }
    }

    /// The subroutine at a label.
    pub(super) fn callee(&self, file: RegisterFile, number: u32) -> Result<Callee, LowerError> {
        let label = (file, number);
        let Some(&start) = self.subroutines.starts.get(&label) else {
            return Err(self.invalid(format!("{}{number} is not in the program", file.letters())));
        };
        if self.flow.activations.iter().any(|activation| activation.label == Some(label)) {
            return Err(self.invalid(format!("{}{number} calls itself", file.letters())));
        }
        Ok(Callee { label, start })
    }

    /// Enters the first of several subroutines at its block, and notes the others.
    pub(super) fn enter_arms(&mut self, exit: Block, mut arms: Vec<(Block, Callee)>) {
        let (block, callee) = arms.pop().expect("there is one left");
        self.start_joined(block);
        self.enter(callee, exit, arms);
    }

    /// Enters a subroutine, which leaves to `exit`; beyond the depth that calls may have, goes there at once.
    pub(super) fn enter(&mut self, callee: Callee, exit: Block, arms: Vec<(Block, Callee)>) {
        // The program itself is no call.
        if self.flow.activations.len() > MAX_CALL_DEPTH {
            self.jump(exit);
            for (block, _) in arms {
                self.start_joined(block);
                self.jump(exit);
            }
            self.start_joined(exit);
            return;
        }
        let return_to = std::mem::replace(&mut self.next, callee.start);
        let label = Some(callee.label);
        self.flow.activations.push(Activation { label, return_to, arms, exit, frames: Vec::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::sm4::lower::{MAX_INSTRUCTIONS, MAX_NESTING, MAX_NESTING_IN_ALL};
    use crate::frontend::sm4::testing::{Setup, lower_text, o0, run};

    fn is_invalid(text: &str, rule: &str) {
        match lower_text(text).map(|lowered| lowered.function.to_string()) {
            Err(LowerError::Invalid { what, .. }) => assert!(what.contains(rule), "{what}"),
            other => panic!("{text}\n{other:?}"),
        }
    }

    #[test]
    fn calls_share_registers_and_come_back() {
        let text = "mov r0.x, v0.x
            call label3
            call label7
            call label3
            mov o0.x, r0.x
            ret
            label label7
            imul null, r0.x, r0.x, l(10)
            call label3
            ret
            label label3
            iadd r0.x, r0.x, l(1)
            ret";
        assert_eq!(o0(text, [4, 0, 0, 0])[0], (4 + 1) * 10 + 2);
    }

    #[test]
    fn conditional_calls_test_all_bits() {
        let text = "callc_nz v0.x, label0
            callc_z v0.y, label1
            ret
            label label0
            mov o0.x, l(5)
            ret
            label label1
            mov o0.y, l(6)
            ret";
        assert_eq!(o0(text, [1 << 31, 1 << 31, 0, 0]), [5, 0, 0, 0]);
        assert_eq!(o0(text, [0, 0, 0, 0]), [0, 6, 0, 0]);
    }

    #[test]
    fn a_return_leaves_its_subroutine_alone() {
        let text = "loop
              uge r0.y, r0.x, l(3)
              breakc_nz r0.y
              call label0
              iadd r0.z, r0.z, l(100)
              iadd r0.x, r0.x, l(1)
            endloop
            mov o0.xy, r0.zwzz
            ret
            label label0
            loop
              retc_nz v0.x
              if_nz r0.x
                iadd r0.w, r0.w, l(1)
                ret
              endif
              break
            endloop
            iadd r0.w, r0.w, l(10)
            ret
            iadd r0.w, r0.w, l(1000)";
        assert_eq!(o0(text, [0, 0, 0, 0])[..2], [300, 10 + 1 + 1]);
        assert_eq!(o0(text, [1, 0, 0, 0])[..2], [300, 0]);
    }

    #[test]
    fn subroutines_do_not_see_their_callers_constructs() {
        let callee = |body: &str| format!("dcl_temps 1\nloop\ncall label0\nbreak\nendloop\nret\nlabel label0\n{body}");
        is_invalid(&callee("break\nret"), "break without");
        is_invalid(&callee("continuec_nz v0.x\nret"), "continuec without");
        is_invalid(&callee("endloop\nret"), "endloop without");
        is_invalid(&callee("loop\nret"), "no end");
        is_invalid(&callee("switch v0.x\ncase l(1)\nret\nlabel label1"), "no end");
        // What nothing calls may be anything.
        assert!(lower_text("ret\nlabel label0\nbreak").is_ok());
        assert!(lower_text("ret\ncall label0\nlabel label0\nbreak").is_ok());
    }

    #[test]
    fn labels_of_a_switch_are_not_shared_across_a_call() {
        let text = "switch v0.x
              case l(1)
              call label0
              case l(2)
              iadd r0.x, r0.x, l(1)
              break
              default
              call label0
            endswitch
            mov o0.x, r0.x
            ret
            label label0
            switch v0.y
              case l(7)
              iadd r0.x, r0.x, l(100)
              break
              default
              iadd r0.x, r0.x, l(10)
            endswitch";
        for (v0, result) in [([1, 7], 101), ([1, 0], 11), ([2, 7], 1), ([3, 7], 100), ([3, 1], 10)] {
            assert_eq!(o0(text, [v0[0], v0[1], 0, 0])[0], result, "{v0:?}");
        }
    }

    #[test]
    fn calls_name_labels_that_do_not_call_themselves() {
        is_invalid("call label4", "label4 is not in the program");
        is_invalid("call v0.x", "no label");
        is_invalid("call label0\nret\nlabel label0\ncall label0\nret", "label0 calls itself");
        is_invalid("call label0\nret\nlabel label0\ncall label1\nret\nlabel label1\ncallc_nz v0.x, label0", "itself");
        is_invalid("ret\nlabel label0\nret\nlabel label0", "twice");
        is_invalid("mov o0.x, l(1)\nlabel label0\nret", "does not return");
        is_invalid("call label0\nret\nlabel label0\nnop\nlabel label1\nret", "does not return");
    }

    #[test]
    fn abort_ends_the_invocation_from_any_depth() {
        let text = "dcl_temps 1
            mov o0.x, l(1)
            loop
              call label0
              break
            endloop
            debug_break
            mov o0.x, l(2)
            ret
            label label0
            loop
              if_nz v0.x
                abort
                mov o0.x, l(99)
              endif
              break
            endloop
            ret
            label label1
            abort";
        let lowered = lower_text(text).unwrap();
        assert_eq!((lowered.interface.aborted, lowered.interface.signature_outputs().len()), (Some(8), 8));
        let outputs = |v0| run(&lowered, &Setup { inputs: &[[v0, 0, 0, 0]], ..Setup::default() }).unwrap();
        assert_eq!([outputs(0)[0][0], outputs(0)[8][0]], [2, 0]);
        assert_eq!([outputs(5)[0][0], outputs(5)[8][0]], [1, 1]);
        // Where nothing gets, nothing is aborted.
        assert_eq!(o0("mov o0.x, l(3)\nret\nabort", [0; 4])[0], 3);
    }

    /// Subroutines of which each does `body` and then calls the next as often as `calls` says.
    fn chain(length: usize, body: &str, calls: usize) -> String {
        let mut text = "dcl_temps 1\ncall label0\nmov o0.x, r0.x\nret\n".to_string();
        for label in 0..length {
            let next =
                if label + 1 < length { format!("call label{}\n", label + 1).repeat(calls) } else { String::new() };
            text += &format!("label label{label}\n{body}\n{next}ret\n");
        }
        text
    }

    #[test]
    fn the_call_at_depth_33_does_nothing() {
        for (length, depth) in [(5, 5), (32, 32), (33, 32), (40, 32)] {
            let lowered = lower_text(&chain(length, "iadd r0.x, r0.x, l(1)", 1)).unwrap();
            assert_eq!(run(&lowered, &Setup::default()).unwrap()[0][0], depth);
        }
    }

    #[test]
    fn inlining_is_bounded() {
        let doubling = lower_text(&chain(20, "nop", 2)).map(|lowered| lowered.function.to_string());
        let limit = MAX_INSTRUCTIONS;
        assert!(matches!(
            doubling,
            Err(LowerError::Limit { what: "number of instructions", value, limit: l, .. }) if (value, l) == (limit + 1, limit)
        ));
        let registers: String = (0..100).map(|register| format!("mov r{register}.xyzw, v0.xyzw\n")).collect();
        let branchy = chain(15, "retc_nz v0.x", 2).replace("dcl_temps 1", &format!("dcl_temps 100\n{registers}"));
        let branchy = lower_text(&branchy).map(|lowered| lowered.function.to_string());
        assert!(matches!(branchy, Err(LowerError::Limit { what: "registers times blocks", .. })), "{branchy:?}");
    }

    #[test]
    fn nesting_counts_within_one_subroutine() {
        let body = format!("{}iadd r0.x, r0.x, l(1)\n", "if_z v0.x\n".repeat(MAX_NESTING));
        let end = "endif\n".repeat(MAX_NESTING);
        let text = format!("dcl_temps 1\n{body}call label0\n{end}mov o0.x, r0.x\nret\nlabel label0\n{body}{end}");
        let lowered = lower_text(&text).unwrap();
        assert_eq!(run(&lowered, &Setup::default()).unwrap()[0][0], 2);

        // And all in all, for what comes after takes time by the depth.
        let around = format!("{}call label1\n{}", "loop\n".repeat(60), "break\nendloop\n".repeat(60));
        let text: String = (0..10)
            .map(|label| around.replace("label1", &format!("label{label}")))
            .enumerate()
            .map(
                |(label, body)| {
                    if label == 0 { format!("{body}ret\n") } else { format!("label label{}\n{body}ret\n", label - 1) }
                },
            )
            .collect();
        let refused = lower_text(&format!("{text}label label9\nret")).map(|lowered| lowered.function.to_string());
        let limit = MAX_NESTING_IN_ALL as u64;
        assert!(
            matches!(refused, Err(LowerError::Limit { what: "nesting of control flow", limit: l, .. }) if l == limit)
        );
    }
}
