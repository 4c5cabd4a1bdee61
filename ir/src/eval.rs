//! What each pure op computes, on L lanes at once: the one definition, used by the interpreter and by constant folding.

use crate::float;
use crate::op::{Attribute, Op};
use crate::pass::{Emit, expansion};
use crate::types::Type;

/// One 32-bit value a lane: an `i32`, the bits of an `f32`, or an `i1` as 0 or 1.
pub type Lanes<const L: usize> = [u32; L];

/// Calls `$callback!` with the table of plain ops that have neither an immediate nor an `f64` operand or result: op,
/// operands, result. Operands and results are [`Lanes`]. `FMA` is a constant where the table is used: whether what is
/// compiled there has an instruction for a sum and product rounded once.
macro_rules! for_each_plain_op {
    ($callback:ident) => {
        $callback! {
            Select(c, a, b) => map3(c, a, b, |c, a, b| if c != 0 { a } else { b });
            And(a, b) => map2(a, b, |a, b| a & b);
            Or(a, b) => map2(a, b, |a, b| a | b);
            Xor(a, b) => map2(a, b, |a, b| a ^ b);
            BitcastI32(a) => a;
            BitcastF32(a) => a;
            Ishl(a, b) => map2(a, b, u32::wrapping_shl);
            Ushr(a, b) => map2(a, b, u32::wrapping_shr);
            Sshr(a, b) => map2(a, b, |a, b| (a as i32).wrapping_shr(b) as u32);
            Popcnt(a) => map1(a, u32::count_ones);
            Clz(a) => map1(a, u32::leading_zeros);
            Ctz(a) => map1(a, u32::trailing_zeros);
            Iadd(a, b) => map2(a, b, u32::wrapping_add);
            Isub(a, b) => map2(a, b, u32::wrapping_sub);
            Imul(a, b) => map2(a, b, u32::wrapping_mul);
            Smulhi(a, b) => map2(a, b, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
            Umulhi(a, b) => map2(a, b, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
            Udiv(a, b) => map2(a, b, |a, b| a.checked_div(b).unwrap_or(u32::MAX));
            Urem(a, b) => map2(a, b, |a, b| a.checked_rem(b).unwrap_or(u32::MAX));
            Smin(a, b) => map2(a, b, |a, b| (a as i32).min(b as i32) as u32);
            Smax(a, b) => map2(a, b, |a, b| (a as i32).max(b as i32) as u32);
            Umin(a, b) => map2(a, b, u32::min);
            Umax(a, b) => map2(a, b, u32::max);
            Ieq(a, b) => map2(a, b, |a, b| u32::from(a == b));
            Ine(a, b) => map2(a, b, |a, b| u32::from(a != b));
            Slt(a, b) => map2(a, b, |a, b| u32::from((a as i32) < b as i32));
            Sle(a, b) => map2(a, b, |a, b| u32::from(a as i32 <= b as i32));
            Ult(a, b) => map2(a, b, |a, b| u32::from(a < b));
            Ule(a, b) => map2(a, b, |a, b| u32::from(a <= b));
            Fadd(a, b) => map2(a, b, |a, b| float::add(f(a), f(b)).to_bits());
            Fsub(a, b) => map2(a, b, |a, b| float::sub(f(a), f(b)).to_bits());
            Fmul(a, b) => {
                let near = map2(a, b, |a, b| float::product(f(a), f(b)).to_bits());
                if has_edge(near) {
                    map2(a, b, |a, b| float::mul(f(a), f(b)).to_bits())
                } else {
                    map1(near, float::flush_bits)
                }
            };
            Fdiv(a, b) => {
                let near = map2(a, b, |a, b| float::quotient(f(a), f(b)).to_bits());
                if has_edge(near) {
                    map2(a, b, |a, b| float::div(f(a), f(b)).to_bits())
                } else {
                    map1(near, float::flush_bits)
                }
            };
            Fsqrt(a) => map1(a, |a| float::sqrt(f(a)).to_bits());
            Fma(a, b, c) => {
                let near = if FMA { map3(a, b, c, |a, b, c| float::fused_sum(f(a), f(b), f(c)).to_bits()) } else { a };
                if !FMA || has_edge(near) {
                    map3(a, b, c, |a, b, c| float::fma(f(a), f(b), f(c)).to_bits())
                } else {
                    map1(near, float::flush_bits)
                }
            };
            Fneg(a) => map1(a, |a| a ^ 0x8000_0000);
            Fabs(a) => map1(a, |a| a & 0x7fff_ffff);
            Pmin(a, b) => map2(a, b, |a, b| float::pmin(f(a), f(b)).to_bits());
            Pmax(a, b) => map2(a, b, |a, b| float::pmax(f(a), f(b)).to_bits());
            Ffloor(a) => map1(a, |a| float::flush(f(a)).floor().to_bits());
            Fceil(a) => map1(a, |a| float::flush(f(a)).ceil().to_bits());
            Ftrunc(a) => map1(a, |a| float::flush(f(a)).trunc().to_bits());
            Fnearest(a) => map1(a, |a| float::flush(f(a)).round_ties_even().to_bits());
            Fscale(a, b) => map2(a, b, |a, b| float::scale(f(a), f(b)).to_bits());
            Flogcase(a, b) => map2(a, b, |a, b| float::logcase(f(a), f(b)).to_bits());
            Feq(a, b) => compare(a, b, |a, b| a == b);
            Fne(a, b) => compare(a, b, |a, b| a != b);
            Flt(a, b) => compare(a, b, |a, b| a < b);
            Fle(a, b) => compare(a, b, |a, b| a <= b);
            Funo(a, b) => compare(a, b, |a, b| a.is_nan() || b.is_nan());
            // Rust's casts truncate, clamp and give 0 for NaN, as D3D asks.
            Ftoi(a) => map1(a, |a| f(a) as i32 as u32);
            Ftou(a) => map1(a, |a| f(a) as u32);
            Itof(a) => map1(a, |a| (a as i32 as f32).to_bits());
            Utof(a) => map1(a, |a| (a as f32).to_bits());
            QuadLeft(a) => quad(a, [0, 0, 2, 2]);
            QuadRight(a) => quad(a, [1, 1, 3, 3]);
            QuadTop(a) => quad(a, [0, 1, 0, 1]);
            QuadBottom(a) => quad(a, [2, 3, 2, 3]);
        }
    };
}
pub(crate) use for_each_plain_op;

macro_rules! define {
    ($( $op:ident($($operand:ident),*) => $result:expr; )*) => {
        /// Computes a pure op that has no immediate and no `f64` operand or result. `fused` says whether `fmad` rounds
        /// once.
        ///
        /// # Panics
        /// If the op is not of that kind.
        #[inline]
        pub fn eval<const L: usize>(op: Op, ty: Type, args: &[Lanes<L>], fused: bool) -> Lanes<L> {
            const FMA: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
            match (op, args) {
                $( (Op::$op, &[$($operand),*]) => $result, )*
                (Op::Not, &[a]) => map1(a, |a| a ^ complement(ty)),
                (Op::Any, &[a]) => [u32::from(a.iter().any(|&lane| lane != 0)); L],
                (op, args) if op.attribute() == Attribute::Composite => {
                    expansion(&mut Computer::<L> { fused }, op, args)
                }
                _ => panic!("{op} is not a plain op on {} operands", args.len()),
            }
        }
    };
}
for_each_plain_op!(define);

macro_rules! define_is_plain {
    ($( $op:ident($($operand:ident),*) => $result:expr; )*) => {
        /// Whether an op is one of the table.
        pub(crate) fn is_plain(op: Op) -> bool {
            matches!(op, $( Op::$op )|*)
        }
    };
}
for_each_plain_op!(define_is_plain);

/// What a value of the type differs in from its complement: lanes of an `i1` are 0 or 1.
#[inline(always)]
pub(crate) fn complement(ty: Type) -> u32 {
    if ty == Type::I1 { 1 } else { u32::MAX }
}

/// The float of these bits.
#[inline(always)]
pub(crate) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
pub(crate) fn map1<const L: usize>(a: Lanes<L>, f: impl Fn(u32) -> u32) -> Lanes<L> {
    let mut result = [0; L];
    for l in 0..L {
        result[l] = f(a[l]);
    }
    result
}

#[inline(always)]
pub(crate) fn map2<const L: usize>(a: Lanes<L>, b: Lanes<L>, f: impl Fn(u32, u32) -> u32) -> Lanes<L> {
    let mut result = [0; L];
    for l in 0..L {
        result[l] = f(a[l], b[l]);
    }
    result
}

#[inline(always)]
pub(crate) fn map3<const L: usize>(
    a: Lanes<L>,
    b: Lanes<L>,
    c: Lanes<L>,
    f: impl Fn(u32, u32, u32) -> u32,
) -> Lanes<L> {
    let mut result = [0; L];
    for l in 0..L {
        result[l] = f(a[l], b[l], c[l]);
    }
    result
}

/// What others of the own quad have. An invocation by itself has no others.
#[inline(always)]
pub(crate) fn quad<const L: usize>(a: Lanes<L>, from: [usize; 4]) -> Lanes<L> {
    let mut result = [0; L];
    for l in 0..L {
        result[l] = a[(l / 4 * 4 + from[l % 4]).min(L - 1)];
    }
    result
}

#[inline(always)]
pub(crate) fn compare<const L: usize>(a: Lanes<L>, b: Lanes<L>, f: impl Fn(f32, f32) -> bool) -> Lanes<L> {
    map2(a, b, |a, b| u32::from(f(float::flush(f32::from_bits(a)), float::flush(f32::from_bits(b)))))
}

/// Whether some rounded result does not say if the exact one is tiny, which is hardly ever.
#[inline(always)]
pub(crate) fn has_edge<const L: usize>(rounded: Lanes<L>) -> bool {
    let mut edges = false;
    for bits in rounded {
        edges |= float::is_edge(bits);
    }
    edges
}

/// Runs an expansion on lanes.
struct Computer<const L: usize> {
    fused: bool,
}

impl<const L: usize> Emit for Computer<L> {
    type Value = Lanes<L>;

    fn op(&mut self, op: Op, args: &[Lanes<L>]) -> Lanes<L> {
        // Expansions complement only truth values.
        eval(op, if op == Op::Not { Type::I1 } else { Type::I32 }, args, self.fused)
    }

    fn constant(&mut self, _ty: Type, bits: u32) -> Lanes<L> {
        [bits; L]
    }

    fn fused(&self) -> bool {
        self.fused
    }
}
