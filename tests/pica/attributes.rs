//! Draws of what the registers of the attribute buffers say, on both engines and at four and eight lanes.

use crate::assembler::{Destination, Program, Source};
use crate::engine;
use shaderjit::error::{CallError, Error};
use shaderjit::frontend::pica::opcode::Opcode;
use shaderjit::pica::{OutputMap, Triangles, Unit};
use shaderjit::{Backend, Engine, Lanes};
use std::cell::RefCell;

/// Where the memory of the tests begins.
const BASE: u32 = 0x1800_0000;

/// The slots of the four outputs: none of those of colours, which are clamped.
const SLOTS: [[usize; 4]; 4] = [[0, 1, 2, 3], [4, 5, 6, 7], [12, 13, 14, 15], [16, 18, 19, 20]];

/// A unit whose shader passes `v0` to `v3` on, and whose memory begins at [`BASE`].
fn unit(registers: &[(u16, u32)]) -> Unit {
    let mut program = Program::default();
    for register in 0..4 {
        program.op(Opcode::Mov, Destination::new(register), &[Source::new(register)]);
    }
    program.word(Opcode::End, &[]);
    let mut unit = Unit::new();
    unit.vertex_mut().set_words(0, &program.words);
    unit.vertex_mut().set_descriptors(0, &program.descriptors);
    unit.vertex_mut().set_output_mask(0xf);
    let map = SLOTS.map(|slots| u32::from_le_bytes(slots.map(|slot| slot as u8)));
    unit.set_output_map(OutputMap::from_registers(4, &map));
    for &(register, value) in [(0x200, BASE >> 3), (0x2b9, 0xa000_0003)].iter().chain(registers) {
        assert!(unit.write_register(register, value), "{register:#x}");
    }
    unit
}

/// The memory from [`BASE`] on.
fn at(memory: &[u8], address: u32, length: usize) -> Option<&[u8]> {
    memory.get(address.checked_sub(BASE)? as usize..)?.get(..length)
}

/// `GPUREG_DRAWARRAYS` or `GPUREG_DRAWELEMENTS`.
fn draw(unit: &mut Unit, engine: &Engine, memory: &[u8], is_indexed: bool) -> Result<Triangles, Error> {
    let memory = |address, length| at(memory, address, length);
    if is_indexed { unit.draw_elements(engine, memory) } else { unit.draw_arrays(engine, memory) }
}

/// The four attributes of each corner of each triangle: the same on every engine.
fn corners(unit: &Unit, memory: &[u8], is_indexed: bool) -> Vec<[[f32; 4]; 4]> {
    let engine = engine();
    let drawn = [(Backend::Interpreter, Lanes::Four), (Backend::Jit, Lanes::Four), (Backend::Jit, Lanes::Eight)].map(
        |(backend, lanes)| {
            let mut unit = unit.clone();
            unit.set_backend(backend);
            unit.set_lanes(lanes);
            draw(&mut unit, &engine, memory, is_indexed).expect("the draw runs")
        },
    );
    assert!(drawn.iter().all(|triangles| *triangles == drawn[0]));
    let corners = drawn[0].indices.iter().flatten();
    let vertex = |&index: &u32| drawn[0].vertex(index).expect("indices name vertices").slots;
    corners.map(vertex).map(|slots| SLOTS.map(|places| places.map(|place| slots[place]))).collect()
}

/// Three 16-bit numbers, four bytes, four bytes of nothing, two floats: 24 bytes a row, in one buffer 32 bytes behind
/// [`BASE`]. The fourth attribute is fixed.
const INTERLEAVED: &[(u16, u32)] = &[
    (0x201, 0x0000_07da),
    (0x202, 0x3008_0000),
    (0x203, 32),
    (0x204, 0x0000_2c10),
    (0x205, 0x4018_0000),
    // w = 0.5, z = 2, y = -1, x = 1, of 24 bits each.
    (0x232, 3),
    (0x233, 0x3e00_0040),
    (0x234, 0x0000_bf00),
    (0x235, 0x003f_0000),
];
const FIXED: [f32; 4] = [1.0, -1.0, 2.0, 0.5];

/// Rows of that kind, and what vertex `n` of them reads.
fn interleaved(vertices: usize) -> (Vec<u8>, impl Fn(usize) -> [[f32; 4]; 4]) {
    let numbers = |n: usize| [i16::MIN + n as i16, i16::MAX - n as i16, -(n as i16)];
    let bytes = |n: usize| [n as u8, 255 - n as u8, 128, 3 * n as u8];
    let floats = |n: usize| [n as f32 / 4.0, -1.5];
    let mut memory = vec![0xaa; 32];
    for n in 0..vertices {
        memory.extend(numbers(n).iter().flat_map(|number| number.to_le_bytes()));
        memory.extend(bytes(n));
        // To a multiple of 4, and the component that holds nothing.
        memory.extend([0xbb; 6]);
        memory.extend(floats(n).iter().flat_map(|float| float.to_le_bytes()));
    }
    let vertex = move |n: usize| {
        let ([a, b, c], [x, y]) = (numbers(n).map(f32::from), floats(n));
        [[a, b, c, 1.0], bytes(n).map(f32::from), [x, y, 0.0, 1.0], FIXED]
    };
    (memory, vertex)
}

#[test]
fn interleaved_attributes_and_a_fixed_one() {
    let (memory, vertex) = interleaved(30);
    let mut unit = unit(INTERLEAVED);
    unit.write_register(0x228, 21);
    assert_eq!(corners(&unit, &memory, false), (0..21).map(&vertex).collect::<Vec<_>>());
    // From vertex 9 on, which are all that are left.
    unit.write_register(0x22a, 9);
    assert_eq!(corners(&unit, &memory, false), (9..30).map(&vertex).collect::<Vec<_>>());
    unit.write_register(0x228, 0);
    assert!(corners(&unit, &[], false).is_empty());
}

#[test]
fn the_permutation_says_which_register_an_attribute_goes_to() {
    let (memory, vertex) = interleaved(3);
    let mut unit = unit(INTERLEAVED);
    unit.write_register(0x228, 3);
    // Attributes 0 to 3 to v2, v0, v3, v1.
    unit.write_register(0x2bb, 0x1302);
    unit.write_register(0x2bc, 0);
    let permuted = |n: usize| {
        let [a, b, c, d] = vertex(n);
        [b, d, a, c]
    };
    assert_eq!(corners(&unit, &memory, false), (0..3).map(permuted).collect::<Vec<_>>());
    // A vertex has two attributes: the other registers read zero.
    unit.write_register(0x202, 0x1000_0000);
    let two = |n: usize| [vertex(n)[1], [0.0; 4], vertex(n)[0], [0.0; 4]];
    assert_eq!(corners(&unit, &memory, false), (0..3).map(two).collect::<Vec<_>>());
}

#[test]
fn indices_of_both_sizes_ask_for_what_they_name_only() {
    let (mut memory, vertex) = interleaved(30);
    let indices = [17u8, 25, 19, 19, 25, 22, 17, 22, 29];
    let bytes_at = memory.len();
    memory.extend(indices);
    let shorts_at = memory.len();
    memory.extend(indices.iter().flat_map(|&index| u16::from(index).to_le_bytes()));
    let expected: Vec<_> = indices.iter().map(|&index| vertex(index.into())).collect();
    for (config, start, length) in [(bytes_at, bytes_at, 9), (shorts_at | 1 << 31, shorts_at, 18)] {
        let mut unit = unit(INTERLEAVED);
        unit.write_register(0x227, config as u32);
        unit.write_register(0x228, 9);
        // Draws by indices do not look at the first vertex.
        unit.write_register(0x22a, 1000);
        assert_eq!(corners(&unit, &memory, true), expected);
        let asked = RefCell::new(Vec::new());
        let ask = |address: u32, length: usize| {
            asked.borrow_mut().push((address - BASE, length));
            at(&memory, address, length)
        };
        unit.draw_elements(&engine(), ask).expect("the draw runs");
        assert_eq!(asked.into_inner(), [(start as u32, length), (32 + 17 * 24, 12 * 24 + 24)]);
    }
}

#[test]
fn every_format_at_its_alignment() {
    // Behind one byte of attribute 0, attribute 1 lies at a multiple of its components' size.
    for format in 0..16u32 {
        let (kind, components) = (format & 3, (format >> 2) as usize + 1);
        let size = [1, 1, 2, 4][kind as usize];
        let row = (size + size * components).next_multiple_of(size);
        let stored: Vec<[f32; 4]> = (0..6)
            .map(|n| match kind {
                0 => [-128, n - 3, 127, -1].map(|number: i8| f32::from(number)),
                1 => [255, n as u8, 128, 127].map(f32::from),
                2 => [i16::MIN, i16::from(n), i16::MAX, -2].map(f32::from),
                _ => [f32::from(n) / 8.0, -0.0, f32::MAX, f32::INFINITY],
            })
            .collect();
        let mut memory = Vec::new();
        for vertex in &stored {
            let mut bytes = vec![7];
            bytes.resize(size, 0xcc);
            for &value in &vertex[..components] {
                match kind {
                    0 => bytes.push(value as i8 as u8),
                    1 => bytes.push(value as u8),
                    2 => bytes.extend((value as i16).to_le_bytes()),
                    _ => bytes.extend(value.to_le_bytes()),
                }
            }
            assert_eq!(bytes.len(), row);
            memory.extend(bytes);
        }
        // The loader is the last one.
        let unit = unit(&[
            (0x201, 1 | format << 4),
            (0x202, 0x1000_0000),
            (0x224, 0),
            (0x225, 0x10),
            (0x226, 2 << 28 | (row as u32) << 16),
            (0x228, 6),
        ]);
        let expected: Vec<_> = stored
            .iter()
            .map(|vertex| {
                let mut read = [0.0, 0.0, 0.0, 1.0];
                read[..components].copy_from_slice(&vertex[..components]);
                [[7.0, 0.0, 0.0, 1.0], read]
            })
            .collect();
        let found: Vec<_> = corners(&unit, &memory, false).iter().map(|&[a, b, ..]| [a, b]).collect();
        assert_eq!(found, expected, "format {format}");
    }
}

#[test]
fn separate_loaders_and_the_gap_of_each_size() {
    // Loader 0 has attribute 2, loader 1 attributes 0 and 1 with 4, 8, 12 and 16 bytes of nothing between them.
    for (gap, code) in [4, 8, 12, 16].into_iter().zip(0xcu32..) {
        let stride = 2 + 2 + gap + 1;
        let mut memory = vec![0; 3 * 4 + 3 * stride];
        for n in 0..3u8 {
            memory[4 * usize::from(n)..][..4].copy_from_slice(&(f32::from(n) / 2.0).to_le_bytes());
            let row = &mut memory[12 + usize::from(n) * stride..][..stride];
            row[..2].copy_from_slice(&(-300 * i16::from(n)).to_le_bytes());
            row[4 + gap] = 200 + n;
        }
        let unit = unit(&[
            (0x201, 0x0000_0312),
            (0x202, 0x2000_0000),
            (0x203, 0),
            (0x204, 2),
            (0x205, 1 << 28 | 4 << 16),
            (0x206, 12),
            (0x207, 0x100 | code << 4),
            (0x208, 3 << 28 | (stride as u32) << 16),
            (0x228, 3),
        ]);
        let vertex = |n: u8| {
            let number = f32::from(n);
            [[-300.0 * number, 0.0, 0.0, 1.0], [200.0 + number, 0.0, 0.0, 1.0], [number / 2.0, 0.0, 0.0, 1.0], [0.0; 4]]
        };
        assert_eq!(corners(&unit, &memory, false), (0..3).map(vertex).collect::<Vec<_>>());
    }
}

#[test]
fn memory_that_is_not_there_is_named() {
    let (memory, _) = interleaved(30);
    let engine = engine();
    let short = |unit: &mut Unit, is_indexed: bool| match draw(unit, &engine, &memory, is_indexed) {
        Err(Error::Call(CallError::ShortBuffer { what, needed, available: 0 })) => (what, needed),
        other => panic!("{other:?}"),
    };
    let mut one_more = unit(INTERLEAVED);
    one_more.write_register(0x228, 31);
    assert_eq!(short(&mut one_more, false), ("attribute buffer 0 at 0x18000020".to_string(), 31 * 24));
    // The twelfth loader lies before the memory, and past the last address.
    for (location, address) in [(0, "0x0"), (0xffff_ffff, "0xfffffff0")] {
        let mut elsewhere = unit(&[(0x225, 0), (0x226, 1 << 28), (0x228, 3), (0x200, location)]);
        assert_eq!(short(&mut elsewhere, false), (format!("attribute buffer 11 at {address}"), 1));
    }
    let mut past = unit(INTERLEAVED);
    past.write_register(0x200, 0xffff_ffff);
    past.write_register(0x228, 1);
    assert_eq!(short(&mut past, false), ("attribute buffer 0 at 0x100000010".to_string(), 24));
    let mut indexed = unit(INTERLEAVED);
    indexed.write_register(0x227, 1 << 31 | 0xfff_ffff);
    indexed.write_register(0x228, 3);
    assert_eq!(short(&mut indexed, true), ("index buffer at 0x27ffffff".to_string(), 6));
    // Of a draw that nobody can mean no memory is asked for.
    for is_indexed in [false, true] {
        indexed.write_register(0x228, u32::MAX);
        assert!(matches!(draw(&mut indexed, &engine, &memory, is_indexed), Err(Error::Call(CallError::Invalid(_)))));
    }
}

#[test]
fn fixed_attributes_follow_one_another_and_vertices_are_not_for_the_unit() {
    let mut unit = unit(&[(0x202, 0x3000_0000), (0x228, 3), (0x232, 0)]);
    for _ in 0..4 {
        for word in [0x3e00_0040, 0x0000_bf00, 0x003f_0000] {
            assert!(unit.write_register(0x235, word));
        }
    }
    assert_eq!(corners(&unit, &[], false), [[FIXED; 4]; 3]);
    for index in [0xf, 0xf] {
        assert!(!unit.write_register(0x232, index));
        assert!(!unit.write_register(0x233, 0));
    }
    // There is no such attribute: what is written is lost.
    assert!(unit.write_register(0x232, 0xffff_ff7f));
    assert!([0x233, 0x234, 0x235].iter().all(|&register| unit.write_register(register, u32::MAX)));
    assert_eq!(corners(&unit, &[], false), [[FIXED; 4]; 3]);
}

#[test]
fn wild_registers_are_errors_at_most() {
    let engine = engine();
    let memory: Vec<u8> = (0..1 << 16).map(|at: u32| ((at * 89) >> 3) as u8).collect();
    let mut state = 1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let (mut drawn, mut refused) = (0, 0);
    for _ in 0..600 {
        let mut unit = unit(&[]);
        unit.set_backend(Backend::Interpreter);
        for register in (0x201..0x236).filter(|&register| register != 0x227) {
            // Few bits, so that some of it lies in memory.
            let mask = if random() & 1 == 0 { u32::MAX } else { 0xf00f_00ff };
            let value = random() & random() & mask;
            unit.write_register(register, value);
        }
        unit.write_register(0x227, random() & 0x8000_ffff);
        unit.write_register(0x228, random() % 9);
        unit.write_register(0x22a, random() >> (random() % 32));
        let geometry = random() % 8 == 0;
        unit.write_register(0x229, if geometry { 2 } else { 0 });
        unit.write_register(0x252, random() & 3);
        match draw(&mut unit, &engine, &memory, random() & 1 == 0) {
            Ok(_) => drawn += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(drawn > 50 && refused > 50, "{drawn} drawn, {refused} refused");
}
