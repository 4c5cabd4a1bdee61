//! What a program that has been through every pass asks of its caller, found by looking at each instruction once.

use crate::frontend::pixel::HiddenInput;
use crate::frontend::{GeometryInterface, Interface, StateRow, UniformKind};
use shaderjit_ir::function::{Imm, InstData};
use shaderjit_ir::texture::Access;
use shaderjit_ir::{Function, Op, SysVal};
use smallvec::{SmallVec, smallvec};

/// Whether something holds of each of some things. Most programs have few of them.
pub(crate) type Flags = SmallVec<[bool; 16]>;

/// What a function reads, and what it writes.
#[derive(Default)]
pub(crate) struct Facts {
    /// Which input elements it reads; one entry an element.
    pub reads_input: Flags,
    /// Which output elements it sets to anything but zero; one entry an element.
    pub writes_output: Flags,
    /// Which uniform spaces the caller must bind, for a component is read that has no value of its own; one entry a
    /// space.
    pub needs_uniforms: Flags,
    /// Bytes of each constant buffer or uniform block that may be read: up to the last component whose row is known,
    /// and all that is declared where an index is not. One entry a space, 0 for other spaces: what the container fixes
    /// is not the caller's to bind.
    pub reads_bytes: SmallVec<[usize; 8]>,
    /// For each uniform space, whether some index of a row is not known.
    pub is_indexed: Flags,
    /// Which resources it reads or asks the size of; one entry a resource.
    pub needs_resource: Flags,
    /// Which samplers it uses; one entry a sampler.
    pub needs_sampler: Flags,
    /// Whether it reads the vertices' numbers.
    pub reads_vertex_id: bool,
    /// For geometry shaders that read no state: whether of many invocations only the last one's counts.
    pub last_state_counts: bool,
}

impl Facts {
    /// Those of a function whose element and space numbers the interface lists.
    pub fn of(function: &Function, interface: &Interface) -> Facts {
        let mut facts = Facts {
            reads_input: smallvec![false; interface.inputs.len()],
            writes_output: smallvec![false; interface.outputs.len()],
            needs_uniforms: smallvec![false; interface.uniforms.len()],
            reads_bytes: smallvec![0; interface.uniforms.len()],
            is_indexed: smallvec![false; interface.uniforms.len()],
            needs_resource: smallvec![false; function.resources.len()],
            needs_sampler: smallvec![false; function.samplers.len()],
            reads_vertex_id: false,
            last_state_counts: interface.geometry.as_ref().is_some_and(|geometry| last_counts(function, geometry)),
        };
        for &inst in function.layout.iter().flat_map(|&block| &function.blocks[block].insts) {
            facts.add(function, interface, &function.insts[inst]);
        }
        for (number, hidden) in
            (interface.signature_inputs().len()..).zip(interface.pixel.iter().flat_map(|pixel| &pixel.hidden))
        {
            // Where pixels are bound row by row, it is what the attribute is.
            if let HiddenInput::Value(element) = *hidden {
                facts.reads_input[element as usize] |= facts.reads_input[number];
            }
        }
        facts
    }

    fn add(&mut self, function: &Function, interface: &Interface, inst: &InstData) {
        let InstData { op, ref args, imm, .. } = *inst;
        if let Some(access) = Access::new(op, imm) {
            self.needs_resource[access.texture.as_u32() as usize] = true;
            access.sampler.iter().for_each(|sampler| self.needs_sampler[sampler.as_u32() as usize] = true);
            return;
        }
        match imm {
            Imm::Element { element, .. } if op == Op::Input => self.reads_input[element as usize] = true,
            Imm::Element { element, .. } if op == Op::Output => {
                self.writes_output[element as usize] |= function.constant(args[0]) != Some(0);
            }
            Imm::Row { space, row, component } => {
                let index = space.as_u32() as usize;
                let is_preset = op == Op::UniformLoad
                    && interface.presets.iter().any(|preset| {
                        (preset.space, preset.row) == (space, row) && preset.mask[usize::from(component)] == u32::MAX
                    });
                self.is_indexed[index] |= op != Op::UniformLoad;
                let is_given = matches!(interface.uniforms[index].kind, UniformKind::Group | UniformKind::Patch);
                self.needs_uniforms[index] |= function.spaces[space].table.is_none() && !is_preset && !is_given;
                let decl = &interface.uniforms[index];
                if decl.kind.is_bytes() {
                    let end = match op {
                        Op::UniformLoad => 16 * row as usize + 4 * usize::from(component) + 4,
                        _ => 16 * decl.rows as usize,
                    };
                    self.reads_bytes[index] = self.reads_bytes[index].max(end);
                }
            }
            Imm::SysVal(SysVal::VertexId) => self.reads_vertex_id = true,
            Imm::ResourceByte { resource, .. } | Imm::Resource(resource) => {
                self.needs_resource[resource.as_u32() as usize] = true;
            }
            _ => {}
        }
    }
}

/// Whether, of invocations that run side by side, only the last one's state counts: the same words are written whatever
/// the program does, and no word goes from bank to bank.
fn last_counts(function: &Function, geometry: &GeometryInterface) -> bool {
    let literal = |element: usize, component: usize| {
        let mut outputs = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
        let output = outputs.find_map(|&inst| match function.insts[inst] {
            InstData { op: Op::Output, imm: Imm::Element { element: e, component: c }, args, .. } => {
                ((e as usize, usize::from(c)) == (element, component)).then_some(args[0])
            }
            _ => None,
        });
        output.map_or(Some(0), |value| function.constant(value))
    };
    let written = |index: usize| {
        let (element, component, first_bit) = GeometryInterface::written_bits(index);
        literal(element, component).map(|bits| bits >> first_bit & 0xf)
    };
    let Some(masks) = (0..geometry.state.len()).map(written).collect::<Option<Vec<u64>>>() else { return false };
    let Some(parity) = literal(0, 1) else { return false };
    let mask_of = |row: StateRow| geometry.state.iter().position(|&other| other == row).map(|index| masks[index]);
    parity == 0 || (0..16).all(|n| mask_of(StateRow::Output(n)) == mask_of(StateRow::OtherOutput(n)))
}
