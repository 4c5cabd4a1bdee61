//! The passes between a front end and a back end: one flat list.

use shaderjit_ir::op::Attribute;
use shaderjit_ir::pass::{self, ExpandOptions, PassError};
use shaderjit_ir::verify::Verified;
use shaderjit_ir::{Block, Function, Op, Value};
use std::time::Instant;

/// What the passes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassOptions {
    /// Whether `fmad` rounds once; see [`ExpandOptions::fused`].
    pub fused: bool,
    /// Whether products that obey the rule of PICA200 are taken for plain ones under guard: see
    /// [`pass::guard_products`].
    pub guards: bool,
}

/// One step of the pipeline.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name. A pass that runs again has a number behind it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    run: fn(&mut Function, &PassOptions) -> Result<(), PassError>,
}

macro_rules! passes {
    ($( $name:literal $summary:literal $run:expr; )*) => {
        /// Every pass, in order. Up to `if_convert` the function says what one invocation does; after `lockstep` every
        /// branch is the same in all lanes; after `expand` there are only ops that a back end knows.
        pub const PASSES: &[Pass] = &[$( Pass { name: $name, summary: $summary, run: $run }, )*];
    };
}

passes! {
    "fold" "computes operations on literals, and simplifies others" |f, _| { pass::fold(f); Ok(()) };
    "retype" "makes integers of parameters that are floats by name alone" |f, _| { pass::retype(f); Ok(()) };
    "gvn" "computes equal values once" |f, _| { pass::gvn(f); Ok(()) };
    "dce" "removes unused values" |f, _| { pass::dce(f); Ok(()) };
    "if_convert" "turns small branches into selects" |f, _| { pass::if_convert(f); Ok(()) };
    "lockstep" "turns divergent branches into exec masks" |f, _| pass::lockstep(f);
    "straighten" "joins blocks that follow each other" |f, _| { pass::straighten(f); Ok(()) };
    "thread" "takes edges past branches whose outcome they decide" |f, _| { pass::thread(f); Ok(()) };
    "weigh" "writes down the fuel that blocks of loops cost" |f, _| { pass::weigh(f); Ok(()) };
    "guard_products" "turns PICA200 products into plain ones under guard" |f, o| {
        if o.guards {
            pass::guard_products(f);
        }
        Ok(())
    };
    "expand" "replaces composite ops by plain arithmetic" |f, o| { pass::expand(f, &ExpandOptions { fused: o.fused }); Ok(()) };
    "fields" "takes shifts out of bit fields that are scaled" |f, _| { pass::fields(f); Ok(()) };
    "ranges" "decides bounds checks by the ranges of integers" |f, _| { pass::ranges(f); Ok(()) };
    "carry" "computes what loops take in turn before them" |f, _| { pass::carry(f); Ok(()) };
    "hoist" "computes what is the same in all rounds of loops with barriers before them" |f, _| { pass::hoist(f); Ok(()) };
    "fold2" "computes operations on literals, and simplifies others" |f, _| { pass::fold(f); Ok(()) };
    "gvn2" "computes equal values once" |f, _| { pass::gvn(f); Ok(()) };
    "dce2" "removes unused values" |f, _| { pass::dce(f); Ok(()) };
    "order" "brings inputs and outputs next to their uses" |f, _| { pass::order(f); Ok(()) };
    "compact" "numbers what is left anew" |f, _| { pass::compact(f); Ok(()) };
}

/// Behind this pass a function is simple, and these have nothing to do if it stays so, but for what compilers do not
/// write: operations whose operands `gvn` has found to be one value (`umin x, x` and their like), and a maximum of a
/// minimum by the same value (`fmax (fmin y, x), x`), which asks once too often whether that is NaN.
const SIMPLE: &str = "dce";
const IF_NOT_SIMPLE: [&str; 3] = ["fold2", "gvn2", "dce2"];

/// The pass that may make instructions of which the function stays simple.
const EXPAND: &str = "expand";

/// Runs every pass, and verifies what comes out of them. If that takes until `end`, no further pass begins.
///
/// # Errors
/// A pass refuses the function, for its size; the time is over; a pass has a defect.
pub fn run(mut function: Function, options: &PassOptions, end: Option<Instant>) -> Result<Verified, PassError> {
    check(&function, "the front end");
    let mut simple = Simple::default();
    for pass in PASSES {
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(PassError::OutOfTime);
        }
        simple.step(&mut function, pass, options)?;
    }
    Ok(Verified::new(function)?)
}

/// Runs some of the passes, in order.
///
/// # Errors
/// A pass refuses the function, for its size.
pub fn run_passes(function: &mut Function, passes: &[Pass], options: &PassOptions) -> Result<(), PassError> {
    check(function, "the front end");
    let mut simple = Simple::default();
    passes.iter().try_for_each(|pass| simple.step(function, pass, options))
}

/// Whether a function is simple: it has no branches, arrays, resources or sums of products of literals, and no pass has
/// made another instruction since it was found to be so. What minima and maxima expand to leaves it simple.
#[derive(Default)]
struct Simple {
    /// The instructions that there were then.
    insts: Option<usize>,
    /// Whether what it expands to is simple as well.
    expands: bool,
}

impl Simple {
    /// Runs a pass, unless it has nothing to do. Debug builds verify the function behind it.
    fn step(&mut self, function: &mut Function, pass: &Pass, options: &PassOptions) -> Result<(), PassError> {
        let is_simple = self.insts == Some(function.insts.len());
        if is_simple && IF_NOT_SIMPLE.contains(&pass.name) {
            return Ok(());
        }
        (pass.run)(function, options)?;
        check(function, pass.name);
        if is_simple && self.expands && pass.name == EXPAND {
            self.insts = Some(function.insts.len());
        }
        if pass.name == SIMPLE {
            let has_branch = |&block: &Block| function.blocks[block].terminator().selector().is_some();
            let is_literal = |&arg: &Value| function.constant(arg).is_some();
            let (mut is_open, mut expands) = (false, true);
            for inst in function.layout.iter().flat_map(|&block| function.insts_in(block)) {
                match inst.op {
                    Op::Fmad => {
                        // How it rounds, and so what it is of literals, turns out when it is expanded.
                        is_open |= inst.args.iter().all(is_literal);
                        expands &= options.fused;
                    }
                    // They share what they ask, and do not ask literals.
                    Op::Fmin | Op::Fmax => {}
                    op => expands &= op.attribute() != Attribute::Composite,
                }
            }
            let is_straight = !function.layout.iter().any(has_branch)
                && function.arrays.is_empty()
                && function.resources.is_empty()
                && !is_open;
            *self = Simple { insts: is_straight.then_some(function.insts.len()), expands };
        }
        Ok(())
    }
}

/// A function that breaks a rule is a defect of whoever made it.
fn check(function: &Function, after: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = shaderjit_ir::verify::verify(function)
    {
        panic!("after {after}: {errors}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderjit_ir::{FunctionBuilder, Type};

    /// Straight code that computes a sum twice and something unused, minima and maxima that ask the same and one of a
    /// literal, and a sine if one is wanted.
    fn straight(has_sine: bool) -> Function {
        let mut b = FunctionBuilder::new("straight", 1, 1);
        let [x, y] = [0, 1].map(|component| b.input(Type::F32, 0, component));
        let one = b.f32(1.0);
        let sums = [(); 2].map(|()| b.fmad([x, y, one]));
        b.fmul(sums);
        let product = b.fmul([sums[1], one]);
        let result = if has_sine { b.fsin([product]) } else { product };
        b.output(0, 0, sums[0]);
        b.output(0, 1, result);
        let least = b.fmin([product, x]);
        let greatest = b.fmax([sums[0], x]);
        let bounded = b.fmax([least, one]);
        b.output(0, 2, bounded);
        b.output(0, 3, greatest);
        b.ret();
        b.finish()
    }

    #[test]
    fn what_stays_simple_is_what_running_every_pass_makes_of_it() {
        for (has_sine, fused) in [(false, true), (false, false), (true, true)] {
            let options = PassOptions { fused, guards: true };
            let mut every = straight(has_sine);
            // One by one, no pass knows what has been before.
            PASSES.iter().for_each(|pass| run_passes(&mut every, std::slice::from_ref(pass), &options).unwrap());
            let function = run(straight(has_sine), &options, None).unwrap();
            assert_eq!(function.to_string(), every.to_string());
            let count = |op: Op| function.insts.values().filter(|inst| inst.op == op).count();
            assert_eq!([Op::Fmad, Op::Fmin, Op::Fmax].map(count), [0; 3]);
            // Of the one that is no literal.
            assert_eq!(count(Op::Funo), 1);
        }
    }
}
