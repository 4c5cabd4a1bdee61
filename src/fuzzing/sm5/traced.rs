//! A traced run gives what the run gives, and what the traced invocation's instructions wrote last to the output
//! registers is what the run has of them.

use super::Sm5Case;
use super::check::{Results, difference, results};
use super::data::Data;
use crate::call::{Call, Invocation, Tracer};
use crate::frontend::Interface;
use foldhash::{HashMap, HashMapExt};
use std::ops::ControlFlow;

/// Components of registers, and what they were written as last.
type Registers = HashMap<(String, u8), u32>;

/// Traces one of a call's vertices or pixels, and compares with what the call gives.
pub fn compare_traced(
    case: &Sm5Case,
    call: &Call<'_>,
    interface: &Interface,
    data: &Data,
    wanted: &Results,
) -> Result<(), String> {
    let Ok(rows) = wanted else { return Ok(()) };
    let range = data.range();
    let row = (case.seed % u64::from(range.end - range.start)) as u32;
    let number = data.first.wrapping_add(range.start + row);
    let mut written = Registers::new();
    let tracer = Tracer::new(Invocation::Vertex { number, instance: data.instance }, |step| {
        for write in &step.writes {
            if let Some(component) = write.register.component {
                written.insert((write.register.register.clone(), component), write.bits);
            }
        }
        ControlFlow::Continue(())
    });
    let mut traced = call.clone();
    let found = results(case, traced.trace(&tracer).run(range));
    assert_eq!(tracer.runs(), 1, "vertex {number}\n{case:?}");
    drop(traced);
    drop(tracer);
    // What no pass has shortened may take more.
    if found.is_err() {
        return Ok(());
    }
    if let Some(difference) = difference(&found, wanted) {
        return Err(format!("with and without a trace of vertex {number}: {difference}"));
    }
    let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
    for (element, rows) in interface.signature_outputs().iter().zip(rows) {
        let places = (0..4u8).filter(|component| element.mask >> component & 1 != 0);
        for (component, &bits) in places.zip(&rows[row as usize]) {
            let name = (format!("o{}", element.register), component);
            if let Some(&last) = written.get(&name).filter(|&&last| last != bits && !(is_nan(last) && is_nan(bits))) {
                return Err(format!("the trace of vertex {number} ends with {name:?} {last:08x}, the run {bits:08x}"));
            }
        }
    }
    Ok(())
}
