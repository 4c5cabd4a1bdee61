//! Shaders that begin on the interpreter while native code is made beside the calls, and those too large for native
//! code.

#[path = "../benches/draw/mod.rs"]
#[expect(dead_code, reason = "engines are compared with each other")]
mod draw;
mod support;

use draw::{Draw, VERTICES, data};
use log::{LevelFilter, Log, Metadata, Record};
use shaderjit::error::JitError;
use shaderjit::pica::GeometryState;
use shaderjit::{
    Backend, Call, CompileOptions, CompiledShader, Config, Engine, Lanes, NativeStatus, PicaUniforms, Shader,
    VertexBufferView,
};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Once, RwLock, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};
use support::program::Source;

fn engine() -> Engine {
    Engine::new(Config::default()).unwrap()
}

/// Divisions, each of which takes dozens of instructions.
const DIVISIONS: u32 = 2500;

/// A program that is too large for native code.
fn large_container() -> Vec<u8> {
    let mut text = "vs_5_0\nmov r0.xyzw, v0.xyzw\nmov r1.xyzw, v1.xyzw\n".to_string();
    for number in 0..DIVISIONS {
        text += &format!(
            "udiv r0.xyzw, r2.xyzw, r0.xyzw, r1.xyzw\n\
             iadd r0.xyzw, r0.xyzw, r2.xyzw\n\
             iadd r0.xyzw, r0.xyzw, l({number}, {number}, 7, 1)\n"
        );
    }
    text += "mov o0.xyzw, r0.xyzw\n";
    Source::new(&text).container()
}

fn large() -> Shader {
    Shader::parse(&large_container()).unwrap()
}

/// What it computes of a component of `v0` and `v1`.
fn large_in_rust(mut value: u32, divisor: u32, component: usize) -> u32 {
    for number in 0..DIVISIONS {
        let (quotient, rest) =
            (value.checked_div(divisor).unwrap_or(u32::MAX), value.checked_rem(divisor).unwrap_or(u32::MAX));
        value = quotient.wrapping_add(rest).wrapping_add([number, number, 7, 1][component]);
    }
    value
}

/// Holds up an engine's threads before they make native code.
static GATE: RwLock<()> = RwLock::new(());

/// How many threads have come to it.
static ARRIVALS: AtomicUsize = AtomicUsize::new(0);

struct Gatekeeper;

impl Log for Gatekeeper {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if thread::current().name() == Some("shaderjit") && record.args().to_string().starts_with("making native code")
        {
            ARRIVALS.fetch_add(1, Ordering::SeqCst);
            drop(GATE.read().unwrap());
        }
    }

    fn flush(&self) {}
}

/// The engine's threads, busy until this is dropped: with a large program, and with a small one.
struct Busy<'a> {
    large: Arc<CompiledShader>,
    _small: Arc<CompiledShader>,
    _closed: RwLockWriteGuard<'a, ()>,
}

impl Busy<'_> {
    fn new(engine: &Engine) -> Busy<'static> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            log::set_logger(&Gatekeeper).unwrap();
            log::set_max_level(LevelFilter::Debug);
        });
        let closed = GATE.write().unwrap();
        let arrivals = ARRIVALS.load(Ordering::SeqCst);
        let small = Source::new("vs_5_0\nmov o0.xyzw, v0.wzyx\n").container();
        let small = engine.compile(&Shader::parse(&small).unwrap(), &tiered()).unwrap();
        let large = engine.compile(&large(), &tiered()).unwrap();
        // Neither waits for the other.
        while ARRIVALS.load(Ordering::SeqCst) < arrivals + 2 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!([&small, &large].map(|code| code.native_status()), [NativeStatus::Pending, NativeStatus::Pending]);
        Busy { large, _small: small, _closed: closed }
    }
}

fn tiered() -> CompileOptions {
    CompileOptions::default().backend(Backend::Tiered)
}

/// What a draw call stores.
fn shade(draw: &Draw, code: &CompiledShader, call: &Call<'_>, count: u32) -> Vec<u8> {
    let (layout, stride) = draw.layout(code);
    let mut outputs = vec![0; count as usize * stride];
    call.run_into(0..count, &layout, &mut outputs).unwrap();
    outputs
}

fn is_too_large(status: &NativeStatus) -> bool {
    matches!(status, NativeStatus::Refused(JitError::Limit { .. }))
}

#[test]
fn native_code_takes_over_and_results_stay() {
    let (engine, other) = (engine(), engine());
    let draws = Draw::all();
    let busy = Busy::new(&engine);
    let lanes = [Lanes::Four, Lanes::Eight];
    let cases: Vec<(&Draw, Lanes)> = [0, 1, 2, 3, 5].iter().flat_map(|&n| lanes.map(|l| (&draws[n], l))).collect();
    let codes = cases.iter().map(|(draw, lanes)| {
        let code = engine.compile(&draw.shader, &draw.options(Backend::Tiered, *lanes)).unwrap();
        assert_eq!((code.native_status(), code.is_native(), code.machine_code()), (NativeStatus::Pending, false, None));
        code
    });
    let codes: Vec<Arc<CompiledShader>> = codes.collect();
    // The calls were begun before there was native code.
    let calls: Vec<Call<'_>> = cases.iter().zip(&codes).map(|((draw, _), code)| draw.call(code).unwrap()).collect();
    let before: Vec<Vec<u8>> =
        cases.iter().zip(&codes).zip(&calls).map(|(((draw, _), code), call)| shade(draw, code, call, 500)).collect();
    assert!(codes.iter().all(|code| code.native_status() == NativeStatus::Pending));
    drop(busy);
    // After this the engine's thread has nothing to do.
    codes.iter().for_each(|code| _ = code.wait_native());

    for ((((draw, lanes), code), call), before) in cases.iter().zip(&codes).zip(&calls).zip(&before) {
        let name = draw.name;
        assert_eq!(code.wait_native(), NativeStatus::Ready, "{name}");
        assert!(code.is_native() && code.times().native > Duration::ZERO, "{name}");
        assert!(shade(draw, code, call, 500) == *before, "{name}");
        let untiered = other.compile(&draw.shader, &draw.options(Backend::Jit, *lanes)).unwrap();
        assert_eq!(untiered.native_status(), NativeStatus::Ready);
        let expected = shade(draw, &untiered, &draw.call(&untiered).unwrap(), VERTICES);
        assert!(shade(draw, code, call, VERTICES) == expected, "{name}");
        assert_eq!(code.clif(), untiered.clif());
        assert_eq!(code.machine_code().map(<[u8]>::len), untiered.machine_code().map(<[u8]>::len));
        // One code and one IR, whoever asks for it.
        let compiles = engine.cache_stats().compiles;
        let same = engine.compile(&draw.shader, &draw.options(Backend::Jit, *lanes)).unwrap();
        let again = engine.compile(&draw.shader, &draw.options(Backend::Tiered, *lanes)).unwrap();
        assert_eq!(again.native_status(), NativeStatus::Ready);
        for shader in [same, again] {
            assert!(ptr::eq(shader.machine_code().unwrap(), code.machine_code().unwrap()));
        }
        assert_eq!(engine.cache_stats().compiles, compiles);
    }
}

#[test]
fn runs_with_another_layout_do_not_wait() {
    let engine = engine();
    let draw = &Draw::all()[0];
    let shader = engine.compile(&draw.shader, &tiered().outputs(&[("SV_Position", 0)])).unwrap();
    assert_eq!(shader.wait_native(), NativeStatus::Ready);
    let busy = Busy::new(&engine);
    let compiles = engine.cache_stats().compiles;
    // It stores every output.
    let call = draw.call(&shader).unwrap();
    let first = call.run(0..100).unwrap();
    assert!(first.first_difference(&call.run(0..100).unwrap()).is_none());
    assert_eq!(engine.cache_stats().compiles, compiles);
    drop(busy);
    let start = Instant::now();
    while engine.cache_stats().compiles < compiles + 1 && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(engine.cache_stats().compiles, compiles + 1);
    for _ in 0..100 {
        assert!(first.first_difference(&call.run(0..100).unwrap()).is_none());
    }
    assert_eq!(engine.cache_stats().compiles, compiles + 1, "that code is kept");
}

#[test]
fn nothing_is_compiled_for_nobody() {
    let engine = engine();
    let [k1, k2, ..] = &Draw::all()[..] else { unreachable!("there are more") };
    let busy = Busy::new(&engine);
    drop(engine.compile(&k1.shader, &tiered()).unwrap());
    let held = engine.compile(&k2.shader, &tiered()).unwrap();
    let large = Arc::clone(&busy.large);
    drop(busy);
    assert_eq!(held.wait_native(), NativeStatus::Ready);
    // Every program in IR, and native code, or the news that there will be none, of the two that kept the threads busy
    // and of the one held.
    assert!(is_too_large(&large.wait_native()));
    assert_eq!(engine.cache_stats().compiles, 4 + 3);
}

#[test]
fn an_engine_goes_without_its_queue() {
    let engine = engine();
    let draws = Draw::all();
    let busy = Busy::new(&engine);
    let compile = |draw: &Draw| engine.compile(&draw.shader, &draw.options(Backend::Tiered, Lanes::Four)).unwrap();
    let codes: Vec<Arc<CompiledShader>> = draws.iter().map(compile).collect();
    let call = draws[0].call(&codes[0]).unwrap();
    let before = shade(&draws[0], &codes[0], &call, 100);
    thread::scope(|scope| {
        let dropping = scope.spawn(move || drop(engine));
        for code in &codes {
            assert_eq!(code.wait_native(), NativeStatus::Refused(JitError::Abandoned));
        }
        assert!(shade(&draws[0], &codes[0], &call, 100) == before);
        // What was in hand ends before the engine is gone.
        let large = Arc::clone(&busy.large);
        assert_eq!((large.native_status(), dropping.is_finished()), (NativeStatus::Pending, false));
        drop(busy);
        dropping.join().unwrap();
        assert!(is_too_large(&large.native_status()));
    });
}

#[test]
fn threads_share_what_is_made() {
    let (engine, barrier) = (engine(), Barrier::new(8));
    let draw = &Draw::all()[1];
    let results: Vec<Vec<Vec<u8>>> = thread::scope(|scope| {
        let work = || {
            barrier.wait();
            let code = engine.compile(&draw.shader, &draw.options(Backend::Tiered, Lanes::Four)).unwrap();
            let call = draw.call(&code).unwrap();
            let mut results = Vec::new();
            while results.len() < 50 {
                results.push(shade(draw, &code, &call, 200));
            }
            assert_eq!(code.wait_native(), NativeStatus::Ready);
            results.push(shade(draw, &code, &call, 200));
            results
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.iter().flatten().all(|outputs| *outputs == results[0][0]));
    assert_eq!(engine.cache_stats().compiles, 2);
}

#[test]
fn geometry_shaders_go_on_where_the_interpreter_was() {
    let engine = engine();
    let shader = Shader::parse(&data("pica/t31_geo_point.shbin")).unwrap();
    let uniforms = PicaUniforms::from_bytes(&data("pica/t31_geo_point.d1.uni.bin")).unwrap();
    let vertices = data("pica/inputs/normal256.bin");
    let busy = Busy::new(&engine);
    let code = engine.compile(&shader, &tiered().entry(1)).unwrap();
    let mut call = code.call();
    call.unbound_as_zero(true).pica_uniforms(&uniforms);
    for register in 0..6 {
        call.input_element(register, VertexBufferView::f32x4(&vertices[16 * register..], 256)).unwrap();
    }
    let mut state = GeometryState::default();
    let mut triangles = vec![call.run_geometry(0..100, &mut state).unwrap()];
    assert_eq!(code.native_status(), NativeStatus::Pending);
    drop(busy);
    assert_eq!(code.wait_native(), NativeStatus::Ready);
    triangles.push(call.run_geometry(100..256, &mut state).unwrap());

    let mut interpreted = GeometryState::default();
    for (range, triangles) in [0..100, 100..256].into_iter().zip(&triangles) {
        let expected = call.interpret_geometry(range, &mut interpreted).unwrap();
        assert!(!expected.is_empty() && expected.first_difference(triangles).is_none());
    }
    assert_eq!(state, interpreted);
}

#[test]
fn programs_too_large_for_native_code_are_interpreted() {
    let (engine, shader) = (engine(), large());
    let code = engine.compile(&shader, &CompileOptions::default()).unwrap();
    let status = code.native_status();
    assert!(is_too_large(&status), "{status:?}");
    assert_eq!((code.is_native(), code.machine_code(), code.times().native), (false, None, Duration::ZERO));
    assert_eq!(code.clif().map(drop).map_err(NativeStatus::Refused), Err(status.clone()));
    assert!(Arc::ptr_eq(&code, &engine.compile(&shader, &CompileOptions::default()).unwrap()));
    let tiered = engine.compile(&shader, &tiered()).unwrap();
    assert_eq!(tiered.native_status(), status);

    let values: Vec<[u32; 4]> = (0..7).map(|n| [n, 1 << (4 * n), u32::MAX / (n + 1), 0]).collect();
    let divisors = [[3, 10, 0, 1], [2, 1 << 20, 5, 7]].map(|row: [u32; 4]| row);
    let bytes = |rows: &[[u32; 4]]| rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let (first, second) = (bytes(&values), divisors.map(|row| bytes(&[row])));
    for (divisor, bound) in divisors.iter().zip(&second) {
        for code in [&code, &tiered] {
            let mut call = code.call();
            call.reinterpret_inputs(true);
            call.input_element(0, VertexBufferView::u32x4(&first, 16)).unwrap();
            call.input_element(1, VertexBufferView::u32x4(bound, 0)).unwrap();
            let outputs = call.run(0..7).unwrap();
            let found: Vec<[u32; 4]> = outputs.element(0).unwrap().iter().collect();
            let of = |value: &[u32; 4]| std::array::from_fn(|c| large_in_rust(value[c], divisor[c], c));
            assert_eq!(found, values.iter().map(of).collect::<Vec<[u32; 4]>>());
        }
    }
}

#[test]
#[cfg(feature = "cli")]
fn the_command_line_says_why_there_is_no_native_code() {
    let path = std::env::temp_dir().join(format!("shaderjit-large-{}.dxbc", std::process::id()));
    std::fs::write(&path, large_container()).unwrap();
    let shaderjit = |command: &str, arguments: &[&str]| {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_shaderjit"));
        process.arg(command).arg(&path).args(arguments).output().unwrap()
    };
    let run = shaderjit("run", &["--count", "2", "--unbound-as-zero", "--format", "raw"]);
    let bench = shaderjit("bench", &["--millis", "1", "--count", "2"]);
    let others = ["asm", "clif", "diff"].map(|command| (command, shaderjit(command, &[])));
    std::fs::remove_file(&path).unwrap();
    let note = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), run.stdout.len()), (Some(0), 32), "{note}");
    assert!(
        note.starts_with("shaderjit: note: the interpreter runs it: ") && note.contains("over the limit"),
        "{note}"
    );
    let bench = String::from_utf8(bench.stdout).unwrap();
    assert!(bench.contains("no native code, the interpreter runs it: ") && bench.contains("over the limit"), "{bench}");
    for (command, output) in others {
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{command}: {error}");
        assert!(error.contains("there is no native code: ") && error.contains("over the limit"), "{command}: {error}");
    }
}
