//! What a listing calls registers and words: the names a container gives them, where these can be told from everything
//! else in the text, and the plain ones for all others.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::{Effect, Program};
use super::operand::{Address, Destination, IntUniform, Source, Test};
use crate::container::shbin::{RegisterFile, RegisterRange};

/// Bytes of the longest name that is used. A container may give each instruction's operands names of four thousand.
pub(crate) const LONGEST: usize = 64;

/// How the names of words begin that are made from addresses.
const LABEL: &str = "label_";
/// The same for words that are called.
const PROCEDURE: &str = "proc_";

/// A register with a name, perhaps one of several.
#[derive(Clone, Debug)]
struct Alias {
    name: String,
    /// Its place in an array.
    element: Option<u8>,
}

/// A procedure: a label that covers words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Procedure {
    pub(super) name: String,
    /// The word behind its last.
    pub(super) end: Address,
}

/// The names of one program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    registers: BTreeMap<(RegisterFile, u8), Alias>,
    outputs: BTreeMap<u8, String>,
    /// Names of words; of several the first is used.
    labels: BTreeMap<Address, Vec<String>>,
    procedures: BTreeMap<Address, Vec<Procedure>>,
    entry: Option<Address>,
    used: BTreeSet<String>,
}

impl Names {
    /// Uses `name` if nothing else in a listing can be meant by it.
    fn take(&mut self, name: &str) -> bool {
        is_usable(name) && self.used.insert(name.to_owned())
    }

    /// Gives registers a name, those of them that have none; they are an array if there are several. False if the name
    /// cannot be used or there are none left.
    pub(crate) fn registers(&mut self, name: &str, range: RegisterRange) -> bool {
        let RegisterRange { file, first, last } = range;
        let free = |register: &u8| !self.registers.contains_key(&(file, *register));
        let free: Vec<u8> = (first..=last).filter(free).collect();
        if free.is_empty() || !self.take(name) {
            return false;
        }
        for register in free {
            let element = (first != last).then_some(register - first);
            self.registers.insert((file, register), Alias { name: name.to_owned(), element });
        }
        true
    }

    /// Gives an output register a name. False if it has one or the name cannot be used.
    pub(crate) fn output(&mut self, register: u8, name: &str) -> bool {
        if self.outputs.contains_key(&register) || !self.take(name) {
            return false;
        }
        self.outputs.insert(register, name.to_owned());
        true
    }

    /// Gives a word a name, and if it is the first of a procedure the word behind its last. False if the name cannot be
    /// used.
    pub(crate) fn label(&mut self, at: Address, name: &str, end: Option<Address>) -> bool {
        if !self.take(name) {
            return false;
        }
        match end.filter(|&end| end > at) {
            Some(end) => {
                self.procedures.entry(at).or_default().push(Procedure { name: name.to_owned(), end });
            }
            None => self.labels.entry(at).or_default().push(name.to_owned()),
        }
        true
    }

    /// Makes procedures of the words that are called, if every call ends at the same word of the program and no other
    /// procedure begins within and ends behind.
    pub(crate) fn find_procedures(&mut self, program: &Program) {
        let mut called: BTreeMap<Address, Option<Address>> = BTreeMap::new();
        for instruction in program.instructions() {
            if let Effect::Call { target, end, .. } = instruction.effect {
                let known = called.entry(target).or_insert(Some(end));
                *known = known.filter(|&known| known == end);
            }
        }
        let mut ranges: Vec<(Address, Address)> = self
            .procedures
            .iter()
            .flat_map(|(&at, all)| all.iter().map(move |procedure| (at, procedure.end)))
            .collect();
        for (at, end) in called {
            let Some(end) = end.filter(|&end| end > at && end <= program.end()) else { continue };
            if !self.procedures_at(at).is_empty() {
                continue;
            }
            let crosses = |&(a, b): &(Address, Address)| at < a && a < end && end < b || a < at && at < b && b < end;
            if ranges.iter().any(crosses) {
                continue;
            }
            ranges.push((at, end));
            let mut labels = self.labels.remove(&at).unwrap_or_default();
            let name = if labels.is_empty() { format!("{PROCEDURE}{at}") } else { labels.remove(0) };
            if !labels.is_empty() {
                self.labels.insert(at, labels);
            }
            self.procedures.entry(at).or_default().push(Procedure { name, end });
        }
    }

    /// Marks where the program begins.
    pub(crate) fn set_entry(&mut self, at: Address) {
        self.entry = Some(at);
    }

    pub(super) fn entry(&self) -> Option<Address> {
        self.entry
    }

    /// The words that have names.
    pub(super) fn named(&self) -> impl Iterator<Item = Address> {
        self.labels.keys().chain(self.procedures.keys()).chain(&self.entry).copied()
    }

    /// The labels in front of a word, without procedures.
    pub(super) fn labels_at(&self, at: Address) -> &[String] {
        self.labels.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The procedures that begin at a word.
    pub(super) fn procedures_at(&self, at: Address) -> &[Procedure] {
        self.procedures.get(&at).map_or(&[], Vec::as_slice)
    }

    /// What a word is called.
    pub(crate) fn address(&self, at: Address) -> String {
        let procedure = self.procedures_at(at).first().map(|procedure| &procedure.name);
        match procedure.or(self.labels_at(at).first()) {
            Some(name) => name.clone(),
            None => format!("{LABEL}{at}"),
        }
    }

    /// What a register of an input or uniform file is called.
    pub(crate) fn register(&self, file: RegisterFile, register: u8) -> String {
        match self.registers.get(&(file, register)) {
            Some(Alias { name, element: None }) => name.clone(),
            Some(Alias { name, element: Some(element) }) => format!("{name}[{element}]"),
            None => format!("{}{register}", file.letter()),
        }
    }

    pub(super) fn source(&self, source: Source) -> String {
        match source {
            Source::Input(number) => self.register(RegisterFile::Input, number),
            Source::Temporary(_) => source.to_string(),
            Source::Uniform { base, relative: None } => self.register(RegisterFile::Float, base),
            Source::Uniform { base, relative: Some(register) } => {
                match self.registers.get(&(RegisterFile::Float, base)) {
                    Some(Alias { name, element: None | Some(0) }) => format!("{name}[{register}]"),
                    Some(Alias { name, element: Some(element) }) => format!("{name}[{register}+{element}]"),
                    None => source.to_string(),
                }
            }
        }
    }

    pub(crate) fn destination(&self, destination: Destination) -> String {
        match destination {
            Destination::Output(number) if self.outputs.contains_key(&number) => self.outputs[&number].clone(),
            _ => destination.to_string(),
        }
    }

    pub(super) fn int(&self, uniform: IntUniform) -> String {
        self.register(RegisterFile::Int, uniform.0)
    }

    pub(super) fn test(&self, test: Test) -> String {
        match test {
            Test::Flags(flags) => flags.to_string(),
            Test::Bool { uniform, value } => {
                let not = if value { "" } else { "!" };
                format!("{not}{}", self.register(RegisterFile::Bool, uniform.0))
            }
        }
    }
}

/// Whether a name is an identifier that means nothing else.
fn is_usable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let identifier = bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    identifier && name.len() <= LONGEST && ![LABEL, PROCEDURE].iter().any(|p| name.starts_with(p)) && !is_register(name)
}

/// Whether a name is, or could be, that of a register.
fn is_register(name: &str) -> bool {
    let numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    matches!(name, "aL" | "lcnt" | "cmp")
        || name.strip_prefix(['a', 'b', 'c', 'i', 'o', 'r', 'v']).is_some_and(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::pica::decode::decode;
    use crate::frontend::pica::opcode::{Field, Opcode};
    use crate::frontend::pica::operand::{AddressRegister, BoolUniform};
    use crate::frontend::pica::testing::word;

    fn range(file: RegisterFile, first: u8, last: u8) -> RegisterRange {
        RegisterRange { file, first, last }
    }

    #[test]
    fn arrays_and_single_registers() {
        let mut names = Names::default();
        assert!(names.registers("bones", range(RegisterFile::Float, 4, 63)));
        assert!(names.registers("k", range(RegisterFile::Float, 64, 64)));
        assert!(names.registers("on", range(RegisterFile::Bool, 3, 3)));
        assert!(names.registers("n", range(RegisterFile::Int, 1, 1)));
        let uniform = |base, relative| names.source(Source::Uniform { base, relative });
        let (x, loops) = (Some(AddressRegister::X), Some(AddressRegister::Loop));
        let found = [
            uniform(3, None),
            uniform(4, None),
            uniform(7, None),
            uniform(4, x),
            uniform(7, x),
            uniform(64, None),
            uniform(64, loops),
            uniform(3, loops),
        ];
        let expected = ["c3", "bones[0]", "bones[3]", "bones[a0.x]", "bones[a0.x+3]", "k", "k[aL]", "c3[aL]"];
        assert_eq!(found, expected);
        assert_eq!(names.test(Test::Bool { uniform: BoolUniform(3), value: false }), "!on");
        assert_eq!((names.int(IntUniform(1)), names.int(IntUniform(0))), ("n".to_owned(), "i0".to_owned()));
    }

    #[test]
    fn a_name_means_one_thing() {
        let mut names = Names::default();
        let long = "x".repeat(LONGEST + 1);
        for bad in
            ["", "1a", "a-b", "r0", "v15", "c95", "aL", "label_00a", "proc_00a", "\u{e9}", "a\u{1b}", long.as_str()]
        {
            assert!(!names.registers(bad, range(RegisterFile::Input, 0, 0)), "{bad:?}");
        }
        assert!(names.registers("color", range(RegisterFile::Input, 0, 0)));
        assert!(!names.output(1, "color"));
        assert!(!names.label(Address(4), "color", None));
        assert!(names.output(1, "out_color"));
        assert!(!names.output(1, "again"));
        assert!(!names.registers("second", range(RegisterFile::Input, 0, 0)), "the register has a name");
        assert!(names.registers("rest", range(RegisterFile::Input, 0, 2)));
        let inputs = [0, 1, 2].map(|register| names.register(RegisterFile::Input, register));
        assert_eq!(inputs, ["color", "rest[1]", "rest[2]"]);
        assert_eq!(names.destination(Destination::Output(1)), "out_color");
    }

    #[test]
    fn words_are_labels_or_procedures() {
        let mut names = Names::default();
        assert!(names.label(Address(3), "second", None) && names.label(Address(3), "third", Some(Address(3))));
        assert!(names.label(Address(3), "main", Some(Address(9))));
        assert_eq!((names.address(Address(3)), names.address(Address(0x1a))), ("main".into(), "label_01a".into()));
        assert_eq!(names.labels_at(Address(3)), ["second", "third"]);
        assert_eq!(names.procedures_at(Address(3)).len(), 1);
    }

    #[test]
    fn what_is_called_is_a_procedure() {
        let call = |target, count| word(Opcode::Call, &[(Field::Target, target), (Field::Count, count)]);
        // 10 to 20 with 12 to 15 inside, 18 to 22 across its end, 30 with two ends, 40 with none.
        let calls = [(10, 10), (12, 3), (18, 4), (30, 1), (30, 2), (40, 0), (50, 2), (10, 10)];
        let calls = calls.map(|(target, count)| call(target, count));
        let words: Vec<u32> = calls.into_iter().chain([call(60, 4), call(58, 5)]).chain([0; 53]).collect();
        let program = decode(&words, &[], 0).unwrap();
        let mut names = Names::default();
        assert!(names.label(Address(12), "leaf", None) && names.label(Address(49), "last", Some(Address(51))));
        names.find_procedures(&program);
        let found = [10, 12, 18, 30, 40, 50, 60, 58].map(|at| names.address(Address(at)));
        let expected =
            ["proc_00a", "leaf", "label_012", "label_01e", "label_028", "label_032", "label_03c", "proc_03a"];
        assert_eq!(found, expected, "the one but last ends behind the program");
        assert_eq!(names.procedures_at(Address(12)), [Procedure { name: "leaf".to_owned(), end: Address(15) }]);
        assert!(names.labels_at(Address(12)).is_empty());
    }
}
