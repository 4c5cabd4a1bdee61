//! K1 to K4 as SPIR-V beside their DXBC: nanoseconds a vertex, and how many times as long the SPIR-V takes. The modules
//! are the containers' programs in SPIR-V (`tests/data/README.md` says how), so that only the front ends differ.

use crate::draw::{Draw, Uniforms, VERTICES, data, floats, relative_difference};
use crate::engines::{Engines, NATIVE_NAMES, NATIVE_WAYS};
use crate::measure::{measure, median};
use shaderjit::{
    Backend, CompileOptions, CompiledShader, Descriptor, Lanes, OutputLayout, Place, Shader, VertexBufferView,
};

/// How often both are timed, one behind the other.
const ROUNDS: usize = 31;

/// Which of the streams of a vertex are at the locations of a module.
const LOCATIONS: [(&str, &[usize]); 4] = [("k1", &[0, 2]), ("k2", &[0, 1, 2, 3, 4]), ("k3", &[0, 1, 2]), ("k4", &[0])];

/// A kernel as SPIR-V.
struct Module<'d> {
    /// What it is bound to.
    draw: &'d Draw,
    shader: Shader,
    streams: &'static [usize],
}

impl<'d> Module<'d> {
    fn new(draw: &'d Draw, (file, streams): (&str, &'static [usize])) -> Module<'d> {
        let shader = Shader::parse(&data(&format!("perf/{file}.spv"))).expect("the module is well-formed");
        Module { draw, shader, streams }
    }

    fn options(&self, lanes: Lanes) -> CompileOptions {
        let streams = (0..).zip(self.streams.iter().map(|&stream| &self.draw.streams[stream]));
        let options = CompileOptions::default().backend(Backend::Jit).lanes(lanes);
        streams.fold(options, |options, (location, stream)| options.format("LOCATION", location, stream.format))
    }

    /// Outputs in the order of their locations, the position first.
    fn layout(code: &CompiledShader) -> (OutputLayout, usize) {
        let elements = &code.interface().outputs;
        let stride = elements.iter().map(|element| 4 * element.components() as usize).sum();
        let (mut layout, mut offset) = (OutputLayout::none(code), 0);
        for (number, element) in elements.iter().enumerate() {
            layout = layout.with(number, Place { offset, stride });
            offset += 4 * element.components() as usize;
        }
        (layout, stride)
    }

    fn run(&self, code: &CompiledShader, layout: &OutputLayout, outputs: &mut [u8]) {
        let mut call = code.call();
        for (location, &stream) in (0..).zip(self.streams) {
            let stream = &self.draw.streams[stream];
            let view = VertexBufferView::new(stream.format, &self.draw.vertices[stream.offset..], self.draw.stride);
            call.input("LOCATION", location, view).expect("the module has the location");
        }
        if let Uniforms::Constants(bytes) = &self.draw.uniforms {
            call.descriptor(0, 0, 0, Descriptor::Block(bytes)).expect("the module has the block");
        }
        call.run_into(0..VERTICES, layout, outputs).expect("everything is bound");
    }
}

/// Checks what the modules compute, and if somebody wants to know times, prints those of both, taken in turns.
pub fn race(kernels: &[Draw], engines: &Engines, times: bool) {
    for (draw, locations) in kernels.iter().zip(LOCATIONS) {
        let module = Module::new(draw, locations);
        for (name, (vectors, lanes)) in NATIVE_NAMES.into_iter().zip(NATIVE_WAYS) {
            let Some(engine) = engines.of(vectors) else { continue };
            let dxbc = engine.compile(&draw.shader, &draw.options(Backend::Jit, lanes)).expect("it compiles");
            let spirv = engine.compile(&module.shader, &module.options(lanes)).expect("it compiles");
            let ((layout, stride), (own, own_stride)) = (draw.layout(&dxbc), Module::layout(&spirv));
            assert_eq!(stride, own_stride, "{}: the outputs are the same", draw.name);
            let mut outputs = vec![0; VERTICES as usize * stride];
            module.run(&spirv, &own, &mut outputs);
            let difference = relative_difference(&floats(&outputs), &draw.reference, stride / 4);
            assert!(difference < 1e-3, "{} {name}: {difference} from the reference", draw.name);
            if !times {
                continue;
            }
            let (mut all, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
            for _ in 0..ROUNDS {
                let theirs = measure(VERTICES, || {
                    let mut call = dxbc.call();
                    draw.bind(&mut call).expect("the shader has what is bound");
                    call.run_into(0..VERTICES, &layout, &mut outputs).expect("everything is bound");
                });
                let ours = measure(VERTICES, || module.run(&spirv, &own, &mut outputs));
                all[0].push(theirs);
                all[1].push(ours);
                ratios.push(ours / theirs);
            }
            let [theirs, ours] = all.map(median);
            let ratio = median(ratios);
            println!("{} {name:<12} DXBC {theirs:>7.3}  SPIR-V {ours:>7.3} ns/vertex  {ratio:.3}x", draw.name);
        }
    }
}
