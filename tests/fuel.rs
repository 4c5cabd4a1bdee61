//! What ends calls that would take too long: fuel of a wave and of a call, a flag, a deadline; the same on every
//! engine.

mod support;

use shaderjit::error::CallError;
use shaderjit::{Backend, CompileOptions, Config, Engine, Error, Lanes, Outputs, Shader, VertexBufferView};
use shaderjit_ir::pass::PassError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::program::Source;

/// As many rounds as the vertex says, or without end where it says 0; the number of rounds comes out.
const ROUNDS: &str = "vs_5_0
    dcl_temps 1
    mov r0.xyzw, l(0, 0, 0, 0)
    loop
      iadd r0.x, r0.x, l(1)
      ieq r0.y, r0.x, v0.x
      breakc_nz r0.y
    endloop
    mov o0.xyzw, r0.xxxx";

fn shader() -> Shader {
    Shader::parse(&Source::new(ROUNDS).container()).unwrap()
}

/// Runs vertices that ask for these numbers of rounds.
fn run(config: &Config, rounds: &[u32], (backend, lanes): (Backend, Lanes)) -> Result<Outputs, CallError> {
    let engine = Engine::new(config.clone()).unwrap();
    let code = engine.compile(&shader(), &CompileOptions::default().backend(backend).lanes(lanes)).unwrap();
    let bytes: Vec<u8> = rounds.iter().flat_map(|&rounds| [rounds; 4]).flat_map(u32::to_le_bytes).collect();
    let mut call = code.call();
    let format = code.layout().inputs[0];
    call.input_element(0, VertexBufferView::new(format, &bytes, 16)).unwrap();
    call.run(0..rounds.len() as u32)
}

const ENGINES: [(Backend, Lanes); 6] = [
    (Backend::Interpreter, Lanes::Four),
    (Backend::Jit, Lanes::Four),
    (Backend::Interpreter, Lanes::Eight),
    (Backend::Jit, Lanes::Eight),
    (Backend::Interpreter, Lanes::Sixteen),
    (Backend::Jit, Lanes::Sixteen),
];

#[test]
fn waves_run_out_of_fuel_by_what_their_loops_execute() {
    // The least fuel that is enough, by bisection on the interpreter; a loop's round costs more than one instruction.
    let is_enough = |engine, fuel| run(&Config::default().fuel(fuel), &[1, 100, 7, 3, 90], engine).is_ok();
    let (mut too_little, mut enough) = (0, 1 << 20);
    while enough - too_little > 1 {
        let middle = (too_little + enough) / 2;
        if is_enough(ENGINES[0], middle) { enough = middle } else { too_little = middle }
    }
    assert!((99 * 3..99 * 30).contains(&enough), "{enough}");
    // The longest loop decides, whichever wave it is in.
    for engine in ENGINES {
        assert!(is_enough(engine, enough) && !is_enough(engine, enough - 1), "{engine:?}");
    }
}

#[test]
fn compiling_ends_with_its_time_and_any_time_will_do() {
    let compile = |time| {
        let engine = Engine::new(Config::default().compile_time(time)).unwrap();
        engine.compile(&shader(), &CompileOptions::default()).map(drop)
    };
    assert_eq!(compile(Duration::ZERO), Err(Error::Pass(PassError::OutOfTime)));
    assert_eq!(compile(Duration::MAX), Ok(()));
}

#[test]
fn all_waves_of_a_call_pay_with_its_fuel() {
    // Five waves of four lanes, three of eight, two of sixteen: as many rounds for each wave.
    let rounds = [50; 20];
    let least = |engine| {
        let (mut too_little, mut enough) = (0, 1 << 20);
        while enough - too_little > 1 {
            let middle = (too_little + enough) / 2;
            match run(&Config::default().call_fuel(middle), &rounds, engine) {
                Ok(_) => enough = middle,
                Err(error) => {
                    assert_eq!(error, CallError::OutOfCallFuel);
                    too_little = middle;
                }
            }
        }
        enough
    };
    let found = ENGINES.map(least);
    assert_eq!([found[0], found[2], found[4]], [found[1], found[3], found[5]]);
    assert_eq!([found[0] * 3, found[4] * 3], [found[2] * 5, found[2] * 2]);
}

#[test]
fn whoever_sets_the_flag_ends_the_call_and_so_does_the_deadline() {
    for engine in ENGINES {
        let (backend, lanes) = engine;
        let options = CompileOptions::default().backend(backend).lanes(lanes);
        let code = Engine::new(Config::default().fuel(u32::MAX)).unwrap().compile(&shader(), &options).unwrap();
        let zeros = [0; 16];
        let cancel = AtomicBool::new(false);
        let mut call = code.call();
        call.input_element(0, VertexBufferView::new(code.layout().inputs[0], &zeros, 0)).unwrap();
        call.cancel_on(&cancel);
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| call.run(0..1_000));
            std::thread::sleep(Duration::from_millis(5));
            cancel.store(true, Ordering::Relaxed);
            running.join().unwrap()
        });
        assert_eq!(ended.unwrap_err(), CallError::Cancelled, "{engine:?}");

        let mut call = code.call();
        call.input_element(0, VertexBufferView::new(code.layout().inputs[0], &zeros, 0)).unwrap();
        call.deadline(Instant::now() + Duration::from_millis(5));
        assert_eq!(call.run(0..1_000).unwrap_err(), CallError::Cancelled, "{engine:?}");
        assert_eq!(call.run(0..1).unwrap_err(), CallError::Cancelled, "{engine:?}");
    }
}
