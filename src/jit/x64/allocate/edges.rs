//! Where blocks meet: which registers hold what where a block begins, and the moves that make it so at the end of each
//! block that leads there.

use super::super::code::{Definition, class_number, class_number_of, number_of};
use super::live::NEVER;
use super::moves::Move;
use super::places::{CLASSES, Place, Set, members};
use super::scan::{Holds, Scan, TooHard, Value, Walk};

/// A move to be made: in front of the instruction at half this position, or behind it if this is odd.
#[derive(Clone, Copy)]
pub struct Edit {
    pub half: u32,
    /// Whether it stores what has just been defined there: ahead of all other edits.
    pub is_store: bool,
    pub to: Place,
    pub from: Place,
}

/// Most instructions of a loop that are looked at for values to be loaded in front of it.
const LOOKED_AT: usize = 4096;

impl Walk<'_> {
    fn first(&self, block: usize) -> u32 {
        self.code.blocks[block].insts.start
    }

    /// The place of the jump that ends a block.
    fn jump(&self, block: usize) -> u32 {
        self.code.blocks[block].insts.end - 1
    }

    /// Begins a block.
    pub(super) fn enter(&mut self, block: usize) -> Result<(), TooHard> {
        let code = self.code;
        let data = &code.blocks[block];
        // One that runs as often as this one, if there is one.
        let predecessors = code.predecessors_of(data);
        let before = || predecessors.iter().map(|block| block.index()).filter(|&from| from < block);
        let from = before().find(|&from| !code.blocks[from].is_cold).or_else(|| before().next());
        // Registers hold what they did at the end of the block that has been walked before.
        if from.map_or(0, |from| from + 1) != block {
            let from = from.ok_or(TooHard)?;
            members(self.held()).for_each(|register| self.empty(register));
            for register in members(self.scan.exits[from].held) {
                self.hold(self.scan.exits[from].by[register.index()] as usize, register);
            }
        }
        let first = 2 * self.first(block);
        for register in members(self.held()) {
            if self.scan.live.intervals[self.holds[register.index()] as usize].end < first {
                self.empty(register);
            }
        }
        if predecessors.len() > 1 || !self.code.params_of(data).is_empty() {
            if let Some(last) = self.scan.live.last[block] {
                self.enter_loop(block, last as usize);
            }
            self.place_params(block, from)?;
            self.scan.entries.push(self.holds());
            for from in before() {
                self.connect(from, block);
            }
        } else {
            self.scan.entries.push(self.holds());
        }
        Ok(())
    }

    /// Ends a block.
    pub(super) fn leave(&mut self, block: usize) {
        let data = &self.code.blocks[block];
        for (place, arg) in (data.args.start as usize..).zip(self.code.args_of(data)) {
            self.scan.values[arg.vreg()].next = self.scan.live.arg_next[place];
        }
        self.scan.exits.push(self.holds());
        for successor in data.successors.iter().map(|successor| successor.index()).filter(|&to| to <= block) {
            self.connect(block, successor);
        }
    }

    // ---- beginnings

    /// Chooses what a loop begins with: not what it does not use, where it needs the registers; and what it uses, where
    /// it does not.
    fn enter_loop(&mut self, block: usize, last: usize) {
        let code = self.code;
        let end = self.jump(last);
        let is_long = code.blocks[last].insts.end - self.first(block) > LOOKED_AT as u32;
        // Of which classes there are registers for what is in none.
        let mut free: Set = 0;
        for class in CLASSES {
            let all = self.registers.all[class];
            let needed = self.scan.live.pressure[block..=last].iter().map(|most| most[class]).max();
            let missing = (i32::from(needed.unwrap_or(0)) - all.count_ones() as i32).max(0) as usize;
            if missing == 0 && !is_long {
                free |= if self.is_short[class] { all } else { 0 };
                continue;
            }
            let next = |walk: &Walk<'_>, register: Place| walk.scan.values[walk.holds[register.index()] as usize].next;
            let mut unused: Vec<Place> =
                members(all & !self.free).filter(|&register| next(self, register) > end).collect();
            unused.sort_by_key(|&register| std::cmp::Reverse(next(self, register)));
            self.is_short[class] |= missing > 0;
            unused.into_iter().take(missing).for_each(|register| self.empty(register));
        }
        let first = 2 * self.first(block);
        let places = code.operands_of(self.first(block) as usize).start..code.operands_of(end as usize).end;
        for operand in &code.operands[places] {
            if free & self.free == 0 {
                break;
            }
            let value = number_of(*operand);
            // Most are made in the loop.
            if self.scan.live.intervals[value].start >= first || self.scan.values[value].at.is_some() {
                continue;
            }
            let class = class_number_of(*operand);
            if free & self.free & self.registers.all[class] != 0
                && let Some(register) = self.suitable(class, value, 0)
            {
                self.hold(value, register);
            }
        }
    }

    /// Gives the parameters of a block registers, or lets them be passed in their slots.
    fn place_params(&mut self, block: usize, from: Option<usize>) -> Result<(), TooHard> {
        let code = self.code;
        let mut is_passed = [false; 3];
        for (index, param) in code.params_of(&code.blocks[block]).iter().enumerate() {
            let (value, class) = (param.vreg(), class_number(*param));
            if self.scan.live.intervals[value].first == NEVER {
                continue;
            }
            // Where the argument is, if that is free now.
            let arg = from.and_then(|from| code.args_of(&code.blocks[from]).get(index));
            let there = from.zip(arg).and_then(|(from, arg)| {
                let Holds { by, held } = &self.scan.exits[from];
                let free = self.free & self.registers.all[class];
                members(free & held).find(|place| by[place.index()] == arg.vreg() as u32)
            });
            let register = there.or_else(|| self.suitable(class, value, 0));
            let register = match register {
                Some(register) => register,
                None => {
                    let farthest = self.farthest(class, 0).ok_or(TooHard)?;
                    if self.distance(farthest) <= self.scan.values[value].next {
                        (self.scan.values[value].is_passed, self.scan.values[value].home) = (true, None.into());
                        is_passed[class] = true;
                        self.is_short[class] = true;
                        continue;
                    }
                    self.drop_at(farthest, block, &mut is_passed);
                    farthest
                }
            };
            self.hold(value, register);
            self.scan.values[value].home = register.into();
        }
        for class in CLASSES {
            // What goes from slot to slot goes by way of a register.
            if is_passed[class] && self.free & self.registers.all[class] == 0 {
                let farthest = self.farthest(class, 0).ok_or(TooHard)?;
                self.drop_at(farthest, block, &mut is_passed);
            }
        }
        Ok(())
    }

    /// What a register would hold where a block begins loses it.
    fn drop_at(&mut self, register: Place, block: usize, is_passed: &mut [bool; 3]) {
        let value = self.holds[register.index()] as usize;
        let class = usize::from(self.code.definitions[value].class);
        self.is_short[class] = true;
        if self.is_param_of(value, block) {
            self.scan.values[value].is_passed = true;
            self.scan.values[value].home = None.into();
            is_passed[class] = true;
        }
        self.empty(register);
    }

    fn is_param_of(&self, value: usize, block: usize) -> bool {
        let definition = &self.code.definitions[value];
        definition.is_param && definition.block as usize == block
    }

    // ---- edges

    /// Makes what one block ends with what another begins with.
    fn connect(&mut self, from: usize, to: usize) {
        let code = self.code;
        let params = code.params_of(&code.blocks[to]);
        let Scan { exits, entries, values, moves, .. } = &mut *self.scan;
        let (exit, entry) = (&exits[from], &entries[to]);
        // Slots are passed on by way of a register that is free behind the edge.
        let mut scratch = [None; 3];
        for param in params.iter().filter(|param| values[param.vreg()].is_passed) {
            let class = class_number(*param);
            scratch[class] = members(self.registers.all[class] & !entry.held).next();
        }
        moves.clear();
        let mut move_to = |to: Place, value: usize, known: &mut Value| {
            let has = |place: &Place| exit.by[place.index()] == value as u32 && !scratch.contains(&Some(*place));
            // Most stay where they are, or are where they were defined.
            let [wanted, home] =
                [Some(to).filter(|to| to.slot_of().is_none()), known.home.expand()].map(|place| place.filter(has));
            let from = wanted.or(home).or_else(|| members(exit.held).find(has)).unwrap_or_else(|| {
                known.is_loaded = true;
                Place::slot(value)
            });
            if from != to {
                moves.push(Move { to, from });
            }
        };
        for (param, arg) in params.iter().zip(code.args_of(&code.blocks[from])) {
            let Value { is_passed, home, .. } = values[param.vreg()];
            let to = match home.expand() {
                _ if is_passed => Place::slot(param.vreg()),
                Some(home) if entry.by[home.index()] == param.vreg() as u32 => home,
                _ => continue,
            };
            move_to(to, arg.vreg(), &mut values[arg.vreg()]);
        }
        for register in members(entry.held) {
            let value = entry.by[register.index()] as usize;
            let Definition { is_param, block, .. } = code.definitions[value];
            if !is_param || block as usize != to {
                move_to(register, value, &mut values[value]);
            }
        }
        self.sequence(2 * self.jump(from), scratch);
    }
}
