//! No function that safe code can write becomes native code that touches what is not its own: it does not get past the
//! verifier, without which there is no code.
#![forbid(unsafe_code)]

use shaderjit_ir::verify::{Rule, Verified};
use shaderjit_ir::{Function, FunctionBuilder, Type};

/// A function in lockstep form of two inputs and one output.
fn function(build: impl FnOnce(&mut FunctionBuilder)) -> Function {
    let mut b = FunctionBuilder::new("f", 1, 1);
    build(&mut b);
    b.ret();
    let mut function = b.finish();
    function.lockstep = true;
    function
}

#[test]
fn components_outside_an_array_or_a_row_are_refused() {
    let array_write = function(|b| {
        let (x, y, array) = (b.input(Type::I32, 0, 0), b.input(Type::I32, 0, 1), b.add_array(4, 1));
        b.array_store(array, 250, x, y);
        b.output(0, 0, y);
    });
    let array_read = function(|b| {
        let (x, array) = (b.input(Type::I32, 0, 0), b.add_array(4, 1));
        let value = b.array_load(Type::I32, array, 250, x);
        b.output(0, 0, value);
    });
    let uniform_read = function(|b| {
        let space = b.add_space("cb0", None);
        let value = b.uniform_load(Type::I32, space, 0, 255);
        b.output(0, 0, value);
    });
    for function in [array_write, array_read, uniform_read] {
        let errors = Verified::new(function.clone()).expect_err("a component is out of range");
        assert!(errors.0.iter().all(|error| error.rule == Rule::Immediate), "{errors}\n{function}");
    }
}

#[test]
fn what_back_ends_do_not_know_is_refused() {
    let composite = function(|b| {
        let x = b.input(Type::F32, 0, 0);
        let sine = b.fsin([x]);
        b.output(0, 0, sine);
    });
    let scalar = Function { lockstep: false, ..function(|_| {}) };
    for function in [composite, scalar] {
        let errors = Verified::new(function).expect_err("it is in another form");
        assert_eq!(errors.0[0].rule, Rule::BackEndForm, "{errors}");
    }
}
