use super::*;
use crate::FunctionBuilder;
use crate::texture::NoTextures;

fn run<const L: usize>(
    func: &Function,
    inputs: &[[Lanes<L>; 4]],
    fuel: u32,
) -> Result<Vec<[Lanes<L>; 4]>, InterpError> {
    let vertex_id = std::array::from_fn(|l| l as u32);
    let bindings = Bindings { inputs, vertex_id, instance_id: 7, uniforms: &[], resources: &[], textures: &NoTextures };
    let mut interpreter = Interpreter::new(func);
    interpreter.run(&bindings, &InterpOptions { fuel: fuel.into(), fused: true }).map(<[_]>::to_vec)
}

/// i = 0; do { i += 1 } while (i < input 0.x); output 0.x = i
fn counting_loop() -> Function {
    let mut b = FunctionBuilder::new("count", 1, 1);
    let i = b.declare_var(Type::I32);
    let bound = b.input(Type::I32, 0, 0);
    let (head, done) = (b.create_block(), b.create_block());
    b.jump(head);
    b.switch_to_block(head);
    let (before, one) = (b.use_var(i), b.i32(1));
    let after = b.iadd([before, one]);
    b.def_var(i, after);
    let again = b.ult([after, bound]);
    b.br_if(again, head, done);
    b.seal_block(head);
    b.seal_block(done);
    b.switch_to_block(done);
    b.output(0, 0, after);
    b.ret();
    b.finish()
}

#[test]
fn a_loop_pays_for_its_body_with_each_edge_backwards() {
    let func = counting_loop();
    let input = [[[5], [0], [0], [0]]];
    // Four times a parameter, two instructions and the branch.
    assert_eq!(run::<1>(&func, &input, 16).map(|out| out[0][0]), Ok([5]));
    assert_eq!(run::<1>(&func, &input, 15), Err(InterpError::Stopped(Stop::Wave)));
}

#[test]
fn lanes_that_disagree_are_reported() {
    let func = counting_loop();
    let input = [[[5, 6], [0; 2], [0; 2], [0; 2]]];
    assert!(matches!(run::<2>(&func, &input, 100), Err(InterpError::Divergent { .. })));
}

#[test]
fn arrays_read_zero_and_drop_writes_past_their_end() {
    let mut b = FunctionBuilder::new("array", 1, 1);
    let array = b.add_array(4, 2);
    let (index, value) = (b.input(Type::I32, 0, 0), b.i32(9));
    b.array_store(array, 1, index, value);
    for component in 0..2 {
        let loaded = b.array_load(Type::I32, array, component, index);
        b.output(0, component, loaded);
    }
    b.ret();
    let func = b.finish();
    let out = run::<3>(&func, &[[[3, 4, u32::MAX], [0; 3], [0; 3], [0; 3]]], 0).unwrap();
    assert_eq!(out[0][0], [0, 0, 0]);
    assert_eq!(out[0][1], [9, 0, 0]);
}

#[test]
fn doubles_are_pairs_of_words() {
    let mut b = FunctionBuilder::new("double", 1, 1);
    let x = b.input(Type::I32, 0, 0);
    let double = b.itod([x]);
    let (low, high) = (b.f64lo([double]), b.f64hi([double]));
    b.output(0, 0, low);
    b.output(0, 1, high);
    b.ret();
    let out = run::<1>(&b.finish(), &[[[-3i32 as u32], [0], [0], [0]]], 0).unwrap();
    let bits = (-3.0f64).to_bits();
    assert_eq!([out[0][0][0], out[0][1][0]], [bits as u32, (bits >> 32) as u32]);
}
