//! Sections of geometry shaders: `primitive {…} {…} == m0 {…}` runs one on a primitive, a row a vertex, and says what
//! each stream's primitives are then made of.

use super::components::words;
use super::program::bytes;
use super::sections::Section;
use shaderjit::{CompiledShader, PrimitiveIds, Primitives, VertexTable};

/// How often a primitive is there: in a whole wave and a tail.
const ALIKE: usize = 19;

/// A primitive, and what is expected of it.
#[derive(Clone)]
pub struct EmissionRun {
    text: String,
    vertices: Vec<[u32; 4]>,
    /// For each stream named, the rows of its only output.
    streams: Vec<(u32, Vec<[u32; 4]>)>,
}

impl EmissionRun {
    /// `primitive {1} {2} == m0 {1} {2} m1 {3}`; a stream that gets nothing is `m0` alone.
    pub fn parse(vertices: &str, expected: &str, text: &str) -> Result<EmissionRun, String> {
        let streams = expected.trim().strip_prefix('m').ok_or("what is emitted begins with its stream")?.split(" m");
        let stream = |stream: &str| {
            let (number, rows) = stream.split_once(' ').unwrap_or((stream, ""));
            let number = number.trim().parse().map_err(|_| format!("{number:?} is no stream"))?;
            Ok::<_, String>((number, words(rows)?))
        };
        let streams = streams.map(stream).collect::<Result<_, _>>()?;
        Ok(EmissionRun { text: text.to_string(), vertices: words(vertices)?, streams })
    }
}

impl Section {
    /// Runs the primitives in every way.
    pub fn check_emissions(&self) -> Result<(), String> {
        self.check_every_way(&self.emissions, |run| &run.text, |run, code| self.check_emission(run, code))
    }

    fn check_emission(&self, run: &EmissionRun, code: &CompiledShader) -> Result<(), String> {
        let elements = code.interface().signature_inputs();
        let vertices =
            VertexTable::from_bytes(elements, bytes(run.vertices.as_flattened())).map_err(|error| error.to_string())?;
        let one = 0..run.vertices.len() as u32;
        let indices: Vec<u32> = (0..ALIKE).flat_map(|_| one.clone()).collect();
        let call = self.bind(code, &[]).map_err(|error| error.to_string())?;
        let primitives = Primitives { vertices: &vertices, indices: &indices, ids: PrimitiveIds::From(0) };
        let streams = call.primitives(&primitives).map_err(|error| error.to_string())?;
        for (number, wanted) in &run.streams {
            let stream = streams.iter().find(|stream| stream.number == *number);
            let stream = stream.ok_or_else(|| format!("no stream {number}"))?;
            let found: Vec<[u32; 4]> =
                stream.indices.iter().map(|&vertex| stream.vertices.get(vertex as usize, 0)).collect();
            let all: Vec<[u32; 4]> = (0..ALIKE).flat_map(|_| wanted.clone()).collect();
            if found != all {
                return Err(format!("m{number} {:?}", &found[..found.len().div_ceil(ALIKE)]));
            }
        }
        Ok(())
    }
}
