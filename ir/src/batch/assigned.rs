//! Definite assignment of register arrays: which of them need not begin as zero, since all of their elements are stored
//! in front of whatever loads one.

use super::Parts;
use crate::bounds::last_row;
use crate::dom::DominatorTree;
use crate::function::{Imm, InstData};
use crate::set::EntitySet;
use crate::{Array, Block, Op, Value};
use foldhash::{HashMap, HashMapExt};

/// As many words an array may have: one bit for each.
const WORDS: u32 = u64::BITS;

/// The arrays that are: one block stores all of their words, all loads are in blocks behind it, and their elements are
/// known to be inside. Where a wave has several vectors, nobody looks.
pub fn assigned(program: &Parts) -> EntitySet<Array> {
    let mut assigned = EntitySet::with_capacity(program.arrays.len());
    if program.arrays.is_empty() || program.vectors > 1 {
        return assigned;
    }
    // The words that each block stores.
    let mut stored: HashMap<(Array, Block), u64> = HashMap::new();
    let mut loads: Vec<(Array, Block, Value)> = Vec::new();
    for &block in &program.order {
        for InstData { op, args, imm, .. } in program.insts_in(block) {
            let &Imm::Array { array, component } = imm else { continue };
            match op {
                Op::ArrayLoad => loads.push((array, block, args[0])),
                Op::ArrayStore => {
                    let (data, index) = (&program.arrays[array], program.constant(args[0]).unwrap_or(u64::MAX));
                    let is_inside = index < u64::from(data.elements);
                    if is_inside && data.elements.saturating_mul(u32::from(data.components)) <= WORDS {
                        let word = index as u32 * u32::from(data.components) + u32::from(component);
                        *stored.entry((array, block)).or_default() |= 1 << word;
                    }
                }
                _ => {}
            }
        }
    }
    stored.retain(|(array, _), stored| {
        let data = &program.arrays[*array];
        stored.count_ones() == data.elements * u32::from(data.components)
    });
    if stored.is_empty() {
        return assigned;
    }
    let tree = DominatorTree::new(program);
    for &(array, block) in stored.keys() {
        let is_inside = |index: Value| {
            let last = program.constant(index).or_else(|| last_row(program, 0, index).map(u64::from));
            last.is_some_and(|last| last < u64::from(program.arrays[array].elements))
        };
        let mut loads = loads.iter().filter(|(of, ..)| *of == array);
        if loads.all(|&(_, at, index)| at != block && tree.dominates(block, at) && is_inside(index)) {
            assigned.insert(array);
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use crate::batch::{BatchProgram, Machine};
    use crate::entity::Array;
    use crate::parse::parse;

    /// Whether an array of two elements need not begin as zero, of which `STORED` is done before a loop and `LOADED` in
    /// it.
    fn is_assigned(stored: &str, loaded: &str) -> bool {
        let text = "function \"f\" inputs 1 outputs 1 lockstep { array0 [2 x 1] block0:
                v0 = input.f32 0.0 v1 = input.i32 0.1 v2 = const.i32 0 v3 = const.i32 1 v4 = ult v1, v3
                STORED jump block1(v2)
            block1(v5: i32):
                v6 = iadd v5, v3 v7 = and.i32 v5, v3 LOADED
                v9 = const.i32 5 v10 = slt v6, v9 br_if v10, block1(v6), block2
            block2:
                output.f32 0.0, v8 return }";
        let text = text.replace("STORED", stored).replace("LOADED", loaded);
        let program = BatchProgram::of(parse(&text).unwrap(), Machine::of_128_bits(1)).unwrap();
        program.facts.assigned.contains(Array::from_u32(0))
    }

    const BOTH: &str = "array_store.f32 array0.0, v2, v0 array_store.f32 array0.0, v3, v0";
    const INSIDE: &str = "v8 = array_load.f32 array0.0, v7";

    #[test]
    fn arrays_that_are_stored_first_need_no_zeros() {
        assert!(is_assigned(BOTH, INSIDE));
        assert!(is_assigned(BOTH, "v8 = array_load.f32 array0.0, v3 array_store.f32 array0.0, v5, v8"));
    }

    #[test]
    fn others_do() {
        for (stored, loaded) in [
            // One element is not stored, or not in all lanes, or behind the load.
            ("array_store.f32 array0.0, v2, v0", INSIDE),
            ("array_store.f32 array0.0, v2, v0 array_store_masked.f32 array0.0, v3, v0, v4", INSIDE),
            ("array_store.f32 array0.0, v2, v0", "array_store.f32 array0.0, v3, v0 v8 = array_load.f32 array0.0, v7"),
            ("", &format!("{INSIDE} {BOTH}")),
            // Elements behind the end are zero.
            (BOTH, "v8 = array_load.f32 array0.0, v5"),
            ("array_store.f32 array0.0, v2, v0 array_store.f32 array0.0, v1, v0", INSIDE),
        ] {
            assert!(!is_assigned(stored, loaded), "{stored} / {loaded}");
        }
    }
}
