//! The part of program memory that a program can reach: what its compilation depends on, and all that identifies it.

use super::setup::{DESCRIPTORS, WORDS};
use crate::frontend::pica::decode::{Effect, Instruction};
use crate::frontend::pica::operand::Address;

/// Program memory up to the last word that can be reached, every other word in between being 0; the operand descriptors
/// that those words name, likewise.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reachable {
    pub words: Vec<u32>,
    pub descriptors: Vec<u32>,
}

/// Follows the program from `entry` without its rings: every word that any instruction on the way names is taken to be
/// reached. What the rings let a program reach is less.
pub(super) fn reachable(code: &[u32; WORDS], descriptors: &[u32; DESCRIPTORS], entry: u16) -> Reachable {
    let mut reached = [false; WORDS];
    let mut named = [false; DESCRIPTORS];
    let mut open = vec![Address(entry)];
    while let Some(address) = open.pop() {
        let at = usize::from(address.0);
        match reached.get_mut(at) {
            Some(reached) if !*reached => *reached = true,
            _ => continue,
        }
        let next = address.next();
        match Instruction::decode(code[at]).effect {
            Effect::End => {}
            Effect::Jump { target, .. } | Effect::Call { target, .. } => open.extend([target, next]),
            Effect::If { otherwise, end, .. } => open.extend([otherwise, end, next]),
            Effect::Loop { last, .. } => open.extend([last.next(), next]),
            Effect::Arithmetic { descriptor, .. } | Effect::Compare { descriptor, .. } => {
                named[usize::from(descriptor.0) % DESCRIPTORS] = true;
                open.push(next);
            }
            _ => open.push(next),
        }
    }
    Reachable { words: kept(code, &reached), descriptors: kept(descriptors, &named) }
}

/// The words up to the last that is wanted; 0 for those that are not.
fn kept(words: &[u32], wanted: &[bool]) -> Vec<u32> {
    let end = wanted.iter().rposition(|&wanted| wanted).map_or(0, |last| last + 1);
    words[..end].iter().zip(wanted).map(|(&word, &wanted)| if wanted { word } else { 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::pica::opcode::{Field, Opcode};
    use crate::frontend::pica::testing::word;

    #[test]
    fn only_what_can_be_reached_counts() {
        let mut code = [0x4c00_0001; WORDS];
        let end = word(Opcode::End, &[]);
        // 10: call 20..22, then end. 20: mov with descriptor 5; 21: if, whose else part is 30..31.
        code[10] = word(Opcode::Call, &[(Field::Target, 20), (Field::Count, 2)]);
        code[11] = end;
        code[20] = word(Opcode::Mov, &[(Field::Descriptor, 5)]);
        code[21] = word(Opcode::Ifc, &[(Field::Target, 30), (Field::Count, 1)]);
        code[22] = end;
        code[30] = end;
        code[31] = end;
        let descriptors = std::array::from_fn(|n| 100 + n as u32);
        let reached = reachable(&code, &descriptors, 10);
        assert_eq!(reached.words.len(), 32);
        let kept: Vec<usize> = (0..32).filter(|&at| reached.words[at] != 0).collect();
        assert_eq!(kept, [10, 11, 20, 21, 22, 30, 31]);
        assert_eq!(reached.descriptors, [0, 0, 0, 0, 0, 105]);
        // What lies elsewhere makes no difference.
        code[12..20].fill(0x1234_5678);
        code[32..].fill(end);
        assert_eq!(reachable(&code, &descriptors, 10), reached);
        assert_eq!(reachable(&code, &descriptors, 4096), Reachable { words: vec![], descriptors: vec![] });
    }

    #[test]
    fn code_may_run_off_the_end() {
        let reached = reachable(&[0; WORDS], &[7; DESCRIPTORS], 4000);
        assert_eq!((reached.words.len(), reached.descriptors), (WORDS, vec![7]));
    }
}
