//! Particles that fall and bounce.

/// Place, mass, velocity and age.
pub type Particle = [f32; 8];

/// What the shader's constant buffer holds.
#[derive(Clone, Copy)]
pub struct Fall {
    pub time: f32,
    /// What is left of a velocity.
    pub drag: f32,
    pub gravity: f32,
    pub ground: f32,
}

impl Fall {
    /// A step of all particles.
    pub fn go(&self, particles: &[Particle], moved: &mut [u32]) {
        let Fall { time, drag, gravity, ground } = *self;
        for (&[x, y, z, mass, vx, vy, vz, age], moved) in particles.iter().zip(moved.as_chunks_mut::<8>().0) {
            let [vx, vy, vz] = [vx * drag, vy * drag + gravity, vz * drag];
            let [x, y, z] = [x + vx * time, y + vy * time, z + vz * time];
            let vy = if y < ground { -vy } else { vy };
            *moved = [x, y.max(ground), z, mass, vx, vy, vz, age + time].map(f32::to_bits);
        }
    }
}
