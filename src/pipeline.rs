//! The passes between a front end and a back end: one flat list.

use shaderjit_ir::Function;
use shaderjit_ir::pass::{self, ExpandOptions, PassError};
use shaderjit_ir::verify::Verified;
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

/// Behind this pass a function is simple, and these have nothing to do if it stays so.
const SIMPLE: &str = "dce";
const IF_NOT_SIMPLE: [&str; 2] = ["fold2", "gvn2"];

/// Runs every pass, and verifies what comes out of them. If that takes until `end`, no further pass begins.
///
/// # Errors
/// A pass refuses the function, for its size; the time is over; a pass has a defect.
pub fn run(mut function: Function, options: &PassOptions, end: Option<Instant>) -> Result<Verified, PassError> {
    check(&function, "the front end");
    // The instructions that there have been in code without branches and memory. It stays simple if none is made.
    let mut simple = None;
    for pass in PASSES {
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(PassError::OutOfTime);
        }
        if IF_NOT_SIMPLE.contains(&pass.name) && simple == Some(function.insts.len()) {
            continue;
        }
        step(&mut function, pass, options)?;
        if pass.name == SIMPLE {
            simple = (is_straight(&function) && function.arrays.is_empty()).then_some(function.insts.len());
        }
    }
    Ok(Verified::new(function)?)
}

/// Whether no block has more than one edge.
fn is_straight(function: &Function) -> bool {
    function.layout.iter().all(|&block| function.blocks[block].terminator().selector().is_none())
}

/// Runs some of the passes, in order.
///
/// # Errors
/// A pass refuses the function, for its size.
pub fn run_passes(function: &mut Function, passes: &[Pass], options: &PassOptions) -> Result<(), PassError> {
    check(function, "the front end");
    passes.iter().try_for_each(|pass| step(function, pass, options))
}

/// Debug builds verify the function after each pass.
fn step(function: &mut Function, pass: &Pass, options: &PassOptions) -> Result<(), PassError> {
    (pass.run)(function, options)?;
    check(function, pass.name);
    Ok(())
}

/// A function that breaks a rule is a defect of whoever made it.
fn check(function: &Function, after: &str) {
    if cfg!(debug_assertions)
        && let Err(errors) = shaderjit_ir::verify::verify(function)
    {
        panic!("after {after}: {errors}");
    }
}
