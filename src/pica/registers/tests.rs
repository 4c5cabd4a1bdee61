use super::*;
use crate::frontend::StateRow;
use crate::frontend::pica::opcode::{Field, Opcode};
use crate::frontend::pica::testing::word;

/// Writes a value to each register of the blocks that has one of its own, and its port's words.
fn write_all(unit: &mut Unit, block: u16) {
    let write = |unit: &mut Unit, offset: u16, value: u32| assert!(unit.write_register(block + offset, value));
    write(unit, 0x00, 0x7fff_8001);
    for int in 0..4 {
        write(unit, 0x01 + int, 0x0403_0200 + u32::from(int));
    }
    write(unit, 0x09, 0xa000_0002);
    write(unit, 0x0a, 0x7fff_0123);
    write(unit, 0x0b, 0x7654_3201);
    write(unit, 0x0c, 0xfedc_ba89);
    write(unit, 0x0d, 0b101);
    write(unit, 0x10, 7);
    // c7 = 1, 1, 1, 1, by way of several data registers.
    for (offset, value) in [(0x11, 0x3f00_003f), (0x14, 0x0000_3f00), (0x18, 0x003f_0000)] {
        write(unit, offset, value);
    }
    write(unit, 0x1b, 0xff0);
    for value in 0..0x12 {
        write(unit, 0x1c + value as u16 % 8, 0x100 + value);
    }
    write(unit, 0x25, 126);
    for value in 0..4 {
        write(unit, 0x26 + value as u16, 0x200 + value);
    }
    write(unit, 0x0f, 1);
    assert!(!unit.write_register(block + 0x2e, 1));
}

/// Whether a shader has what [`write_all`] writes to registers that are shared.
fn has_shared(setup: &ShaderSetup) -> bool {
    setup.uniforms().bools == 0x8001
        && setup.uniforms().ints == [0, 1, 2, 3].map(|x| [x, 2, 3, 4])
        && setup.uniforms().floats[7] == [1.0; 4]
        && setup.words()[0xfef..0xff2] == [0, 0x100, 0x101]
        && setup.words()[0xfff] == 0x10f
        && setup.descriptors()[125..] == [0, 0x200, 0x201]
        && setup.output_mask() == 0b101
}

/// Those that are not shared.
fn has_own(setup: &ShaderSetup) -> bool {
    (setup.attributes(), setup.entry(), setup.permutation()) == (3, 0x123, 0xfedc_ba89_7654_3201)
}

#[test]
fn every_register_of_a_block_arrives() {
    let mut unit = Unit::new();
    write_all(&mut unit, GEOMETRY_BLOCK);
    assert!(has_shared(unit.geometry()) && has_own(unit.geometry()));
    assert!(!has_shared(unit.vertex()) && !has_own(unit.vertex()));
    assert_eq!(unit.geometry().words()[0], 0, "nothing wraps");
}

#[test]
fn the_vertex_shader_shares_unless_there_is_a_geometry_shader() {
    let mut unit = Unit::new();
    write_all(&mut unit, VERTEX_BLOCK);
    assert!(has_shared(unit.vertex()) && has_own(unit.vertex()));
    assert!(has_shared(unit.geometry()) && !has_own(unit.geometry()));

    for (register, value) in [(GEOSTAGE_CONFIG, 2), (VSH_COM_MODE, 1)] {
        let mut unit = Unit::new();
        unit.write_register(register, value);
        write_all(&mut unit, VERTEX_BLOCK);
        assert!(has_shared(unit.vertex()) && !has_shared(unit.geometry()), "{register:#x}");
    }
}

#[test]
fn registers_past_the_last_of_their_kind_do_not_exist() {
    let mut unit = Unit::new();
    // 96 and on: no float uniform.
    unit.write_register(0x2c0, 1 << 31 | 95);
    (0..8).for_each(|_| assert!(unit.write_register(0x2c1, 1.0f32.to_bits())));
    assert_eq!(unit.vertex().uniforms().floats[95], [1.0; 4]);
    unit.write_register(0x2d5, 0xffff_ffff);
    (0..200).for_each(|_| assert!(unit.write_register(0x2d6, 7)));
    assert!(unit.vertex().descriptors().iter().all(|&descriptor| descriptor == 0));
    for register in [0x04e, 0x057, 0x1ff, 0x22b, 0x22e, 0x22f, 0x2e0, 0xffff] {
        assert!(!unit.write_register(register, 1), "{register:#x}");
    }
}

#[test]
fn a_write_of_bools_forgets_that_an_invocation_ended() {
    let mut unit = Unit::new();
    for (register, forgets) in [(0x280, true), (0x2b0, true), (0x281, false)] {
        unit.geometry_state_mut().set_ran(true);
        unit.write_register(register, 0);
        assert_eq!(unit.geometry_state().ran(), !forgets, "{register:#x}");
    }
    unit.write_register(VSH_COM_MODE, 1);
    unit.geometry_state_mut().set_ran(true);
    unit.write_register(0x2b0, 0);
    assert!(unit.geometry_state().ran());
    let mut state = unit.geometry_state().clone();
    *state.row_mut(StateRow::Temporary(15)).unwrap() = [7; 4];
    *unit.geometry_state_mut() = state.clone();
    assert_eq!(unit.geometry_state(), &state);
}

#[test]
fn modes_are_their_registers() {
    let mut unit = Unit::new();
    let modes = [
        InputMode::Point,
        InputMode::Variable { full_vertices: 12 },
        InputMode::Fixed { first: 95, vertices: 16, attributes: 1 },
    ];
    for mode in modes {
        unit.set_geometry(Some(mode));
        assert_eq!((unit.runs_geometry(), unit.input_mode()), (true, Some(mode)));
    }
    unit.write_register(GSH_MISC0, 0x0112_3402);
    assert_eq!(unit.input_mode(), Some(InputMode::Fixed { first: 0x12, vertices: 5, attributes: 4 }));
    unit.write_register(GSH_MISC0, 3);
    assert_eq!(unit.input_mode(), None);
    unit.set_geometry(None);
    assert!(!unit.runs_geometry());
    unit.set_topology(Topology::Fan);
    assert_eq!(unit.topology(), Topology::Fan);
    unit.write_register(PRIMITIVE_CONFIG, 0x0301);
    assert_eq!(unit.topology(), Topology::Geometry);
    for (attribute, register) in (0x50..0x57).enumerate() {
        unit.write_register(register, 0x1f1f_1f00 + attribute as u32);
    }
    unit.write_register(OUTMAP_TOTAL, 0xffff_fff7);
    let slots = unit.output_map().rasterizer_slots(0x7f);
    assert!((0..7).all(|slot| slots.sources[usize::from(slot)] == Some((slot, 0))));
}

#[test]
fn executables_of_the_wrong_kind_are_refused() {
    let bytes = include_bytes!("../../../tests/data/pica/t31_geo_point.shbin");
    let shbin = Shbin::parse(bytes).unwrap();
    let mut unit = Unit::new();
    assert!(unit.bind(&shbin, 1, None).unwrap_err().to_string().starts_with("executable 1 is no Vertex shader"));
    assert!(unit.bind(&shbin, 0, Some(0)).is_err());
    assert_eq!(unit.bind(&shbin, 2, None), Err(Error::UnknownEntry { entry: 2, count: 2 }));
    unit.bind(&shbin, 0, Some(1)).unwrap();
    assert_eq!(
        (unit.vertex().output_mask(), unit.input_mode(), unit.topology()),
        (3, Some(InputMode::Point), Topology::Geometry)
    );
    let end = word(Opcode::End, &[]);
    assert_eq!(unit.geometry().words().iter().filter(|&&word| word == end).count(), 2);
    assert!(unit.vertex().descriptors()[0] != 0);
    assert_eq!(word(Opcode::Setemit, &[(Field::Vertex, 2)]), 0xae00_0000);
}
