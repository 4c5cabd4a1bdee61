//! An engine for each kind of vectors that this machine has, and the ways to make native code.

use shaderjit::{Config, Engine, Lanes, Vectors};

/// The ways: which vectors, and how many lanes.
pub const NATIVE_WAYS: [(Vectors, Lanes); 4] = [
    (Vectors::Cranelift, Lanes::Four),
    (Vectors::Cranelift, Lanes::Eight),
    (Vectors::Avx2, Lanes::Eight),
    (Vectors::Avx512, Lanes::Sixteen),
];

/// What they are called.
pub const NATIVE_NAMES: [&str; NATIVE_WAYS.len()] = ["JIT 128", "JIT 2x128", "JIT AVX2", "JIT AVX-512"];

/// The engines.
pub struct Engines([Option<Engine>; Vectors::ALL.len()]);

impl Engines {
    pub fn new() -> Engines {
        let of_this_machine = Vectors::of_this_machine();
        Engines(Vectors::ALL.map(|vectors| {
            let has = of_this_machine.contains(&vectors);
            has.then(|| Engine::new(Config::default().vectors(vectors)).expect("the machine has these vectors"))
        }))
    }

    pub fn of(&self, vectors: Vectors) -> Option<&Engine> {
        self.0[Vectors::ALL.iter().position(|&it| it == vectors)?].as_ref()
    }

    /// That of 128 bits, which every machine has that is timed.
    pub fn narrow(&self) -> &Engine {
        self.of(Vectors::Cranelift).expect("there is native code for this machine")
    }
}
