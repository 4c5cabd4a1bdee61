//! Calls that run thread groups: what is bound, what is refused, indirect arguments, several threads, what bounds a
//! call.

mod support;

use shaderjit::error::CallError;
use shaderjit::{
    AtomicBuffer, Backend, BufferView, CompileOptions, CompiledShader, Config, Engine, Image, ImageLayout, Lanes,
    MemoryView, Shader, TexelFormat,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::program::Source;

/// Counts threads by a hash of their number, in a buffer and in an image.
const COUNTING: &str = "cs_5_0
    dcl_thread_group 5, 3, 2
    dcl_input vThreadID.xyz
    dcl_uav_raw u0
    dcl_uav_typed_texture2d (uint,uint,uint,uint) u3
    imad r0.x, vThreadID.y, l(7), vThreadID.x
    imad r0.x, vThreadID.z, l(13), r0.x
    and r0.y, r0.x, l(15)
    ishl r0.z, r0.y, l(2)
    atomic_iadd u0, r0.z, l(1)
    and r0.zw, r0.xxxx, l(0, 0, 3, 1)
    atomic_umax u3, r0.zwzz, r0.x";

fn compile(text: &str, config: Config, backend: Backend) -> Arc<CompiledShader> {
    let shader = Shader::parse(&Source::new(text).container()).unwrap();
    Engine::new(config).unwrap().compile(&shader, &CompileOptions::default().backend(backend)).unwrap()
}

fn image(buffer: &AtomicBuffer) -> MemoryView<'_> {
    MemoryView::image(buffer, ImageLayout::texture_2d(TexelFormat::R32Uint, 4, 2))
}

/// What is counted by so many groups.
fn counted(code: &CompiledShader, run: impl FnOnce(&shaderjit::Call<'_>) -> Result<(), CallError>) -> [Vec<u8>; 2] {
    let (counts, largest) = (AtomicBuffer::zeroed(64), AtomicBuffer::zeroed(32));
    let mut call = code.call();
    call.unordered_access(0, MemoryView::raw(&counts)).unwrap().unordered_access(3, image(&largest)).unwrap();
    run(&call).unwrap();
    [counts.to_bytes(), largest.to_bytes()]
}

#[test]
fn groups_run_in_any_way_with_the_same_result() {
    let grid = [7, 4, 3];
    let code = compile(COUNTING, Config::default(), Backend::Jit);
    assert!(code.is_native());
    let [counts, largest] = counted(&code, |call| call.dispatch(grid));
    let total: u32 = counts.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).sum();
    assert_eq!(total, 7 * 4 * 3 * 30);
    let numbers = (0..35).flat_map(|x| (0..12).flat_map(move |y| (0..6).map(move |z| x + 7 * y + 13 * z)));
    let of_first = numbers.filter(|number| number & 7 == 0 || number & 7 == 4).filter(|number| number & 3 == 0);
    assert_eq!(largest[..4], of_first.filter(|n: &u32| n & 1 == 0).max().unwrap().to_le_bytes());

    let interpreted = compile(COUNTING, Config::default(), Backend::Interpreter);
    let want = [counts, largest];
    assert_eq!(counted(&interpreted, |call| call.dispatch(grid)), want);
    let arguments = AtomicBuffer::from_bytes(&[0, 7, 4, 3].map(u32::to_le_bytes).concat());
    assert_eq!(counted(&code, |call| call.dispatch_indirect(&arguments, 4)), want);
    #[cfg(feature = "rayon")]
    for code in [&code, &interpreted] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(counted(code, |call| pool.install(|| call.dispatch_parallel(grid))), want);
    }
    assert_eq!(counted(&code, |call| call.dispatch([5, 0, 9])), [vec![0; 64], vec![0; 32]]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let code = compile(COUNTING, Config::default(), Backend::Jit);
    let (buffer, short) = (AtomicBuffer::zeroed(64), AtomicBuffer::zeroed(31));
    let mut call = code.call();
    let refused = |result: Result<&mut shaderjit::Call<'_>, CallError>| result.map(drop).unwrap_err().to_string();
    let typed = MemoryView::typed(&buffer, TexelFormat::R32Uint);
    assert!(refused(call.unordered_access(0, typed)).contains("view u0 is a raw buffer to the shader"));
    assert!(refused(call.unordered_access(1, typed)).contains("no view u1; it has view u0, view u3"));
    assert!(refused(call.unordered_access(3, image(&short))).contains("32"));
    let curved = MemoryView::image(&buffer, ImageLayout::texture_2d(TexelFormat::Rgba8Srgb, 4, 4));
    assert!(refused(call.unordered_access(3, curved)).contains("nothing is stored as rgba8srgb"));
    let levels = MemoryView::image(&buffer, ImageLayout::texture_2d(TexelFormat::R8Uint, 4, 4).levels(2));
    assert!(refused(call.unordered_access(3, levels)).contains("one level"));

    call.unordered_access(0, MemoryView::raw(&buffer)).unwrap();
    assert_eq!(call.dispatch([1; 3]), Err(CallError::MissingBinding { what: "view u3".to_string() }));
    assert!(matches!(call.dispatch([1, 65536, 1]), Err(CallError::MissingBinding { .. })));
    call.unordered_access(3, image(&buffer)).unwrap();
    assert!(matches!(call.dispatch([1, 65536, 1]), Err(CallError::Invalid(_))));
    assert!(matches!(
        call.dispatch_indirect(&short, 20),
        Err(CallError::ShortBuffer { needed: 32, available: 31, .. })
    ));
    assert!(matches!(call.dispatch_indirect(&short, 2), Err(CallError::Invalid(_))));
    assert!(matches!(call.run(0..4), Err(CallError::WrongStage { kind: "vertices", .. })));
    let vertices = compile("mov o0.xyzw, v0.xyzw", Config::default(), Backend::Jit);
    assert!(matches!(vertices.call().dispatch([1; 3]), Err(CallError::WrongStage { kind: "thread groups", .. })));
}

#[test]
fn a_view_that_counts_has_a_counter() {
    let text = "cs_5_0
        dcl_thread_group 1, 1, 1
        dcl_uav_structured!0x800000 u0, 4
        imm_atomic_alloc r0.x, u0
        store_structured u0.x, r0.x, l(0), l(7)";
    let code = compile(text, Config::default(), Backend::Jit);
    let (buffer, counter) = (AtomicBuffer::zeroed(8), AtomicBuffer::from_bytes(&[1, 0, 0, 0]));
    let view = MemoryView::structured(&buffer, 4);
    let mut call = code.call();
    let missing = CallError::MissingBinding { what: "counter of view u0".to_string() };
    assert_eq!(call.unordered_access(0, view).map(drop), Err(missing));
    call.unordered_access(0, view.counter(&counter)).unwrap().dispatch([1; 3]).unwrap();
    assert_eq!((buffer.to_bytes(), counter.word(0)), (vec![0, 0, 0, 0, 7, 0, 0, 0], Some(2)));
}

#[test]
fn an_index_chooses_among_views_that_are_written() {
    let text = "cs_5_1
        dcl_thread_group 8, 1, 1
        dcl_input vThreadIDInGroup.x
        dcl_uav_raw u0[2][5], 1
        dcl_uav_structured!0x800000 u1[0][1], 8, 0
        dcl_uav_typed_buffer (uint,uint,uint,uint) u2[7][8], 2
        and r0.xy, vThreadIDInGroup.xxxx, l(3, 1, 0, 0)
        store_raw u0[r0.x + 2].x, l(0), vThreadIDInGroup.x
        store_raw u0[r0.x + 4].x, l(4), l(9)
        imm_atomic_alloc r0.z, u1[r0.y + 0]
        store_structured u1[r0.y + 0].xy, r0.z, l(0), vThreadIDInGroup.x
        imm_atomic_iadd r0.w, u2[r0.y + 7], l(1), vThreadIDInGroup.x
        ld_uav_typed r1.x, l(1), u2[r0.y + 7].xyzw
        ieq r1.y, r0.z, l(3)
        if_nz r1.y
          store_uav_typed u2[r0.y + 7].xyzw, l(0, 0, 0, 0), r1.xxxx
        endif";
    let shader = Shader::parse(&Source::new(text).container()).unwrap();
    for (lanes, backend) in Lanes::ALL.into_iter().flat_map(|it| [(it, Backend::Jit), (it, Backend::Interpreter)]) {
        let options = CompileOptions::default().lanes(lanes).backend(backend);
        let code = Engine::new(Config::default()).unwrap().compile(&shader, &options).unwrap();
        let raw = [(); 4].map(|()| AtomicBuffer::zeroed(8));
        let structured = [(); 2].map(|()| [AtomicBuffer::zeroed(32), AtomicBuffer::zeroed(4)]);
        let typed = [(); 2].map(|()| AtomicBuffer::zeroed(8));
        let mut call = code.call();
        for (slot, buffer) in (2..).zip(&raw) {
            call.unordered_access_in_space(slot, 1, MemoryView::raw(buffer)).unwrap();
        }
        for (slot, [buffer, counter]) in (0..).zip(&structured) {
            call.unordered_access(slot, MemoryView::structured(buffer, 8).counter(counter)).unwrap();
        }
        for (slot, buffer) in (7..).zip(&typed) {
            call.unordered_access_in_space(slot, 2, MemoryView::typed(buffer, TexelFormat::R32Uint)).unwrap();
        }
        call.dispatch([1; 3]).unwrap();
        let words = |buffer: &AtomicBuffer| -> Vec<u32> { (0..).map_while(|index| buffer.word(index)).collect() };
        assert_eq!(
            raw.each_ref().map(words),
            [vec![4, 0], vec![5, 0], vec![6, 9], vec![7, 9]],
            "{lanes:?}, {backend:?}"
        );
        for (parity, [buffer, counter]) in (0..).zip(&structured) {
            let numbers = [0, 2, 4, 6].map(|number| number + parity);
            assert_eq!((words(buffer), counter.word(0)), (numbers.map(|number| [number; 2]).concat(), Some(4)));
            let sum = numbers.iter().sum();
            assert_eq!(words(&typed[parity as usize]), [sum, sum], "{lanes:?}, {backend:?}");
        }
    }
}

/// Shader model 5.1: a table is as long as the program likes.
#[test]
fn tables_hold_hundreds_of_views() {
    let text = "cs_5_1
        dcl_thread_group 5, 1, 1
        dcl_input vThreadIDInGroup.x
        dcl_resource_raw t0[0][399], 0
        dcl_resource_texture2dms (float,float,float,float) t1[10000][20000], 1
        dcl_uav_raw u0[0][399], 0
        dcl_uav_raw u1[5][100000], 1
        imul null, r0.x, vThreadIDInGroup.x, l(99)
        ld_raw r0.y, l(0), t0[r0.x + 0].xxxx
        store_raw u0[r0.x + 3].x, l(0), r0.y
        ldms r0.z, l(0, 0, 0, 0), t1[19999].xxxx, l(1)
        store_raw u1[99999].x, l(0), r0.z";
    let shader = Shader::parse(&Source::new(text).container()).unwrap();
    let image = ImageLayout::texture_2d_ms(TexelFormat::R32Uint, 1, 1, 2);
    let image = Image::new(image, [7u32, 11].map(u32::to_le_bytes).concat()).unwrap();
    for backend in [Backend::Jit, Backend::Interpreter] {
        let options = CompileOptions::default().backend(backend);
        let code = Engine::new(Config::default()).unwrap().compile(&shader, &options).unwrap();
        let given: Vec<[u8; 4]> = (0..400u32).map(|slot| (slot + 1000).to_le_bytes()).collect();
        let taken: Vec<AtomicBuffer> = (0..400).map(|_| AtomicBuffer::zeroed(4)).collect();
        let last = AtomicBuffer::zeroed(4);
        let mut call = code.call();
        for (slot, (bytes, buffer)) in (0..).zip(given.iter().zip(&taken)) {
            call.buffer(slot, BufferView::raw(bytes)).unwrap();
            call.unordered_access(slot, MemoryView::raw(buffer)).unwrap();
        }
        call.texture_in_space(19999, 1, &image).unwrap();
        call.unordered_access_in_space(99999, 1, MemoryView::raw(&last)).unwrap();
        call.dispatch([1; 3]).unwrap();
        for (slot, buffer) in taken.iter().enumerate() {
            let number = slot.checked_sub(3).filter(|number| number % 99 == 0 && *number < 5 * 99);
            let wanted = number.map_or(0, |number| number as u32 + 1000);
            assert_eq!(buffer.word(0), Some(wanted), "{slot}, {backend:?}");
        }
        assert_eq!(last.word(0), Some(11), "{backend:?}");
    }
}

/// Atomics give lanes of the tail nothing, so these neither go round a loop that waits for an atomic nor enter one.
#[test]
fn lanes_of_the_tail_keep_no_group_waiting() {
    let text = |threads: u32| {
        format!(
            "cs_5_0
            dcl_thread_group {threads}, 1, 1
            dcl_input vThreadIDInGroup.x
            dcl_uav_raw u0
            dcl_tgsm_raw g0, 256
            ishl r0.x, vThreadIDInGroup.x, l(2)
            imm_atomic_iadd r0.y, g0, r0.x, l(3)
            iadd r0.y, r0.y, l(3)
            imm_atomic_iadd r0.w, g0, r0.x, l(4)
            if_z r0.w
              loop
                imm_atomic_iadd r0.w, u0, r0.x, l(0)
                breakc_nz r0.w
              endloop
            endif
            sync_g_t
            loop
              imm_atomic_iadd r0.y, u0, r0.x, l(1)
              uge r0.z, r0.y, l(10)
              breakc_nz r0.z
            endloop"
        )
    };
    for (lanes, threads) in Lanes::ALL.into_iter().flat_map(|lanes| [1, 3, 9, 18, 30].map(|threads| (lanes, threads))) {
        let shader = Shader::parse(&Source::new(&text(threads)).container()).unwrap();
        for backend in [Backend::Jit, Backend::Interpreter] {
            let options = CompileOptions::default().lanes(lanes).backend(backend);
            let code = Engine::new(Config::default().fuel(10_000)).unwrap().compile(&shader, &options).unwrap();
            let counts = AtomicBuffer::zeroed(4 * threads as usize);
            let mut call = code.call();
            call.unordered_access(0, MemoryView::raw(&counts)).unwrap();
            call.dispatch([1; 3]).unwrap_or_else(|error| panic!("{lanes:?}, {threads} threads, {backend:?}: {error}"));
            assert!((0..threads as usize).all(|word| counts.word(word) == Some(11)), "{lanes:?}, {threads} threads");
        }
    }
}

/// What the waves of a group take together decides, not how it is divided among waves and phases.
#[test]
fn groups_run_out_of_fuel_at_the_same_point_on_every_engine() {
    // Thread 17 alone goes 100 rounds, and all go as many as thread 5 has put into shared memory.
    let rounds = |limit: &str| {
        format!(
            "mov r0.x, l(0)
            loop
              iadd r0.x, r0.x, l(1)
              uge r0.y, r0.x, {limit}
              breakc_nz r0.y
              atomic_iadd u0, l(0), l(1)
            endloop\n"
        )
    };
    let (own, shared) = (rounds("r0.z"), rounds("r0.w"));
    let number = "ieq r0.z, vThreadIDInGroup.x, l(17)\nmovc r0.z, r0.z, l(100), l(2)\n";
    let put = "ieq r1.x, vThreadIDInGroup.x, l(5)\nif_nz r1.x\nstore_raw g0.x, l(0), l(9)\nendif\nsync_g_t\n";
    let without = format!("{number}{own}");
    let cut = format!("{number}{put}ld_raw r0.w, l(0), g0.xxxx\n{own}{shared}sync_g_t\n{shared}");
    // A barrier in a loop: the tile pays for its rounds.
    let around = format!(
        "{number}mov r2.x, l(0)\nloop\nuge r2.y, r2.x, l(5)\nbreakc_nz r2.y\n{own}sync_g_t\niadd r2.x, r2.x, l(1)\nendloop"
    );
    for text in [without, cut, around] {
        let text = format!(
            "cs_5_0\ndcl_thread_group 37, 1, 1\ndcl_input vThreadIDInGroup.x\ndcl_uav_raw u0\ndcl_tgsm_raw g0, 4\n{text}"
        );
        let shader = Shader::parse(&Source::new(&text).container()).unwrap();
        let run = |fuel, lanes, backend| {
            let options = CompileOptions::default().lanes(lanes).backend(backend);
            let code = Engine::new(Config::default().fuel(fuel)).unwrap().compile(&shader, &options).unwrap();
            let buffer = AtomicBuffer::zeroed(4);
            let mut call = code.call();
            call.unordered_access(0, MemoryView::raw(&buffer)).unwrap();
            match call.dispatch([2, 1, 1]) {
                Ok(()) => true,
                Err(CallError::OutOfFuel { fuel: limit }) if limit == fuel => false,
                Err(error) => panic!("{error}"),
            }
        };
        for lanes in Lanes::ALL {
            let (mut too_little, mut enough) = (0, 1 << 20);
            while enough - too_little > 1 {
                let middle = (too_little + enough) / 2;
                let is_enough = run(middle, lanes, Backend::Interpreter);
                if is_enough { enough = middle } else { too_little = middle }
            }
            assert!(enough > 100, "{enough}");
            assert!(
                run(enough, lanes, Backend::Jit) && !run(too_little, lanes, Backend::Jit),
                "{enough}, {lanes:?}\n{text}"
            );
        }
    }
}

/// Threads count apart what their groups take: of the call's fuel they get neither more nor less for it.
#[test]
#[cfg(feature = "rayon")]
fn threads_share_the_fuel_of_a_call() {
    let text = "cs_5_0
        dcl_thread_group 40, 1, 1
        dcl_uav_raw u0
        mov r0.x, l(0)
        loop
          uge r0.y, r0.x, l(500)
          breakc_nz r0.y
          iadd r0.x, r0.x, l(1)
        endloop
        atomic_iadd u0, l(0), l(1)";
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for backend in [Backend::Jit, Backend::Interpreter] {
        let run = |fuel, in_parallel| {
            let code = compile(text, Config::default().call_fuel(fuel), backend);
            let buffer = AtomicBuffer::zeroed(4);
            let mut call = code.call();
            call.unordered_access(0, MemoryView::raw(&buffer)).unwrap();
            let grid = [70, 1, 1];
            let ran = if in_parallel { pool.install(|| call.dispatch_parallel(grid)) } else { call.dispatch(grid) };
            assert!(matches!(ran, Ok(()) | Err(CallError::OutOfCallFuel)), "{ran:?}");
            assert!(ran.is_err() || buffer.word(0) == Some(70 * 40));
            ran.is_ok()
        };
        let (mut too_little, mut enough) = (0, 1 << 24);
        while enough - too_little > 1 {
            let middle = (too_little + enough) / 2;
            if run(middle, false) { enough = middle } else { too_little = middle }
        }
        assert!(enough > 3 * u64::from(shaderjit_ir::fuel::QUANTUM), "{enough}");
        assert!(run(enough, true) && !run(too_little, true), "{backend:?}, {enough}");
    }
}

/// What was written before a call ends stays, and nothing is written twice.
#[test]
fn a_call_that_ends_early_has_written_once() {
    let text = "cs_5_0
        dcl_thread_group 8, 1, 1
        dcl_input vThreadGroupID.x
        dcl_uav_raw u0
        atomic_iadd u0, l(0), l(1)
        loop
          ieq r0.x, vThreadGroupID.x, l(1)
          breakc_z r0.x
          atomic_iadd u0, l(4), l(1)
        endloop";
    for backend in [Backend::Jit, Backend::Interpreter] {
        let code = compile(text, Config::default().fuel(1000), backend);
        let buffer = AtomicBuffer::zeroed(8);
        let mut call = code.call();
        call.unordered_access(0, MemoryView::raw(&buffer)).unwrap();
        assert!(matches!(call.dispatch([3, 1, 1]), Err(CallError::OutOfFuel { .. })), "{backend:?}");
        assert!((9..=16).contains(&buffer.word(0).unwrap()), "{backend:?}");
        let flag = AtomicBool::new(true);
        call.cancel_on(&flag);
        assert_eq!(call.dispatch([1; 3]), Err(CallError::Cancelled), "{backend:?}");
    }
}

/// Many groups are one change of the floating-point mode for native code, and each as if it were alone.
#[test]
fn groups_in_a_row_find_their_number_and_zeros_and_the_first_that_fails_ends_the_call() {
    const GROUPS: u32 = 7 * 5 * 3;
    const THREADS: u32 = 20;
    let text = |stops: u32, barrier: &str| {
        format!(
            "cs_5_0
            dcl_thread_group {THREADS}, 1, 1
            dcl_input vThreadIDInGroup.x
            dcl_input vThreadGroupID.xyz
            dcl_uav_raw u0
            dcl_tgsm_raw g0, 100
            imad r0.x, vThreadGroupID.z, l(5), vThreadGroupID.y
            imad r0.x, r0.x, l(7), vThreadGroupID.x
            ishl r0.y, vThreadIDInGroup.x, l(2)
            iadd r0.z, r0.y, l(20)
            ld_raw r1.x, r0.z, g0.xxxx
            store_raw g0.x, r0.z, l(1000)
            {barrier}
            loop
              ine r1.y, r0.x, l({stops})
              breakc_nz r1.y
            endloop
            iadd r1.x, r1.x, r0.x
            iadd r1.x, r1.x, l(1)
            imul null, r0.w, r0.x, l(80)
            iadd r0.w, r0.w, r0.y
            store_raw u0.x, r0.w, r1.x"
        )
    };
    for (stops, barrier) in [0, 31, 32, 33, 70, 104, GROUPS].into_iter().flat_map(|it| [(it, ""), (it, "sync_g_t")]) {
        let shader = Shader::parse(&Source::new(&text(stops, barrier)).container()).unwrap();
        // What is enough for all, and what each group has to be charged for before the next one runs.
        for config in [Config::default(), Config::default().call_fuel(100_000)] {
            let engine = Engine::new(config.fuel(1000)).unwrap();
            for (lanes, backend) in
                Lanes::ALL.into_iter().flat_map(|it| [(it, Backend::Jit), (it, Backend::Interpreter)])
            {
                let code = engine.compile(&shader, &CompileOptions::default().lanes(lanes).backend(backend)).unwrap();
                let buffer = AtomicBuffer::zeroed((GROUPS * THREADS * 4) as usize);
                let mut call = code.call();
                call.unordered_access(0, MemoryView::raw(&buffer)).unwrap();
                let (ended, what) = (call.dispatch([7, 5, 3]), format!("{stops}, {lanes:?}, {backend:?}, {barrier}"));
                assert!(matches!(ended, Ok(()) | Err(CallError::OutOfFuel { .. })), "{what}: {ended:?}");
                assert_eq!(ended.is_ok(), stops == GROUPS, "{what}");
                for word in 0..GROUPS * THREADS {
                    let group = word / THREADS;
                    let wanted = if group < stops { group + 1 } else { 0 };
                    assert_eq!(buffer.word(word as usize), Some(wanted), "{what}: group {group}");
                }
            }
        }
    }
}
