//! Help for tests: programs from text, signatures, and one invocation run.

use shaderjit_ir::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use shaderjit_ir::texture::{NoTextures, Textures};
use shaderjit_ir::verify::verify;

use super::codes::SystemValue;
use super::decode::Program;
use super::lower;
use super::opcode::{Controls, Opcode};
use super::operand::RegisterFile;
use crate::container::Name;
use crate::container::dxbc::{
    ComponentType, FourCc, MinPrecision, Signature, SignatureElement, SystemValue as StoredValue,
};
use crate::error::{DecodeError, LowerError};
use crate::frontend::Lowered;

/// The program part of a container, and its offset.
pub fn part(container: &[u8]) -> (&[u8], usize) {
    let dxbc = crate::container::Dxbc::parse(container).unwrap();
    let part = dxbc.part(FourCc::SHEX).or(dxbc.part(FourCc::SHDR)).unwrap();
    (part.data, part.data_offset())
}

/// The bytes of tokens.
pub fn bytes(tokens: &[u32]) -> Vec<u8> {
    tokens.iter().flat_map(|token| token.to_le_bytes()).collect()
}

/// A program of these tokens, `model` being the version token.
pub fn program_of(model: u32, tokens: &[u32]) -> Result<Program, DecodeError> {
    Program::decode(&bytes(&[&[model, tokens.len() as u32 + 2], tokens].concat()), 0)
}

/// A `vs_5_0` program of these tokens.
pub fn program(tokens: &[u32]) -> Result<Program, DecodeError> {
    program_of(0x0001_0050, tokens)
}

/// Assembles lines in the listing's spelling: instructions, and the declarations that tests need. Sources have one or four
/// letters behind the point, destinations any. Other declarations are their operands and numbers in token order, the
/// controls of the opcode token behind a `!`: `dcl_resource!0x1800 t0, 0x5555`.
pub fn assemble(text: &str) -> Vec<u32> {
    text.lines().map(|line| line.trim()).filter(|line| !line.is_empty()).flat_map(instruction).collect()
}

fn instruction(line: &str) -> Vec<u32> {
    let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (mut head, controls) = head.split_once('!').map_or((head, 0), |(head, bits)| (head, number(bits)));
    let (precise, rest) = match rest.strip_prefix("[precise(").and_then(|rest| rest.split_once(")] ")) {
        Some((letters, rest)) => (letters.bytes().map(|letter| 1 << letter_index(letter)).sum::<u32>(), rest),
        None => (0, rest),
    };
    let mut bits = precise << 19 | controls;
    for (suffix, bit) in [("_sat", 1 << 13), ("_nz", 1 << 18), ("_z", 0)] {
        if let Some(name) = head.strip_suffix(suffix).filter(|name| by_name(name).is_some()) {
            (head, bits) = (name, bits | bit);
        }
    }
    let opcode = by_name(head).unwrap_or_else(|| panic!("opcode of {line}"));
    let parts = split(rest);
    let body: Vec<u32> = match opcode {
        Opcode::DclTemps => vec![number(rest)],
        Opcode::DclIndexableTemp => {
            let (register, size) = parts[0][1..].split_once('[').unwrap();
            vec![number(register), number(size.trim_end_matches(']')), number(&parts[1])]
        }
        Opcode::DclInputSgv => {
            let value = SystemValue::ALL.iter().find(|value| value.name() == parts[1]).unwrap();
            [operand(&parts[0], true), vec![value.number()]].concat()
        }
        Opcode::DclIndexRange => {
            let (first, count) = rest.split_once(' ').unwrap();
            [operand(first, true), vec![number(count)]].concat()
        }
        // The number of the function comes first, and last in the listing.
        Opcode::InterfaceCall => {
            let (interface, function) = rest.rsplit_once('[').unwrap();
            [vec![number(function.trim_end_matches(']'))], operand(interface, false)].concat()
        }
        _ if opcode.controls() == Controls::Own => {
            let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
            let tokens = |part: &String| if is_number(part) { vec![number(part)] } else { operand(part, true) };
            parts.iter().flat_map(tokens).collect()
        }
        _ => {
            assert_eq!(parts.len(), opcode.slots().len(), "{line}");
            let destinations = opcode.destinations();
            parts.iter().enumerate().flat_map(|(n, part)| operand(part, n < destinations)).collect()
        }
    };
    [vec![opcode.number() | bits | (body.len() as u32 + 1) << 24], body].concat()
}

fn by_name(name: &str) -> Option<Opcode> {
    Opcode::ALL.iter().copied().find(|opcode| opcode.mnemonic() == name)
}

/// Parts at commas outside of parentheses.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0;
    let outside = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(outside).map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

fn number(text: &str) -> u32 {
    match text.trim() {
        hex if hex.starts_with("0x") => u32::from_str_radix(&hex[2..], 16).unwrap(),
        float if float.contains('.') => float.parse::<f32>().unwrap().to_bits(),
        "nan" => f32::NAN.to_bits(),
        "inf" => f32::INFINITY.to_bits(),
        decimal => decimal.parse::<i64>().unwrap() as u32,
    }
}

fn double(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse::<f64>().unwrap().to_bits(),
    }
}

fn letter_index(letter: u8) -> u32 {
    b"xyzw".iter().position(|&known| known == letter).unwrap() as u32
}

/// The indices of `3`, `[r0.x + 1][2]` or `0[x1[2].x + 3]`.
fn indices(place: &str) -> Vec<&str> {
    let glued = place.find('[').unwrap_or(place.len());
    let mut indices: Vec<&str> = Some(&place[..glued]).filter(|index| !index.is_empty()).into_iter().collect();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in place.char_indices() {
        match c {
            '[' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ']' => {
                depth -= 1;
                if depth == 0 {
                    indices.push(&place[start..at]);
                }
            }
            _ => {}
        }
    }
    indices
}

fn operand(text: &str, destination: bool) -> Vec<u32> {
    let (text, negate) = text.strip_prefix('-').map_or((text, 0), |text| (text, 1));
    let (text, absolute) = text.strip_prefix('|').map_or((text, 0), |text| (text.trim_end_matches('|'), 2));
    let extended = match negate | absolute {
        0 => vec![],
        modifier => vec![modifier << 6 | 1],
    };
    let head = |token: u32| [vec![token | u32::from(!extended.is_empty()) << 31], extended.clone()].concat();
    if let Some(values) = text.strip_prefix("l(") {
        let values: Vec<u32> = split(values.trim_end_matches(')')).iter().map(|value| number(value)).collect();
        return [head(if values.len() == 1 { 0x4001 } else { 0x4002 }), values].concat();
    }
    if let Some(values) = text.strip_prefix("d(") {
        let values: Vec<u64> = split(values.trim_end_matches(')')).iter().map(|value| double(value)).collect();
        let words = values.iter().flat_map(|&bits| [bits as u32, (bits >> 32) as u32]);
        return [head(if values.len() == 1 { 0x5001 } else { 0x5002 }), words.collect()].concat();
    }
    let letters = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap();
    let file = RegisterFile::ALL.iter().find(|file| file.letters() == letters).unwrap_or_else(|| panic!("{text}"));
    let (place, components) = match text[letters.len()..].rsplit_once('.') {
        // A point inside the brackets of an index is not ours.
        Some((place, components)) if !components.contains(']') => (place, components),
        _ => (&text[letters.len()..], ""),
    };
    let indices = indices(place);
    let mut token = file.number() << 12 | (indices.len() as u32) << 20;
    let mut body = Vec::new();
    for (n, index) in indices.into_iter().enumerate() {
        match index.rsplit_once(" + ") {
            Some((relative, offset)) => {
                token |= 3 << (22 + 3 * n);
                body.push(number(offset));
                body.extend(operand(relative, false));
            }
            None => body.push(number(index)),
        }
    }
    let positions: Vec<u32> = components.bytes().map(letter_index).collect();
    token |= match (positions.as_slice(), destination) {
        ([], _) => 0,
        (mask, true) => 2 | mask.iter().map(|position| 1 << position).sum::<u32>() << 4,
        ([x, y, z, w], false) => 2 | 1 << 2 | (x | y << 2 | z << 4 | w << 6) << 4,
        ([one], false) => 2 | 2 << 2 | one << 4,
        _ => panic!("components of {text}"),
    };
    [head(token), body].concat()
}

/// A signature with one element a register: semantic, register, mask, system value.
pub fn signature<'a>(elements: &[(&'a str, u32, u8, StoredValue)]) -> Signature<'a> {
    let elements = elements.iter().map(|&(semantic, register, mask, system_value)| SignatureElement {
        offset: 0,
        semantic: Name::new(semantic.as_bytes()),
        index: register,
        system_value,
        component_type: ComponentType::U32,
        register: Some(register),
        mask,
        rw_mask: 0,
        stream: 0,
        min_precision: MinPrecision::DEFAULT,
    });
    Signature { part: FourCc::ISGN, elements: elements.collect() }
}

/// A signature of eight whole registers.
pub fn plain_signature() -> Signature<'static> {
    signature(&std::array::from_fn::<_, 8, _>(|register| ("E", register as u32, 0xf, StoredValue::NONE)))
}

/// Lowers a program with plain signatures, and verifies the function.
pub fn lower_program(program: &Program) -> Result<Lowered, LowerError> {
    let lowered = lower(program, &plain_signature(), &plain_signature())?;
    verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}\n{program}\n{}", lowered.function));
    Ok(lowered)
}

/// Assembles and lowers.
pub fn lower_text(text: &str) -> Result<Lowered, LowerError> {
    lower_program(&program(&assemble(text)).unwrap())
}

/// The error of a program, with its offset.
pub fn error(text: &str) -> LowerError {
    lower_text(text).map(|lowered| lowered.function.to_string()).unwrap_err()
}

/// Lowering says that a rule is broken.
pub fn is_invalid(text: &str, rule: &str) {
    match error(text) {
        LowerError::Invalid { what, .. } => assert!(what.contains(rule), "{what}"),
        other => panic!("{other:?}"),
    }
}

/// Assembles and lowers a pixel shader.
pub fn lower_pixel(text: &str, inputs: &Signature<'_>, outputs: &Signature<'_>) -> Result<Lowered, LowerError> {
    let lowered = lower(&program_of(0x50, &assemble(text)).unwrap(), inputs, outputs)?;
    verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}\n{text}\n{}", lowered.function));
    Ok(lowered)
}

/// What one invocation sees.
#[derive(Default)]
pub struct Setup<'a> {
    /// Input elements.
    pub inputs: &'a [[u32; 4]],
    /// Uniform spaces.
    pub uniforms: &'a [&'a [[u32; 4]]],
    /// Resources.
    pub resources: &'a [&'a [u8]],
    /// Textures and samplers; none if nothing is bound.
    pub textures: Option<&'a dyn Textures>,
    /// Vertex and instance number.
    pub vertex: [u32; 2],
    /// Whether `fmad` rounds twice.
    pub unfused: bool,
}

/// Runs one invocation and returns the output elements.
pub fn run(lowered: &Lowered, setup: &Setup<'_>) -> Result<Vec<[u32; 4]>, InterpError> {
    let mut inputs = vec![[[0]; 4]; lowered.interface.inputs.len()];
    for (element, bound) in inputs.iter_mut().zip(setup.inputs) {
        *element = bound.map(|word| [word]);
    }
    let bindings = Bindings {
        inputs: &inputs,
        vertex_id: [setup.vertex[0]],
        instance_id: setup.vertex[1],
        uniforms: setup.uniforms,
        resources: setup.resources,
        textures: setup.textures.unwrap_or(&NoTextures),
    };
    let options = InterpOptions { fuel: 1000, fused: !setup.unfused };
    let mut interpreter = Interpreter::<1>::new(&lowered.function);
    let outputs = interpreter.run(&bindings, &options)?;
    Ok(outputs.iter().map(|element| element.map(|[word]| word)).collect())
}

/// Assembles, runs with `v0` and returns `o0`. Registers `r0` to `r7` and the constant buffer `cb0` are declared.
pub fn o0(text: &str, v0: [u32; 4]) -> [u32; 4] {
    let lowered = lower_text(&format!("dcl_temps 8\n{text}")).unwrap();
    run(&lowered, &Setup { inputs: &[v0], ..Setup::default() }).unwrap()[0]
}
