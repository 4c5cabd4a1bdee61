//! Shader-model-4 and -5 programs from text, for tests: lines in the spelling of the reference disassembler → tokens.
//!
//! ```text
//! dcl_constantbuffer CB0[4], immediateIndexed
//! dcl_resource_structured t1, 12
//! dcl_immediateConstantBuffer {1, 2, 3, 4}, {5, 6, 7, 8}
//! mad_sat [precise(xy)] r0.xyz, -v0.xyzw, |cb0[r1.x + 2].wwww|, l(1.5, -inf, 0x7f800001, 7)
//! if_nz r0.x
//! ```
//!
//! Blanks at either end of a line and lines without anything else do not matter. Sources have one or four letters
//! behind the point, destinations any. A float has a point, an exponent or letters; what is neither that nor
//! hexadecimal is an integer. What has no spelling of its own are the bits of the opcode token behind a `!`:
//! `dcl_interface!0x800 0, 1, 0x10001, 0`.
//!
//! The text belongs to the tests: what is wrong with it panics with the line.

use super::sm4::codes::{Dimension, InfoReturn, Interpolation, MinPrecision, ReturnType, SamplerMode, SystemValue};
use super::sm4::opcode::Controls;
use super::sm4::{GlobalFlags, Opcode, RegisterFile};

/// The tokens of the lines.
pub fn assemble(text: &str) -> Vec<u32> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .flat_map(|line| instruction(line).unwrap_or_else(|| panic!("not in the assembler's language: {line}")))
        .collect()
}

fn instruction(line: &str) -> Option<Vec<u32>> {
    let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
    if head == "dcl_immediateConstantBuffer" {
        return immediate_constants(rest);
    }
    let (head, controls) = match head.split_once('!') {
        Some((head, bits)) => (head, number(bits)?),
        None => (head, 0),
    };
    let (head, offsets) = match head.split_once('(') {
        Some((head, offsets)) => (head, Some(texel_offsets(offsets.strip_suffix(')')?)?)),
        None => (head, None),
    };
    let (opcode, suffix) = opcode(head)?;
    let (precise, rest) = match rest.strip_prefix("[precise") {
        Some(rest) => {
            let (letters, rest) = rest.split_once("] ")?;
            (mask(letters.trim_matches(['(', ')']))?, rest)
        }
        None => (0, rest),
    };
    let (declared, body) = match opcode.controls() {
        Controls::Own => declaration(opcode, suffix, rest)?,
        // The number of the function comes first, and last in the listing.
        _ if opcode == Opcode::InterfaceCall => {
            let (interface, function) = rest.rsplit_once('[')?;
            (0, [vec![number(function.strip_suffix(']')?)?], operand(interface, false)?].concat())
        }
        _ => {
            let operands = split(rest);
            if operands.len() != opcode.slots().len() {
                return None;
            }
            let destinations = opcode.destinations();
            let tokens = operands.iter().enumerate().map(|(n, text)| operand(text, n < destinations));
            (suffix_bits(opcode, suffix)?, tokens.collect::<Option<Vec<_>>>()?.concat())
        }
    };
    let body = offsets.into_iter().chain(body).collect::<Vec<u32>>();
    let extended = u32::from(offsets.is_some()) << 31;
    let bits = opcode.number() | controls | declared | precise << 19 | extended;
    Some([vec![bits | (body.len() as u32 + 1) << 24], body].concat())
}

/// The opcode whose mnemonic `head` is or begins with, and what follows it.
fn opcode(head: &str) -> Option<(Opcode, &str)> {
    let found = Opcode::ALL.iter().filter_map(|&opcode| Some((opcode, head.strip_prefix(opcode.mnemonic())?)));
    found.filter(|(_, rest)| rest.is_empty() || rest.starts_with('_')).min_by_key(|(_, rest)| rest.len())
}

/// The bits that the suffixes of an instruction stand for.
fn suffix_bits(opcode: Opcode, suffix: &str) -> Option<u32> {
    let parts = suffix.split('_').skip(1);
    let bit = |part: &str| match (opcode.controls(), part) {
        (Controls::Saturate, "sat") => Some(1 << 13),
        (Controls::Test, "nz") => Some(1 << 18),
        (Controls::Test, "z") => Some(0),
        (Controls::SampleInfoReturn, "uint") => Some(1 << 11),
        (Controls::ResinfoReturn, part) => {
            let value = InfoReturn::ALL.iter().find(|value| value.name().strip_prefix('_') == Some(part))?;
            Some(value.number() << 11)
        }
        (Controls::Sync, part) => Some(1 << (11 + ["t", "g", "ugroup", "uglobal"].iter().position(|&it| it == part)?)),
        _ => None,
    };
    parts.map(bit).try_fold(0, |bits, bit| Some(bits | bit?))
}

/// The extended opcode token of offsets in u, v and w.
fn texel_offsets(text: &str) -> Option<u32> {
    let offsets = text.split(',').map(number).collect::<Option<Vec<u32>>>()?;
    Some(offsets.iter().zip([9, 13, 17]).fold(1, |token, (offset, at)| token | (offset & 0xf) << at))
}

// ---- declarations

/// The bits of the opcode token, and what follows it.
fn declaration(opcode: Opcode, suffix: &str, rest: &str) -> Option<(u32, Vec<u32>)> {
    let suffix = suffix.strip_prefix('_').unwrap_or(suffix);
    let parts = split(rest);
    match opcode {
        Opcode::DclTemps => Some((0, vec![number(rest)?])),
        Opcode::DclIndexableTemp => {
            let (register, size) = parts[0].strip_prefix('x')?.split_once('[')?;
            Some((0, vec![number(register)?, number(size.strip_suffix(']')?)?, number(parts.get(1)?)?]))
        }
        Opcode::DclIndexRange => {
            let (first, count) = rest.split_once(' ')?;
            Some((0, [operand(first, true)?, vec![number(count)?]].concat()))
        }
        Opcode::DclGlobalFlags => {
            let bits = rest.split(" | ").map(|word| {
                let (flag, _) = GlobalFlags::ALL.iter().find(|(_, name)| *name == word)?;
                Some(flag.bits())
            });
            Some((bits.sum::<Option<u32>>()?, Vec::new()))
        }
        Opcode::DclResource | Opcode::DclUavTyped if rest.starts_with('(') => {
            let (types, view) = rest.strip_prefix('(')?.split_once(") ")?;
            let ty = |text: &str| Some(ReturnType::ALL.iter().find(|ty| ty.name() == text)?.number());
            let types = types.split(',').map(ty).collect::<Option<Vec<u32>>>()?;
            let dimension = Dimension::ALL.iter().find(|dimension| dimension.name() == suffix)?;
            let types = types.iter().rev().fold(0, |types, ty| types << 4 | ty);
            // Of shader model 5.1, the space.
            let (view, space) = view.split_once(", ").map_or((view, None), |(view, space)| (view, Some(space)));
            let space = space.map(number).map_or(Some(None), |space| Some(Some(space?)))?;
            let tokens = [operand(view, true)?, vec![types], space.into_iter().collect()].concat();
            Some((dimension.number() << 11, tokens))
        }
        Opcode::DclInputPs | Opcode::DclInputPsSgv | Opcode::DclInputPsSiv => {
            // The words of the mode end where the register begins. Without any it is undefined.
            let at = parts.first()?.rfind(' ').map_or(0, |at| at + 1);
            let mode = match rest[..at].trim_end() {
                "" => Interpolation::Undefined,
                name => *Interpolation::ALL.iter().find(|mode| mode.name() == name)?,
            };
            Some((mode.number() << 11, tokens(&rest[at..])?))
        }
        Opcode::DclSampler | Opcode::DclConstantBuffer => {
            let mut bits = 0;
            let mut tokens = operand(parts.first()?, true)?;
            for part in &parts[1..] {
                let mode = SamplerMode::ALL.iter().find(|mode| mode.name() == part);
                match (mode, part.as_str()) {
                    (Some(mode), _) => bits |= mode.number() << 11,
                    (None, "immediateIndexed") => {}
                    (None, "dynamicIndexed") => bits |= 1 << 11,
                    // Of shader model 5.1, rows and space.
                    (None, part) => tokens.push(number(part)?),
                }
            }
            Some((bits, tokens))
        }
        _ if suffix.is_empty() => Some((0, tokens(rest)?)),
        _ => None,
    }
}

/// Operands, names of system values and numbers as they come.
fn tokens(text: &str) -> Option<Vec<u32>> {
    let token = |part: &String| {
        let value = SystemValue::ALL.iter().find(|value| value.name() == part);
        match value {
            Some(value) => Some(vec![value.number()]),
            None if part.starts_with(|c: char| c.is_ascii_digit()) => Some(vec![number(part)?]),
            None => operand(part, true),
        }
    };
    Some(split(text).iter().map(token).collect::<Option<Vec<_>>>()?.concat())
}

/// The block of data that is the immediate constant buffer.
fn immediate_constants(rest: &str) -> Option<Vec<u32>> {
    let mut rows = Vec::new();
    for row in rest.split('}').filter(|row| !row.trim().is_empty()) {
        let values = row.trim_start_matches([',', ' ']).strip_prefix('{')?;
        rows.extend(values.split(',').map(|value| number(value.trim())).collect::<Option<Vec<u32>>>()?);
    }
    Some([vec![Opcode::CustomData.number() | 3 << 11, rows.len() as u32 + 2], rows].concat())
}

// ---- operands

/// Parts at commas outside of parentheses and brackets.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0;
    let outside = |c: char| {
        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
        c == ',' && depth == 0
    };
    text.split(outside).map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// A dword.
fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if is_float(text) => Some(text.parse::<f32>().ok()?.to_bits()),
        None => Some(text.parse::<i64>().ok()? as u32),
    }
}

fn is_float(text: &str) -> bool {
    text.contains(['.', 'e', 'n'])
}

/// A double, or its bits.
fn double(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => Some(text.trim_end_matches('l').parse::<f64>().ok()?.to_bits()),
    }
}

fn letters(text: &str) -> Option<Vec<u32>> {
    text.bytes().map(|letter| b"xyzw".iter().position(|&known| known == letter).map(|at| at as u32)).collect()
}

/// The set of some letters, all four if there are none.
fn mask(text: &str) -> Option<u32> {
    let set = letters(text)?.iter().fold(0, |set, letter| set | 1 << letter);
    Some(if set == 0 { 0xf } else { set })
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

/// Whether a register is one scalar, which has no letters.
fn is_scalar(file: RegisterFile) -> bool {
    use RegisterFile::*;
    matches!(
        file,
        OutputDepth | OutputDepthGe | OutputDepthLe | OutputCoverage | OutputStencilRef | PrimitiveId | InputCoverage
    )
}

fn operand(text: &str, destination: bool) -> Option<Vec<u32>> {
    let (text, precision) = match text.split_once(" {") {
        Some((text, name)) => {
            let name = name.strip_suffix('}')?;
            (text, MinPrecision::ALL.iter().find(|precision| precision.name() == name)?.number())
        }
        None => (text, 0),
    };
    let (text, negate) = text.strip_prefix('-').map_or((text, 0), |text| (text, 1));
    let (text, absolute) = text.strip_prefix('|').map_or((text, 0), |text| (text.trim_end_matches('|'), 2));
    let extended = match (negate | absolute) << 6 | precision << 14 {
        0 => Vec::new(),
        bits => vec![bits | 1],
    };
    let head = |token: u32| [vec![token | u32::from(!extended.is_empty()) << 31], extended.clone()].concat();
    if let Some(values) = text.strip_prefix("l(") {
        let values =
            split(values.strip_suffix(')')?).iter().map(|value| number(value)).collect::<Option<Vec<u32>>>()?;
        return Some([head(if values.len() == 1 { 0x4001 } else { 0x4002 }), values].concat());
    }
    if let Some(values) = text.strip_prefix("d(") {
        let values =
            split(values.strip_suffix(')')?).iter().map(|value| double(value)).collect::<Option<Vec<u64>>>()?;
        let words = values.iter().flat_map(|&bits| [bits as u32, (bits >> 32) as u32]);
        return Some([head(if values.len() == 1 { 0x5001 } else { 0x5002 }), words.collect()].concat());
    }
    let name = text.split(|c: char| !c.is_ascii_alphabetic()).next()?;
    let named = |file: &&RegisterFile| file.letters() == name || name == "CB" && file.letters() == "cb";
    let file = RegisterFile::ALL.iter().find(named)?;
    let (place, components) = match text[name.len()..].rsplit_once('.') {
        // A point inside the brackets of an index is not ours.
        Some((place, components)) if !components.contains(']') => (place, components),
        _ => (&text[name.len()..], ""),
    };
    let indices = indices(place);
    let mut token = file.number() << 12 | (indices.len() as u32) << 20;
    let mut body = Vec::new();
    for (n, index) in indices.into_iter().enumerate() {
        match index.rsplit_once(" + ") {
            Some((relative, offset)) => {
                token |= 3 << (22 + 3 * n);
                body.push(number(offset)?);
                body.extend(operand(relative, false)?);
            }
            None => body.push(number(index)?),
        }
    }
    let positions = letters(components)?;
    token |= match (positions.as_slice(), destination) {
        ([], _) => u32::from(is_scalar(*file)),
        (_, true) => 2 | mask(components)? << 4,
        ([x, y, z, w], false) => 2 | 1 << 2 | (x | y << 2 | z << 4 | w << 6) << 4,
        ([one], false) => 2 | 2 << 2 | one << 4,
        _ => return None,
    };
    Some([head(token), body].concat())
}
