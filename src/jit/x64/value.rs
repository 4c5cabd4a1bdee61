//! How values of the program are held in registers: the table in [`x64`](super).

use super::Selector;
use super::code::{Address, Source};
use super::table::{Class, Op as X};
use regalloc2::VReg;
use shaderjit_ir::batch::{Steps, Stream};
use shaderjit_ir::{Array, Op, Resource, Space, Type, Value};

/// What holds a value: a register for each of its words.
#[derive(Clone, Copy)]
pub struct Parts(pub [VReg; 4]);

impl Default for Parts {
    fn default() -> Parts {
        Parts([VReg::invalid(); 4])
    }
}

/// Something made once in a block and used again there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memo {
    /// A uniform `i32` or `i1` in all lanes.
    Splat(Value),
    /// The table of the inputs' streams or of the outputs', by its offset in what a call is given.
    Streams(i32),
    /// The first row of a stream, its stride, and what addresses need of that.
    Stream(Stream),
    /// The columns of the rows at `row + index` of a space.
    Rows(Space, u32, Value),
    /// The offset of a lane's window at `first + index` of a space.
    LaneOffset(Space, u32, Value, u8),
    /// The address of the window at `first + index` of a space, for a uniform index.
    WindowAddress(Space, u32, Option<Value>),
    /// Where loads at a fixed offset of a resource begin, and the last operand that is in range, in all lanes.
    Window(Resource, u32),
    /// How many bytes a resource has.
    Length(Resource),
    /// The address of the word that a uniform address is in.
    Aligned(Value),
    /// Where a resource begins.
    Data(Resource),
    /// The address of lane 0, or of the word it is in, or what is shifted for it, if the others have its shape; without
    /// one, those of both halves of the lanes.
    First(Value, bool, Option<Steps>),
    /// The larger one of those of both halves.
    Last(Value, bool),
    /// How far from an array's start an element is.
    Element(Array, Value),
    /// A lane's word of a value.
    Lane(Value, u8),
    /// The last address behind which a resource has so many bytes, shifted to the right.
    Limit(Resource, u32, u8),
    /// A literal in all lanes.
    Word(u32),
    /// Which word each lane gets of those that lie in a shape.
    Order(Steps),
    /// A mask, in a register for masks, of the lanes whose bits are set.
    Lanes(u32),
    /// The words of rows that are loaded together, those that are wanted.
    Elements(usize),
}

impl Selector<'_> {
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.program.uniform.contains(value)
    }

    /// Class and number of the registers that hold a value.
    pub(super) fn parts(&self, value: Value) -> (Class, usize) {
        let ty = self.func.ty(value);
        let class = match (ty, self.is_uniform(value)) {
            (Type::F32, _) => Class::V,
            (_, true) => Class::G,
            (Type::I1, false) => self.simd.mask_class(),
            (_, false) => Class::V,
        };
        (class, ty.words() as usize)
    }

    /// One register that is made at its first use in a block.
    pub(super) fn memoised(&mut self, key: Memo, make: impl FnOnce(&mut Self) -> VReg) -> VReg {
        self.memoised_all(key, |this| [make(this); 4])[0]
    }

    /// Registers that are.
    pub(super) fn memoised_all(&mut self, key: Memo, make: impl FnOnce(&mut Self) -> [VReg; 4]) -> [VReg; 4] {
        if let Some(&values) = self.here.memo.get(&key) {
            return values;
        }
        let values = make(self);
        self.here.memo.insert(key, values);
        values
    }

    // ---- uses

    /// The word of a literal.
    pub(super) fn literal(&self, value: Value) -> Option<u32> {
        self.func.constant(value).map(|bits| bits as u32)
    }

    /// A value that is no truth value, of one word, to be read where it is used.
    pub(super) fn source(&mut self, value: Value) -> Source {
        if let Some(bits) = self.func.constant(value) {
            return self.simd.word_source(bits as u32);
        }
        match self.slots[value] {
            Some(address) if !address.broadcast || self.simd.has_masks() => address.into(),
            _ => self.vector(value).into(),
        }
    }

    /// The same in a register.
    pub(super) fn vector(&mut self, value: Value) -> VReg {
        if let Some(bits) = self.func.constant(value) {
            return self.word(bits as u32);
        }
        if let Some(address) = self.slots[value] {
            return self.simd.load(address);
        }
        let held = self.values[value].0[0];
        match (self.func.ty(value), self.is_uniform(value)) {
            (Type::F32, _) | (_, false) => held,
            (_, true) => self.memoised(Memo::Splat(value), |this| this.simd.splat(held)),
        }
    }

    /// A literal in all lanes.
    pub(super) fn word(&mut self, word: u32) -> VReg {
        self.memoised(Memo::Word(word), |this| this.simd.word(word))
    }

    /// A truth value as a mask.
    pub(super) fn mask(&mut self, value: Value) -> VReg {
        if let Some(bits) = self.func.constant(value) {
            return self.simd.whole_mask(bits != 0);
        }
        let held = self.values[value].0[0];
        if self.is_uniform(value) {
            return self.memoised(Memo::Splat(value), |this| this.simd.splat_mask(held));
        }
        held
    }

    /// A value of one word that differs among lanes, or might, in the class that holds its type.
    pub(super) fn lanes(&mut self, value: Value) -> VReg {
        if self.func.ty(value) == Type::I1 { self.mask(value) } else { self.vector(value) }
    }

    /// A uniform value of one word in a general register.
    pub(super) fn scalar(&mut self, value: Value) -> VReg {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        let ty = self.func.ty(value);
        match self.func.constant(value) {
            Some(bits) if ty == Type::I1 => self.simd.literal(u32::from(bits != 0)),
            Some(bits) => self.simd.literal(bits as u32),
            None if ty == Type::F32 => match self.slots[value] {
                Some(address) => self.simd.load_word(Address { broadcast: false, ..address }),
                None => self.simd.first_word(self.values[value].0[0]),
            },
            None => self.values[value].0[0],
        }
    }

    /// The words of a value in general registers, if it is uniform and they are wanted like that, else what it is in
    /// vectors; a truth value's is a mask.
    pub(super) fn words(&mut self, value: Value, as_scalars: bool) -> Vec<VReg> {
        match (self.func.ty(value), self.func.constant(value), self.func.def_inst(value)) {
            (Type::F64, ..) if !as_scalars => self.doubles(value).to_vec(),
            (Type::F64, Some(bits), _) => {
                [bits as u32, (bits >> 32) as u32].map(|word| self.simd.literal(word)).to_vec()
            }
            // Its operands are what there is of it.
            (Type::Row, _, Some(join)) if join.op == Op::RowJoin => {
                join.args.iter().flat_map(|&word| self.words(word, as_scalars)).collect()
            }
            (ty @ (Type::F64 | Type::Row), ..) => {
                let is_splat = self.is_uniform(value) && !as_scalars;
                let held = self.values[value].0.into_iter().take(ty.words() as usize);
                held.map(|word| if is_splat { self.simd.splat(word) } else { word }).collect()
            }
            _ if as_scalars => vec![self.scalar(value)],
            _ => vec![self.lanes(value)],
        }
    }

    // ---- definitions

    /// Defines a value of one word by a vector or a mask: one that differs among lanes, or a float.
    pub(super) fn define_vector(&mut self, value: Value, vector: VReg) {
        debug_assert!(self.func.ty(value) == Type::F32 || !self.is_uniform(value), "{value} is uniform");
        self.values[value].0[0] = vector;
    }

    /// Defines a uniform value of one word by a general register.
    pub(super) fn define_scalar(&mut self, value: Value, scalar: VReg) {
        debug_assert!(self.is_uniform(value), "{value} differs among lanes");
        self.values[value].0[0] = if self.func.ty(value) == Type::F32 { self.simd.splat(scalar) } else { scalar };
    }

    /// Defines a uniform value of one word by what lies in memory.
    pub(super) fn define_loaded(&mut self, value: Value, address: Address) {
        self.values[value].0[0] = match self.func.ty(value) {
            Type::F32 => self.simd.load(address.in_all_lanes()),
            _ => self.simd.load_word(address),
        };
    }

    /// Defines a value by its words: in general registers if it is uniform, else in vectors.
    pub(super) fn define(&mut self, value: Value, words: &[VReg]) {
        match *words {
            [word] if self.is_uniform(value) => self.define_scalar(value, word),
            [word] => self.define_vector(value, word),
            _ => self.values[value].0[..words.len()].copy_from_slice(words),
        }
    }

    /// Whether nothing uses a value behind its one user.
    pub(super) fn dies(&self, value: Value) -> bool {
        let uses = self.program.uses[value];
        uses.guards + uses.others == 1
    }

    /// The complement of a vector.
    pub(super) fn complement(&mut self, vector: VReg) -> VReg {
        let ones = self.simd.word_source(u32::MAX);
        self.simd.op(X::Pxor, &[vector], ones)
    }
}
