//! Quads of pixels, and the planes of the primitives that they belong to.

/// A number that is linear over the target: an attribute of a primitive, divided by w where it is in perspective.
///
/// One that changes by 0 in both directions keeps its bits as they are, which may be an integer's.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[repr(C)]
pub struct Plane {
    /// What it is at the primitive's origin.
    pub value: f32,
    /// How much it changes from a pixel to the one on its right.
    pub dx: f32,
    /// How much it changes from a pixel to the one below.
    pub dy: f32,
}

impl Plane {
    /// The plane of an attribute that does not vary, by its bits, which may be those of an integer.
    pub const fn constant(bits: u32) -> Plane {
        Plane { value: f32::from_bits(bits), dx: 0.0, dy: 0.0 }
    }
}

/// What the pixels of a triangle, line or point share, but for the planes of its attributes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Primitive {
    /// The point of the target at which planes have their value, in pixels from its upper left corner. One inside the
    /// primitive or near it keeps most digits.
    pub origin: [f32; 2],
    /// Depth, which is linear over the target.
    pub depth: Plane,
    /// 1/w.
    pub reciprocal_w: Plane,
    /// What `SV_IsFrontFace` says.
    pub front_face: bool,
    /// What `SV_PrimitiveID` says.
    pub id: u32,
}

impl Default for Primitive {
    /// At depth 0 and w 1, seen from its front.
    fn default() -> Primitive {
        let reciprocal_w = Plane { value: 1.0, ..Plane::default() };
        Primitive { origin: [0.0; 2], depth: Plane::default(), reciprocal_w, front_face: true, id: 0 }
    }
}

/// Four pixels: (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1), in this order everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Quad {
    /// Of the first pixel, which is the one on the left; even if it is a whole quad of the target.
    pub x: u32,
    /// Of the first pixel, which is the upper one; even if it is a whole quad of the target.
    pub y: u32,
    /// Number of its primitive among those of the call.
    pub primitive: u32,
    /// For each pixel, the samples of it that the primitive covers: what `SV_Coverage` says, and where the centroid is.
    pub coverage: [u16; 4],
    /// Which pixels are shaded for themselves, bit 0 the first. The others only help them with derivatives: they run,
    /// and have no effect on memory; their outputs mean nothing.
    pub live: u8,
    /// Which sample is shaded, in shaders that run once a sample.
    pub sample: u8,
}

/// What a call shades. Everything is lent, and nothing allocated for it.
///
/// A quad's four pixels may be of one primitive only; neighbouring quads, and quads at the same place, of any. Waves of
/// several quads run in the order of the quads. Accesses of [rasteriser-ordered views](crate::PixelInterface::ordered)
/// from one place in the target happen in this order, too: a caller gives quads primitive by primitive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quads<'q> {
    /// In the order in which they are shaded.
    pub quads: &'q [Quad],
    /// What they belong to.
    pub primitives: &'q [Primitive],
    /// For each primitive [so many planes](crate::PixelInterface::planes): those of its attributes in the order of the
    /// input signature, one a component. May be empty if every attribute that is read is bound.
    pub planes: &'q [Plane],
    /// Samples that a pixel of the target has: 1, 2, 4, 8 or 16. They lie where
    /// [`sample_positions`](crate::frontend::pixel::sample_positions) says.
    pub samples: u32,
}
