//! K1 to K4 as somebody writes them who knows SIMD: four vertices at a time, a component a register, with `std::arch`.
//! What the uniforms decide alone is computed before the loop, vertices come and go in 16-byte rows that are
//! transposed, and powers, sines and cosines are polynomials that know their arguments. Registers are 128 bits wide,
//! like those of the library's code.
//!
//! For x86-64 machines with AVX2 and FMA; on others there are none of these kernels.

use crate::plain::vertex::{Uniforms, Vertex};

#[cfg(target_arch = "x86_64")]
mod math;
#[cfg(target_arch = "x86_64")]
mod noise;
#[cfg(target_arch = "x86_64")]
mod skinning;
#[cfg(target_arch = "x86_64")]
mod transform;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod waves;

/// Vertices in lockstep.
const LANES: usize = 4;

/// The bytes of as many vertices.
type Group = [u8; LANES * Vertex::BYTES];

/// Shades whole groups. The outputs have room for exactly those.
type Shade = unsafe fn(&Uniforms, &[Group], &mut [u8]);

/// A kernel that runs on this machine.
pub struct Kernel {
    /// Safe to call on a machine with AVX2 and FMA.
    shade: Shade,
    /// Bytes of output of a vertex.
    stride: usize,
}

impl Kernel {
    /// The kernel of that name, if there is one and the machine has what it takes.
    pub fn find(name: &str) -> Option<Kernel> {
        let (shade, stride) = shade(name)?;
        Some(Kernel { shade, stride })
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
        let (groups, rest) = vertices.as_chunks();
        let (whole, tail) = outputs.split_at_mut(groups.len() * LANES * self.stride);
        // SAFETY: `find` has seen that the machine has the features.
        unsafe { (self.shade)(uniforms, groups, whole) };
        if !rest.is_empty() {
            let mut group: Group = [0; _];
            group[..rest.len()].copy_from_slice(rest);
            let mut shaded = vec![0; LANES * self.stride];
            // SAFETY: as above.
            unsafe { (self.shade)(uniforms, &[group], &mut shaded) };
            tail.copy_from_slice(&shaded[..tail.len()]);
        }
    }
}

/// What shades, and bytes of output of a vertex.
#[cfg(target_arch = "x86_64")]
fn shade(name: &str) -> Option<(Shade, usize)> {
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        return None;
    }
    match name {
        "K1" => Some((transform::shade, transform::STRIDE)),
        "K2" => Some((skinning::shade, skinning::STRIDE)),
        "K3" => Some((noise::shade, noise::STRIDE)),
        "K4" => Some((waves::shade, waves::STRIDE)),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn shade(_: &str) -> Option<(Shade, usize)> {
    None
}
