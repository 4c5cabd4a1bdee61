//! Every line of the table, encoded in every way, against iced-x86's decoder.

use super::*;
use crate::jit::x64::table::{Class, Role, Slot};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

/// What EVEX calls an instruction that VEX calls otherwise.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("vpand", "vpandd"),
    ("vpandn", "vpandnd"),
    ("vpor", "vpord"),
    ("vpxor", "vpxord"),
    ("vroundps", "vrndscaleps"),
    ("vroundpd", "vrndscalepd"),
    ("vbroadcastf128", "vbroadcastf32x4"),
    ("vinsertf128", "vinsertf32x4"),
    ("vextractf128", "vextractf32x4"),
];

/// The sizes that an instruction has.
fn sizes(op: Op) -> &'static [Size] {
    let encoding = op.encoding();
    let has_vectors = op.form().iter().any(|slot| slot.class == Class::V);
    match (op, encoding.prefixes) {
        (Op::BroadcastRow | Op::InsertRow | Op::ExtractRow | Op::StoreRow, _) => &[Size::Y, Size::Z],
        (Op::Broadcastsd | Op::Permpd, _) => &[Size::Y, Size::Z],
        (Op::InsertHalf | Op::ExtractHalf | Op::StoreHalf | Op::BroadcastHalf, _) => &[Size::Z],
        (Op::Broadcastss, _) => &[Size::X, Size::Y, Size::Z],
        (Op::Permps, _) => &[Size::Y, Size::Z],
        _ if !has_vectors || encoding.unit != 0 || op == Op::Zero => &[Size::X],
        (_, Prefixes::Vex) => &[Size::X, Size::Y],
        _ => &[Size::X, Size::Y, Size::Z],
    }
}

/// Whether registers 16 to 31 can be encoded.
fn has_high_registers(op: Op) -> bool {
    matches!(op.encoding().prefixes, Prefixes::Either | Prefixes::Evex)
}

/// Addresses of every kind.
fn addresses() -> Vec<Memory> {
    let mut addresses = Vec::new();
    for base in [0, 3, 4, 5, 8, 12, 13, 15] {
        for offset in [0, 4, 64, -128, 127, 128, 8192, -512, 12345, -70000] {
            for index in [None, Some((1, 0)), Some((9, 2)), Some((13, 3))] {
                addresses.push(Memory { base: Base::Register(base), index, offset, broadcast: false });
            }
        }
    }
    addresses.push(Memory { base: Base::Constant(0), index: None, offset: 0, broadcast: false });
    addresses
}

fn decode(inst: &Encoded) -> Instruction {
    let mut encoder = Encoder::default();
    encoder.put(inst);
    let bytes = &encoder.bytes;
    let instruction = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
    assert!(!instruction.is_invalid(), "{inst:?}: {bytes:x?}");
    assert_eq!(instruction.len(), bytes.len(), "{inst:?}: {bytes:x?}");
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let mnemonic = inst.op.mnemonic();
    let is_same = name == mnemonic
        || OTHER_NAMES.contains(&(mnemonic, name.as_str()))
        || matches!(inst.op, Op::Setcc | Op::Cmov | Op::Cmov64) && name.starts_with(mnemonic);
    assert!(is_same, "{inst:?}: {name} is not {mnemonic}");
    instruction
}

fn number_of(register: Register) -> (Class, u8) {
    let class = match () {
        () if register.is_vector_register() => Class::V,
        () if register.is_k() => Class::K,
        () => Class::G,
    };
    (class, register.full_register().number() as u8)
}

fn check(inst: &Encoded, expected: &[(Class, u8)], memory: Option<Memory>) {
    let found = decode(inst);
    let kinds: Vec<OpKind> = found.op_kinds().collect();
    let mut registers: Vec<(Class, u8)> = Vec::new();
    for (operand, &kind) in kinds.iter().enumerate() {
        if kind == OpKind::Register {
            registers.push(number_of(found.op_register(operand as u32)));
        }
    }
    // Two-operand forms that store or compare are written in either order.
    let reversed: Vec<_> = expected.iter().rev().copied().collect();
    let has_result = inst.op.form().first().is_some_and(|slot| slot.role != Role::Use);
    assert!(
        registers == expected || !has_result && registers == reversed,
        "{inst:?}: {registers:?} is not {expected:?}"
    );
    assert_eq!(number_of_mask(found), inst.mask, "{inst:?}");
    let Some(memory) = memory else { return };
    assert!(kinds.contains(&OpKind::Memory), "{inst:?}");
    assert_eq!(found.is_broadcast(), memory.broadcast, "{inst:?}");
    match memory.base {
        Base::Register(base) => {
            assert_eq!(found.memory_base().number() as u8, base, "{inst:?}");
            assert_eq!(found.memory_displacement64() as i32, memory.offset, "{inst:?}");
            let index = (found.memory_index() != Register::None)
                .then(|| (found.memory_index().number() as u8, found.memory_index_scale().ilog2() as u8));
            assert_eq!(index, memory.index, "{inst:?}");
        }
        Base::Constant(_) => assert!(found.is_ip_rel_memory_operand(), "{inst:?}"),
    }
}

fn number_of_mask(instruction: Instruction) -> u8 {
    match instruction.op_mask() {
        Register::None => 0,
        mask => mask.number() as u8,
    }
}

/// The form's operands with these registers, but for that in memory.
fn registers(form: &[Slot], in_memory: bool, number: impl Fn(usize, &Slot) -> u8) -> Vec<(Slot, u8)> {
    let slots = form.iter().filter(|slot| !(in_memory && slot.field == Field::Rm));
    slots.enumerate().map(|(index, slot)| (*slot, number(index, slot))).collect()
}

fn encoded(op: Op, size: Size, operands: &[(Slot, u8)]) -> (Encoded, Vec<(Class, u8)>) {
    let immediate = if op.encoding().immediate > 0 { 1 } else { 4 };
    let mut inst = Encoded { immediate, ..Encoded::new(op, size, 0, Rm::Register(0)) };
    if operands.iter().any(|(slot, _)| slot.field == Field::Immediate) {
        inst.immediate = 0;
    }
    let mut expected = Vec::new();
    for &(slot, number) in operands {
        inst.fields[slot.field as usize] = number;
        if slot.field == Field::Rm {
            inst.rm = Rm::Register(number);
        }
        if slot.field != Field::Nowhere {
            expected.push((slot.class, number));
        }
    }
    if op == Op::Zero {
        expected = vec![expected[0]; 3];
    }
    (inst, expected)
}

#[test]
fn registers_are_where_the_decoder_finds_them() {
    for &op in Op::ALL {
        let form = op.form();
        let is_store = form.iter().any(|slot| slot.field == Field::Rm && slot.class == Class::G)
            && form.iter().any(|slot| slot.class != Class::G)
            && form.iter().all(|slot| slot.role == Role::Use);
        let loads_only = matches!(
            op,
            Op::BroadcastRow | Op::BroadcastHalf | Op::LoadHigh | Op::Movsd | Op::Lea | Op::Ldmxcsr | Op::Gather
        ) || is_store;
        let on_memory =
            matches!(op, Op::Store | Op::Store64 | Op::OrTo | Op::AddTo64 | Op::Prefetch | Op::PrefetchOwned);
        if loads_only || on_memory {
            continue;
        }
        for &size in sizes(op) {
            for base in [0, 1, 6, 9, 14, 17, 22, 29] {
                let number = |index: usize, slot: &Slot| match slot.class {
                    Class::G => (base as usize * 3 + index * 5) as u8 % 16,
                    Class::K => (base + index as u8) % 7 + 1,
                    Class::V if has_high_registers(op) => (base + 7 * index as u8) % 32,
                    Class::V => (base + 7 * index as u8) % 16,
                };
                let (inst, expected) = encoded(op, size, &registers(form, false, number));
                check(&inst, &expected, None);
            }
        }
    }
}

#[test]
fn memory_is_where_the_decoder_finds_it() {
    for &op in Op::ALL {
        let form = op.form();
        let takes_memory = form.iter().any(|slot| slot.field == Field::Rm);
        let never = matches!(
            op,
            // Not of memory: some have no such form, others are not used in it.
            Op::BroadcastWord
                | Op::Movmskps
                | Op::Kand
                | Op::Kandn
                | Op::Kor
                | Op::Kxor
                | Op::Knot
                | Op::Kortest
                | Op::KmovIn
                | Op::KmovOut
                | Op::Kunpck
                | Op::Kshiftr
                | Op::Cvtps2pd
                | Op::Cvtdq2pd
                | Op::Cvtudq2pd
                // Of an address for each lane.
                | Op::Gather
                | Op::Scatter
        );
        if !takes_memory || never || matches!(op, Op::Pslld | Op::Psrld | Op::Psrad | Op::Psrlq) {
            continue;
        }
        for &size in sizes(op) {
            for (count, memory) in addresses().into_iter().enumerate() {
                let base = (count % 32) as u8;
                let number = |index: usize, slot: &Slot| match slot.class {
                    Class::G => (base + 5 * index as u8) % 16,
                    Class::K => (base + index as u8) % 7 + 1,
                    Class::V if has_high_registers(op) => (base + 7 * index as u8) % 32,
                    Class::V => (base + 7 * index as u8) % 16,
                };
                let (mut inst, expected) = encoded(op, size, &registers(form, true, number));
                inst.rm = Rm::Memory(memory);
                check(&inst, &expected, Some(memory));
            }
        }
    }
}

#[test]
fn memory_operands_broadcast_and_masks_are_where_the_decoder_finds_them() {
    let words = [Op::Addps, Op::Fma213, Op::CmppsMask, Op::Pand, Op::Pminud, Op::PcmpudMask, Op::Blendmps];
    let doubles = [Op::Addpd, Op::Fma231pd, Op::CmppdMask, Op::Blendmpd, Op::Permt2d];
    for op in words.into_iter().chain(doubles) {
        for memory in addresses() {
            let memory = Memory { broadcast: true, ..memory };
            let number = |index: usize, slot: &Slot| if slot.class == Class::K { 3 } else { 18 + index as u8 };
            let (mut inst, expected) = encoded(op, Size::Z, &registers(op.form(), true, number));
            inst.rm = Rm::Memory(memory);
            inst.mask = if op.form()[0].class == Class::K { 0 } else { 5 };
            check(&inst, &expected, Some(memory));
        }
    }
}

#[test]
fn vectors_of_offsets_are_where_the_decoder_finds_them() {
    for op in [Op::Gather, Op::Scatter] {
        for (count, data) in (0u8..32).cycle().take(320).enumerate() {
            let [base, index, mask] = [[0, 4, 5, 12, 13][count % 5], (data + 1 + count as u8 % 13) % 32, data % 7 + 1];
            let (mut inst, expected) = encoded(op, Size::Z, &registers(op.form(), true, |_, _| data));
            let offset = [0, 4, -512, 508, 512, 12345][count % 6];
            let memory = Memory { base: Base::Register(base), index: Some((index, 0)), offset, broadcast: false };
            (inst.rm, inst.mask) = (Rm::Memory(memory), mask);
            check(&inst, &expected, Some(memory));
            let found = decode(&inst);
            assert!(found.memory_index().is_zmm() && !found.zeroing_masking(), "{inst:?}");
        }
    }
}

#[test]
fn blends_and_stores_merge_and_other_masked_instructions_zero() {
    for op in [Op::StoreVector, Op::StoreHalf, Op::StoreRow] {
        let (mut store, _) = encoded(op, Size::Z, &registers(op.form(), true, |index, _| index as u8));
        store.rm = Rm::Memory(addresses().into_iter().next().expect("there are addresses"));
        store.mask = 1;
        assert!(!decode(&store).zeroing_masking(), "{op:?}");
    }
    for (op, zeroes) in [(Op::Movups, true), (Op::Broadcastss, true), (Op::Blendmps, false), (Op::Blendmpd, false)] {
        let (mut inst, _) = encoded(op, Size::Z, &registers(op.form(), false, |index, _| index as u8));
        inst.mask = 1;
        assert_eq!(decode(&inst).zeroing_masking(), zeroes, "{op:?}");
    }
}

#[test]
fn what_has_no_line_is_what_it_says() {
    let mut encoder = Encoder::default();
    for register in [3, 12] {
        encoder.push(register);
        encoder.pop(register);
    }
    encoder.mov_address(11, 0x1234_5678_9abc_def0);
    encoder.call(0);
    encoder.vzeroupper();
    encoder.branch(Some(Condition::Below), 0x100);
    encoder.branch(None, -5);
    encoder.short_branch(Some(Condition::Sign), -2);
    encoder.short_branch(None, 7);
    encoder.ret();
    let instructions = Decoder::with_ip(64, &encoder.bytes, 0, DecoderOptions::NONE).into_iter();
    let names: Vec<String> =
        instructions.map(|instruction| format!("{:?}", instruction.mnemonic()).to_lowercase()).collect();
    let expected = ["push", "pop", "push", "pop", "mov", "call", "vzeroupper", "jb", "jmp", "js", "jmp", "ret"];
    assert_eq!(names, expected);
}
