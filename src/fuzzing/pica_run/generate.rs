//! Programs that look like programs, mostly: control flow that stays near, a few registers that are used again and
//! again.

use super::{PicaRunCase, VERTICES};
use crate::frontend::pica::opcode::{Field, Opcode};
use crate::{FloatPrecision, PicaUniforms};
use arbitrary::{Arbitrary, Result, Unstructured};

/// Numbers at which arithmetic changes its ways: of 32 bits and of 24.
const EDGES: [u32; 24] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x1880_0000,
    0x9900_0000,
    0x207f_ffff,
    0x2080_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0040,
    0x3f80_00c0,
    0x42ff_fe00,
    0xc2ff_ffff,
    0x4300_0000,
    0xc301_0000,
    0x5f7f_ffbf,
    0x5f7f_ffc0,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
];

const FLOW: [Opcode; 13] = [
    Opcode::Break,
    Opcode::Breakc,
    Opcode::Call,
    Opcode::Callc,
    Opcode::Callu,
    Opcode::End,
    Opcode::Ifc,
    Opcode::Ifu,
    Opcode::Jmpc,
    Opcode::Jmpu,
    Opcode::Loop,
    Opcode::Loop,
    Opcode::Nop,
];

impl<'a> Arbitrary<'a> for PicaRunCase {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<PicaRunCase> {
        let len = match u.int_in_range(0..=15u8)? {
            0 => u.int_in_range(1..=4096)?,
            1..=3 => u.int_in_range(1..=120)?,
            _ => u.int_in_range(1..=24)?,
        };
        let descriptors = descriptors(u)?;
        // How many of 16 words are control flow.
        let flow = u.int_in_range(0..=10u8)?;
        let mut words = Vec::with_capacity(len);
        for at in 0..len {
            // A program that the data does not fill repeats itself.
            let word = match words.get(at / 2) {
                Some(&word) if u.is_empty() => word,
                _ => word(u, at as u32, len as u32, descriptors.len() as u32, flow)?,
            };
            words.push(word);
        }
        let entry = if u.ratio(3, 4)? { 0 } else { u.int_in_range(0..=len)? as u16 };
        let mut uniforms = PicaUniforms { bools: u.arbitrary()?, ..PicaUniforms::default() };
        for (row, floats) in (0..).zip(&mut uniforms.floats) {
            *floats = std::array::from_fn(|c| row as f32 - 0.25 * c as f32);
        }
        for _ in 0..u.int_in_range(0..=12)? {
            let row = u.choose_index(uniforms.floats.len())?;
            for float in &mut uniforms.floats[row] {
                *float = f32::from_bits(number(u)?);
            }
        }
        for int in uniforms.ints.iter_mut().flatten() {
            *int = if u.ratio(7, 8)? { u.int_in_range(0..=3)? } else { u.arbitrary()? };
        }
        let mut vertices = vec![[[0; 4]; 16]; u.int_in_range(1..=VERTICES)?];
        for vertex in &mut vertices {
            for register in &mut vertex[..4] {
                for word in register {
                    *word = number(u)?;
                }
            }
        }
        let numbers = if u.arbitrary()? { FloatPrecision::Float24 } else { FloatPrecision::Fast };
        let (specialize, way) = (u.ratio(1, 4)?, u.arbitrary()?);
        Ok(PicaRunCase { words, descriptors, entry, uniforms, vertices, numbers, specialize, way })
    }
}

/// Mostly all that an instruction can name.
fn descriptors(u: &mut Unstructured<'_>) -> Result<Vec<u32>> {
    const PLAIN: u32 = 0xf | 0x1b << 5 | 0x1b << 14 | 0x1b << 23;
    let mut descriptors = vec![PLAIN; 128];
    for descriptor in &mut descriptors[1..9] {
        *descriptor = match u.int_in_range(0..=3u8)? {
            0 => PLAIN & !0xf | u.int_in_range(0..=15)?,
            1 => PLAIN ^ (1 << *u.choose(&[4, 13, 22])?),
            _ => u.arbitrary()?,
        };
    }
    if u.ratio(1, 16)? {
        descriptors.truncate(u.int_in_range(0..=127)?);
    }
    Ok(descriptors)
}

fn word(u: &mut Unstructured<'_>, at: u32, len: u32, descriptors: u32, flow: u8) -> Result<u32> {
    let opcode = match u.int_in_range(0..=15u8)? {
        // Anything, undefined opcodes among them.
        15 if u.ratio(1, 4)? => return u.arbitrary(),
        kind if kind < flow => *u.choose(&FLOW)?,
        _ => *u.choose(Opcode::ALL)?,
    };
    let opcode = match opcode {
        Opcode::Emit | Opcode::Setemit if u.ratio(15, 16)? => Opcode::Cmp,
        Opcode::End if at < len / 2 && u.ratio(3, 4)? => Opcode::Nop,
        opcode => opcode,
    };
    let picture = opcode.picture();
    let mut word = picture.fixed();
    for field in Field::ALL {
        let width = picture.width(field);
        if width == 0 {
            continue;
        }
        let most = (1 << width) - 1;
        let value: u32 = match field {
            Field::Destination => *u.choose(&[0, 1, 2, 0x10, 0x11, 0x12, 0x13, 0x1f])?,
            Field::Source1 | Field::Source2 | Field::Source3 => {
                let uniform = u.int_in_range(0x20..=0x7f)?;
                let source = *u.choose(&[0, 1, 2, 3, 0x10, 0x11, 0x12, 0x13, 0x1f, 0x20, 0x21, uniform])?;
                if source > most { source & 0x13 } else { source }
            }
            Field::Descriptor => u.int_in_range(0..=12.min(descriptors))?,
            Field::Target if u.ratio(7, 8)? => {
                let near = (at + u.int_in_range(0..=12)?).saturating_sub(if u.ratio(1, 3)? { 8 } else { 0 });
                near.min(len + 1)
            }
            Field::Target => u.int_in_range(0..=len)?,
            Field::Count => *u.choose(&[0, 0, 1, 2, 3, 4, 5, 9, 255])?,
            _ => u.int_in_range(0..=most)?,
        };
        word |= picture.place(field, value & most).unwrap_or(0);
    }
    Ok(word)
}

fn number(u: &mut Unstructured<'_>) -> Result<u32> {
    Ok(match u.int_in_range(0..=7u8)? {
        0 => u.arbitrary()?,
        1 | 2 => *u.choose(&EDGES)?,
        _ => (f32::from(u.arbitrary::<i8>()?) / 4.0).to_bits(),
    })
}
