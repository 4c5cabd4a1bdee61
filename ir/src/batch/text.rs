//! The text form of batch programs: what a call and its tiles do beside the function, a line each, and the function.
//!
//! ```text
//! lanes 8
//! vectors 2
//! group 4
//! call block0
//! fill 0 space0[3].1
//! fill 1 {0x3f800000, space0[0].0, space0[0].1, space0[0].2}
//! copy input 0 to output 1
//! phase block1 block2 next block3 worklist 0
//! comes block3 worklist 0
//! cost block3 to block0: 17
//! function "f" inputs 1 outputs 2 lockstep {
//! ```

use super::call::CallPart;
use super::{BatchProgram, Copy, Fill, GROUP_INVOCATIONS, MAX_VECTORS, Phase, Phases, PlanError, Word};
use crate::bounds::STATIC_ROWS;
use crate::fuel::EdgeCosts;
use crate::op::{SLOTS, WORKLISTS};
use crate::parse::{ParseError, parse};
use crate::print::Numbering;
use crate::{Block, Function, cfg};
use std::fmt;

impl fmt::Display for BatchProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbering = Numbering::new(self);
        if self.lanes != 4 {
            writeln!(f, "lanes {}", self.lanes)?;
        }
        if self.vectors > 1 {
            writeln!(f, "vectors {}", self.vectors)?;
        }
        if self.is_one_wave() {
            writeln!(f, "group {}", self.waves_of_group)?;
        }
        if let Some(block) = self.call.block {
            writeln!(f, "call {}", numbering.block(block))?;
        }
        for Fill { slot, words: words @ [x, y, z, w] } in &self.call.fills {
            match words.iter().all(|word| word == x) {
                true => writeln!(f, "fill {slot} {x}")?,
                false => writeln!(f, "fill {slot} {{{x}, {y}, {z}, {w}}}")?,
            }
        }
        for Copy { output, input } in &self.copies {
            writeln!(f, "copy input {input} to output {output}")?;
        }
        for Phase { blocks, next, worklist } in &self.cut.phases {
            f.write_str("phase")?;
            blocks.iter().try_for_each(|&block| write!(f, " {}", numbering.block(block)))?;
            write!(f, " next {}", numbering.block(*next))?;
            worklist.map_or(Ok(()), |worklist| write!(f, " worklist {worklist}"))?;
            writeln!(f)?;
        }
        for &block in self.order.iter().filter(|_| self.is_cut() || self.is_one_wave()) {
            if let Some(worklist) = self.cut.comes[block] {
                writeln!(f, "comes {} worklist {worklist}", numbering.block(block))?;
            }
            let mut targets: Vec<Block> = cfg::successors(self, block).collect();
            targets.dedup();
            for (to, cost) in targets.into_iter().map(|to| (to, self.costs.edge(block, to))) {
                if cost > 0 {
                    writeln!(f, "cost {} to {}: {cost}", numbering.block(block), numbering.block(to))?;
                }
            }
        }
        self.func.fmt(f)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Literal(literal) => write!(f, "{literal:#x}"),
            Word::Uniform { space, row, component } => write!(f, "space{space}[{row}].{component}"),
        }
    }
}

impl BatchProgram {
    /// Reads a program for rows of four words in and out.
    ///
    /// # Errors
    /// [`PlanError::Parse`] where the text is no program, [`PlanError::Verify`] if the program breaks a rule.
    pub fn parse(text: &str) -> Result<BatchProgram, PlanError> {
        let is_head = |line: &str| !line.trim_start().starts_with("function");
        let lines: Vec<&str> = text.lines().take_while(|line| is_head(line)).collect();
        // The function keeps its place, so that errors name their line.
        let rest: String = text.lines().skip(lines.len()).flat_map(|line| [line, "\n"]).collect();
        let func = parse(&("\n".repeat(lines.len()) + &rest))?;
        let mut head =
            Head { lanes: 4, vectors: 1, waves_of_group: 1, costs: EdgeCosts::new(&func), ..Head::default() };
        if lines.iter().any(|line| line.starts_with("phase") || line.starts_with("group")) {
            head.costs = EdgeCosts::none(head.costs.whole());
        }
        for (number, line) in (1..).zip(lines) {
            let words: Vec<&str> = line.split([' ', ':', ',', '{', '}']).filter(|word| !word.is_empty()).collect();
            head.line(&func, &words).ok_or_else(|| ParseError {
                line: number,
                column: 1,
                message: format!("`{line}` is no line of a batch program"),
            })?;
        }
        Ok(BatchProgram::read(func, head)?)
    }
}

/// What is read in front of the function.
#[derive(Default)]
pub struct Head {
    pub lanes: u8,
    pub vectors: u8,
    pub waves_of_group: u32,
    pub copies: Vec<Copy>,
    pub cut: Phases,
    pub costs: EdgeCosts,
    pub call: CallPart,
}

impl Head {
    fn line(&mut self, func: &Function, words: &[&str]) -> Option<()> {
        let block = |name: &str| func.layout.get(name.strip_prefix("block")?.parse::<usize>().ok()?).copied();
        match *words {
            [] => {}
            [first, ..] if first.starts_with(';') => {}
            ["copy", "input", input, "to", "output", output] => {
                let (input, output) = (input.parse().ok()?, output.parse().ok()?);
                (input < func.inputs && output < func.outputs).then(|| self.copies.push(Copy { output, input }))?;
            }
            ["lanes", number] => self.lanes = number.parse().ok().filter(|number| matches!(number, 4 | 8 | 16))?,
            ["vectors", number] => {
                self.vectors = number.parse().ok().filter(|number| (1..=MAX_VECTORS).contains(number))?;
            }
            ["group", waves] => {
                self.waves_of_group =
                    waves.parse().ok().filter(|waves| (2..=GROUP_INVOCATIONS as u32).contains(waves))?
            }
            ["call", name] => self.call.block = Some(block(name)?),
            ["fill", slot, ref words @ ..] => {
                let words: Vec<Word> = words.iter().map(|word| word_of(func, word)).collect::<Option<_>>()?;
                let words = match words[..] {
                    [x] => [x; 4],
                    [x, y, z, w] => [x, y, z, w],
                    _ => return None,
                };
                let slot = slot.parse().ok().filter(|&slot| slot < SLOTS)?;
                self.call.fills.push(Fill { slot, words });
            }
            ["comes", name, "worklist", worklist] => {
                self.cut.comes[block(name)?] = Some(self.worklist(worklist)?);
            }
            ["cost", from, "to", to, cost] => self.costs.set(block(from)?, block(to)?, cost.parse().ok()?),
            ["phase", first, ref rest @ ..] => {
                let (names, next, worklist) = match *rest {
                    [ref names @ .., "next", next, "worklist", worklist] => (names, next, Some(worklist)),
                    [ref names @ .., "next", next] => (names, next, None),
                    _ => return None,
                };
                let worklist = worklist.map(|worklist| self.worklist(worklist).ok_or(())).transpose().ok()?;
                let blocks = [&first].into_iter().chain(names).map(|name| block(name)).collect::<Option<_>>()?;
                self.cut.phases.push(Phase { blocks, next: block(next)?, worklist });
            }
            _ => return None,
        }
        Some(())
    }

    fn worklist(&mut self, number: &str) -> Option<u32> {
        let number = number.parse().ok().filter(|&number| number < WORKLISTS)?;
        self.cut.worklists = self.cut.worklists.max(number + 1);
        Some(number)
    }
}

/// A literal in hexadecimal, or `space0[3].1`.
fn word_of(func: &Function, text: &str) -> Option<Word> {
    if let Some(digits) = text.strip_prefix("0x") {
        return Some(Word::Literal(u32::from_str_radix(digits, 16).ok()?));
    }
    let (space, rest) = text.strip_prefix("space")?.split_once('[')?;
    let (row, component) = rest.split_once("].")?;
    let (space, row, component) = (space.parse().ok()?, row.parse().ok()?, component.parse().ok()?);
    let is_fit = (space as usize) < func.spaces.len() && row < STATIC_ROWS && component < 4;
    is_fit.then_some(Word::Uniform { space, row, component })
}
