//! A 3DS emulator's draw loop: a command list is register writes, some of which draw what the game has in memory.
//!
//! `cargo run --example emulator`

use shaderjit::container::Shbin;
use shaderjit::pica::{OutputMap, Triangles, Unit};
use shaderjit::{Config, Engine, Error};

/// The physical address of the game's memory: three vertices of 14 bytes, then a byte for each index.
const MEMORY: u32 = 0x1800_0000;

/// Writes a command list's registers and returns what it draws.
fn run(unit: &mut Unit, engine: &Engine, memory: &[u8], commands: &[(u16, u32)]) -> Result<Vec<Triangles>, Error> {
    let at = |address: u32, length| memory.get(address.checked_sub(MEMORY)? as usize..)?.get(..length);
    let mut drawn = Vec::new();
    for &(register, value) in commands {
        match register {
            0x22e => drawn.push(unit.draw_arrays(engine, at)?),
            0x22f => drawn.push(unit.draw_elements(engine, at)?),
            _ => _ = unit.write_register(register, value), // `false` for the rest of the GPU's registers
        }
    }
    Ok(drawn)
}

pub(crate) fn main() -> Result<(), Error> {
    let file = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t01_transform.shbin"));
    let shbin = Shbin::parse(file)?;
    let (program, entry) = (shbin.dvlp()?, shbin.dvle(0)?.expect("a SHBIN has an executable"));
    let (map, mask) = OutputMap::of_table(&entry.outputs);

    // A position of three shorts, a colour of four bytes, a texture coordinate of two shorts.
    let rest = [255, 128, 0, 255, 7, 0, 0xff, 0xff];
    let vertex = |position: [i16; 3]| [&position.map(i16::to_le_bytes).concat(), &rest[..]].concat();
    let mut memory = [[0, 32, 0], [-32, -32, 0], [32, -32, 0]].map(vertex).concat();
    memory.extend([2, 0, 1]);

    // What the game's libraries write: the program, its entry, where attributes go, the outputs.
    let mut commands = vec![(0x2cb, 0)];
    commands.extend(program.code.iter().map(|&word| (0x2cc, word)));
    commands.push((0x2d5, 0));
    commands.extend(program.descriptors.iter().map(|&descriptor| (0x2d6, descriptor)));
    commands.extend([(0x2ba, entry.main), (0x2b9, 2), (0x2bb, 0x210), (0x2bd, mask.into()), (0x04f, 3)]);
    commands.extend((0x050..).zip(map.words()));
    // Its matrix in c0 to c3, w first: numbers come as they are stored, and a position's 32 is to be 0.5.
    const S: f32 = 1.0 / 64.0;
    commands.push((0x2c0, 1 << 31));
    let matrix = [[0.0, 0.0, 0.0, S], [0.0, 0.0, S, 0.0], [0.0, S, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]];
    commands.extend(matrix.as_flattened().iter().map(|element| (0x2c1, element.to_bits())));
    // Three attributes in rows of 14 bytes; three indices behind them; the draw.
    commands.extend([(0x200, MEMORY >> 3), (0x201, 0x6da), (0x202, 0x2000_0000), (0x203, 0)]);
    commands.extend([(0x204, 0x210), (0x205, 0x300e_0000), (0x227, 42), (0x228, 3), (0x22f, 1)]);
    let engine = Engine::new(Config::default())?; // one for the whole emulator: it keeps what it has compiled
    let drawn = run(&mut Unit::new(), &engine, &memory, &commands)?;
    let corners = drawn[0].indices[0].map(|index| drawn[0].vertex(index).expect("indices name vertices"));
    let expected = [[0.5, -0.5, 0.0, 1.0], [0.0, 0.5, 0.0, 1.0], [-0.5, -0.5, 0.0, 1.0]];
    assert_eq!(corners.map(|corner| corner.position()), expected);
    assert_eq!((corners[0].colour(), corners[0].texture_coordinate(0)), ([1.0, 1.0, 0.0, 1.0], [7.0, -1.0]));
    Ok(())
}
