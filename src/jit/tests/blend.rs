//! Sums of rows that each lane finds for itself.

use super::{Case, Rows, check, lockstep};
use shaderjit_ir::{FunctionBuilder, Op, Space, Type, Value};

/// Indices in range and not, and four weights, for whole waves and a tail.
fn vertices() -> Rows {
    let indices = [0, 5, 1, 9, 2, u32::MAX, 8, 3];
    (0..13).map(|vertex| [0, 1, 2, 3].map(|lane| indices[(vertex * 3 + lane) % 8])).collect()
}

fn weights() -> Rows {
    let weights = [0.0, 1.0, 0.25, -3.5, f32::INFINITY, 1e-40, f32::NAN, 7.0];
    (0..13).map(|vertex| [0, 1, 2, 3].map(|lane| weights[(vertex * 5 + lane) % 8].to_bits())).collect()
}

fn bones() -> Rows {
    (0..9u8)
        .map(|row| [1u8, 2, 3, 4].map(|component| (f32::from(row * 5 + component) * 0.375 - 2.0).to_bits()))
        .collect()
}

struct Skin {
    b: FunctionBuilder,
    space: Space,
    indices: [Value; 4],
    weights: [Value; 4],
}

impl Skin {
    fn new(name: &str) -> Skin {
        let mut b = FunctionBuilder::new(name, 2, 2);
        let space = b.add_space("c", None);
        let indices = [0, 1, 2, 3].map(|component| b.input(Type::I32, 0, component));
        let weights = [0, 1, 2, 3].map(|component| b.input(Type::F32, 1, component));
        Skin { b, space, indices, weights }
    }

    fn bone(&mut self, number: usize, row: u32, component: u8) -> Value {
        self.b.uniform_load_at(Type::F32, self.space, row, component, self.indices[number])
    }

    /// A component of the weighted sum of a row of so many bones.
    fn sum(&mut self, bones: usize, row: u32, component: u8) -> Value {
        let first = self.bone(0, row, component);
        let mut sum = self.b.fmul([self.weights[0], first]);
        for number in 1..bones {
            let bone = self.bone(number, row, component);
            let term = self.b.fmul([self.weights[number], bone]);
            sum = self.b.fadd([term, sum]);
        }
        sum
    }

    fn output(&mut self, element: u32, component: u8, value: Value) {
        self.b.output(element, component, value);
    }

    /// The same results as the interpreter's.
    fn check(mut self) {
        self.b.ret();
        let func = lockstep(self.b);
        let case = |uniforms| Case { inputs: vec![vertices(), weights()], uniforms, ..Case::new(vertices()) };
        check(&func, &[case(vec![bones()]), case(vec![Vec::new()])]);
    }
}

#[test]
fn weighted_sums() {
    for (bones, components) in [(4, 4), (2, 4), (3, 3), (1, 4), (4, 2)] {
        let mut skin = Skin::new("skin");
        // Both rows of each bone are in one window.
        for row in 0..2 {
            for component in 0..components {
                let sum = skin.sum(bones, row + 1, component);
                skin.output(row, component, sum);
            }
        }
        skin.check();
    }
}

/// Two halves under one sum, fused or not, subtracted, the least of; factors that are literals or the same in all
/// lanes.
#[test]
fn trees_of_other_shapes() {
    for root in [Op::Fadd, Op::Fsub, Op::Pmin] {
        let mut skin = Skin::new("tree");
        let (scale, half) = (skin.b.uniform_load(Type::F32, skin.space, 2, 1), skin.b.f32(0.5));
        for component in 0..4 {
            let left = skin.sum(2, 0, component);
            let [a, c] = [2, 3].map(|number| skin.bone(number, 0, component));
            let right = skin.b.op(Op::Fma, &[a, scale, c]);
            let right = skin.b.fmul([half, right]);
            let both = skin.b.op(root, &[left, right]);
            skin.output(0, component, both);
        }
        skin.check();
    }
}

/// A blend ends where a component goes its own way.
#[test]
fn columns_are_used_apart() {
    let mut skin = Skin::new("apart");
    let sums: Vec<Value> = (0..4).map(|component| skin.sum(3, 0, component)).collect();
    let length = skin.b.fmul([sums[0], sums[0]]);
    let length = skin.b.op(Op::Fma, &[sums[1], sums[2], length]);
    skin.output(0, 0, length);
    let negated = skin.b.fneg([sums[3]]);
    skin.output(0, 1, negated);
    skin.check();
}

#[test]
fn rows_that_something_else_needs_are_no_blend() {
    // One bone's component, a component computed in another way, and components that are mixed up.
    let mut skin = Skin::new("shared");
    for component in 0..4 {
        let sum = skin.sum(2, 0, component);
        skin.output(0, component, sum);
    }
    let shared = skin.bone(1, 0, 2);
    skin.output(1, 0, shared);
    skin.check();

    let mut skin = Skin::new("own way");
    for component in 0..4 {
        let [a, c] = [0, 1].map(|number| skin.bone(number, 0, component));
        let sum = if component == 2 { skin.b.fsub([a, c]) } else { skin.b.fadd([a, c]) };
        skin.output(0, component, sum);
    }
    skin.check();

    let mut skin = Skin::new("mixed up");
    for component in 0..4 {
        let (a, c) = (skin.bone(0, 0, component), skin.bone(1, 0, 3 - component));
        let sum = skin.b.fadd([a, c]);
        skin.output(0, component, sum);
    }
    skin.check();

    // Read once and used twice.
    let mut skin = Skin::new("twice");
    for component in 0..4 {
        let rows = [0, 1].map(|number| skin.bone(number, 0, component));
        let (sum, difference) = (skin.b.fadd(rows), skin.b.fsub(rows));
        skin.output(0, component, sum);
        skin.output(1, component, difference);
    }
    skin.check();
}
