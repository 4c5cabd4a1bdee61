//! The uniform registers of a PICA200 as a caller has them.

use crate::error::CallError;

/// All uniform registers of a PICA200 shader unit.
///
/// ```
/// use shaderjit::PicaUniforms;
///
/// let mut bytes = [0; PicaUniforms::BYTES];
/// bytes[1536] = 7;
/// assert_eq!(PicaUniforms::from_bytes(&bytes)?.ints[0], [7, 0, 0, 0]);
/// # Ok::<(), shaderjit::error::CallError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PicaUniforms {
    /// `c0..c95`.
    pub floats: [[f32; 4]; 96],
    /// `i0..i3`.
    pub ints: [[u8; 4]; 4],
    /// `b0..b15`, bit n is `bn`.
    pub bools: u16,
}

impl PicaUniforms {
    /// Bytes of the form [`from_bytes`](Self::from_bytes) reads.
    pub const BYTES: usize = 96 * 16 + 4 * 4 + 4;

    /// Reads 1556 bytes, little-endian: `c0..c95` of four floats, `i0..i3` of four bytes, the bools as a 32-bit mask.
    ///
    /// # Errors
    /// They are not 1556 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<PicaUniforms, CallError> {
        let bytes: &[u8; PicaUniforms::BYTES] = bytes.try_into().map_err(|_| {
            CallError::Invalid(format!("PICA uniforms are {} bytes, not {}", PicaUniforms::BYTES, bytes.len()))
        })?;
        let (floats, rest) = bytes.split_at(96 * 16);
        let (ints, bools) = rest.split_at(4 * 4);
        let mut uniforms = PicaUniforms::default();
        for (float, &bytes) in uniforms.floats.as_flattened_mut().iter_mut().zip(floats.as_chunks().0) {
            *float = f32::from_le_bytes(bytes);
        }
        uniforms.ints.as_flattened_mut().copy_from_slice(ints);
        uniforms.bools = u16::from_le_bytes([bools[0], bools[1]]);
        Ok(uniforms)
    }
}

impl Default for PicaUniforms {
    /// All zero.
    fn default() -> PicaUniforms {
        PicaUniforms { floats: [[0.0; 4]; 96], ints: [[0; 4]; 4], bools: 0 }
    }
}
