//! Tests of shaders as TOML has them: what a case binds, and what is expected of it.

use crate::groups::{Memory, UnorderedAccess};
use crate::options::Source;
use crate::picture::{self, Texels};
use crate::report::{Failure, with_hint};
use crate::resources::{BoundResource, ShaderResource, ShaderSampler, slot};
use crate::values::{Value, set};
use serde::Deserialize;
use shaderjit::{
    CompileOptions, CompiledShader, ComponentType, Element, Engine, Outputs, ResourceFile, Shader, Tolerance,
    VertexBufferView,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// The shader of cases that name none; a path from the file's folder on.
    shader: Option<String>,
    /// How far the floats of cases that say nothing of it may be off.
    #[serde(default)]
    tolerance: Closeness,
    /// The cases.
    #[serde(default, rename = "case")]
    pub cases: Vec<Case>,
}

/// One case: a shader, what is bound, and what comes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    shader: Option<String>,
    /// Which program of the container.
    #[serde(default)]
    entry: usize,
    /// How many vertices; if that is not said, as many as the longest input has.
    count: Option<u32>,
    #[serde(default)]
    instance: u32,
    /// By semantic and index: a row for each vertex, or one for all.
    #[serde(default)]
    inputs: BTreeMap<String, Value>,
    /// Variables of constant buffers by name.
    #[serde(default)]
    constants: BTreeMap<String, Value>,
    /// Buffers by name or slot, each `KIND,RAW` as `run --srv` has it.
    #[serde(default)]
    buffers: BTreeMap<String, String>,
    /// Textures by name or slot: a PNG file, or `KIND,RAW`.
    #[serde(default)]
    textures: BTreeMap<String, String>,
    /// Samplers by name or slot, as `run --smp` has them.
    #[serde(default)]
    samplers: BTreeMap<String, String>,
    /// Memory that is written by slot, `KIND,RAW` as `run --uav` has it.
    #[serde(default)]
    memory: BTreeMap<String, String>,
    /// How many thread groups of a compute shader run.
    dispatch: Option<[u32; 3]>,
    tolerance: Option<Closeness>,
    /// Outputs by semantic and index: a row for each vertex, or one for all. Memory by slot: its words.
    #[serde(default)]
    pub expect: BTreeMap<String, Value>,
}

/// How far floats may be off: by either.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Closeness {
    /// Units of the last place.
    ulp: u32,
    /// The difference.
    absolute: f32,
}

/// What a case gave.
pub struct Found {
    code: Arc<CompiledShader>,
    outputs: Option<Outputs>,
    /// By slot.
    memory: Vec<(String, Vec<u8>)>,
}

/// What has this name: a semantic with its index, or without it if that is 0. `v1` of a 3DS program is all name.
pub fn find<T>(name: &str, by_semantic: impl Fn(&str, u32) -> Option<T>) -> Option<T> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    by_semantic(name, 0).or_else(|| by_semantic(base, name[base.len()..].parse().ok()?))
}

impl Cases {
    /// Runs a case.
    pub fn run(&self, case: &Case, engine: &Engine) -> Result<Found, Failure> {
        let path = case.shader.as_ref().or(self.shader.as_ref());
        let path = path.ok_or_else(|| Failure::input("no shader is named"))?;
        let failure = |error: String| Failure::input(format_args!("{path}: {error}"));
        let source: Source = path.parse().map_err(failure)?;
        let shader = Shader::parse(&source.read()?).map_err(|error| failure(with_hint(&error)))?;
        let code = engine.compile(&shader, &CompileOptions::default().entry(case.entry));
        case.run(code.map_err(|error| failure(with_hint(&error)))?)
    }

    /// What of a case is not as expected; nothing if all is.
    pub fn judge(&self, case: &Case, found: &Found) -> Result<(), String> {
        if case.expect.is_empty() {
            return Err("it expects nothing; --bless writes what there is".to_string());
        }
        let closeness = case.tolerance.unwrap_or(self.tolerance);
        let tolerance = Tolerance::either(closeness.ulp, closeness.absolute);
        case.expect.iter().try_for_each(|(name, value)| found.judge(name, value, tolerance))
    }
}

impl Case {
    fn run(&self, code: Arc<CompiledShader>) -> Result<Found, Failure> {
        let mut streams = Vec::new();
        for (name, value) in &self.inputs {
            let Some(element) = find(name, |semantic, index| code.input(semantic, index)) else {
                let inputs: Vec<String> = code.interface().signature_inputs().iter().map(Element::name).collect();
                return Err(Failure::input(format_args!("there is no input {name}; there are {}", inputs.join(", "))));
            };
            let declared = &code.interface().signature_inputs()[element];
            let rows = value.rows(declared.ty).and_then(|(rows, is_each)| {
                let wrong = rows.iter().find(|row| row.len() != declared.components() as usize);
                match wrong {
                    Some(row) => Err(format!("{} components, where it has {}", row.len(), declared.components())),
                    None => Ok((rows, is_each)),
                }
            });
            let (rows, is_each) = rows.map_err(|error| Failure::input(format_args!("input {name}: {error}")))?;
            let count = is_each.then_some(rows.len() as u32);
            let words = rows.into_iter().flat_map(|row| row.into_iter().chain([0; 4]).take(4).collect::<Vec<u32>>());
            streams.push((element, count, words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()));
        }
        let count = self.count.or(streams.iter().filter_map(|(_, count, _)| *count).max()).unwrap_or(1);
        let resources = self.resources(&code)?;
        let memory = self.memory.iter().map(|(slot, text)| {
            let option: UnorderedAccess = format!("{slot}={text}").parse().map_err(|error| named(slot, &error))?;
            Ok((slot.clone(), Memory::read(&option)?))
        });
        let memory = memory.collect::<Result<Vec<_>, Failure>>()?;

        let mut call = code.call();
        for (element, each, bytes) in &streams {
            let format = code.layout().inputs[*element];
            call.input_element(*element, VertexBufferView::new(format, bytes, each.map_or(0, |_| 16)))?;
        }
        for (name, value) in &self.constants {
            set(&mut call, name, value)?;
        }
        resources.iter().try_for_each(|resource| resource.bind(&mut call))?;
        for (name, text) in &self.samplers {
            let samplers = code.interface().samplers.iter();
            let slot = slot(name, samplers.map(|decl| (decl.name.as_deref(), decl.slot, decl.space)));
            let sampler: ShaderSampler = format!("{slot}={text}").parse().map_err(|error| named(name, &error))?;
            sampler.bind(&mut call)?;
        }
        memory.iter().try_for_each(|(_, memory)| memory.bind(&mut call))?;
        let outputs = match self.dispatch {
            Some(groups) => {
                call.dispatch(groups)?;
                None
            }
            None => Some(call.instance(self.instance).run(0..count)?),
        };
        drop(call);
        let memory = memory.into_iter().map(|(slot, memory)| (slot, memory.contents().0)).collect();
        Ok(Found { code: Arc::clone(&code), outputs, memory })
    }

    /// Buffers and textures.
    fn resources(&self, code: &CompiledShader) -> Result<Vec<BoundResource>, Failure> {
        let declared = code.interface().resources.iter().filter(|decl| decl.file == ResourceFile::Resource);
        let places = || declared.clone().map(|decl| (decl.name.as_deref(), decl.slot, decl.space));
        let mut resources = Vec::new();
        for (name, text) in self.buffers.iter().chain(&self.textures) {
            let slot = slot(name, places());
            if text.ends_with(".png") {
                let (slot, space) =
                    crate::options::slot_and_space(&slot, &["t"]).map_err(|error| named(name, &error))?;
                resources.push(BoundResource::image(slot, space, picture::texture(text, Texels::Data)?));
                continue;
            }
            let option: ShaderResource = format!("{slot}={text}").parse().map_err(|error| named(name, &error))?;
            resources.push(BoundResource::read(&option)?);
        }
        Ok(resources)
    }
}

fn named(name: &str, error: &dyn Display) -> Failure {
    Failure::input(format_args!("{name}: {error}"))
}

impl Found {
    /// Whether an output, or memory, is as expected.
    fn judge(&self, name: &str, value: &Value, tolerance: Tolerance) -> Result<(), String> {
        if let Some((_, bytes)) = self.memory.iter().find(|(slot, _)| slot == name) {
            return judge_memory(name, bytes, value, tolerance);
        }
        let outputs = self.outputs.as_ref();
        let view = outputs.and_then(|outputs| find(name, |semantic, index| outputs.output(semantic, index)));
        let view = view.ok_or_else(|| {
            let outputs = self.code.interface().outputs.iter().map(Element::name);
            let memory = self.memory.iter().map(|(slot, _)| slot.clone());
            let all: Vec<String> =
                if self.outputs.is_some() { outputs.chain(memory).collect() } else { memory.collect() };
            format!("there is no output {name}; there are {}", all.join(", "))
        })?;
        let element = view.element();
        let (rows, is_each) = value.rows(element.ty).map_err(|error| format!("{name}: {error}"))?;
        let found: Vec<[u32; 4]> = view.iter().collect();
        if is_each && rows.len() != found.len() {
            return Err(format!("{name} has {} rows, {} are expected", found.len(), rows.len()));
        }
        for (vertex, found) in found.iter().enumerate() {
            let row = &rows[if is_each { vertex } else { 0 }];
            let components = element.components() as usize;
            if row.len() != components {
                return Err(format!("{name} has {components} components, {} are expected", row.len()));
            }
            for (component, (&found, &wanted)) in found.iter().zip(row).enumerate() {
                if !is_close(element.ty, found, wanted, tolerance) {
                    let letter = ["x", "y", "z", "w"][component];
                    let [found, wanted] = [found, wanted].map(|bits| element.ty.text(bits));
                    return Err(format!("{name}[{vertex}].{letter} is {found}, {wanted} is expected"));
                }
            }
        }
        Ok(())
    }

    /// Everything that there is, as cases have it.
    pub fn values(&self) -> Vec<(String, Value)> {
        let number = |ty: ComponentType, bits: u32| match ty {
            // The shortest decimal number that is this float.
            ComponentType::F32 => Value::Float(f32::from_bits(bits).to_string().parse().unwrap_or(f64::NAN)),
            ComponentType::I32 => Value::Integer((bits as i32).into()),
            _ => Value::Integer(bits.into()),
        };
        let mut values = Vec::new();
        for (slot, bytes) in &self.memory {
            let words = bytes.as_chunks().0.iter().map(|&word| number(ComponentType::U32, u32::from_le_bytes(word)));
            values.push((slot.clone(), Value::List(words.collect())));
        }
        for (element, declared) in self.code.interface().signature_outputs().iter().enumerate() {
            let Some(view) = self.outputs.as_ref().and_then(|outputs| outputs.element(element)) else { continue };
            if !self.code.writes_output(element) {
                continue;
            }
            let row = |bits: [u32; 4]| {
                Value::List(
                    bits[..declared.components() as usize].iter().map(|&bits| number(declared.ty, bits)).collect(),
                )
            };
            values.push((declared.name(), Value::List(view.iter().map(row).collect())));
        }
        values
    }
}

fn is_close(ty: ComponentType, found: u32, wanted: u32, tolerance: Tolerance) -> bool {
    found == wanted || ty == ComponentType::F32 && tolerance.allows(f32::from_bits(found), f32::from_bits(wanted))
}

/// Words of memory against numbers: those with a point are floats.
fn judge_memory(name: &str, bytes: &[u8], value: &Value, tolerance: Tolerance) -> Result<(), String> {
    let mut numbers = Vec::new();
    value.numbers(&mut numbers);
    let words: Vec<u32> = bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    if numbers.len() > words.len() {
        return Err(format!("{name} has {} words, {} are expected", words.len(), numbers.len()));
    }
    for (place, (number, &found)) in numbers.into_iter().zip(&words).enumerate() {
        let ty = if matches!(number, Value::Float(_)) { ComponentType::F32 } else { ComponentType::U32 };
        let wanted = number.bits(ty).map_err(|error| format!("{name}: {error}"))?;
        if !is_close(ty, found, wanted, tolerance) {
            let [found, wanted] = [found, wanted].map(|bits| ty.text(bits));
            return Err(format!("{name}[{place}] is {found}, {wanted} is expected"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_their_semantics() {
        let of = |known: (&'static str, u32)| move |semantic: &str, index| (known == (semantic, index)).then_some(());
        assert_eq!(find("TEXCOORD12", of(("TEXCOORD", 12))), Some(()));
        assert_eq!(find("v3", of(("v3", 0))), Some(()));
        assert_eq!(find("TEXCOORD", of(("TEXCOORD", 1))), None);
    }
}
