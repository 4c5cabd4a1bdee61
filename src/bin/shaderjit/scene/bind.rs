//! Binding by name: what a draw of a scene says, bound to whichever of its stages has it.

use super::Draw;
use super::camera::Names;
use super::mesh::Mesh;
use crate::cases::find;
use crate::options::slot_and_space;
use crate::picture::{self, Texels};
use crate::report::Failure;
use crate::resources::{BoundResource, ShaderResource, ShaderSampler, slot};
use crate::values::{Value, set};
use serde::Deserialize;
use shaderjit::error::CallError;
use shaderjit::{Call, CompiledShader, ComponentType, Descriptor, Element, ResourceFile, VertexBufferView};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A texture: a PNG file of colours, `KIND,RAW` as `run --srv` has it, or a PNG file of data such as normals.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Picture {
    Named(String),
    Data { data: String },
}

impl Picture {
    fn read(&self) -> Result<BoundResource, Failure> {
        match self {
            Picture::Data { data } => Ok(BoundResource::image(0, 0, picture::texture(data, Texels::DataLevels)?)),
            Picture::Named(name) if name.ends_with(".png") => {
                Ok(BoundResource::image(0, 0, picture::texture(name, Texels::Colors)?))
            }
            Picture::Named(text) => {
                let option: ShaderResource = format!("0={text}").parse().map_err(Failure::input)?;
                BoundResource::read(&option)
            }
        }
    }
}

/// An input's bytes, and bytes from one vertex to the next.
struct Stream {
    element: usize,
    bytes: Vec<u8>,
    stride: usize,
}

/// What stays the same in all frames.
pub struct Bound {
    streams: Vec<Stream>,
    textures: Vec<(String, BoundResource)>,
    samplers: Vec<(String, ShaderSampler)>,
}

/// A draw's constants in a frame, with what else is bound.
pub struct Values<'b> {
    bound: &'b Bound,
    constants: Vec<(String, Value)>,
    /// By slot and space.
    blocks: Vec<(u32, u32, Vec<u8>)>,
    push: Option<Vec<u8>>,
    /// What some stage that has been called has.
    known: RefCell<BTreeSet<String>>,
}

fn named(name: &str, error: impl std::fmt::Display) -> Failure {
    Failure::input(format_args!("{name}: {error}"))
}

impl Bound {
    pub fn new(draw: &Draw, mesh: &Mesh, code: &CompiledShader) -> Result<Bound, Failure> {
        let streams = draw.inputs.iter().map(|(name, value)| Bound::stream(name, value, mesh, code));
        let textures = draw
            .textures
            .iter()
            .map(|(name, picture)| Ok((name.clone(), picture.read().map_err(|error| error.of(name))?)));
        let samplers = draw.samplers.iter().map(|(name, text)| {
            Ok((name.clone(), format!("0={text}").parse().map_err(|error: String| named(name, error))?))
        });
        Ok(Bound {
            streams: streams.collect::<Result<_, _>>()?,
            textures: textures.collect::<Result<_, Failure>>()?,
            samplers: samplers.collect::<Result<_, Failure>>()?,
        })
    }

    fn stream(name: &str, value: &Value, mesh: &Mesh, code: &CompiledShader) -> Result<Stream, Failure> {
        let Some(element) = find(name, |semantic, index| code.input(semantic, index)) else {
            let inputs: Vec<String> = code.interface().signature_inputs().iter().map(Element::name).collect();
            return Err(named("inputs", format_args!("there is no {name}; there are {}", inputs.join(", "))));
        };
        if let Value::Name(attribute) = value {
            let rows = mesh.attribute(attribute).filter(|rows| !rows.is_empty());
            let rows = rows.ok_or_else(|| named(name, format_args!("the mesh has no {attribute:?}")))?;
            let bytes = rows.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect();
            return Ok(Stream { element, bytes, stride: 16 });
        }
        let declared = &code.interface().signature_inputs()[element];
        let (rows, is_each) = value.rows(declared.ty).map_err(|error| named(name, error))?;
        let words = rows.into_iter().flat_map(|row| row.into_iter().chain([0; 4]).take(4).collect::<Vec<u32>>());
        let bytes = words.flat_map(u32::to_le_bytes).collect();
        Ok(Stream { element, bytes, stride: if is_each { 16 } else { 0 } })
    }

    /// How many vertices the longest input has; 1 if all are the same for every vertex.
    pub fn vertices(&self) -> u32 {
        let each = self.streams.iter().filter(|stream| stream.stride != 0);
        each.map(|stream| (stream.bytes.len() / 16) as u32).max().unwrap_or(1)
    }

    /// Binds the inputs of the vertex shader.
    pub fn inputs<'b>(&'b self, call: &mut Call<'b>) -> Result<(), Failure> {
        for Stream { element, bytes, stride } in &self.streams {
            let format = call.shader().layout().inputs[*element];
            call.input_element(*element, VertexBufferView::new(format, bytes, *stride))?;
        }
        Ok(())
    }

    /// The constants of a frame.
    pub fn values(&self, draw: &Draw, names: &Names<'_>) -> Result<Values<'_>, Failure> {
        let resolved =
            |name: &str, value: &Value| value.resolved(&|name| names.value(name)).map_err(|error| named(name, error));
        let bytes = |name: &str, value: &Value| -> Result<Vec<u8>, Failure> {
            let value = resolved(name, value)?;
            let mut numbers = Vec::new();
            value.numbers(&mut numbers);
            let word = |number: &&Value| {
                let ty = if matches!(number, Value::Float(_)) { ComponentType::F32 } else { ComponentType::I32 };
                number.bits(ty).map(u32::to_le_bytes)
            };
            let words = numbers.iter().map(word).collect::<Result<Vec<_>, _>>();
            Ok(words.map_err(|error| named(name, error))?.into_flattened())
        };
        let constants = draw.constants.iter().map(|(name, value)| Ok((name.clone(), resolved(name, value)?)));
        let blocks = draw.blocks.iter().map(|(name, value)| {
            let (slot, space) = slot_and_space(name, &["cb", "b"]).map_err(|error| named(name, error))?;
            Ok((slot, space, bytes(name, value)?))
        });
        Ok(Values {
            bound: self,
            constants: constants.collect::<Result<_, Failure>>()?,
            blocks: blocks.collect::<Result<_, Failure>>()?,
            push: draw.push.as_ref().map(|value| bytes("push", value)).transpose()?,
            known: RefCell::default(),
        })
    }
}

impl<'b> Values<'b> {
    /// A call of a stage with all of the draw's that it has. What is not bound reads 0.
    pub fn call<'a>(&'a self, code: &'a CompiledShader) -> Result<Call<'a>, Failure> {
        let mut call = code.call();
        call.unbound_as_zero(true);
        for (name, value) in &self.constants {
            self.note(name, set(&mut call, name, value)).map_err(|error| named(name, error))?;
        }
        let is_spirv = code.interface().has_descriptors();
        for (slot, space, bytes) in &self.blocks {
            let bound = match is_spirv {
                true => call.descriptor(*space, *slot, 0, Descriptor::Block(bytes)).map(drop),
                false => call.constant_buffer_in_space(*slot, *space, bytes).map(drop),
            };
            self.note(&format!("block {slot}:{space}"), bound)?;
        }
        if let Some(bytes) = &self.push {
            self.note("push", call.push_constants(bytes).map(drop))?;
        }
        let resources = code.interface().resources.iter().filter(|decl| decl.file == ResourceFile::Resource);
        for (name, resource) in &self.bound.textures {
            let declared = resources.clone().map(|decl| (decl.name.as_deref(), decl.slot, decl.space));
            if let Ok((slot, space)) = slot_and_space(&slot(name, declared), &["t"]) {
                self.note(name, resource.bind_at(slot, space, &mut call)).map_err(|error| named(name, error))?;
            }
        }
        for (name, sampler) in &self.bound.samplers {
            let declared = code.interface().samplers.iter().map(|decl| (decl.name.as_deref(), decl.slot, decl.space));
            if let Ok((slot, space)) = slot_and_space(&slot(name, declared), &["s"]) {
                self.note(name, sampler.bind_at(slot, space, &mut call)).map_err(|error| named(name, error))?;
            }
        }
        Ok(call)
    }

    /// What a stage does not have another may have.
    fn note(&self, name: &str, bound: Result<(), CallError>) -> Result<(), CallError> {
        match bound {
            Err(CallError::UnknownBinding { .. }) => {}
            bound => {
                bound?;
                self.known.borrow_mut().insert(name.to_string());
            }
        }
        Ok(())
    }

    /// An error if none of the stages that have been called has something that the draw binds.
    pub fn check_known(&self) -> Result<(), Failure> {
        let known = self.known.borrow();
        let constants = self.constants.iter().map(|(name, _)| name.clone());
        let blocks = self.blocks.iter().map(|(slot, space, _)| format!("block {slot}:{space}"));
        let textures = self.bound.textures.iter().map(|(name, _)| name.clone());
        let samplers = self.bound.samplers.iter().map(|(name, _)| name.clone());
        let push = self.push.iter().map(|_| "push".to_string());
        let mut bound = constants.chain(blocks).chain(textures).chain(samplers).chain(push);
        match bound.find(|name| !known.contains(name)) {
            Some(name) => Err(Failure::input(format_args!("no stage has {name}"))),
            None => Ok(()),
        }
    }
}
