//! Data to run functions on, rich in values at which arithmetic changes its ways.

use super::HashedTextures;
use crate::eval::Lanes;
use crate::function::Function;
use crate::interp::Bindings;
use crate::types::Type;
use arbitrary::{Result, Unstructured};

/// Integers at the ends of their ranges, and those shifts and indices care about.
const INTEGERS: [u32; 12] = [0, 1, 2, 3, 31, 32, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/// Magnitudes of floats: zero, denormals, the smallest and the largest normal numbers, one and its neighbours, the
/// bounds of integers and halves, infinity, a quiet and a signalling NaN.
const MAGNITUDES: [u32; 20] = [
    0x0000_0000,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x3380_0000,
    0x3f00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x4000_0000,
    0x4020_0000,
    0x4b00_0001,
    0x4f00_0000,
    0x4f80_0000,
    0x477f_e000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7fc0_0000,
    0x7f80_0001,
];

/// High words of the magnitudes of doubles: zero and the largest denormals, the smallest normal numbers, where results
/// round to denormal floats, one, the bounds of integers, the largest floats and doubles, infinity, a quiet and a
/// signalling NaN.
const HIGH_WORDS: [u32; 14] = [
    0x0000_0000,
    0x000f_ffff,
    0x0010_0000,
    0x380f_ffff,
    0x3810_0000,
    0x3ff0_0000,
    0x3fff_ffff,
    0x41df_ffff,
    0x41ef_ffff,
    0x47ef_ffff,
    0x7fef_ffff,
    0x7ff0_0000,
    0x7ff8_0000,
    0x7ff4_0000,
];

/// The bits of a literal of type `ty`: often an edge of the type's range, else a small number or anything.
pub fn edge_bits(u: &mut Unstructured<'_>, ty: Type) -> Result<u64> {
    Ok(match ty {
        Type::I1 => u64::from(u.arbitrary::<bool>()?),
        Type::I32 => match u.int_in_range(0..=3u8)? {
            0 | 1 => u.int_in_range(0..=8)?,
            2 => u64::from(*u.choose(&INTEGERS)?),
            _ => u64::from(u.arbitrary::<u32>()?),
        },
        Type::F32 => match u.int_in_range(0..=3u8)? {
            0 | 1 => u64::from((f32::from(u.arbitrary::<i8>()?) * 0.25).to_bits()),
            2 => u64::from(*u.choose(&MAGNITUDES)? | if u.arbitrary()? { 0x8000_0000 } else { 0 }),
            _ => u64::from(u.arbitrary::<u32>()?),
        },
        Type::F64 => match u.int_in_range(0..=3u8)? {
            0 => f64::from(u.arbitrary::<i8>()?).to_bits(),
            1 => f64::from(f32::from_bits(edge_bits(u, Type::F32)? as u32)).to_bits(),
            2 => {
                let high = *u.choose(&HIGH_WORDS)? | if u.arbitrary()? { 0x8000_0000 } else { 0 };
                u64::from(high) << 32 | u64::from(*u.choose(&INTEGERS)?)
            }
            _ => u.arbitrary()?,
        },
        // There are no literals of it.
        Type::Row => 0,
    })
}

/// A component of an input or a uniform: the program says which type it is, and need not agree with itself.
fn word(u: &mut Unstructured<'_>) -> Result<u32> {
    let ty = if u.ratio(2, 3)? { Type::F32 } else { Type::I32 };
    Ok(edge_bits(u, ty)? as u32)
}

pub(super) fn row(u: &mut Unstructured<'_>) -> Result<[u32; 4]> {
    Ok([word(u)?, word(u)?, word(u)?, word(u)?])
}

/// What L invocations of a function see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data<const L: usize> {
    /// One entry an input element: four components.
    pub inputs: Vec<[Lanes<L>; 4]>,
    /// Vertex numbers.
    pub vertex_id: Lanes<L>,
    /// Instance number.
    pub instance_id: u32,
    /// One entry a uniform space: its rows; none for tables.
    pub uniforms: Vec<Vec<[u32; 4]>>,
    /// One entry a resource: its bytes; none for textures.
    pub resources: Vec<Vec<u8>>,
}

impl<const L: usize> Data<L> {
    /// Generates data for `func`. Some components are the same in all lanes.
    pub fn arbitrary(u: &mut Unstructured<'_>, func: &Function) -> Result<Data<L>> {
        let mut inputs = vec![[[0; L]; 4]; func.inputs as usize];
        for lanes in inputs.iter_mut().flatten() {
            if u.ratio(1, 4)? {
                *lanes = [word(u)?; L];
                continue;
            }
            for lane in lanes {
                *lane = word(u)?;
            }
        }
        let mut uniforms = Vec::new();
        for space in func.spaces.values() {
            let rows = if space.table.is_some() { 0 } else { u.int_in_range(0..=6)? };
            uniforms.push((0..rows).map(|_| row(u)).collect::<Result<Vec<_>>>()?);
        }
        let mut resources = Vec::new();
        for resource in func.resources.values() {
            if resource.texture.is_some() {
                resources.push(Vec::new());
                continue;
            }
            // Lengths that are no multiple of a word, too.
            let (words, cut) = (u.int_in_range(0..=12)?, u.int_in_range(0..=3)?);
            let mut bytes = Vec::new();
            for _ in 0..words {
                bytes.extend(word(u)?.to_le_bytes());
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            resources.push(bytes);
        }
        let first = u.int_in_range(0..=8u32)?;
        let vertex_id = std::array::from_fn(|lane| first + lane as u32);
        Ok(Data { inputs, vertex_id, instance_id: u.int_in_range(0..=3)?, uniforms, resources })
    }

    /// The uniform spaces as slices, for [`bindings`](Self::bindings) to borrow.
    pub fn uniform_rows(&self) -> Vec<&[[u32; 4]]> {
        self.uniforms.iter().map(Vec::as_slice).collect()
    }

    /// The resources as slices, for [`bindings`](Self::bindings) to borrow.
    pub fn resource_bytes(&self) -> Vec<&[u8]> {
        self.resources.iter().map(Vec::as_slice).collect()
    }

    /// What the interpreter takes, [hashes](HashedTextures) for textures; `uniforms` is
    /// [`uniform_rows`](Self::uniform_rows), `resources` [`resource_bytes`](Self::resource_bytes).
    pub fn bindings<'d>(&'d self, uniforms: &'d [&'d [[u32; 4]]], resources: &'d [&'d [u8]]) -> Bindings<'d, L> {
        let Data { inputs, vertex_id, instance_id, .. } = self;
        Bindings {
            inputs,
            vertex_id: *vertex_id,
            instance_id: *instance_id,
            uniforms,
            resources,
            textures: &HashedTextures,
        }
    }

    /// What one of the lanes sees.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn lane(&self, lane: usize) -> Data<1> {
        Data {
            inputs: self.inputs.iter().map(|element| element.map(|lanes| [lanes[lane]])).collect(),
            vertex_id: [self.vertex_id[lane]],
            instance_id: self.instance_id,
            uniforms: self.uniforms.clone(),
            resources: self.resources.clone(),
        }
    }
}
