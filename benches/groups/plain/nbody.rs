//! Bodies that attract each other.

/// Place, mass, velocity and a component that is passed on.
pub type Body = [f32; 8];

/// What the shader's constant buffer holds.
#[derive(Clone, Copy)]
pub struct Step {
    /// How many bodies attract.
    pub count: u32,
    pub time: f32,
    pub softening: f32,
}

impl Step {
    /// A step of all bodies.
    pub fn go(&self, bodies: &[Body], moved: &mut [u32]) {
        let Step { count, time, softening } = *self;
        let attracting = &bodies[..count as usize];
        for (&[x, y, z, mass, vx, vy, vz, rest], moved) in bodies.iter().zip(moved.as_chunks_mut::<8>().0) {
            let mut sum = [0.0f32; 3];
            for &[ox, oy, oz, weight, ..] in attracting {
                let [dx, dy, dz] = [ox - x, oy - y, oz - z];
                let r = 1.0 / (dx * dx + dy * dy + dz * dz + softening).sqrt();
                let pull = weight.abs() * r * r * r;
                sum = [sum[0] + dx * pull, sum[1] + dy * pull, sum[2] + dz * pull];
            }
            let [vx, vy, vz] = [vx + sum[0] * time, vy + sum[1] * time, vz + sum[2] * time];
            *moved = [x + vx * time, y + vy * time, z + vz * time, mass, vx, vy, vz, rest].map(f32::to_bits);
        }
    }
}
