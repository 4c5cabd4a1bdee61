//! The unit's registers, and who hears a write.
//!
//! Numbers and fields are those of 3dbrew, "GPU/Internal Registers". Facts on sharing are what Azahar does.

use super::attributes::AttributeBuffers;
use super::setup::ShaderSetup;
use super::{OutputMap, Topology};
use crate::FloatPrecision;
use crate::call::{EmittedTriangles, GeometryState};
use crate::container::Shbin;
use crate::container::shbin::{Geometry, GeometryMode, ShaderKind};
use crate::error::{Error, LowerError};
use crate::frontend::pica::LowerOptions;
use crate::options::{Backend, Lanes};

/// `GPUREG_SH_OUTMAP_TOTAL`.
const OUTMAP_TOTAL: u16 = 0x04f;
/// `GPUREG_SH_OUTMAP_O0`, of seven.
const OUTMAP: u16 = 0x050;
/// `GPUREG_GEOSTAGE_CONFIG`: bits 1..0 are 2 if there is a geometry shader.
const GEOSTAGE_CONFIG: u16 = 0x229;
/// `GPUREG_VSH_COM_MODE`: bit 0 keeps writes to the vertex shader from the unit that can run geometry shaders.
const VSH_COM_MODE: u16 = 0x244;
/// `GPUREG_GSH_MISC0`: how a geometry shader gets its vertices.
const GSH_MISC0: u16 = 0x252;
/// `GPUREG_GSH_MISC1`: in variable mode, how many vertices come with all attributes, less one.
const GSH_MISC1: u16 = 0x254;
/// `GPUREG_PRIMITIVE_CONFIG`: bits 9..8 are the topology.
const PRIMITIVE_CONFIG: u16 = 0x25e;
/// First register of the geometry shader's block.
const GEOMETRY_BLOCK: u16 = 0x280;
/// First register of the vertex shader's block.
const VERTEX_BLOCK: u16 = 0x2b0;
/// Registers of a block.
const BLOCK: u16 = 0x30;

/// How a geometry shader gets its vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputMode {
    /// As input attributes: the vertex shader's outputs are a stream from which each invocation takes its number of
    /// attributes.
    Point,
    /// In float uniforms from `c1` on, `c0` being their number, which the index stream has in front of each primitive's
    /// indices.
    Variable {
        /// So many vertices come with all attributes, 1 to 32, the others with the first alone.
        full_vertices: u8,
    },
    /// A fixed number of vertices, in float uniforms.
    Fixed {
        /// The first uniform that receives them.
        first: u8,
        /// How many vertices, 1 to 16.
        vertices: u8,
        /// How many attributes each, 1 to 16.
        attributes: u8,
    },
}

/// The shader unit of a PICA200: two shaders, the output map, and what a geometry shader leaves behind.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    pub(super) vertex: ShaderSetup,
    pub(super) geometry: ShaderSetup,
    pub(super) attribute_buffers: AttributeBuffers,
    pub(super) output_map: OutputMap,
    pub(super) state: GeometryState,
    /// Memory for what the geometry shader emits.
    pub(super) emitted: EmittedTriangles,
    pub(super) options: LowerOptions,
    pub(super) lanes: Option<Lanes>,
    pub(super) backend: Backend,
    pub(super) specializes: bool,
    geostage: u32,
    com_mode: u32,
    misc: [u32; 2],
    primitive: u32,
}

impl Unit {
    /// A unit after reset.
    pub fn new() -> Unit {
        Unit::default()
    }

    /// The vertex shader.
    pub fn vertex(&self) -> &ShaderSetup {
        &self.vertex
    }

    /// The vertex shader, to be written past the registers: nothing is shared with the geometry shader.
    pub fn vertex_mut(&mut self) -> &mut ShaderSetup {
        &mut self.vertex
    }

    /// The geometry shader.
    pub fn geometry(&self) -> &ShaderSetup {
        &self.geometry
    }

    /// The geometry shader, to be written past the registers.
    pub fn geometry_mut(&mut self) -> &mut ShaderSetup {
        &mut self.geometry
    }

    /// The state that the geometry shader's last invocation left.
    pub fn geometry_state(&self) -> &GeometryState {
        &self.state
    }

    /// The state that the geometry shader's next invocation finds.
    pub fn geometry_state_mut(&mut self) -> &mut GeometryState {
        &mut self.state
    }

    /// The map from the last shader's outputs to the rasteriser's slots.
    pub fn output_map(&self) -> &OutputMap {
        &self.output_map
    }

    /// Sets what the rasteriser makes of the last shader's outputs.
    pub fn set_output_map(&mut self, map: OutputMap) {
        self.output_map = map;
    }

    /// How numbers are kept.
    pub fn set_numbers(&mut self, numbers: FloatPrecision) {
        self.options.numbers = numbers;
    }

    /// Whether shaders are compiled for the bool and integer uniforms of the moment, and again when those change. It
    /// pays where they switch parts of a program on and off. For geometry shaders bools stay variable, for their
    /// invocations set one.
    pub fn set_specialized(&mut self, specialized: bool) {
        self.specializes = specialized;
    }

    /// What runs the shaders.
    pub fn set_backend(&mut self, backend: Backend) {
        self.backend = backend;
    }

    /// How many vertices run in lockstep.
    pub fn set_lanes(&mut self, lanes: Lanes) {
        self.lanes = Some(lanes);
    }

    /// How triangles are made of vertices.
    pub fn topology(&self) -> Topology {
        Topology::from_bits(self.primitive >> 8)
    }

    /// Sets how triangles are made of vertices.
    pub fn set_topology(&mut self, topology: Topology) {
        self.primitive = self.primitive & !0x300 | topology.to_bits() << 8;
    }

    /// Whether draws run the geometry shader.
    pub fn runs_geometry(&self) -> bool {
        self.geostage & 3 == 2
    }

    /// How the geometry shader gets its vertices; `None` for a mode that the hardware does not have.
    pub fn input_mode(&self) -> Option<InputMode> {
        let [misc0, misc1] = self.misc;
        match misc0 & 0xff {
            0 => Some(InputMode::Point),
            1 => Some(InputMode::Variable { full_vertices: (misc1 & 0x1f) as u8 + 1 }),
            2 => Some(InputMode::Fixed {
                first: (misc0 >> 16) as u8,
                vertices: (misc0 >> 8 & 0xf) as u8 + 1,
                attributes: (misc0 >> 12 & 0xf) as u8 + 1,
            }),
            _ => None,
        }
    }

    /// Enables the geometry shader with vertices of this kind, or disables it.
    pub fn set_geometry(&mut self, mode: Option<InputMode>) {
        self.geostage = self.geostage & !3 | if mode.is_some() { 2 } else { 0 };
        self.misc = match mode {
            None => return,
            Some(InputMode::Point) => [0, 0],
            Some(InputMode::Variable { full_vertices }) => [1, u32::from(full_vertices.clamp(1, 32) - 1)],
            Some(InputMode::Fixed { first, vertices, attributes }) => {
                let less_one = |count: u8| u32::from(count.clamp(1, 16) - 1);
                [2 | less_one(vertices) << 8 | less_one(attributes) << 12 | u32::from(first) << 16, 0]
            }
        };
    }

    /// Loads executables of a SHBIN as applications do: programs, entry points, constants, output masks, the output
    /// map, and how the geometry shader gets its vertices. How many attributes it takes is the application's to say:
    /// [`set_attributes`](ShaderSetup::set_attributes).
    ///
    /// # Errors
    /// There are no such executables, they are of the wrong kind, or the container's parts are malformed.
    pub fn bind(&mut self, shbin: &Shbin<'_>, vertex: usize, geometry: Option<usize>) -> Result<(), Error> {
        let dvlp = shbin.dvlp()?;
        let executable = |index: usize, kind: ShaderKind| {
            let dvle = shbin.dvle(index)?;
            let count = shbin.dvle_count();
            let dvle = dvle.ok_or(Error::UnknownEntry { entry: index, count })?;
            if dvle.kind != kind {
                let what = format!("executable {index} is no {kind:?} shader");
                return Err(Error::from(LowerError::Invalid { what, offset: dvle.offset }));
            }
            Ok(dvle)
        };
        let vertex = executable(vertex, ShaderKind::Vertex)?;
        let geometry = geometry.map(|index| executable(index, ShaderKind::Geometry)).transpose()?;
        self.vertex.bind(&dvlp, &vertex);
        self.output_map = OutputMap::of_executables(&vertex, geometry.as_ref());
        let mode = match &geometry {
            None => None,
            Some(dvle) => {
                self.geometry.bind(&dvlp, dvle);
                self.state.set_ran(false);
                let attributes = (self.vertex.output_mask().count_ones() as u8).max(1);
                Some(match dvle.geometry {
                    Some(Geometry { mode: GeometryMode::FIXED, fixed_start, fixed_vertices, .. }) => {
                        InputMode::Fixed { first: fixed_start, vertices: fixed_vertices, attributes }
                    }
                    Some(Geometry { mode: GeometryMode::VARIABLE, variable_vertices, .. }) => {
                        InputMode::Variable { full_vertices: variable_vertices }
                    }
                    _ => InputMode::Point,
                })
            }
        };
        self.set_geometry(mode);
        self.set_topology(if geometry.is_some() { Topology::Geometry } else { self.topology() });
        Ok(())
    }

    /// Takes a register write: `value` is what the register holds after it, where a byte mask leaves some of it alone.
    /// Registers of other parts of the GPU are not for this unit, and `false` says so. Neither are those that trigger
    /// draws: after them call [`draw_arrays`](Self::draw_arrays) or [`draw_elements`](Self::draw_elements). Vertices
    /// that are written to registers one by one (`GPUREG_FIXEDATTRIB_INDEX` is 15) are not either.
    ///
    /// ```
    /// use shaderjit::pica::Unit;
    ///
    /// let mut unit = Unit::new();
    /// // c5 = (1, 2, 3, 4), in 32-bit floats, w first.
    /// unit.write_register(0x2c0, 1 << 31 | 5);
    /// for component in [4.0f32, 3.0, 2.0, 1.0] {
    ///     assert!(unit.write_register(0x2c1, component.to_bits()));
    /// }
    /// assert_eq!(unit.vertex().uniforms().floats[5], [1.0, 2.0, 3.0, 4.0]);
    /// ```
    pub fn write_register(&mut self, register: u16, value: u32) -> bool {
        match register {
            OUTMAP_TOTAL => self.output_map.set_total(value),
            OUTMAP..=0x056 => self.output_map.set(usize::from(register - OUTMAP), value),
            GEOSTAGE_CONFIG => self.geostage = value,
            VSH_COM_MODE => self.com_mode = value,
            GSH_MISC0 => self.misc[0] = value,
            GSH_MISC1 => self.misc[1] = value,
            PRIMITIVE_CONFIG => self.primitive = value,
            GEOMETRY_BLOCK..VERTEX_BLOCK => return self.write_block(true, register - GEOMETRY_BLOCK, value),
            VERTEX_BLOCK.. if register < VERTEX_BLOCK + BLOCK => {
                return self.write_block(false, register - VERTEX_BLOCK, value);
            }
            _ => return self.attribute_buffers.write(register, value),
        }
        true
    }

    /// A write to the register at `offset` of one shader's block. What the vertex shader is sent goes to the geometry
    /// shader too, unless that has a program of its own or the unit that runs it is kept apart.
    fn write_block(&mut self, is_geometry: bool, offset: u16, value: u32) -> bool {
        let shares = !is_geometry && !self.runs_geometry() && self.com_mode & 1 == 0;
        let resets_ran = is_geometry || shares;
        let Unit { vertex, geometry, state, .. } = self;
        let (setup, other) = match is_geometry {
            true => (geometry, None),
            false => (vertex, shares.then_some(geometry)),
        };
        let setups = |setup, other| [Some(setup), other].into_iter().flatten();
        match offset {
            0x00 => {
                setups(setup, other).for_each(|setup: &mut ShaderSetup| setup.uniforms_mut().bools = value as u16);
                if resets_ran {
                    state.set_ran(false);
                }
            }
            0x01..=0x04 => {
                let int = usize::from(offset - 0x01);
                setups(setup, other).for_each(|setup| setup.uniforms_mut().ints[int] = value.to_le_bytes());
            }
            0x09 => setup.set_attributes((value & 0xf) as usize + 1),
            0x0a => setup.set_entry(value as u16),
            0x0b => setup.set_permutation(setup.permutation() & !0xffff_ffff | u64::from(value)),
            0x0c => setup.set_permutation(setup.permutation() & 0xffff_ffff | u64::from(value) << 32),
            0x0d => setups(setup, other).for_each(|setup| setup.set_output_mask(value as u16)),
            // The end of an upload of code: it is there already.
            0x0f => {}
            0x10 => setup.float_port.configure(value),
            0x11..=0x18 => {
                if let Some((index, row)) = setup.float_port.push(value) {
                    setups(setup, other).for_each(|setup| setup.uniforms_mut().floats[index] = row);
                }
            }
            0x1b => setup.code_port.set(value),
            0x1c..=0x23 => {
                let at = setup.code_port.advance();
                setups(setup, other).for_each(|setup| setup.set_words(at, &[value]));
            }
            0x25 => setup.descriptor_port.set(value),
            0x26..=0x2d => {
                let at = setup.descriptor_port.advance();
                setups(setup, other).for_each(|setup| setup.set_descriptors(at, &[value]));
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;
