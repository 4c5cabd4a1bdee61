//! What a block sets of outputs, component by component: an element is stored when the last of them has been set.

use super::places::codegen;
use crate::error::JitError;
use foldhash::HashMap;
use shaderjit_ir::Value;

/// The elements that a block sets, by element and vector.
#[derive(Default)]
pub struct Outputs(HashMap<(u32, u8), Output>);

/// One of them.
#[derive(Default)]
struct Output {
    components: [Option<Value>; 4],
    /// How many instructions have yet to set one.
    unset: usize,
}

impl Outputs {
    /// Counts an instruction that will set a component.
    pub fn count(&mut self, element: u32, vector: u8) {
        self.0.entry((element, vector)).or_default().unset += 1;
    }

    /// Sets a component. Behind the last one that has been counted, what is set of the element: the components that are
    /// stored, if any are.
    ///
    /// # Errors
    /// One that is stored is set in another block.
    pub fn set(
        &mut self,
        (element, vector): (u32, u8),
        component: u8,
        value: Value,
        stored: u8,
    ) -> Result<Option<Vec<Value>>, JitError> {
        let output = self.0.get_mut(&(element, vector)).expect("the block's outputs have been counted");
        output.components[usize::from(component)] = Some(value);
        output.unset -= 1;
        if output.unset > 0 || stored == 0 {
            return Ok(None);
        }
        let components: Option<Vec<Value>> = output.components[..usize::from(stored)].iter().copied().collect();
        components.map(Some).ok_or_else(|| codegen(format!("output {element} is not set in one block")))
    }
}
