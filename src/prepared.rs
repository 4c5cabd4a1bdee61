//! A program that has been through every pass, whatever runs it.

use crate::cache::Key;
use crate::facts::Facts;
use crate::frontend::Interface;
use crate::jit::UniformRows;
use crate::options::{CompileOptions, FuelLimits, Lanes};
use crate::pipeline::{self, PassOptions};
use crate::shader::{Shader, ShaderFormat};
use crate::stage::Stage;
use crate::traced::TracedProgram;
use crate::variables::Variables;
use shaderjit_ir::bounds::RowCounts;
use shaderjit_ir::function::InstData;
use shaderjit_ir::verify::Verified;
use shaderjit_ir::vm::Bytecode;
use shaderjit_ir::{Function, batch};
use std::sync::OnceLock;
use std::time::Duration;

/// A program that has been through every pass: what all layouts of it share.
pub(crate) struct Prepared {
    /// Identifies the program and the options of the passes.
    pub key: Key,
    /// What it was lowered for.
    pub options: CompileOptions,
    pub stage: Stage,
    /// Where it came from, for the names of its variables.
    pub shader: Shader,
    /// Those, once somebody asks.
    pub variables: OnceLock<Variables>,
    pub interface: Interface,
    /// What native code runs.
    pub function: Verified,
    /// What runs where a guard of it fails, if it has any.
    pub exact: Option<ExactForm>,
    /// What the interpreter runs, once it is needed.
    pub bytecode: OnceLock<Bytecode>,
    /// What is traced, once somebody asks.
    pub traced: OnceLock<Box<TracedProgram>>,
    /// What it asks of its caller.
    pub facts: Facts,
    /// How many rows native code reads without a check; one entry a space.
    pub static_rows: RowCounts,
    /// What its uniform spaces hold before anything is bound; one entry a space of the interface.
    pub unbound: Vec<UniformRows>,
    /// How many lanes suit it, once somebody asks.
    pub lanes: OnceLock<Lanes>,
    /// What loops may take.
    pub limits: FuelLimits,
    /// Whether `fma` is what `fmad` became; folding asks.
    pub fused: bool,
    /// Whether all NaNs have the same bits.
    #[cfg(feature = "fuzzing")]
    pub canonical_nans: bool,
    /// Time for decoding and lowering, and for the passes.
    pub times: [Duration; 2],
}

/// A program's form without guards, made when it is first needed.
pub(crate) struct ExactForm {
    /// As the front end made it.
    source: Function,
    made: OnceLock<Verified>,
}

impl ExactForm {
    pub fn of(source: Function) -> ExactForm {
        ExactForm { source, made: OnceLock::new() }
    }
}

impl Prepared {
    /// The program without guards, for the interpreter.
    pub fn bytecode(&self) -> &Bytecode {
        self.bytecode.get_or_init(|| {
            Bytecode::new(self.exact_function()).expect("a verified function has plain ops of functions alone")
        })
    }

    /// The program without guards.
    pub fn exact_function(&self) -> &Verified {
        let Some(ExactForm { source, made }) = &self.exact else { return &self.function };
        made.get_or_init(|| {
            pipeline::run(source.clone(), &PassOptions { fused: self.fused, guards: false }, None)
                .expect("the passes have accepted the program with guards, and refuse nothing after them")
        })
    }

    /// The program as it was lowered, before any pass, with its names.
    pub fn traced(&self) -> &TracedProgram {
        self.traced.get_or_init(|| Box::new(TracedProgram::new(&self.shader, &self.options)))
    }

    /// Whether the front end says what values are in the program: that of SPIR-V does not.
    pub fn can_be_traced(&self) -> bool {
        !matches!(self.shader.format(), ShaderFormat::Spirv | ShaderFormat::Vbc)
    }

    /// How many lanes suit the program where vectors have so many.
    pub fn lanes(&self, of_vectors: u8) -> Lanes {
        *self.lanes.get_or_init(|| {
            // One vector a value: code of wider ones is both faster and made faster.
            match of_vectors {
                16 => return Lanes::Sixteen,
                8 => return Lanes::Eight,
                _ => {}
            }
            // Emulators compile PICA200 programs by the hundred while a game runs, for draws of some hundred vertices.
            let is_wide = !self.shader.format().is_pica() && batch::vectors(&self.function) == 2;
            if is_wide { Lanes::Eight } else { Lanes::Four }
        })
    }

    /// The variables that the container names.
    pub fn variables(&self) -> &Variables {
        self.variables.get_or_init(|| Variables::read(&self.shader, self.options.entry, &self.interface))
    }

    /// Bytes the IR occupies, roughly.
    pub fn ir_bytes(&self) -> u64 {
        let Function { insts, values, blocks, spaces, .. } = &*self.function;
        let forms = if self.exact.is_some() { 3 } else { 1 };
        // The interpreter's instructions are as many, and half as large.
        let insts_bytes = insts.len() * (size_of::<InstData>() * forms + size_of::<InstData>() / 2);
        let tables: usize =
            spaces.values().filter_map(|space| space.table.as_ref()).map(|table| size_of_val(&table[..])).sum();
        let blocks: usize = blocks.values().map(|block| 256 + 4 * block.insts.len()).sum();
        let unbound: usize = self.unbound.iter().map(UniformRows::bytes).sum();
        (size_of::<Prepared>() + insts_bytes + unbound + forms * (values.len() * 16 + blocks + tables)) as u64
    }
}
