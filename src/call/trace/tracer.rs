//! Which invocation of a call is traced, and who is told what it does.

use super::step::Step;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Which invocation is traced. It is one of the calls of a stage; calls of other stages do not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Invocation {
    /// Of a vertex shader, or of a pixel shader whose pixels are bound as vertices are: the vertex with the number that
    /// the shader sees, in an instance.
    Vertex {
        /// What `SV_VertexID` says.
        number: u32,
        /// What `SV_InstanceID` says.
        instance: u32,
    },
    /// Of a pixel shader: the pixel there, each time that it is shaded and not only to help its neighbours.
    Pixel {
        /// Pixels to the left of it.
        x: u32,
        /// Pixels above it.
        y: u32,
    },
    /// Of a compute shader: what `SV_DispatchThreadID` says.
    Thread([u32; 3]),
    /// Of a geometry shader: the number of the invocation in the call, so many [instances](crate::EmitterInterface) of
    /// a primitive one after the other.
    Primitive(u32),
    /// Of a hull shader: the number of the patch in the call.
    Patch(u32),
    /// Of a domain shader: the number of the point in the call, those of one patch behind those of the one before.
    Point(u32),
}

/// Who is told what an invocation does, step by step, until it wants no more.
type Observer<'o> = Box<dyn FnMut(&Step) -> ControlFlow<()> + Send + 'o>;

/// Tells somebody what one invocation of a [call](crate::Call::trace) does.
///
/// ```
/// use shaderjit::{CompileOptions, Config, Engine, Invocation, Shader, Tracer};
/// use std::ops::ControlFlow;
///
/// let bytes =
///     include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc"));
/// let code = Engine::new(Config::default())?.compile(&Shader::parse(bytes)?, &CompileOptions::default())?;
/// let mut steps = Vec::new();
/// let tracer = Tracer::new(Invocation::Vertex { number: 2, instance: 0 }, |step| {
///     steps.push(step.clone());
///     ControlFlow::Continue(())
/// });
/// let outputs = code.call().trace(&tracer).run(0..3)?;
/// drop(tracer);
/// let imad = steps.iter().find(|step| step.text.starts_with("imad o1.z")).expect("it has one");
/// assert_eq!((imad.writes[0].register.to_string(), imad.writes[0].bits), ("o1.z".to_string(), 2000));
/// assert_eq!(outputs.output("OUT", 0).expect("it is there").bits(2), Some([2, 0, 2000, !2]));
/// # Ok::<(), shaderjit::Error>(())
/// ```
pub struct Tracer<'o> {
    invocation: Invocation,
    state: Mutex<State<'o>>,
}

struct State<'o> {
    observer: Option<Observer<'o>>,
    /// How often the invocation has been found.
    runs: u32,
}

impl<'o> Tracer<'o> {
    /// Tells `observer` every step of an invocation, until it breaks off. It is called while the call runs, by one
    /// thread at a time. Textures of the caller's own that the invocation reads must not run calls with this tracer,
    /// which would wait for it to be free.
    pub fn new(invocation: Invocation, observer: impl FnMut(&Step) -> ControlFlow<()> + Send + 'o) -> Tracer<'o> {
        Tracer { invocation, state: Mutex::new(State { observer: Some(Box::new(observer)), runs: 0 }) }
    }

    /// How many times the calls have run the invocation: a pixel under several triangles is shaded several times, and
    /// a call may have no such invocation at all.
    pub fn runs(&self) -> u32 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).runs
    }
}

impl fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("invocation", &self.invocation).finish_non_exhaustive()
    }
}

/// Takes the steps of a run.
type Tell<'t> = &'t mut dyn FnMut(Step);

/// A tracer, whatever its observer borrows.
pub(in crate::call) trait Tracing: Sync {
    fn invocation(&self) -> Invocation;

    /// Runs the invocation, which tells its steps to what it is given. Threads wait for each other.
    fn trace(&self, run: &mut dyn FnMut(Tell<'_>));
}

impl Tracing for Tracer<'_> {
    fn invocation(&self) -> Invocation {
        self.invocation
    }

    fn trace(&self, run: &mut dyn FnMut(Tell<'_>)) {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.runs;
        state.runs += 1;
        run(&mut |step| {
            if let Some(observer) = &mut state.observer
                && observer(&Step { run: number, ..step }).is_break()
            {
                state.observer = None;
            }
        });
    }
}
