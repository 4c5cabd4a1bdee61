//! How IR values are held in Cranelift values: the table in [`emit`](super).

use super::Emitter;
use super::fetch;
use super::simd::Simd;
use cranelift_codegen::ir::types::{F32X4, I8, I32, I32X4};
use cranelift_codegen::ir::{self as clif, InstBuilder};
use cranelift_entity::packed_option::ReservedValue;
use foldhash::HashMap;
use shaderjit_ir::{Resource, Space, Type, Value};

/// Most vectors of four lanes.
pub const MAX_VECTORS: usize = 2;

/// How many native instructions after its load something is used from its register.
const REACH: usize = 24;

/// How many literals the loop of a phase holds in registers: those of its code that come first. What its chains need
/// besides fits the other half.
const HELD_LITERALS: usize = 8;

/// The literals that the loop of a phase holds in registers.
pub struct HeldLiterals {
    /// The block in front of the loop, which makes them.
    pub block: clif::Block,
    pub vectors: HashMap<(clif::Type, u32), clif::Value>,
}

/// The vectors of a value; where there is one, both are the same.
pub type Vectors = [clif::Value; MAX_VECTORS];

/// What holds a value. Slots that its type does not use are reserved values.
#[derive(Clone, Copy)]
pub struct Parts(pub [clif::Value; 2 * MAX_VECTORS]);

impl Default for Parts {
    fn default() -> Parts {
        Parts([clif::Value::reserved_value(); 2 * MAX_VECTORS])
    }
}

/// Something made once in a block and used again there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memo {
    /// A uniform `i32` or `i1` in all lanes.
    Splat(Value),
    /// The columns of one vector's rows at `row + index` of a space.
    Rows(Space, u32, Value, usize),
    /// The address of the window at `first + index` of a space, for a uniform index.
    WindowAddress(Space, u32, Option<Value>),
    /// Where loads at a fixed offset of a resource begin, and the last operand that is in range.
    Window(Resource, u32),
    /// The last operand that is in range, in all lanes.
    LastInWindow(Resource, u32),
}

impl<'b> Emitter<'_, 'b> {
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.program.uniform().contains(value)
    }

    /// Type and number of what holds a value.
    pub(super) fn parts(&self, value: Value) -> (clif::Type, usize) {
        match (self.func.ty(value), self.is_uniform(value)) {
            (Type::F32, true) => (F32X4, 1),
            (Type::I1, true) => (I8, 1),
            (Type::F64, true) => (I32, 2),
            (_, true) => (I32, 1),
            (Type::F64, false) => (I32X4, 2 * self.places.vectors),
            (ty, false) => (vector_type(ty), self.places.vectors),
        }
    }

    /// Makes each vector of a value.
    pub(super) fn each_vector(&mut self, mut make: impl FnMut(&mut Simd<'b>, usize) -> clif::Value) -> Vectors {
        let mut vectors = [make(&mut self.simd, 0); MAX_VECTORS];
        for (which, vector) in vectors.iter_mut().enumerate().take(self.places.vectors).skip(1) {
            *vector = make(&mut self.simd, which);
        }
        vectors
    }

    /// One vector that is made at its first use in a block.
    pub(super) fn memoised(&mut self, key: Memo, make: impl FnOnce(&mut Self) -> clif::Value) -> clif::Value {
        if let Some(values) = self.memo.get(&key) {
            return values[0];
        }
        let value = make(self);
        self.memo.insert(key, [value; 4]);
        value
    }

    // ---- uses

    /// A literal in all lanes: what was loaded a short way before, or is loaded now. Held in a register over a long way
    /// it would only be stored and loaded there.
    pub(super) fn word(&mut self, ty: clif::Type, word: u32) -> clif::Value {
        if let Some(vector) = self.held_literal(ty, word) {
            return vector;
        }
        let now = self.simd.builder.func.dfg.num_insts();
        match self.loaded.get(&(ty, word)) {
            Some(&(vector, made)) if now - made < REACH => vector,
            _ => {
                let vector = self.simd.word(ty, word);
                self.loaded.insert((ty, word), (vector, now));
                vector
            }
        }
    }

    /// A literal that the loop of a phase holds in a register, or will from now on if there is room. Whole functions
    /// hold none: their loop is too long for it.
    pub(super) fn held_literal(&mut self, ty: clif::Type, word: u32) -> Option<clif::Value> {
        let HeldLiterals { block, vectors } = self.held_literals.as_mut()?;
        if let Some(&vector) = vectors.get(&(ty, word)) {
            return Some(vector);
        }
        // Zero and all ones are made without a load.
        if word == 0 || word == u32::MAX || vectors.len() >= HELD_LITERALS {
            return None;
        }
        let vector = self.simd.word_in(*block, ty, word);
        vectors.insert((ty, word), vector);
        Some(vector)
    }

    /// A value in vectors, whatever it is held in. Not for `f64`.
    pub(super) fn vectors(&mut self, value: Value) -> Vectors {
        let first = self.vector(value, 0);
        let is_one = self.places.vectors == 1 || self.is_uniform(value);
        [first, if is_one { first } else { self.vector(value, 1) }]
    }

    /// One vector of a value. Not for `f64`.
    pub(super) fn vector(&mut self, value: Value, which: usize) -> clif::Value {
        let ty = self.func.ty(value);
        if let Some(bits) = self.func.constant(value) {
            let word = if ty == Type::I1 { u32::from(bits != 0).wrapping_neg() } else { bits as u32 };
            return self.word(vector_type(ty), word);
        }
        let parts = self.values[value].0;
        match (ty, self.is_uniform(value)) {
            (Type::F32, true) => parts[0],
            (_, true) => self.memoised(Memo::Splat(value), |this| {
                let word = if ty == Type::I1 { this.simd.ins().bmask(I32, parts[0]) } else { parts[0] };
                this.simd.ins().splat(I32X4, word)
            }),
            (_, false) => parts[which],
        }
    }

    /// A uniform value as a scalar. Not for `f64`.
    pub(super) fn scalar(&mut self, value: Value) -> clif::Value {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        let ty = self.func.ty(value);
        match self.func.constant(value) {
            Some(bits) if ty == Type::I1 => self.simd.ins().iconst(I8, i64::from(bits != 0)),
            Some(bits) if ty == Type::I32 => self.simd.iconst(bits as u32),
            _ if ty == Type::F32 => {
                let splat = self.vectors(value)[0];
                fetch::first_lane(&mut self.simd, splat)
            }
            _ => self.values[value].0[0],
        }
    }

    /// The low and high words of a uniform `f64`.
    pub(super) fn double_scalars(&mut self, value: Value) -> [clif::Value; 2] {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        match self.func.constant(value) {
            Some(bits) => [bits as u32, (bits >> 32) as u32].map(|word| self.simd.iconst(word)),
            None => [self.values[value].0[0], self.values[value].0[1]],
        }
    }

    /// The low and high words of an `f64` in vectors.
    pub(super) fn double_vectors(&mut self, value: Value) -> [Vectors; 2] {
        if let Some(bits) = self.func.constant(value) {
            return [bits as u32, (bits >> 32) as u32].map(|word| [self.word(I32X4, word); MAX_VECTORS]);
        }
        if self.is_uniform(value) {
            return self.double_scalars(value).map(|word| [self.simd.ins().splat(I32X4, word); MAX_VECTORS]);
        }
        let (parts, vectors) = (self.values[value].0, self.places.vectors);
        [[parts[0], parts[vectors - 1]], [parts[vectors], parts[2 * vectors - 1]]]
    }

    // ---- definitions

    /// Defines a divergent value that is no `f64`.
    pub(super) fn define_vectors(&mut self, value: Value, vectors: Vectors) {
        for (which, vector) in vectors.into_iter().enumerate().take(self.places.vectors) {
            self.define_vector(value, which, vector);
        }
    }

    /// Defines one vector of a divergent value that is no `f64`.
    pub(super) fn define_vector(&mut self, value: Value, which: usize, vector: clif::Value) {
        debug_assert!(!self.is_uniform(value), "{value} is uniform");
        let vector = self.simd.cast(vector_type(self.func.ty(value)), vector);
        self.values[value].0[which] = vector;
    }

    /// Defines a uniform `f32` by its vector.
    pub(super) fn define_splat(&mut self, value: Value, splat: clif::Value) {
        self.values[value].0[0] = self.simd.cast(F32X4, splat);
    }

    /// Defines a uniform value that is no `f64` by a scalar.
    pub(super) fn define_scalar(&mut self, value: Value, scalar: clif::Value) {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        self.values[value].0[0] =
            if self.func.ty(value) == Type::F32 { self.simd.ins().splat(F32X4, scalar) } else { scalar };
    }

    /// Defines a uniform `f64` by its low and high words.
    pub(super) fn define_double_scalars(&mut self, value: Value, words: [clif::Value; 2]) {
        self.values[value].0[..2].copy_from_slice(&words);
    }

    /// Defines a divergent `f64` by its low and high words.
    pub(super) fn define_double_vectors(&mut self, value: Value, [low, high]: [Vectors; 2]) {
        let vectors = self.places.vectors;
        let parts = &mut self.values[value].0;
        parts[..vectors].copy_from_slice(&low[..vectors]);
        parts[vectors..2 * vectors].copy_from_slice(&high[..vectors]);
    }
}

/// The type of the vectors that hold a 32-bit value or an `i1`.
pub fn vector_type(ty: Type) -> clif::Type {
    if ty == Type::F32 { F32X4 } else { I32X4 }
}
