//! Control flow: what is opened is closed, in order; jumps have a target; every function ends with `ret`.

use std::collections::{HashMap, HashSet};

use crate::frontend::sm4::codes::Stage;
use crate::frontend::sm4::opcode::Group;
use crate::frontend::sm4::operand::{Operand, RegisterFile};
use crate::frontend::sm4::{Body, Declaration, Instruction, Opcode, Program};
use crate::validate::Findings;

/// Blocks may be nested this deep (Direct3D 10 and later).
const MAX_NESTING: usize = 64;

/// A block that is open.
struct Block {
    opener: Opcode,
    offset: usize,
    /// Of an `if`: its `else` was there. Of a `switch`: its `default` was.
    turned: bool,
    /// Of a `switch`: its values.
    values: HashSet<u32>,
}

/// A function: the main one, one behind a label, or a phase of a hull shader.
struct Function {
    /// Offset of what it begins with; `None` for the main function.
    start: Option<usize>,
    /// Its last instruction so far.
    last: Option<Opcode>,
}

struct Checker<'a> {
    stage: Stage,
    findings: &'a mut Findings,
    blocks: Vec<Block>,
    /// How many of them are loops.
    loops: usize,
    /// How many of them are loops or switches.
    breakable: usize,
    function: Function,
    /// Labels and function bodies that are defined, by file and number, with the function's index.
    labels: HashMap<(RegisterFile, u32), usize>,
    /// Calls: the function they are in, the label, and their offset.
    calls: Vec<(usize, (RegisterFile, u32), usize)>,
    functions: usize,
    /// Function bodies that tables name, and where.
    bodies: Vec<(u32, usize)>,
    /// The phase of a hull shader.
    phase: Option<Opcode>,
}

/// What a hull shader consists of, in order. There may be several fork and join phases.
const PHASES: [Opcode; 4] = [Opcode::HsDecls, Opcode::HsControlPointPhase, Opcode::HsForkPhase, Opcode::HsJoinPhase];

pub(super) fn check(program: &Program, findings: &mut Findings) {
    let mut checker = Checker {
        stage: program.version.stage,
        findings,
        blocks: Vec::new(),
        loops: 0,
        breakable: 0,
        function: Function { start: None, last: None },
        labels: HashMap::new(),
        calls: Vec::new(),
        functions: 1,
        bodies: Vec::new(),
        phase: None,
    };
    for instruction in &program.instructions {
        checker.instruction(instruction);
    }
    let end = program.instructions.last().map_or(program.offset, |instruction| instruction.offset);
    checker.end_function(end);
    checker.calls();
}

impl Checker<'_> {
    fn instruction(&mut self, instruction: &Instruction) {
        let (opcode, offset) = (instruction.opcode(), instruction.offset);
        match opcode {
            Opcode::If | Opcode::Loop | Opcode::Switch => self.open(opcode, offset),
            Opcode::Else => match self.blocks.last_mut() {
                Some(block) if block.opener == Opcode::If && !block.turned => block.turned = true,
                Some(block) if block.opener == Opcode::If => {
                    self.findings.error(offset, format_args!("a second else of one if"));
                }
                _ => self.findings.error(offset, format_args!("else outside of an if")),
            },
            Opcode::EndIf => self.close(Opcode::If, opcode, offset),
            Opcode::EndLoop => self.close(Opcode::Loop, opcode, offset),
            Opcode::EndSwitch => self.close(Opcode::Switch, opcode, offset),
            Opcode::Case | Opcode::Default => self.case(instruction),
            Opcode::Break | Opcode::BreakC if self.breakable == 0 => {
                self.findings.error(offset, format_args!("{opcode} outside of a loop or switch"));
            }
            Opcode::Continue | Opcode::ContinueC if self.loops == 0 => {
                self.findings.error(offset, format_args!("{opcode} outside of a loop"));
            }
            Opcode::Call | Opcode::CallC => {
                if let Some(label) = instruction.operands().last().and_then(label) {
                    self.calls.push((self.functions - 1, label, offset));
                }
            }
            Opcode::Label => self.label(instruction),
            Opcode::HsDecls => self.phase(opcode, offset),
            Opcode::HsControlPointPhase | Opcode::HsForkPhase | Opcode::HsJoinPhase => {
                self.phase(opcode, offset);
                self.begin_function(offset);
            }
            _ => {}
        }
        if !matches!(opcode.group(), Group::Declaration | Group::CustomData) && opcode != Opcode::Label {
            if self.stage == Stage::Hull && self.function.start.is_none() && self.function.last.is_none() {
                self.findings.error(offset, format_args!("{opcode} outside of a phase"));
            }
            self.function.last = Some(opcode);
        }
        if let Body::Declaration(Declaration::FunctionTable { bodies, .. }) = &instruction.body {
            self.bodies.extend(bodies.iter().map(|&body| (body, offset)));
        }
    }

    fn open(&mut self, opener: Opcode, offset: usize) {
        if self.blocks.len() == MAX_NESTING {
            self.findings.error(offset, format_args!("blocks are nested more than {MAX_NESTING} deep"));
        }
        self.loops += usize::from(opener == Opcode::Loop);
        self.breakable += usize::from(opener != Opcode::If);
        self.blocks.push(Block { opener, offset, turned: false, values: HashSet::new() });
    }

    fn close(&mut self, opener: Opcode, closer: Opcode, offset: usize) {
        match self.blocks.last() {
            Some(block) if block.opener == opener => {
                self.blocks.pop();
                self.loops -= usize::from(opener == Opcode::Loop);
                self.breakable -= usize::from(opener != Opcode::If);
            }
            Some(block) => {
                let open = block.opener;
                self.findings.error(offset, format_args!("{closer} inside of the {open} at {:#x}", block.offset));
            }
            None => self.findings.error(offset, format_args!("{closer} without {opener}")),
        }
    }

    fn case(&mut self, instruction: &Instruction) {
        let (opcode, offset) = (instruction.opcode(), instruction.offset);
        let Some(block) = self.blocks.last_mut().filter(|block| block.opener == Opcode::Switch) else {
            return self.findings.error(offset, format_args!("{opcode} outside of a switch"));
        };
        match instruction.operands() {
            [] if std::mem::replace(&mut block.turned, true) => {
                self.findings.error(offset, format_args!("a second default of one switch"));
            }
            [] => {}
            [value, ..] => match value.immediates() {
                Some(&[value]) if !block.values.insert(value) => {
                    self.findings.error(offset, format_args!("a second case {value} of one switch"));
                }
                Some(&[_]) => {}
                _ => self.findings.error(offset, format_args!("the value of a case is not one immediate")),
            },
        }
    }

    fn label(&mut self, instruction: &Instruction) {
        let offset = instruction.offset;
        self.begin_function(offset);
        if self.stage == Stage::Hull {
            return self.findings.error(offset, format_args!("a hull shader has no subroutines"));
        }
        match instruction.operands().first().and_then(label) {
            Some(label) => {
                if self.labels.insert(label, self.functions - 1).is_some() {
                    let (file, number) = label;
                    self.findings.error(offset, format_args!("{}{number} is defined twice", file.letters()));
                }
            }
            None => self.findings.error(offset, format_args!("a label has the number of a label or function body")),
        }
    }

    fn phase(&mut self, phase: Opcode, offset: usize) {
        let rank = |phase: Opcode| PHASES.iter().position(|&known| known == phase);
        if let Some(before) = self.phase.replace(phase).filter(|&before| rank(before) > rank(phase)) {
            self.findings.error(offset, format_args!("{phase} follows {before}"));
        }
    }

    fn begin_function(&mut self, offset: usize) {
        // What comes before the first phase of a hull shader are its declarations; code there was reported.
        if self.stage != Stage::Hull || self.function.start.is_some() {
            self.end_function(offset);
        }
        self.function = Function { start: Some(offset), last: None };
        self.functions += 1;
    }

    /// The function ends before `offset`, or with the program.
    fn end_function(&mut self, offset: usize) {
        if let Some(block) = self.blocks.last() {
            self.findings.error(block.offset, format_args!("{} is not closed", block.opener));
            self.blocks.clear();
            (self.loops, self.breakable) = (0, 0);
        } else if self.function.last != Some(Opcode::Ret) {
            let offset = self.function.start.unwrap_or(offset);
            self.findings.error(offset, format_args!("the last instruction of a function is not ret"));
        }
    }

    /// Every label called is there, and no function calls itself, however indirectly.
    fn calls(&mut self) {
        let mut callees: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.functions];
        for &(caller, (file, number), offset) in &self.calls {
            match self.labels.get(&(file, number)) {
                Some(&callee) => callees[caller].push((callee, offset)),
                None => self.findings.error(offset, format_args!("there is no {}{number}", file.letters())),
            }
        }
        for &(body, offset) in &self.bodies {
            if !self.labels.contains_key(&(RegisterFile::FunctionBody, body)) {
                self.findings.error(offset, format_args!("there is no fb{body}"));
            }
        }
        // Depth first with a stack of its own: a call to a function that is on the path to the caller is recursion.
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            OnPath,
            Done,
        }
        let mut states = vec![State::New; self.functions];
        for root in 0..self.functions {
            if states[root] != State::New {
                continue;
            }
            states[root] = State::OnPath;
            let mut path = vec![(root, 0)];
            while let Some((function, next)) = path.last_mut() {
                match callees[*function].get(*next) {
                    None => {
                        states[*function] = State::Done;
                        path.pop();
                    }
                    Some(&(callee, offset)) => {
                        *next += 1;
                        match states[callee] {
                            State::New => {
                                states[callee] = State::OnPath;
                                path.push((callee, 0));
                            }
                            State::OnPath => self.findings.error(offset, format_args!("recursion")),
                            State::Done => {}
                        }
                    }
                }
            }
        }
    }
}

/// The label or function body that an operand names.
fn label(operand: &Operand) -> Option<(RegisterFile, u32)> {
    match (operand.file(), operand.constant_indices()) {
        (file @ (RegisterFile::Label | RegisterFile::FunctionBody), Some(&[number])) => Some((file, number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::validate::sm4::testing::{CS_5_0, HS_5_0, VS_5_0, breaks, findings, is_fine};

    #[test]
    fn blocks_close_in_the_order_they_open() {
        is_fine(
            VS_5_0,
            "if_nz l(1)\n else\n loop\n break\n endloop\n endif\n switch l(1)\n case l(1)\n default\n break\n endswitch\n ret",
        );
        breaks(VS_5_0, "else\n ret", 0, "error: else outside of an if");
        breaks(VS_5_0, "if_nz l(1)\n else\n else\n endif\n ret", 2, "error: a second else of one if");
        breaks(VS_5_0, "endif\n ret", 0, "error: endif without if");
        breaks(VS_5_0, "endloop\n ret", 0, "error: endloop without loop");
        breaks(VS_5_0, "loop\n endswitch\n break\n endloop\n ret", 1, "error: endswitch inside of the loop at 0x8");
        breaks(VS_5_0, "if_z l(1)\n ret", 0, "error: if is not closed");
    }

    #[test]
    fn jumps_have_something_to_leave() {
        breaks(VS_5_0, "break\n ret", 0, "error: break outside of a loop or switch");
        breaks(VS_5_0, "if_nz l(1)\n breakc_nz l(1)\n endif\n ret", 1, "error: breakc outside of a loop or switch");
        breaks(VS_5_0, "switch l(1)\n continue\n endswitch\n ret", 1, "error: continue outside of a loop");
        is_fine(VS_5_0, "loop\n switch l(1)\n case l(0)\n continue\n endswitch\n breakc_z l(1)\n endloop\n ret");
    }

    #[test]
    fn cases_are_of_a_switch_and_different() {
        breaks(VS_5_0, "case l(1)\n ret", 0, "error: case outside of a switch");
        let nested = "switch l(1)\n if_nz l(1)\n default\n endif\n endswitch\n ret";
        breaks(VS_5_0, nested, 2, "error: default outside of a switch");
        breaks(
            VS_5_0,
            "switch l(1)\n case l(7)\n case l(7)\n endswitch\n ret",
            2,
            "error: a second case 7 of one switch",
        );
        breaks(VS_5_0, "switch l(1)\n default\n default\n endswitch\n ret", 2, "error: a second default of one switch");
        let value = "dcl_temps 1\n switch l(1)\n case r0.x\n endswitch\n ret";
        breaks(VS_5_0, value, 2, "error: the value of a case is not one immediate");
    }

    #[test]
    fn functions_end_with_ret() {
        breaks(VS_5_0, "nop", 0, "error: the last instruction of a function is not ret");
        breaks(VS_5_0, "ret\n label label0\n nop", 1, "error: the last instruction of a function is not ret");
        assert_eq!(findings(VS_5_0, ""), ["error: the last instruction of a function is not ret (at offset 0x0)"]);
    }

    #[test]
    fn calls_have_a_target_and_do_not_recurse() {
        is_fine(
            VS_5_0,
            "call label0\n callc_nz l(1), label1\n ret\n label label0\n call label1\n ret\n label label1\n ret",
        );
        breaks(VS_5_0, "call label3\n ret", 0, "error: there is no label3");
        breaks(VS_5_0, "ret\n label label0\n ret\n label label0\n ret", 3, "error: label0 is defined twice");
        breaks(VS_5_0, "ret\n label label0\n call label0\n ret", 2, "error: recursion");
        let indirect = "ret\n label label0\n call label1\n ret\n label label1\n call label0\n ret";
        breaks(VS_5_0, indirect, 5, "error: recursion");
    }

    #[test]
    fn hull_shaders_have_phases_in_order() {
        let hs = |phases: &str| {
            let needed = "dcl_tessellator_domain!0x1000\ndcl_tessellator_partitioning!0x800\n\
                          dcl_tessellator_output_primitive!0x1000";
            format!("hs_decls\n{needed}\n{phases}\n")
        };
        is_fine(
            HS_5_0,
            &hs("hs_control_point_phase\n ret\n hs_fork_phase\n ret\n hs_fork_phase\n ret\n hs_join_phase\n ret"),
        );
        let order = hs("hs_join_phase\n ret\n hs_fork_phase\n ret");
        breaks(HS_5_0, &order, 6, "error: hs_fork_phase follows hs_join_phase");
        breaks(HS_5_0, &hs("nop\n hs_fork_phase\n ret"), 4, "error: nop outside of a phase");
        breaks(HS_5_0, &hs("hs_fork_phase\n nop"), 4, "error: the last instruction of a function is not ret");
        breaks(HS_5_0, &hs("hs_fork_phase\n ret\n label label0\n ret"), 6, "error: a hull shader has no subroutines");
    }

    #[test]
    fn nesting_has_a_limit_and_costs_nothing() {
        let nested = |depth: usize| format!("{}{}ret", "if_nz l(1)\n".repeat(depth), "endif\n".repeat(depth));
        is_fine(VS_5_0, &nested(64));
        breaks(VS_5_0, &nested(65), 64, "error: blocks are nested more than 64 deep");
        let group = "dcl_thread_group 1, 1, 1\n";
        assert_eq!(findings(CS_5_0, &format!("{group}{}", nested(20_000))).len(), 1);
        // A chain of calls as long as the program.
        let labels: String = (0..20_000).map(|n| format!("label label{n}\n call label{}\n ret\n", n + 1)).collect();
        is_fine(VS_5_0, &format!("call label0\n ret\n{labels}label label20000\n ret"));
    }
}
