use super::*;
use crate::entity::{Array, Resource, Sampler, Space};
use crate::function::{ArrayData, Imm, Picks, ResourceData, SamplerData, SpaceData, Terminator};
use crate::memory::{AtomicFunction, MemoryKind, is_memory_op};
use crate::op::{ImmKind, Op, SysVal, TypeRule};
use crate::texture::{TextureShape, is_texture_op};
use crate::verify::verify;

/// Round trip: the text of `func` reads back as an equal function, which is valid if `func` is.
fn assert_reads_back(func: &Function) {
    let text = func.to_string();
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.to_string(), text);
    assert_eq!(verify(&again).is_ok(), verify(func).is_ok(), "{text}");
}

#[test]
fn every_op_of_every_type_reads_back() {
    for &op in Op::ALL {
        let types: Vec<Type> = match op.is_typed() {
            true => {
                let sets = || op.operands().iter().copied().chain([op.result()]).filter(|rule| rule.is_set());
                Type::ALL.into_iter().filter(|&ty| sets().all(|rule| rule.allows(ty))).collect()
            }
            false if op.is_by_row() => vec![op.untyped(), Type::Row],
            false => vec![op.untyped()],
        };
        assert!(!types.is_empty(), "{op} has no type");
        for ty in types {
            let mut func = Function::new("op");
            (func.inputs, func.outputs) = (3, 3);
            func.lockstep = op.is_of_lockstep();
            func.spaces.push(SpaceData { name: "cb0".to_string(), table: None });
            // A shape that the op can access.
            let fits = |shape: &TextureShape| is_texture_op(op) && shape.objection(op, [0; 3]).is_none();
            let shape = [TextureShape::D2, TextureShape::D2Ms].into_iter().find(fits);
            let kinds = [MemoryKind::Buffer, MemoryKind::Texels];
            let memory = kinds.into_iter().find(|kind| is_memory_op(op) && kind.objection(op).is_none());
            func.resources.push(ResourceData { name: "t0".to_string(), texture: shape, memory });
            func.samplers.push(SamplerData { name: "s0".to_string() });
            func.arrays.push(ArrayData { elements: 2, components: 2, kept: false });
            let block = func.add_block();
            let mut args = Vec::new();
            for rule in op.operands() {
                let ty = rule.of_inst(ty).expect("operands have types");
                let word = if ty == Type::Row { Type::F32 } else { ty };
                let mut inst = func.make_inst(Op::Const, word, &[], Imm::Bits(1));
                func.blocks[block].insts.push(inst);
                if let (Type::Row, Some(word)) = (ty, func.insts[inst].result) {
                    inst = func.make_inst(Op::RowJoin, Type::F32, &[word; 4], Imm::None);
                    func.blocks[block].insts.push(inst);
                }
                args.extend(func.insts[inst].result);
            }
            let (texture, sampler, offsets) = (Resource::from_u32(0), Sampler::from_u32(0), [1, 0, -8]);
            let imm = match op.imm() {
                ImmKind::None => Imm::None,
                ImmKind::Bits => Imm::Bits(1),
                ImmKind::Element => Imm::Element { element: 2, component: 3 },
                ImmKind::Stream => Imm::Stream(2),
                ImmKind::Slot => Imm::Slot(7),
                ImmKind::Worklist => Imm::Worklist(3),
                ImmKind::Nested => Imm::Nested { worklist: 1, outer: (op as usize).is_multiple_of(2).then_some(0) },
                ImmKind::SpaceRow => Imm::SpaceRow { space: Space::from_u32(0), row: u32::MAX },
                ImmKind::SysVal => Imm::SysVal(SysVal::InstanceId),
                ImmKind::Row => Imm::Row { space: Space::from_u32(0), row: u32::MAX, component: 3 },
                ImmKind::ResourceByte => Imm::ResourceByte { resource: Resource::from_u32(0), offset: u32::MAX },
                ImmKind::Resource => Imm::Resource(Resource::from_u32(0)),
                ImmKind::Array => Imm::Array { array: Array::from_u32(0), component: 1 },
                ImmKind::Component => Imm::Component(3),
                ImmKind::Texel => Imm::Texel { texture, offsets },
                ImmKind::Sample => Imm::Sample { texture, sampler, offsets: [0; 3] },
                ImmKind::Gather => Imm::Gather { texture, sampler, offsets, component: 2 },
                ImmKind::Picks => Imm::Picks(Picks::new(std::array::from_fn(|lane| 31 - lane as u8))),
                ImmKind::Atomic => Imm::Atomic { resource: texture, function: AtomicFunction::Smax },
            };
            let inst = func.make_inst(op, ty, &args, imm);
            func.blocks[block].insts.push(inst);
            assert_eq!(func.insts[inst].result.is_some(), op.result() != TypeRule::Nothing);
            func.blocks[block].terminator = Some(Terminator::Return);
            assert_eq!(verify(&func), Ok(()));
            assert_reads_back(&func);
        }
    }
}

#[test]
fn every_literal_reads_back_to_the_same_bits() {
    let mut func = Function::new("literals");
    let block = func.add_block();
    let words = [
        0u32,
        1,
        0xffff,
        0x1_0000,
        0x7f_ffff,
        0x80_0000,
        0x3dcc_cccd,
        0x4b80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0001,
    ];
    for word in words.into_iter().flat_map(|word| [word, word ^ 0x8000_0000, word.wrapping_neg()]) {
        let bits = u64::from(word);
        let literals = [
            (Type::I1, bits & 1),
            (Type::I32, bits),
            (Type::F32, bits),
            (Type::F64, bits << 32 | bits),
            (Type::F64, f64::from(f32::from_bits(word)).to_bits()),
            (Type::F64, f64::from(word).to_bits()),
        ];
        for (ty, bits) in literals {
            let inst = func.make_inst(Op::Const, ty, &[], Imm::Bits(bits));
            func.blocks[block].insts.push(inst);
        }
    }
    func.blocks[block].terminator = Some(Terminator::Return);
    let again = parse(&func.to_string()).unwrap();
    for (inst, data) in &func.insts {
        assert_eq!(again.insts[inst].imm, data.imm, "{}", crate::print::inst_to_string(&func, inst));
    }
}

#[test]
fn names_of_any_characters_read_back() {
    for name in ["", "main", "a \"b\" 'c' \\", "\n\r\t\0\u{1}\u{301}", "シェーダ🎮", "; no comment"] {
        let mut func = Function::new(name);
        let table = Some(vec![[0, 1, 2, u32::MAX]]);
        func.spaces.push(SpaceData { name: name.to_string(), table });
        func.spaces.push(SpaceData { name: name.to_string(), table: Some(Vec::new()) });
        func.add_block();
        let again = parse(&func.to_string()).unwrap();
        assert_eq!((&again.name, &again.spaces), (&func.name, &func.spaces));
    }
}

const EVERYTHING: &str = r#"; all there is
function "f" inputs 1 outputs 1 lockstep {
    space0 "cb0" space1 "icb" = [{0x1, 2, -3, 0x4}, {0, 0, 0, 0}]
    array0 [4 x 2]
block7: ; numbers need not be dense
    v3 = const.i1 true v1 = const.f32 -0.5
    br_if v3, block2(v1, v9), block1
block2(v10: f32, v11: i32):
    switch v11 { 1: block1, -1: block2(v10, v11), default: block1 }
block1:
    v9 = uniform_load_at.i32 space1[1].2, v5
    v5 = sysval instance_id
    array_store.i32 array0.1, v5, v9
    return
}"#;

#[test]
fn numbers_order_and_layout_of_the_text_are_free() {
    let func = parse(EVERYTHING).unwrap();
    assert!(func.lockstep);
    assert_reads_back(&func);
    assert_eq!(parse_module(&format!("{EVERYTHING}\n{EVERYTHING}\n;")).unwrap(), [func.clone(), func]);
}

#[test]
fn errors_say_where() {
    let cases = [
        ("", "expected `function`, found the end of the text (at line 1, column 1)"),
        ("return }", "an instruction before the first block (at line 2, column 1)"),
        ("block0: return return }", "the block has its terminator already (at line 2, column 16)"),
        ("block0: return", "expected an instruction, a block or `}`, found the end of the text (at line 2, column 15)"),
        ("block0: jump block1 }", "block1 is not defined (at line 2, column 14)"),
        ("block0: v0 = iadd v1, v2 }", "v1 is not defined (at line 2, column 19)"),
        ("block0: v0 = const.i32 1\nv0 = const.i32 1 }", "v0 is defined twice (at line 3, column 1)"),
        ("block0: return block0: return }", "block0 is defined twice (at line 2, column 16)"),
        ("block0: v0 = frobnicate v1 }", "there is no op `frobnicate` (at line 2, column 14)"),
        ("block0: v0 = const.i8 1 }", "there is no type `i8` (at line 2, column 20)"),
        ("block0: v0 = const.i32 1.5 }", "`1.5` is not a literal of i32 (at line 2, column 24)"),
        ("block0: v0 = const.f32 inf }", "`inf` is not a literal of f32 (at line 2, column 24)"),
        ("block0: v0 = const.f32 1e99 }", "`1e99` is not a literal of f32 (at line 2, column 24)"),
        ("block0: v0 = const.i1 0x2 }", "`0x2` is not a literal of i1 (at line 2, column 23)"),
        ("block0: v0 = sysval colour }", "there is no system value `colour` (at line 2, column 21)"),
        ("block0: iadd v0, v0 }", "the result of iadd has no name (at line 2, column 9)"),
        ("block0: v0 = output.i32 0.0, v0 }", "output has no result (at line 2, column 9)"),
        (
            "block0: v0 = select.i32 v0, v0, v0, v0, v0 }",
            "expected the end of the instruction, found `v0` (at line 2, column 41)",
        ),
        ("space1 \"a\" }", "expected `space0`, found `space1` (at line 2, column 1)"),
        ("space0 \"a\\q\" }", "not an escape of a name (at line 2, column 10)"),
        ("space0 \"a }", "the name has no closing quote (at line 2, column 8)"),
        ("array0 [70000 x 4] }", "the number of elements is over the limit of 65536 (at line 2, column 9)"),
        ("block0: v0 = array_load.i32 array4294967295.0, v0 }", "expected a name like `array0` (at line 2, column 29)"),
        ("block0: return } x", "expected the end of the text, found `x` (at line 2, column 18)"),
    ];
    for (body, message) in cases {
        let head = if body.is_empty() { "" } else { "function \"é\" inputs 1 outputs 1 {\n" };
        assert_eq!(parse(&format!("{head}{body}")).unwrap_err().to_string(), message);
    }
}

#[test]
fn sizes_are_bounded() {
    let text = |body: &str| parse(&format!("function \"f\" inputs 1 outputs 1 {{ {body} }}")).unwrap_err().message;
    assert_eq!(
        parse("function \"f\" inputs 1025").unwrap_err().message,
        "the number of inputs is over the limit of 1024"
    );
    let arrays: String = (0..17).map(|number| format!("array{number} [4096 x 4] ")).collect();
    assert_eq!(text(&arrays), "the arrays are over the limit of 262144 components");
    let blocks: String = (0..=limits::BLOCKS).map(|number| format!("block{number}: return ")).collect();
    assert_eq!(text(&blocks), "the number of blocks is over the limit of 65536");
    let cases: String = (0..=limits::CASES).map(|case| format!("{case}: block0, ")).collect();
    assert_eq!(text(&format!("block0: switch v0 {{ {cases}")), "the number of cases is over the limit of 4096");
    let args = "v0, ".repeat(limits::PARAMS as usize + 1);
    assert_eq!(text(&format!("block0: jump block0({args}")), "the number of values is over the limit of 4096");
}

#[test]
fn damaged_text_never_panics_here_or_in_the_verifier() {
    let check = |text: &str| {
        if let Ok(func) = parse(text) {
            let _ = verify(&func);
            assert_reads_back(&func);
        }
    };
    for end in 0..EVERYTHING.len() {
        check(&EVERYTHING[..end]);
        check(&format!("{}{}", &EVERYTHING[..end], &EVERYTHING[end + 1..]));
    }
    arbtest::arbtest(|u| {
        let mut text = EVERYTHING.as_bytes().to_vec();
        for _ in 0..u.int_in_range(1..=4)? {
            let from = u.choose_index(text.len())?;
            let to = u.choose_index(text.len())?;
            match u.int_in_range(0..=2)? {
                0 => text[from] = text[to],
                1 => text.swap(from, to),
                _ => text[from] = u.int_in_range(b' '..=b'~')?,
            }
        }
        check(std::str::from_utf8(&text).expect("the text is ASCII"));
        Ok(())
    })
    .budget_ms(500);
}
