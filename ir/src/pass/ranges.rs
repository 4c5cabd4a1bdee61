//! Value range analysis: between which bounds an integer lies, and the bounds checks that this decides.
//!
//! A range is an interval of unsigned numbers and how many low bits are zero. Ranges are found by going over the
//! function until nothing changes, and widened where a loop keeps changing them. Branches are not looked at: what is
//! known of a value holds in all lanes, whether they run or not.

use crate::cfg;
use crate::entity::{Block, Value};
use crate::function::{Function, Imm, InstData, Operands};
use crate::op::{Op, SysVal};
use crate::pass::Aliases;
use crate::types::Type;
use cranelift_entity::SecondaryMap;

/// Decides comparisons and selects, drops masks that take nothing away, and moves what is added to an address into the
/// offset of the access.
///
/// Only functions that access buffers have bounds worth the time.
pub fn ranges(func: &mut Function) {
    if func.resources.is_empty() {
        return;
    }
    let order = cfg::reverse_postorder(func);
    let ranges = find(func, &order);
    let mut aliases = Aliases::default();
    for block in order {
        for at in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[at];
            let mut data = func.insts[inst];
            data.args.iter_mut().for_each(|arg| *arg = aliases.find(*arg));
            if let (Some(result), Some(same)) = (data.result, same(func, &ranges, &data)) {
                aliases.replace(result, same);
                continue;
            }
            match data.result.filter(|&result| func.ty(result) == Type::I1).and_then(|truth| ranges[truth]?.literal()) {
                Some(bit) => {
                    let (args, imm) = (Operands::new(&[]), Imm::Bits(bit.into()));
                    data = InstData { op: Op::Const, ty: Type::I1, args, imm, ..data };
                }
                None => while move_into_offset(func, &ranges, &mut data) {},
            }
            func.insts[inst] = data;
        }
    }
    aliases.apply(func);
}

/// The value that an instruction's result is, because of what is known of its operands.
fn same(func: &Function, ranges: &Ranges, data: &InstData) -> Option<Value> {
    match data.op {
        Op::Select => match ranges[data.args[0]]?.literal()? {
            0 => Some(data.args[2]),
            _ => Some(data.args[1]),
        },
        Op::And => {
            let mask = func.constant(data.args[1])? as u32;
            ranges[data.args[0]]?.is_within(mask).then_some(data.args[0])
        }
        _ => None,
    }
}

/// Takes what is added to an address into the offset of the access, where the sum does not wrap around.
fn move_into_offset(func: &Function, ranges: &Ranges, data: &mut InstData) -> bool {
    let Imm::ResourceByte { resource, offset } = data.imm else { return false };
    let Some(InstData { op: Op::Iadd, args, .. }) = func.def_inst(data.args[0]) else { return false };
    let (base, most) = (args[0], ranges[args[0]].map_or(u32::MAX, |base| base.most));
    // Memory takes the word that an address is in, and adds the offset to that.
    let added = func.constant(args[1]).map(|bits| bits as u32).filter(|added| added.is_multiple_of(4));
    let Some(added) = added else { return false };
    let (Some(offset), Some(_)) = (offset.checked_add(added), most.checked_add(added)) else { return false };
    data.imm = Imm::ResourceByte { resource, offset };
    data.args[0] = base;
    true
}

/// What is known of an integer of at most 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    least: u32,
    most: u32,
    /// How many of the lowest bits are zero; 32 for the number zero.
    zeros: u32,
}

/// The ranges of values; none of those of other types, nor where nothing is known yet.
type Ranges = SecondaryMap<Value, Option<Range>>;

/// How often a parameter's range may grow before it is taken for anything.
const MAX_CHANGES: u8 = 3;

/// How often the function is gone over before all parameters are taken for anything. A range that loops hand on against
/// the order of the blocks takes a round for each of them.
const MAX_ROUNDS: u32 = 16;

fn find(func: &Function, order: &[Block]) -> Ranges {
    let mut finder = Finder { func, ranges: SecondaryMap::new(), changes: SecondaryMap::new() };
    for _ in 0..MAX_ROUNDS {
        if !finder.round(order) {
            return finder.ranges;
        }
    }
    for &param in order.iter().flat_map(|&block| &func.blocks[block].params) {
        finder.ranges[param] = Range::any(func.ty(param));
    }
    let is_changed = finder.round(order);
    debug_assert!(!is_changed, "nothing is more than anything");
    finder.ranges
}

struct Finder<'f> {
    func: &'f Function,
    ranges: Ranges,
    /// How often the range of a parameter has grown.
    changes: SecondaryMap<Value, u8>,
}

impl Finder<'_> {
    /// Goes over the function once; says whether anything new is known of a parameter.
    fn round(&mut self, order: &[Block]) -> bool {
        let Finder { func, ranges, changes } = self;
        let mut is_changed = false;
        for &block in order {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                if let Some(result) = data.result {
                    ranges[result] = Range::of(func, ranges, data);
                }
            }
            for call in func.blocks[block].terminator().calls() {
                for (&param, &arg) in func.blocks[call.block].params.iter().zip(&call.args) {
                    let Some(given) = ranges[arg] else { continue };
                    let known = ranges[param].map_or(given, |known| known.or(given));
                    if ranges[param] != Some(known) {
                        let is_widened = changes[param] >= MAX_CHANGES;
                        ranges[param] = if is_widened { Range::any(func.ty(param)) } else { Some(known) };
                        changes[param] += 1;
                        is_changed = true;
                    }
                }
            }
        }
        is_changed
    }
}

impl Range {
    const BITS: Range = Range { least: 0, most: u32::MAX, zeros: 0 };
    const TRUTH: Range = Range { least: 0, most: 1, zeros: 0 };

    /// What is known of any value of a type.
    fn any(ty: Type) -> Option<Range> {
        match ty {
            Type::I1 => Some(Range::TRUTH),
            Type::I32 => Some(Range::BITS),
            _ => None,
        }
    }

    fn exactly(word: u32) -> Range {
        Range { least: word, most: word, zeros: word.trailing_zeros() }
    }

    /// The one number that it has.
    fn literal(self) -> Option<u32> {
        (self.least == self.most).then_some(self.least)
    }

    /// Whether all bits that may be set are among those of a mask.
    fn is_within(self, mask: u32) -> bool {
        let above = self.most.leading_zeros();
        let bits = u32::MAX.checked_shr(above).unwrap_or(0) & u32::MAX.checked_shl(self.zeros).unwrap_or(0);
        bits & !mask == 0
    }

    /// Numbers of either.
    fn or(self, other: Range) -> Range {
        Range {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            zeros: self.zeros.min(other.zeros),
        }
    }

    /// The lowest 32 bits of the integers from one to another. Where these wrap around in between, they may be
    /// anything.
    fn wrapped(least: i64, most: i64, zeros: u32) -> Range {
        let (least_turn, most_turn) = (least >> 32, most >> 32);
        let (least, most) = if least_turn == most_turn { (least as u32, most as u32) } else { (0, u32::MAX) };
        Range { least, most, zeros }
    }

    fn of(func: &Function, ranges: &Ranges, data: &InstData) -> Option<Range> {
        let ty = func.ty(data.result?);
        let any = Range::any(ty)?;
        let arg = |index: usize| ranges[data.args[index]].unwrap_or(Range::BITS);
        let wide = |index: usize| {
            let Range { least, most, zeros } = arg(index);
            (i64::from(least), i64::from(most), zeros)
        };
        let of_i32 = |index: usize| func.ty(data.args[index]) == Type::I32;
        Some(match (data.op, data.imm) {
            (Op::Const, Imm::Bits(bits)) => Range::exactly(bits as u32),
            (Op::Sysval, Imm::SysVal(SysVal::VertexId)) => match func.threads {
                Some(threads) => Range { most: threads.saturating_sub(1), ..Range::BITS },
                None => Range::BITS,
            },
            (Op::Iadd, _) => {
                let ((a, b, zeros), (c, d, others)) = (wide(0), wide(1));
                Range::wrapped(a + c, b + d, zeros.min(others))
            }
            (Op::Isub, _) => {
                let ((a, b, zeros), (c, d, others)) = (wide(0), wide(1));
                Range::wrapped(a - d, b - c, zeros.min(others))
            }
            (Op::Imul, _) => arg(0).times(arg(1)),
            (Op::Ishl, _) => match arg(1).literal() {
                Some(by) => arg(0).times(Range::exactly(1 << (by & 31))),
                None => Range::BITS,
            },
            (Op::Ushr, _) => match arg(1).literal() {
                Some(by) => arg(0).shifted_right(by & 31),
                None => Range { most: arg(0).most, ..Range::BITS },
            },
            (Op::And, _) => {
                let (a, b) = (arg(0), arg(1));
                let least = if a.least == 1 && b.least == 1 && ty == Type::I1 { 1 } else { 0 };
                Range { least, most: a.most.min(b.most), zeros: a.zeros.max(b.zeros) }
            }
            (Op::Or | Op::Xor, _) => {
                let (a, b) = (arg(0), arg(1));
                let most = u32::MAX.checked_shr((a.most | b.most).leading_zeros()).unwrap_or(0);
                let least = if data.op == Op::Or { a.least.max(b.least) } else { 0 };
                Range { least, most, zeros: a.zeros.min(b.zeros) }
            }
            (Op::Umin, _) => {
                let (a, b) = (arg(0), arg(1));
                Range { least: a.least.min(b.least), most: a.most.min(b.most), zeros: a.zeros.min(b.zeros) }
            }
            (Op::Umax, _) => {
                let (a, b) = (arg(0), arg(1));
                Range { least: a.least.max(b.least), most: a.most.max(b.most), zeros: a.zeros.min(b.zeros) }
            }
            (Op::Select, _) => match arg(0).literal() {
                Some(0) => arg(2),
                Some(_) => arg(1),
                None => arg(1).or(arg(2)),
            },
            (Op::Ult, _) if of_i32(0) => arg(0).is_below(arg(1)),
            (Op::Ule, _) if of_i32(0) => arg(1).is_below(arg(0)).not(),
            (Op::Ieq, _) if of_i32(0) => arg(0).is(arg(1)),
            (Op::Ine, _) if of_i32(0) => arg(0).is(arg(1)).not(),
            _ => any,
        })
    }

    fn times(self, other: Range) -> Range {
        let zeros = (self.zeros + other.zeros).min(32);
        match self.most.checked_mul(other.most) {
            Some(most) => Range { least: self.least * other.least, most, zeros },
            None => Range { zeros, ..Range::BITS },
        }
    }

    fn shifted_right(self, by: u32) -> Range {
        Range { least: self.least >> by, most: self.most >> by, zeros: self.zeros.saturating_sub(by) }
    }

    fn is_below(self, other: Range) -> Range {
        Range { least: (self.most < other.least).into(), most: (self.least < other.most).into(), zeros: 0 }
    }

    fn is(self, other: Range) -> Range {
        let is_one = self.literal().is_some() && self == other;
        Range { least: is_one.into(), most: (self.least <= other.most && other.least <= self.most).into(), zeros: 0 }
    }

    /// The opposite of a truth.
    fn not(self) -> Range {
        Range { least: 1 - self.most, most: 1 - self.least, zeros: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    /// A number goes from one parameter of a loop to the one before it, once a round: whether it is small is not known,
    /// however many there are.
    #[test]
    fn long_chains_of_parameters_decide_nothing_wrongly() {
        for length in [2, 15, 16, 17, 40] {
            let list = |f: &dyn Fn(usize) -> String| (0..length).map(f).collect::<Vec<_>>().join(", ");
            let (params, next) =
                (list(&|n| format!("v{}: i32", 10 + n)), list(&|n| format!("v{}", 10 + (n + 1).min(length - 1))));
            let first = list(&|n| if n == length - 1 { "v1" } else { "v0" }.to_string());
            let text = format!(
                "function \"chain\" inputs 0 outputs 1 {{
                    resource0 \"t0\"
                block0:
                    v0 = const.i32 0
                    v1 = const.i32 5000
                    v2 = const.i32 100
                    jump block1({first})
                block1({params}):
                    v3 = resource_load.i32 resource0[0], v10
                    v4 = ult v10, v2
                    br_if v4, block1({next}), block2
                block2:
                    output.i32 0.0, v3
                    return
                }}"
            );
            let mut func = parse(&text).unwrap();
            ranges(&mut func);
            assert!(func.insts.values().any(|inst| inst.op == Op::Ult), "{length}: {func}");
        }
    }
}
