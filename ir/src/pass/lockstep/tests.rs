//! Random graphs: lanes together against each lane alone.

use super::*;
use crate::arbitrary::{Config, Data, canonicalize_nans, function};
use crate::entity::Variable;
use crate::interp::{Bindings, InterpError, InterpOptions, Interpreter};
use crate::texture::NoTextures;

const LANES: usize = 8;

/// A small generator of pseudo-random numbers, so that failures name a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

/// Any graph of `blocks` blocks: each mixes registers, some store to an array, and ends in a random way. Registers 0
/// and 1 differ between lanes, 2 and 3 start the same.
fn random_function(random: &mut Random, blocks: u32) -> Function {
    let mut b = FunctionBuilder::new("random", 1, 1);
    let array = b.add_array(4, 1);
    let registers: Vec<Variable> = (0..4).map(|_| b.declare_var(Type::I32)).collect();
    for (index, &register) in registers.iter().enumerate() {
        let value = if index < 2 { b.input(Type::I32, 0, index as u8) } else { b.i32(index as u32) };
        b.def_var(register, value);
    }
    let all: Vec<Block> = (0..blocks).map(|_| b.create_block()).collect();
    b.jump(all[0]);
    for (number, &block) in all.iter().enumerate() {
        b.switch_to_block(block);
        for _ in 0..random.below(3) {
            let [to, a, c] = [(); 3].map(|()| registers[random.below(4) as usize]);
            let (a, c, salt) = (b.use_var(a), b.use_var(c), b.i32((number as u32).wrapping_mul(0x9e37_79b9) + 1));
            let mixed = match random.below(3) {
                0 => b.iadd([a, salt]),
                1 => b.xor([a, c]),
                _ => b.imul([a, salt]),
            };
            b.def_var(to, mixed);
        }
        if random.below(4) == 0 {
            let (index, value) = (b.use_var(registers[2]), b.use_var(registers[0]));
            let three = b.i32(3);
            let index = b.and([index, three]);
            b.array_store(array, 0, index, value);
        }
        if random.below(6) == 0 {
            let value = b.use_var(registers[random.below(4) as usize]);
            b.output(0, 1, value);
        }
        let mut target = || all[random.below(blocks) as usize];
        let (t0, t1, t2) = (target(), target(), target());
        let selector = b.use_var(registers[random.below(4) as usize]);
        match random.below(8) {
            0 => b.jump(t0),
            1..5 => {
                let bit = b.i32(1 << random.below(5));
                let (masked, zero) = (b.and([selector, bit]), b.i32(0));
                let condition = b.ine([masked, zero]);
                b.br_if(condition, t0, t1);
            }
            5 => {
                let three = b.i32(3);
                let selector = b.and([selector, three]);
                b.switch(selector, &[(0, t0), (2, t1)], t2);
            }
            _ => {
                let three = b.i32(3);
                for (component, &register) in registers.iter().enumerate() {
                    let value = b.use_var(register);
                    let index = b.and([value, three]);
                    let loaded = b.array_load(Type::I32, array, 0, index);
                    let mixed = b.iadd([value, loaded]);
                    b.output(0, component as u8, mixed);
                }
                b.ret();
            }
        }
    }
    for &block in &all {
        b.seal_block(block);
    }
    b.finish()
}

type Inputs<const L: usize> = [[u32; L]; 4];

fn run<const L: usize>(func: &Function, inputs: &Inputs<L>, fuel: u32) -> Result<Inputs<L>, InterpError> {
    let bindings = Bindings {
        inputs: &[*inputs],
        vertex_id: [0; L],
        instance_id: 0,
        uniforms: &[],
        resources: &[],
        textures: &NoTextures,
    };
    Interpreter::new(func).run(&bindings, &InterpOptions { fuel: fuel.into(), fused: true }).map(|outputs| outputs[0])
}

fn check(seed: u64, blocks: u32) -> bool {
    let mut random = Random(seed);
    let scalar = random_function(&mut random, blocks);
    let inputs: Inputs<LANES> = std::array::from_fn(|_| std::array::from_fn(|_| random.below(1 << 30)));
    let mut want = [[0; LANES]; 4];
    for lane in 0..LANES {
        let Ok(out) = run::<1>(&scalar, &inputs.map(|component| [component[lane]]), 5_000) else { return false };
        for component in 0..4 {
            want[component][lane] = out[component][0];
        }
    }
    let mut together = scalar.clone();
    if seed.is_multiple_of(2) {
        crate::pass::if_convert(&mut together);
    }
    lockstep(&mut together).unwrap();
    assert_eq!(crate::verify::verify(&together), Ok(()), "seed {seed}\n{scalar}\n{together}");
    let uniform = uniform_values(&together);
    for &block in &together.layout {
        let selector = together.blocks[block].terminator().selector();
        assert!(
            selector.is_none_or(|value| uniform.contains(value)),
            "seed {seed}: divergent branch\n{scalar}\n{together}"
        );
    }
    let got = run::<LANES>(&together, &inputs, 100_000);
    assert_eq!(got, Ok(want), "seed {seed}\n{scalar}\n{together}");
    true
}

#[test]
fn lanes_together_compute_what_each_computes_alone() {
    let mut ran = 0;
    for seed in 0..4000 {
        ran += u32::from(check(seed, 2 + (seed % 12) as u32));
    }
    assert!(ran > 1000, "only {ran} functions ended");
}

/// One quad of four.
fn quad(data: &Data<16>, number: usize) -> Data<4> {
    let of_quad = |lanes: [u32; 16]| std::array::from_fn(|lane| lanes[4 * number + lane]);
    Data {
        inputs: data.inputs.iter().map(|element| element.map(of_quad)).collect(),
        vertex_id: of_quad(data.vertex_id),
        instance_id: data.instance_id,
        uniforms: data.uniforms.clone(),
        resources: data.resources.clone(),
    }
}

/// What a quad computes does not depend on the quads that run beside it, whatever lanes run.
#[test]
fn quads_see_the_same_in_waves_of_any_width() {
    let mut compared = 0;
    arbtest::arbtest(|u| {
        let mut func = function(u, &Config::default())?;
        canonicalize_nans(&mut func);
        if lockstep(&mut func).is_err() {
            return Ok(());
        }
        let options = InterpOptions { fuel: 100_000.into(), fused: true };
        let data = Data::<16>::arbitrary(u, &func)?;
        let (uniforms, resources) = (data.uniform_rows(), data.resource_bytes());
        let mut wide = Interpreter::<16>::new(&func);
        let Ok(together) = wide.run(&data.bindings(&uniforms, &resources), &options) else { return Ok(()) };
        let mut narrow = Interpreter::<4>::new(&func);
        for number in 0..4 {
            let data = quad(&data, number);
            let Ok(alone) = narrow.run(&data.bindings(&uniforms, &resources), &options) else { return Ok(()) };
            for (all, one) in together.iter().flatten().zip(alone.iter().flatten()) {
                assert_eq!(all[4 * number..][..4], *one, "quad {number} of {data:x?}\nin {func}");
            }
        }
        compared += 1;
        Ok(())
    })
    .budget_ms(2000);
    assert!(compared > 10, "{compared}");
}
