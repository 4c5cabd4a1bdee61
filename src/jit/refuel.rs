//! Fuel in native code: a wave counts down what it has been given, and calls [`refuel`] when that is used up. So what
//! bounds a call, who cancels it and when it is to end are asked outside native code, and seldom.

use super::abi::BatchArgs;
use shaderjit_ir::fuel::{Fuel, Stop};
use std::cell::Cell;

/// What a native call may take, and why it was stopped, if it was.
pub struct Tank<'a> {
    fuel: &'a Fuel<'a>,
    stop: Cell<Option<Stop>>,
}

impl<'a> Tank<'a> {
    pub fn new(fuel: &'a Fuel<'a>) -> Tank<'a> {
        Tank { fuel, stop: Cell::new(None) }
    }

    /// Why no more was given.
    pub fn stop(&self) -> Option<Stop> {
        self.stop.get()
    }

    /// Gives a wave more if it may have that.
    fn fill(&self, args: &mut BatchArgs) {
        match self.fuel.more(args.granted, args.left.unsigned_abs(), args.spent) {
            Ok(more) => {
                args.granted += more;
                // At least what is lacking, and little more than a quantum beyond it.
                args.left = args.left.wrapping_add_unsigned(more);
            }
            Err(stop) => self.stop.set(Some(stop)),
        }
    }
}

/// Gives the wave at hand more fuel: [`BatchArgs::left`] is no longer below zero then.
///
/// # Safety
/// `args` must point to the arguments of the native call that runs on this thread, which has left them alone meanwhile.
pub unsafe extern "C" fn refuel(args: *mut BatchArgs) {
    // SAFETY: the caller vouches for the arguments; their tank is on the stack of whoever called the native code.
    unsafe {
        let args = &mut *args;
        (*args.tank).fill(args);
    }
}
