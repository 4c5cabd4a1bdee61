//! How IR values are held in Cranelift values: the table in [`emit`](super).

use super::Emitter;
use cranelift_codegen::ir::types::{F32X4, I8, I32, I32X4};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use cranelift_entity::packed_option::ReservedValue;
use shaderjit_ir::batch::{Steps, Stream};
use shaderjit_ir::{Op, Resource, Space, Type, Value};

/// How many native instructions after its load something is used from its register.
const REACH: usize = 24;

/// How many literals the loop of a phase holds in registers: those of its code that come first. What its chains need
/// besides fits the other half.
pub const HELD_LITERALS: usize = 8;

/// The literals that the loop of a phase holds in registers.
pub struct HeldLiterals {
    /// The block in front of the loop, which makes them.
    pub block: clif::Block,
    pub vectors: Vec<(clif::Type, u32, clif::Value)>,
}

/// What holds a value: one Cranelift value for each of its words. Those that its type does not have are reserved
/// values.
#[derive(Clone, Copy)]
pub struct Parts(pub [clif::Value; 4]);

impl Default for Parts {
    fn default() -> Parts {
        Parts([clif::Value::reserved_value(); 4])
    }
}

/// Something made once in a block and used again there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memo {
    /// A uniform `i32` or `i1` in all lanes.
    Splat(Value),
    /// The first row of a stream, its stride, and twice that where lanes need it.
    Stream(Stream),
    /// The columns of the rows at `row + index` of a space.
    Rows(Space, u32, Value),
    /// The address of the window at `first + index` of a space, for a uniform index.
    WindowAddress(Space, u32, Option<Value>),
    /// Where loads at a fixed offset of a resource begin, and the last operand that is in range.
    Window(Resource, u32),
    /// The last operand that is in range, in all lanes.
    LastInWindow(Resource, u32),
    /// Where a resource begins, 64-bit.
    Data(Resource),
    /// The last address, 64-bit, from which so many bytes of a resource can be read; below zero where none is.
    Limit(Resource, u32),
    /// Lane 0's address, 64-bit, if the others have those of a shape, else one that is out of every range. Whether they
    /// are in memory, where they are those of words.
    First(Value, bool, Steps),
    /// The words of rows that are loaded together, those that are wanted.
    Elements(usize),
}

impl Emitter<'_, '_> {
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.program.uniform.contains(value)
    }

    /// Type and number of what holds a value.
    pub(super) fn parts(&self, value: Value) -> (clif::Type, usize) {
        let ty = self.func.ty(value);
        let held = match (ty, self.is_uniform(value)) {
            (Type::F32, true) => F32X4,
            (Type::I1, true) => I8,
            (_, true) => I32,
            (ty, false) => vector_type(ty),
        };
        (held, ty.words() as usize)
    }

    /// One vector that is made at its first use in a block.
    pub(super) fn memoised(&mut self, key: Memo, make: impl FnOnce(&mut Self) -> clif::Value) -> clif::Value {
        self.memoised_all(key, |this| [make(this); 4])[0]
    }

    /// Several that are. What is made in code which may not run is not noted.
    pub(super) fn memoised_all(
        &mut self,
        key: Memo,
        make: impl FnOnce(&mut Self) -> [clif::Value; 4],
    ) -> [clif::Value; 4] {
        if let Some(&values) = self.here.memo.get(&key) {
            return values;
        }
        let values = make(self);
        if !self.here.is_aside {
            self.here.memo.insert(key, values);
        }
        values
    }

    // ---- uses

    /// A literal in all lanes: what was loaded a short way before, or is loaded now. Held in a register over a long way
    /// it would only be stored and loaded there.
    pub(super) fn word(&mut self, ty: clif::Type, word: u32) -> clif::Value {
        if let Some(vector) = self.held_literal(ty, word) {
            return vector;
        }
        let now = self.simd.builder.func.dfg.num_insts();
        match self.here.loaded.get(&(ty, word)) {
            Some(&(vector, made)) if now - made < REACH => vector,
            _ => {
                let vector = self.simd.word(ty, word);
                if !self.here.is_aside {
                    self.here.loaded.insert((ty, word), (vector, now));
                }
                vector
            }
        }
    }

    /// A literal that the loop of a phase holds in a register, or will from now on if there is room. Whole functions
    /// hold none: their loop is too long for it.
    pub(super) fn held_literal(&mut self, ty: clif::Type, word: u32) -> Option<clif::Value> {
        let HeldLiterals { block, vectors } = self.held_literals.as_mut()?;
        if let Some(&(.., vector)) = vectors.iter().find(|held| (held.0, held.1) == (ty, word)) {
            return Some(vector);
        }
        // Zero and all ones are made without a load.
        if word == 0 || word == u32::MAX || vectors.len() >= HELD_LITERALS {
            return None;
        }
        let vector = self.simd.word_in(*block, ty, word);
        vectors.push((ty, word, vector));
        Some(vector)
    }

    /// A value of one word as a vector, whatever it is held in.
    pub(super) fn vector(&mut self, value: Value) -> clif::Value {
        let ty = self.func.ty(value);
        if let Some(bits) = self.func.constant(value) {
            let word = if ty == Type::I1 { u32::from(bits != 0).wrapping_neg() } else { bits as u32 };
            return self.word(vector_type(ty), word);
        }
        let held = self.values[value].0[0];
        match (ty, self.is_uniform(value)) {
            (Type::F32, _) | (_, false) => held,
            (_, true) => self.memoised(Memo::Splat(value), |this| {
                let word = if ty == Type::I1 { this.simd.ins().bmask(I32, held) } else { held };
                this.simd.ins().splat(I32X4, word)
            }),
        }
    }

    /// A uniform value of one word as a scalar.
    pub(super) fn scalar(&mut self, value: Value) -> clif::Value {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        let ty = self.func.ty(value);
        match self.func.constant(value) {
            Some(bits) if ty == Type::I1 => self.simd.ins().iconst(I8, i64::from(bits != 0)),
            Some(bits) if ty == Type::I32 => self.simd.iconst(bits as u32),
            _ if ty == Type::F32 => {
                let splat = self.vector(value);
                self.simd.ins().extractlane(splat, 0u8)
            }
            _ => self.values[value].0[0],
        }
    }

    /// The words of a value as scalars, if it is uniform and they are wanted like that, else as vectors.
    pub(super) fn words(&mut self, value: Value, as_scalars: bool) -> Vec<clif::Value> {
        match (self.func.ty(value), self.func.constant(value), self.func.def_inst(value)) {
            (Type::F64, Some(bits), _) => [bits as u32, (bits >> 32) as u32]
                .map(|word| if as_scalars { self.simd.iconst(word) } else { self.word(I32X4, word) })
                .to_vec(),
            // Its operands are what there is of it.
            (Type::Row, _, Some(join)) if join.op == Op::RowJoin => {
                join.args.iter().flat_map(|&word| self.words(word, as_scalars)).collect()
            }
            (ty @ (Type::F64 | Type::Row), ..) => {
                let is_splat = self.is_uniform(value) && !as_scalars;
                let held = self.values[value].0.into_iter().take(ty.words() as usize);
                held.map(|word| if is_splat { self.simd.ins().splat(I32X4, word) } else { word }).collect()
            }
            _ if as_scalars => vec![self.scalar(value)],
            _ => vec![self.vector(value)],
        }
    }

    // ---- definitions

    /// Defines a value of one word that is held in a vector: one that differs among lanes, or a float.
    pub(super) fn define_vector(&mut self, value: Value, vector: clif::Value) {
        let ty = self.func.ty(value);
        debug_assert!(ty == Type::F32 || !self.is_uniform(value), "{value} is uniform");
        self.values[value].0[0] = self.simd.cast(vector_type(ty), vector);
    }

    /// Defines a uniform value of one word by a scalar.
    pub(super) fn define_scalar(&mut self, value: Value, scalar: clif::Value) {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        self.values[value].0[0] =
            if self.func.ty(value) == Type::F32 { self.simd.ins().splat(F32X4, scalar) } else { scalar };
    }

    /// Defines a value by its words: scalars if it is uniform, else vectors.
    pub(super) fn define(&mut self, value: Value, words: &[clif::Value]) {
        match *words {
            [word] if self.is_uniform(value) => self.define_scalar(value, word),
            [word] => self.define_vector(value, word),
            _ => self.values[value].0[..words.len()].copy_from_slice(words),
        }
    }
}

/// The type of the vectors that hold a 32-bit value or an `i1`.
pub fn vector_type(ty: Type) -> clif::Type {
    if ty == Type::F32 { F32X4 } else { I32X4 }
}
