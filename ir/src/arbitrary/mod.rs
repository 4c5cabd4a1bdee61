//! Valid functions, and data to run them on, from random bytes: for property tests and fuzzing.
//!
//! Control flow is generated freely, nested statements as well as jumps at random among a set of blocks; what is
//! computed travels in the builder's variables, so any graph is in SSA form by construction. The budget of statements
//! bounds a function's size, counters bound nearly all its loops.

mod control;
mod data;
mod nans;
mod textures;

pub use data::{Data, edge_bits};
pub use nans::canonicalize_nans;
pub(crate) use nans::{NAN, makes_nans};
pub use textures::HashedTextures;

use crate::builder::FunctionBuilder;
use crate::entity::{Array, Block, Resource, Sampler, Space, Value, Variable};
use crate::function::{Function, Imm, Picks};
use crate::memory::is_memory_op;
use crate::op::{Attribute, ImmKind, Op, SysVal, TypeRule};
use crate::texture::{TextureShape, is_texture_op};
use crate::types::Type;
use arbitrary::{Result, Unstructured};

/// What generated functions may contain.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Statements at most; each is a few instructions.
    pub size: u32,
    /// How deep statements nest.
    pub depth: u32,
    /// Whether there are blocks that jump to each other at random, which makes loops with several entries.
    pub irreducible: bool,
    /// Whether some loops may run for ever, so that runs end for want of fuel.
    pub unbounded: bool,
    /// Whether there are composite ops.
    pub composite: bool,
    /// Whether there are values of type `f64`.
    pub doubles: bool,
    /// Whether there are register arrays.
    pub arrays: bool,
    /// Whether there are textures.
    pub textures: bool,
    /// Whether there are derivatives, of which an invocation by itself has none.
    pub quads: bool,
}

impl Default for Config {
    /// Everything, in functions of a few hundred instructions at most.
    fn default() -> Config {
        Config {
            size: 60,
            depth: 4,
            irreducible: true,
            unbounded: true,
            composite: true,
            doubles: true,
            arrays: true,
            textures: true,
            quads: true,
        }
    }
}

/// Generates a function that is valid and not in lockstep form. It may hold every op but those
/// [of lockstep](Op::is_of_lockstep).
///
/// ```
/// use shaderjit_ir::arbitrary::{Config, function};
/// let bytes: Vec<u8> = (0..=255).cycle().take(500).collect();
/// let func = function(&mut arbitrary::Unstructured::new(&bytes), &Config::default())?;
/// assert_eq!(shaderjit_ir::verify::verify(&func), Ok(()));
/// # Ok::<(), arbitrary::Error>(())
/// ```
pub fn function(u: &mut Unstructured<'_>, config: &Config) -> Result<Function> {
    let inputs = u.int_in_range(1..=3)?;
    let outputs = u.int_in_range(1..=2)?;
    let mut generator = Generator::new(u, config, FunctionBuilder::new("arbitrary", inputs, outputs));
    generator.declarations()?;
    generator.statements(0)?;
    generator.finish()
}

/// Where statements inside a loop or a `switch` may go to.
#[derive(Clone, Copy)]
struct Exits {
    /// The next iteration; none in a `switch` that is in no loop.
    next: Option<Block>,
    leave: Block,
}

struct Generator<'a, 'u> {
    u: &'a mut Unstructured<'u>,
    config: &'a Config,
    b: FunctionBuilder,
    /// Ops to choose from.
    ops: Vec<Op>,
    variables: Vec<Variable>,
    variable_types: Vec<Type>,
    /// Values whose definitions dominate the current position.
    scope: Vec<Value>,
    spaces: Vec<Space>,
    /// Those that are bytes.
    resources: [Resource; 2],
    textures: Vec<(Resource, TextureShape)>,
    samplers: [Sampler; 2],
    arrays: Vec<(Array, u32, u8)>,
    exits: Vec<Exits>,
    budget: u32,
}

impl<'a, 'u> Generator<'a, 'u> {
    fn new(u: &'a mut Unstructured<'u>, config: &'a Config, mut b: FunctionBuilder) -> Generator<'a, 'u> {
        let resources = ["t0", "t1"].map(|name| b.add_resource(name));
        let samplers = ["s0", "s1"].map(|name| b.add_sampler(name));
        let mut textures = Vec::new();
        for (number, &shape) in (2..).zip(TextureShape::ALL).filter(|_| config.textures) {
            textures.push((b.add_texture(format!("t{number}"), shape), shape));
        }
        let is_double = |op: Op| op.operands().contains(&TypeRule::F64) || op.result() == TypeRule::F64;
        let is_allowed = |op: Op| {
            !op.is_of_lockstep()
                && op != Op::Barrier
                && !op.is_of_batch(Type::F32)
                && (config.composite || op.attribute() != Attribute::Composite)
                && (config.doubles || !is_double(op))
                && (config.arrays || op.imm() != ImmKind::Array)
                && (config.textures || !is_texture_op(op))
                && (config.quads || !op.is_derivative())
                && !is_memory_op(op)
        };
        Generator {
            u,
            config,
            b,
            ops: Op::ALL.iter().copied().filter(|&op| is_allowed(op)).collect(),
            variables: Vec::new(),
            variable_types: Vec::new(),
            scope: Vec::new(),
            spaces: Vec::new(),
            resources,
            textures,
            samplers,
            arrays: Vec::new(),
            exits: Vec::new(),
            budget: config.size,
        }
    }

    /// Spaces, arrays and variables; some of the variables begin with an input, a system value or a uniform.
    fn declarations(&mut self) -> Result<()> {
        self.spaces.push(self.b.add_space("cb0", None));
        let rows = self.u.int_in_range(0..=3)?;
        let table = (0..rows).map(|_| data::row(self.u)).collect::<Result<_>>()?;
        self.spaces.push(self.b.add_space("icb", Some(table)));
        if self.config.arrays {
            for _ in 0..2 {
                let (elements, components) = (self.u.int_in_range(1..=6)?, self.u.int_in_range(1..=4)?);
                self.arrays.push((self.b.add_array(elements, components), elements, components));
            }
        }
        for ty in [Type::I32, Type::F32, Type::I1, Type::I32, Type::F32, Type::I1, Type::F64] {
            if ty == Type::F64 && !self.config.doubles {
                continue;
            }
            let variable = self.b.declare_var(ty);
            self.variables.push(variable);
            self.variable_types.push(ty);
            if TypeRule::Word.allows(ty) {
                let (element, component) = (self.element(self.b.func().inputs)?, self.u.int_in_range(0..=3)?);
                let value = self.b.input(ty, element, component);
                self.scope.push(value);
                self.b.def_var(variable, value);
            }
        }
        let (index, zero) = (self.b.sysval(SysVal::VertexId), self.b.f32(0.0));
        self.scope.extend([index, zero]);
        Ok(())
    }

    /// Sets every output component to some value, so that most of what was computed counts.
    fn finish(mut self) -> Result<Function> {
        if !self.b.is_terminated() {
            for element in 0..self.b.func().outputs {
                for component in 0..4 {
                    let ty = self.word()?;
                    let value = self.value(ty)?;
                    self.b.output(element, component, value);
                }
            }
            self.b.ret();
        }
        Ok(self.b.finish())
    }

    // ---- values

    fn element(&mut self, count: u32) -> Result<u32> {
        self.u.int_in_range(0..=count - 1)
    }

    fn word(&mut self) -> Result<Type> {
        Ok(*self.u.choose(&[Type::F32, Type::I32])?)
    }

    /// A value of the type: one in scope, a variable's, or a literal.
    fn value(&mut self, ty: Type) -> Result<Value> {
        let choice = self.u.int_in_range(0..=7u8)?;
        if choice < 4 && !self.scope.is_empty() {
            let start = self.u.choose_index(self.scope.len())?;
            let found = (0..self.scope.len())
                .map(|offset| self.scope[(start + offset) % self.scope.len()])
                .find(|&value| self.b.ty(value) == ty);
            if let Some(value) = found {
                return Ok(value);
            }
        }
        if choice < 6 {
            let variables = self.variables.iter().zip(&self.variable_types);
            let fitting: Vec<Variable> = variables.filter(|&(_, t)| *t == ty).map(|(&variable, _)| variable).collect();
            if !fitting.is_empty() {
                let variable = *self.u.choose(&fitting)?;
                return Ok(self.b.use_var(variable));
            }
        }
        let bits = edge_bits(self.u, ty)?;
        Ok(self.b.constant(ty, bits))
    }

    /// A value to index something of `count` elements with: mostly in range.
    fn index(&mut self, count: u32) -> Result<Value> {
        let value = self.value(Type::I32)?;
        if self.u.ratio(1, 4)? {
            return Ok(value);
        }
        let mask = self.b.i32(count.next_power_of_two() - 1);
        Ok(self.b.and([value, mask]))
    }

    /// Puts a value into a variable of its type.
    fn assign(&mut self) -> Result<()> {
        let index = self.u.choose_index(self.variables.len())?;
        let value = self.value(self.variable_types[index])?;
        self.b.def_var(self.variables[index], value);
        Ok(())
    }

    // ---- instructions

    /// Any op of the table. What it computes often goes into a variable.
    fn instruction(&mut self) -> Result<()> {
        let op = *self.u.choose(&self.ops)?;
        let sets: Vec<TypeRule> =
            op.operands().iter().copied().chain([op.result()]).filter(|rule| rule.is_set()).collect();
        let types: Vec<Type> = Type::ALL
            .into_iter()
            .filter(|&ty| ty != Type::Row && (self.config.doubles || ty != Type::F64))
            .filter(|&ty| sets.iter().all(|rule| rule.allows(ty)))
            .collect();
        let ty = *self.u.choose(&types)?;
        let imm = self.imm(op, ty)?;
        let mut args = Vec::new();
        for (position, rule) in op.operands().iter().enumerate() {
            args.push(match (op.imm(), position) {
                (ImmKind::Row, 0) => self.index(4)?,
                (ImmKind::ResourceByte, 0) => self.index(64)?,
                (ImmKind::Array, 0) => self.index(self.array_elements(imm))?,
                _ if *rule == TypeRule::Row => self.row()?,
                _ => self.value(rule.fixed().unwrap_or(ty))?,
            });
        }
        if let Some(mut result) = self.b.emit(op, ty, &args, imm) {
            // A row may not leave its block, so one word of it goes on.
            if self.b.ty(result) == Type::Row {
                let (ty, component) = (self.word()?, self.u.int_in_range(0..=3)?);
                result = self.b.row_word(ty, result, component);
            }
            self.scope.push(result);
            if self.u.ratio(1, 2)? {
                let index = self.u.choose_index(self.variables.len())?;
                if self.variable_types[index] == self.b.ty(result) {
                    self.b.def_var(self.variables[index], result);
                }
            }
        }
        Ok(())
    }

    /// Four words of one type.
    fn row(&mut self) -> Result<Value> {
        let ty = self.word()?;
        let words = [self.value(ty)?, self.value(ty)?, self.value(ty)?, self.value(ty)?];
        Ok(self.b.row_join(words))
    }

    /// A texture that `op` can access, and offsets.
    fn texture(&mut self, op: Op) -> Result<(Resource, [i8; 3])> {
        let offsets = if self.u.ratio(1, 3)? { [1, -2, 3] } else { [0; 3] };
        let accessible = self.textures.iter().filter(|(_, shape)| shape.objection(op, offsets).is_none());
        let accessible: Vec<Resource> = accessible.map(|&(texture, _)| texture).collect();
        Ok((*self.u.choose(&accessible)?, offsets))
    }

    fn imm(&mut self, op: Op, ty: Type) -> Result<Imm> {
        let component = self.u.int_in_range(0..=3)?;
        Ok(match op.imm() {
            ImmKind::None => Imm::None,
            ImmKind::Bits => Imm::Bits(edge_bits(self.u, ty)?),
            ImmKind::Element => {
                let func = self.b.func();
                let count = if op == Op::Output { func.outputs } else { func.inputs };
                Imm::Element { element: self.element(count)?, component }
            }
            // Ops of batch programs have them, and are not asked for.
            ImmKind::Stream => Imm::Stream(0),
            ImmKind::Slot => Imm::Slot(0),
            ImmKind::Worklist => Imm::Worklist(0),
            ImmKind::Nested => Imm::Nested { worklist: 0, outer: None },
            ImmKind::Picks => Imm::Picks(Picks::new([0; Picks::LANES])),
            // The same for ops on memory.
            ImmKind::Atomic => Imm::None,
            ImmKind::SpaceRow => Imm::SpaceRow { space: *self.u.choose(&self.spaces)?, row: 0 },
            ImmKind::SysVal => Imm::SysVal(*self.u.choose(&[SysVal::VertexId, SysVal::InstanceId])?),
            ImmKind::Row => {
                let space = *self.u.choose(&self.spaces)?;
                let row = if self.u.ratio(1, 16)? { u32::MAX } else { self.u.int_in_range(0..=4)? };
                Imm::Row { space, row, component }
            }
            ImmKind::ResourceByte => {
                let resource = *self.u.choose(&self.resources)?;
                // Near the end of 32 bits, where the sum with the operand must not wrap, now and then.
                let offset = self.u.int_in_range(0..=12)?;
                Imm::ResourceByte { resource, offset: if self.u.ratio(1, 16)? { u32::MAX - offset } else { offset } }
            }
            ImmKind::Resource if is_texture_op(op) => Imm::Resource(self.texture(op)?.0),
            ImmKind::Resource => Imm::Resource(*self.u.choose(&self.resources)?),
            ImmKind::Component => Imm::Component(component),
            ImmKind::Texel => {
                let (texture, offsets) = self.texture(op)?;
                Imm::Texel { texture, offsets }
            }
            ImmKind::Sample => {
                let (texture, offsets) = self.texture(op)?;
                Imm::Sample { texture, sampler: *self.u.choose(&self.samplers)?, offsets }
            }
            ImmKind::Gather => {
                let (texture, offsets) = self.texture(op)?;
                Imm::Gather { texture, sampler: *self.u.choose(&self.samplers)?, offsets, component }
            }
            ImmKind::Array => {
                let (array, _, components) = *self.u.choose(&self.arrays)?;
                Imm::Array { array, component: component % components }
            }
        })
    }

    fn array_elements(&self, imm: Imm) -> u32 {
        let declared = self.arrays.iter().find(|(array, ..)| matches!(imm, Imm::Array { array: a, .. } if a == *array));
        declared.map_or(1, |&(_, elements, _)| elements)
    }
}

#[cfg(test)]
mod tests;
