//! K1 to K4 as somebody writes them who knows SIMD: four, eight or sixteen vertices at a time, a component a register,
//! with `std::arch`. What the uniforms decide alone is computed before the loop, vertices come and go in 16-byte rows
//! that are transposed, and powers, sines and cosines are polynomials that know their arguments.
//!
//! The text is the same for all widths, each of which is compiled for its features. For x86-64 machines that have
//! those; on others there are none of these kernels.

use crate::plain::vertex::{Uniforms, Vertex};

#[cfg(target_arch = "x86_64")]
mod math;
#[cfg(target_arch = "x86_64")]
mod noise;
#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(target_arch = "x86_64")]
mod skinning;
#[cfg(target_arch = "x86_64")]
mod transform;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod waves;

/// Shades whole groups of vertices. The outputs have room for exactly those.
type Shade = unsafe fn(&Uniforms, &[u8], &mut [u8]);

/// Bits of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// With AVX2 and FMA.
    Bits128,
    /// With AVX2 and FMA.
    Bits256,
    /// With AVX-512 F and DQ.
    Bits512,
}

/// A kernel that runs on this machine.
pub struct Kernel {
    /// Safe to call on a machine with the features of its width.
    shade: Shade,
    /// Vertices in lockstep.
    lanes: usize,
    /// Bytes of output of a vertex.
    stride: usize,
}

impl Kernel {
    /// The kernel of that name, if there is one and the machine has what it takes.
    pub fn find(name: &str, width: Width) -> Option<Kernel> {
        let lanes = match width {
            Width::Bits128 => 4,
            Width::Bits256 => 8,
            Width::Bits512 => 16,
        };
        let (shade, stride) = shade(name, width)?;
        Some(Kernel { shade, lanes, stride })
    }

    /// Bytes of output of a vertex.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Shades all vertices.
    ///
    /// # Panics
    /// The outputs are not as many as the vertices.
    pub fn shade(&self, uniforms: &Uniforms, vertices: &[u8], outputs: &mut [u8]) {
        assert_eq!(vertices.len() / Vertex::BYTES * self.stride, outputs.len());
        let group = self.lanes * Vertex::BYTES;
        let (groups, rest) = vertices.split_at(vertices.len() / group * group);
        let (whole, tail) = outputs.split_at_mut(groups.len() / Vertex::BYTES * self.stride);
        // SAFETY: `find` has seen that the machine has the features.
        unsafe { (self.shade)(uniforms, groups, whole) };
        if !rest.is_empty() {
            let mut group = vec![0; group];
            group[..rest.len()].copy_from_slice(rest);
            let mut shaded = vec![0; self.lanes * self.stride];
            // SAFETY: as above.
            unsafe { (self.shade)(uniforms, &group, &mut shaded) };
            tail.copy_from_slice(&shaded[..tail.len()]);
        }
    }
}

/// The kernels of a width, compiled for its features.
#[cfg(target_arch = "x86_64")]
macro_rules! kernels {
    ($name:expr, $simd:ty, $features:literal) => {{
        macro_rules! kernel {
            ($kernel:ident) => {{
                #[target_feature(enable = $features)]
                fn compiled(u: &Uniforms, vertices: &[u8], outputs: &mut [u8]) {
                    $kernel::shade::<$simd>(u, vertices, outputs);
                }
                Some((compiled as Shade, $kernel::STRIDE))
            }};
        }
        match $name {
            "K1" => kernel!(transform),
            "K2" => kernel!(skinning),
            "K3" => kernel!(noise),
            "K4" => kernel!(waves),
            _ => None,
        }
    }};
}

/// What shades, and bytes of output of a vertex.
#[cfg(target_arch = "x86_64")]
fn shade(name: &str, width: Width) -> Option<(Shade, usize)> {
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let has_avx512 = has_avx2 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
    match width {
        Width::Bits128 if has_avx2 => kernels!(name, simd::Narrow, "avx2,fma"),
        Width::Bits256 if has_avx2 => kernels!(name, simd::Avx2, "avx2,fma"),
        Width::Bits512 if has_avx512 => kernels!(name, simd::Avx512, "avx2,fma,avx512f,avx512dq"),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn shade(_: &str, _: Width) -> Option<(Shade, usize)> {
    None
}
