//! Moves that happen at once, in an order in which they may happen one after the other: a loop may swap two values.

use std::collections::HashMap;

/// Gives `emit` moves of a register to another, (to, from), that together do what `moves` do at once. Each register is
/// written once there. `spare` is a register that none of them names.
pub(super) fn in_order(moves: &[(u32, u32)], spare: u32, mut emit: impl FnMut(u32, u32)) {
    let mut sources: HashMap<u32, u32> = moves.iter().copied().filter(|(to, from)| to != from).collect();
    let mut readers: HashMap<u32, u32> = HashMap::new();
    for &from in sources.values() {
        *readers.entry(from).or_default() += 1;
    }
    let is_read = |readers: &HashMap<u32, u32>, register: u32| readers.get(&register).is_some_and(|&count| count > 0);
    let mut ready: Vec<u32> = moves.iter().map(|&(to, _)| to).filter(|&to| !is_read(&readers, to)).collect();
    while let Some(to) = ready.pop() {
        let Some(from) = sources.remove(&to) else { continue };
        emit(to, from);
        if let Some(count) = readers.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                ready.push(from);
            }
        }
    }
    // What is left are rings, in which each register is read once.
    for &(first, _) in moves {
        let Some(mut from) = sources.remove(&first) else { continue };
        emit(spare, first);
        let mut to = first;
        while from != first {
            emit(to, from);
            to = from;
            let Some(next) = sources.remove(&to) else { break };
            from = next;
        }
        emit(to, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_hold_afterwards_what_the_others_held_before() {
        const SPARE: u32 = 5;
        // Every way in which five registers may be written from five.
        for code in 0..6u32.pow(5) {
            let source = |to: u32| code / 6u32.pow(to) % 6;
            let moves: Vec<(u32, u32)> = (0..5).map(|to| (to, source(to))).filter(|&(_, from)| from < 5).collect();
            let mut registers = [10, 11, 12, 13, 14, 0];
            in_order(&moves, SPARE, |to, from| registers[to as usize] = registers[from as usize]);
            for to in 0..5 {
                let from = if source(to) < 5 { source(to) } else { to };
                assert_eq!(registers[to as usize], 10 + from, "{moves:?}");
            }
        }
    }
}
