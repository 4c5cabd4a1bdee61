//! Thread groups to run: a shader, what it reads, what it writes, and the same in plain Rust.

use crate::aligned::Aligned;
use crate::plain::matrices::Factors;
use crate::plain::nbody::Step;
use crate::plain::particles::Fall;
use crate::plain::{scan, sha256, sort};
use crate::support::program::Source;
use crate::{data, motion, network};
use shaderjit::error::CallError;
use shaderjit::{AtomicBuffer, BufferView, Call, CompiledShader, MemoryView, Shader, TexelFormat};
use std::sync::Arc;

/// Writes the words of all views.
pub type Plain = Box<dyn Fn(&mut [Aligned<u32>])>;

/// What a shader takes a buffer for.
#[derive(Clone, Copy)]
enum Kind {
    Raw,
    Structured(u32),
    /// Of 32-bit integers.
    Typed,
}

pub struct Case {
    pub name: &'static str,
    pub shader: Shader,
    pub grid: [u32; 3],
    /// Of all groups.
    pub threads: u32,
    /// Constant buffer 0.
    constants: Option<Aligned<u8>>,
    /// `t0` and on.
    inputs: Vec<(Kind, Aligned<u8>)>,
    /// `u0` and on, with so many words.
    outputs: Vec<(Kind, usize)>,
    /// Whether the words are floats, which may differ a little.
    pub has_floats: bool,
    /// The same algorithm.
    pub plain: Plain,
    /// What is shorter on one processor.
    pub shorter: Option<Plain>,
}

impl Case {
    /// Sizes that the caches hold.
    pub fn small() -> Vec<Case> {
        vec![
            Case::nbody(16, 1024),
            Case::product([256; 3]),
            Case::sha256(256),
            Case::sort(32),
            Case::scan(128),
            Case::particles(64),
        ]
    }

    /// About a million threads each.
    pub fn large() -> impl Iterator<Item = Case> {
        let cases: [fn() -> Case; 6] = [
            || Case::nbody(1 << 14, 128),
            || Case::product([1024, 64, 1024]),
            // As many as there can be in a direction.
            || Case::sha256(65535),
            || Case::sort(1 << 12),
            || Case::scan(1 << 14),
            || Case::particles(1 << 14),
        ];
        cases.into_iter().map(|case| case())
    }

    /// Groups of 64 bodies, the first `count` of which attract.
    fn nbody(groups: u32, count: u32) -> Case {
        let bodies = Random(1).floats(groups * 64 * 8);
        let step = Step { count, time: 0.1, softening: 0.01 };
        Case {
            name: "n-body",
            shader: compiled("cs_nbody"),
            grid: [groups, 1, 1],
            threads: groups * 64,
            constants: Some(bytes(&[step.count, step.time.to_bits(), step.softening.to_bits(), 0])),
            inputs: vec![(Kind::Structured(32), floats(&bodies))],
            outputs: vec![(Kind::Structured(32), bodies.len())],
            has_floats: true,
            plain: Box::new(move |views| step.go(bodies.as_chunks().0, &mut views[0])),
            shorter: None,
        }
    }

    /// Rows, what is summed over, columns. Whole numbers, so that the sums are exact in any order.
    fn product(sizes: [u32; 3]) -> Case {
        let [rows, inner, columns] = sizes;
        let mut random = Random(2);
        let mut matrix = |count| {
            let numbers: Vec<f32> = (0..count).map(|_| (random.next() % 19) as f32 - 9.0).collect();
            Aligned::new(&numbers)
        };
        let (a, b) = (matrix(rows * inner), matrix(inner * columns));
        let inputs = [&a, &b].map(|matrix| (Kind::Structured(4), floats(matrix))).into();
        let factors = Arc::new(Factors { sizes: sizes.map(|size| size as usize), a, b });
        let same = factors.clone();
        Case {
            name: "matrix product",
            shader: compiled("cs_matmul"),
            grid: [columns.div_ceil(8), rows.div_ceil(8), 1],
            threads: rows.div_ceil(8) * columns.div_ceil(8) * 64,
            constants: Some(bytes(&[rows, inner, columns, 0])),
            inputs,
            outputs: vec![(Kind::Structured(4), (rows * columns) as usize)],
            has_floats: false,
            plain: Box::new(move |views| factors.multiply(&mut views[0])),
            shorter: Some(Box::new(move |views| same.multiply_rows(&mut views[0]))),
        }
    }

    /// Groups of sixteen blocks.
    fn sha256(groups: u32) -> Case {
        let words = Random(3).words(groups * 16 * 16);
        Case {
            name: "SHA-256",
            shader: compiled("cs_sha256"),
            grid: [groups, 1, 1],
            threads: groups * 16,
            constants: None,
            inputs: vec![(Kind::Structured(64), bytes(&words))],
            outputs: vec![(Kind::Structured(32), words.len() / 2)],
            has_floats: false,
            plain: Box::new(move |views| sha256::digests(words.as_chunks().0, &mut views[0])),
            shorter: None,
        }
    }

    fn sort(groups: u32) -> Case {
        let keys = Arc::new(Random(4).words(groups * sort::GROUP as u32));
        let same = keys.clone();
        Case {
            name: "bitonic sort",
            shader: Shader::parse(&Source::new(network::TEXT).container()).expect("it is a shader"),
            grid: [groups, 1, 1],
            threads: groups * network::THREADS,
            constants: None,
            inputs: vec![(Kind::Structured(4), bytes(&keys))],
            outputs: vec![(Kind::Structured(4), keys.len())],
            has_floats: false,
            plain: Box::new(move |views| sort::bitonic(&keys, &mut views[0])),
            shorter: Some(Box::new(move |views| sort::standard(&same, &mut views[0]))),
        }
    }

    fn scan(groups: u32) -> Case {
        let values = Arc::new(Random(5).words(groups * scan::GROUP as u32));
        let same = values.clone();
        let way = |values: Arc<Aligned<u32>>, scan: fn(&[u32], &mut [u32], &mut [u32])| -> Plain {
            Box::new(move |views| {
                let [sums, totals] = views else { unreachable!("there are two views") };
                scan(&values, sums, totals);
            })
        };
        Case {
            name: "prefix sum",
            shader: compiled("cs_prefix"),
            grid: [groups, 1, 1],
            threads: groups * 64,
            constants: None,
            inputs: vec![(Kind::Typed, bytes(&values))],
            outputs: vec![(Kind::Structured(4), values.len()), (Kind::Raw, groups as usize)],
            has_floats: false,
            plain: way(values, scan::tree),
            shorter: Some(way(same, scan::running)),
        }
    }

    fn particles(groups: u32) -> Case {
        let particles = Random(6).floats(groups * motion::THREADS * 8);
        let fall = Fall { time: 0.1, drag: 0.99, gravity: -0.5, ground: 0.25 };
        Case {
            name: "particles",
            shader: Shader::parse(&Source::new(motion::TEXT).container()).expect("it is a shader"),
            grid: [groups, 1, 1],
            threads: groups * motion::THREADS,
            constants: Some(bytes(&[fall.time, fall.drag, fall.gravity, fall.ground].map(f32::to_bits))),
            inputs: vec![(Kind::Structured(32), floats(&particles))],
            outputs: vec![(Kind::Structured(32), particles.len())],
            has_floats: true,
            plain: Box::new(move |views| fall.go(particles.as_chunks().0, &mut views[0])),
            shorter: None,
        }
    }

    /// Memory of the views.
    pub fn memory(&self) -> Vec<AtomicBuffer> {
        self.outputs.iter().map(|&(_, words)| AtomicBuffer::zeroed(words * 4)).collect()
    }

    /// The same for plain Rust.
    pub fn words(&self) -> Vec<Aligned<u32>> {
        self.outputs.iter().map(|&(_, words)| Aligned::new(&vec![0; words])).collect()
    }

    /// Binds everything.
    pub fn call<'a>(&'a self, code: &'a CompiledShader, memory: &'a [AtomicBuffer]) -> Result<Call<'a>, CallError> {
        let mut call = code.call();
        if let Some(constants) = &self.constants {
            call.constant_buffer(0, constants)?;
        }
        for (slot, (kind, bytes)) in (0..).zip(&self.inputs) {
            let view = match *kind {
                Kind::Raw => BufferView::raw(bytes),
                Kind::Structured(stride) => BufferView::structured(bytes, stride),
                Kind::Typed => BufferView::typed(bytes, TexelFormat::R32Uint),
            };
            call.buffer(slot, view)?;
        }
        for (slot, (&(kind, _), buffer)) in (0..).zip(self.outputs.iter().zip(memory)) {
            let view = match kind {
                Kind::Raw => MemoryView::raw(buffer),
                Kind::Structured(stride) => MemoryView::structured(buffer, stride),
                Kind::Typed => MemoryView::typed(buffer, TexelFormat::R32Uint),
            };
            call.unordered_access(slot, view)?;
        }
        Ok(call)
    }
}

/// A shader of the tests.
fn compiled(name: &str) -> Shader {
    Shader::parse(&data(&format!("{name}/CS.cs_5_0.fxc101.dxbc"))).expect("it is a shader")
}

fn bytes(words: &[u32]) -> Aligned<u8> {
    Aligned::new(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
}

fn floats(values: &[f32]) -> Aligned<u8> {
    bytes(&values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }

    /// From -1 to 1.
    fn float(&mut self) -> f32 {
        self.next() as i32 as f32 * 2f32.powi(-31)
    }

    fn floats(mut self, count: u32) -> Aligned<f32> {
        Aligned::new(&(0..count).map(|_| self.float()).collect::<Vec<f32>>())
    }

    fn words(mut self, count: u32) -> Aligned<u32> {
        Aligned::new(&(0..count).map(|_| self.next()).collect::<Vec<u32>>())
    }
}
