//! Geometry shaders of a PICA200: which executable, what its invocations read, and the triangles they emit.

use crate::bindings::Bindings;
use crate::format::Format;
use crate::json;
use crate::options::{CompileArgs, ProgramArgs, Source};
use crate::report::{Failure, with_hint};
use crate::spreadsheet::Sheet;
use serde::Serialize;
use shaderjit::ComponentType;
use shaderjit::container::Container;
use shaderjit::container::shbin::{Geometry, GeometryMode, ShaderKind};
use shaderjit::error::CallError;
use shaderjit::pica::{EmittedTriangle, EmittedTriangles, GeometryInput, GeometryState};
use shaderjit::{Backend, Call, CompiledShader, Shader, Stage};
use std::fmt::Write;
use std::sync::Arc;

/// Bytes of v0 to v15.
const VERTEX: usize = 256;

#[derive(clap::Args)]
pub struct GeometryArgs {
    /// Behind --vs, this geometry shader. Without a name, of a PICA200 the first of the container unless --entry names
    /// one: each 256 bytes of input are one invocation's v0 to v15, or a vertex where the shader takes those in
    /// uniforms
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    gs: Option<Option<Source>>,
    /// How many attributes a vertex has that a geometry shader finds in uniforms [default: the outputs of the
    /// container's vertex shader]
    #[arg(long, value_name = "N", requires = "gs", value_parser = clap::value_parser!(u8).range(1..=16))]
    attributes: Option<u8>,
    /// How many vertices a primitive has in variable mode [default: those that come with all attributes]
    #[arg(long, value_name = "N", requires = "gs", value_parser = clap::value_parser!(u8).range(1..))]
    primitive: Option<u8>,
}

/// What the invocations read.
pub enum Primitives {
    /// Elements of the bound inputs.
    Elements(u32),
    /// Rows of uniforms.
    Rows { first: u8, rows: Vec<[f32; 4]>, counts: Vec<u32> },
}

impl GeometryArgs {
    pub fn is_asked(&self) -> bool {
        self.gs.is_some()
    }

    /// The geometry shader of a pipeline.
    pub fn file(&self) -> Option<&Source> {
        self.gs.as_ref().and_then(Option::as_ref)
    }

    /// Loads and compiles the geometry shader.
    pub fn compile(
        &self,
        shader: &ProgramArgs,
        compile: &CompileArgs,
        backend: Backend,
    ) -> Result<(Shader, Arc<CompiledShader>), Failure> {
        // The name behind --gs is the program's own where there is no pipeline.
        let shader = &shader.or_file(self.file());
        let loaded = shader.load_geometry()?;
        let is_geometry = |entry: usize| loaded.entry(entry).is_ok_and(|entry| entry.stage == Stage::Geometry);
        let entries = [shader.entry()].into_iter().chain(0..loaded.entry_count());
        let entry = entries.into_iter().find(|&entry| is_geometry(entry));
        let entry = entry.ok_or_else(|| shader.failure("there is no geometry shader"))?;
        let options = compile.options(shader)?.entry(entry).backend(backend);
        let code =
            compile.engine(None)?.compile(&loaded, &options).map_err(|error| shader.failure(with_hint(&error)))?;
        if !code.interface().is_geometry() {
            return Err(shader.failure("this is no geometry shader of a PICA200"));
        }
        Ok((loaded, code))
    }

    /// What the invocations read of the raw vertices.
    pub fn primitives(&self, shader: &Shader, bindings: &Bindings) -> Result<Primitives, Failure> {
        let mut attributes = 16;
        let mut geometry = None;
        if let Some(Container::Shbin(shbin)) = shader.container() {
            for index in 0..shbin.dvle_count() {
                let Some(dvle) = shbin.dvle(index)? else { continue };
                match dvle.kind {
                    ShaderKind::Vertex => attributes = dvle.output_mask.count_ones().max(1) as u8,
                    ShaderKind::Geometry => geometry = geometry.or(dvle.geometry),
                }
            }
        }
        let attributes = usize::from(self.attributes.unwrap_or(attributes));
        let (first, vertices, full, counted) = match geometry {
            Some(Geometry { mode: GeometryMode::FIXED, fixed_start, fixed_vertices, .. }) => {
                (fixed_start, fixed_vertices, fixed_vertices, false)
            }
            Some(Geometry { mode: GeometryMode::VARIABLE, variable_vertices, .. }) => {
                (0, self.primitive.unwrap_or(variable_vertices), variable_vertices, true)
            }
            _ => return Ok(Primitives::Elements(bindings.count)),
        };
        let vertices = usize::from(vertices.max(1));
        let given: Vec<&[[u8; 16]]> =
            bindings.vertices().as_chunks::<VERTEX>().0.iter().map(|vertex| vertex.as_chunks().0).collect();
        let (mut rows, mut counts) = (Vec::new(), Vec::new());
        for primitive in given[..given.len().min(bindings.count as usize)].chunks_exact(vertices) {
            let start = rows.len();
            if counted {
                rows.push([vertices as f32; 4]);
            }
            for (number, vertex) in primitive.iter().enumerate() {
                let attributes = if number < usize::from(full) { attributes } else { 1 };
                rows.extend(vertex[..attributes].iter().map(row));
            }
            counts.push((rows.len() - start) as u32);
        }
        Ok(Primitives::Rows { first, rows, counts })
    }
}

impl Primitives {
    /// Runs all invocations from a state of zeros.
    pub fn run(&self, call: &Call<'_>) -> Result<EmittedTriangles, CallError> {
        let mut state = GeometryState::default();
        match self {
            Primitives::Elements(count) => call.run_geometry(0..*count, &mut state),
            Primitives::Rows { first, rows, counts } => {
                call.run_geometry(GeometryInput::Uniforms { first: *first, rows, counts }, &mut state)
            }
        }
    }
}

fn row(bytes: &[u8; 16]) -> [f32; 4] {
    let words = bytes.as_chunks().0;
    std::array::from_fn(|component| f32::from_le_bytes(words[component]))
}

/// The triangles in a form.
pub fn print(triangles: &EmittedTriangles, format: Format) -> Vec<u8> {
    match format {
        Format::Table => table(triangles).into_bytes(),
        Format::Csv => csv(triangles),
        Format::Json => json(triangles),
        Format::Raw => triangles.iter().flat_map(record).collect(),
    }
}

/// Invocation, whether inverted, and three times o0 to o15.
fn record(triangle: EmittedTriangle<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + 3 * VERTEX);
    bytes.extend(triangle.invocation.to_le_bytes());
    bytes.extend(u32::from(triangle.inverted).to_le_bytes());
    for (vertex, register) in (0..3).flat_map(|vertex| (0..16).map(move |register| (vertex, register))) {
        let row = triangle.register(vertex, register).unwrap_or_default();
        bytes.extend(row.into_iter().flat_map(f32::to_le_bytes));
    }
    bytes
}

fn values(row: [u32; 4]) -> [String; 4] {
    row.map(|bits| ComponentType::F32.text(bits))
}

fn table(triangles: &EmittedTriangles) -> String {
    let mut out = String::new();
    for (number, triangle) in triangles.iter().enumerate() {
        for vertex in 0..3 {
            for (register, row) in triangles.registers().iter().zip(triangle.vertex(vertex)) {
                let words: Vec<String> = row.iter().map(|bits| format!("{bits:08x}")).collect();
                let inverted = if triangle.inverted { "inverted" } else { "" };
                let _ = writeln!(
                    out,
                    "{number:<5} {:<5} {inverted:<8} {vertex} o{register:<2} {:<44} [{}]",
                    triangle.invocation,
                    values(row).join(" "),
                    words.join(" ")
                );
            }
        }
    }
    out
}

fn csv(triangles: &EmittedTriangles) -> Vec<u8> {
    let names = ["triangle", "invocation", "inverted", "vertex"].map(str::to_string);
    let components = |register: &u8| ["x", "y", "z", "w"].map(|component| format!("o{register}.{component}"));
    let mut sheet = Sheet::new(names.into_iter().chain(triangles.registers().iter().flat_map(components)));
    for (number, triangle) in triangles.iter().enumerate() {
        for vertex in 0..3 {
            let numbers = [number as u32, triangle.invocation, triangle.inverted.into(), vertex as u32];
            sheet.row(
                numbers.map(|number| number.to_string()).into_iter().chain(triangle.vertex(vertex).flat_map(values)),
            );
        }
    }
    sheet.into_bytes()
}

fn json(triangles: &EmittedTriangles) -> Vec<u8> {
    #[derive(Serialize)]
    struct Document<'a> {
        /// The registers of a vertex.
        registers: &'a [u8],
        triangles: Vec<Triangle>,
    }
    #[derive(Serialize)]
    struct Triangle {
        invocation: u32,
        inverted: bool,
        /// By vertex and register.
        vertices: Vec<Vec<[Value; 4]>>,
    }
    /// JSON has no infinities and NaNs: those are strings.
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Value {
        Float(f32),
        Text(String),
    }
    let json = |bits: u32| match f32::from_bits(bits) {
        float if float.is_finite() => Value::Float(float),
        float => Value::Text(float.to_string()),
    };
    let triangle = |triangle: EmittedTriangle<'_>| Triangle {
        invocation: triangle.invocation,
        inverted: triangle.inverted,
        vertices: (0..3).map(|vertex| triangle.vertex(vertex).map(|row| row.map(json)).collect()).collect(),
    };
    let document = Document { registers: triangles.registers(), triangles: triangles.iter().map(triangle).collect() };
    json::compact(&document)
}
