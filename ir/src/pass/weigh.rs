//! Writes down what the blocks of loops cost, before forms of the program that differ in instructions are made: see
//! [`crate::fuel`].

use crate::cfg;
use crate::fuel::block_weight;
use crate::function::Function;
use cranelift_entity::SecondaryMap;

/// Weighs every block that an edge backwards pays for. Functions without such an edge are left as they are.
pub fn weigh(func: &mut Function) {
    // No edge leads to the entry.
    if func.layout.len() == 1 {
        return;
    }
    let mut position = SecondaryMap::new();
    (0..).zip(&func.layout).for_each(|(at, &block)| position[block] = at);
    // From the end: the first block that an edge from here or later goes back to.
    let mut first = usize::MAX;
    for at in (0..func.layout.len()).rev() {
        let block = func.layout[at];
        first = cfg::successors(func, block).map(|to| position[to]).filter(|&to| to <= at).fold(first, usize::min);
        if first <= at {
            func.blocks[block].weight = block_weight(func, block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{ExpandOptions, expand};
    use crate::{FunctionBuilder, Type};

    #[test]
    fn what_loops_cost_stays_the_same_when_they_are_expanded() {
        let mut b = FunctionBuilder::new("loop", 1, 0);
        let [head, end] = [(); 2].map(|()| b.create_block());
        let x = b.input(Type::F32, 0, 0);
        b.jump(head);
        b.switch_to_block(head);
        let sine = b.fsin([x]);
        let again = b.flt([sine, x]);
        b.br_if(again, head, end);
        b.seal_block(head);
        b.seal_block(end);
        b.switch_to_block(end);
        b.ret();
        let mut func = b.finish();
        weigh(&mut func);
        let weights = |func: &Function| func.layout.iter().map(|&block| func.blocks[block].weight).collect::<Vec<_>>();
        let before = weights(&func);
        assert!(before[0] == 0 && before[1] > 10 && before[2] == 0, "{before:?}");
        expand(&mut func, &ExpandOptions { fused: true });
        assert_eq!(weights(&func), before);
        assert_eq!(crate::parse::parse(&func.to_string()), Ok(func));
    }
}
