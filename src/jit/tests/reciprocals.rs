//! Reciprocals, which wide code makes without dividing: of every mantissa.

use super::{
    Batch, Case, CodegenOptions, EDGES, InputStream, OutputBuffer, OutputElement, Scratch, Target, UniformRows,
};
use super::{check, compile, lockstep, textures, words};
use shaderjit_ir::{Function, FunctionBuilder, Type};

/// `1 / x` of four words.
fn reciprocals() -> Function {
    let mut b = FunctionBuilder::new("reciprocals", 1, 1);
    let one = b.f32(1.0);
    for component in 0..4 {
        let x = b.input(Type::F32, 0, component);
        let reciprocal = b.fdiv([one, x]);
        b.output(0, component, reciprocal);
    }
    b.ret();
    lockstep(b)
}

/// Other numbers among them, so that some waves divide and some do not.
#[test]
fn edges() {
    let mut rows: Vec<[u32; 4]> = EDGES.iter().map(|&edge| [edge, 0x4120_0000, edge, 0x3f80_0001]).collect();
    // Around all powers of two: what has all bits set, and the largest numbers, whose reciprocals are denormal.
    rows.extend(
        (0..512u32).map(|exponent| (exponent << 23).wrapping_sub(2)).map(|x| [0, 1, 2, 3].map(|n| x.wrapping_add(n))),
    );
    rows.extend((0x7e00_0000..0x7f80_0000u32).step_by(0x1235).map(|x| [x, x + 1, x | 1 << 31, 0x80_0000 | x & 0xffff]));
    check(&reciprocals(), &[Case::new(rows.clone()), Case::new(rows.into_iter().skip(1).step_by(16).collect())]);
}

#[test]
fn every_mantissa() {
    let func = reciprocals();
    let host = Target::host().unwrap();
    for target in host.clone().otherwise().into_iter().chain([host]) {
        every_mantissa_on(&func, &target);
    }
}

fn every_mantissa_on(func: &Function, target: &Target) {
    let lanes = target.lanes().max().unwrap();
    let code = compile(func, &words(func), target, &CodegenOptions { lanes, vectors: 1 }).unwrap();
    // Of one exponent: with others all steps are the same but for powers of two.
    let mut scratch = Scratch::default();
    for first in (0x3f80_0000..0x4000_0000u32).step_by(1 << 18) {
        let numbers: Vec<u32> = (first..first + (1 << 18)).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let count = numbers.len() as u32 / 4;
        let mut out = vec![0; bytes.len()];
        let batch = Batch {
            inputs: &[InputStream { bytes: &bytes, stride: 16 }],
            uniforms: &[] as &[UniformRows],
            resources: &[],
            textures: &textures::Mixed,
            count,
            first_vertex: 0,
            instance: 0,
            fuel: 100_000.into(),
        };
        let elements = [OutputElement { offset: 0, stride: 16 }];
        code.run(&batch, &mut OutputBuffer { bytes: &mut out, elements: &elements }, &mut scratch).unwrap();
        for (number, found) in numbers.into_iter().zip(out.as_chunks::<4>().0) {
            let expected = 1.0 / f32::from_bits(number);
            assert_eq!(f32::from_le_bytes(*found), expected, "of {number:#x} with {lanes} lanes");
        }
    }
}
