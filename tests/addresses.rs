//! Where the words of threads lie in memory: side by side, in rows, near each other, in elements, and outside. However
//! code takes them, each thread gets its own.

mod support;

use shaderjit::{
    AtomicBuffer, Backend, BufferView, CompileOptions, CompiledShader, Config, Engine, MemoryView, Shader, Vectors,
};
use std::sync::Arc;
use support::program::Source;

/// Lanes take words side by side, the same one, rows of eight, some of which are outside, and words far from each
/// other; in groups of whole waves and others, of memory that all of it is inside of and memory that is not.
#[test]
fn words_are_where_their_addresses_say_however_lanes_lie() {
    for (threads, bytes) in [(40, [100, 128]), (64, [100, 128]), (64, [700, 768]), (48, [132, 1024]), (128, [68, 516])]
    {
        check_addresses(threads, bytes);
    }
}

/// How many bytes lie between rows whose distance the shader loads.
const PITCH: u32 = 72;

/// Groups of so many threads with so many bytes of a buffer, and of shared memory.
fn check_addresses(threads: u32, [buffer, shared]: [u32; 2]) {
    // How an address is computed from a thread's number, and what it is.
    type Address = (&'static str, fn(u32) -> u32);
    const ADDRESSES: [Address; 11] = [
        ("ishl r1.x, r0.x, l(2)", |n| n * 4),
        ("ishl r1.x, r0.x, l(2)\niadd r1.x, r1.x, l(-8)", |n| (n * 4).wrapping_sub(8)),
        ("ishl r1.x, r0.x, l(2)\niadd r1.x, r1.x, l(52)", |n| n * 4 + 52),
        ("and r1.x, r0.x, l(7)\nishl r1.x, r1.x, l(2)", |n| (n & 7) * 4),
        ("ushr r1.x, r0.x, l(3)\nishl r1.x, r1.x, l(4)", |n| (n >> 3) * 16),
        ("ushr r1.x, r0.x, l(3)\nimul null, r1.x, r1.x, l(28)", |n| (n >> 3) * 28),
        ("imul null, r1.x, r0.x, l(12)", |n| n * 12),
        ("ineg r1.x, r0.x\nishl r1.x, r1.x, l(2)\niadd r1.x, r1.x, l(96)", |n| 96u32.wrapping_sub(n * 4)),
        ("umin r1.x, r0.x, l(9)\nishl r1.x, r1.x, l(2)", |n| n.min(9) * 4),
        ("mov r1.x, r0.w", |n| (n >> 3) * PITCH + (n & 7) * 4),
        ("iadd r1.x, r0.w, l(2)", |n| (n >> 3) * PITCH + (n & 7) * 4 + 2),
    ];
    // Where each thread stores its number in rows, then what all of them sum up.
    let (rows, loads) = (threads / 8 * PITCH, ADDRESSES.len() as u32 * threads * 8);
    // Every other number of a thread is stored first, where it is inside.
    let stored = |address: u32| {
        let (start, number) = (address & !3, address / 4);
        (start < shared && number.is_multiple_of(2) && number < threads).then_some(number + 1)
    };
    let mut text = format!(
        "cs_5_0
        dcl_thread_group {threads}, 1, 1
        dcl_input vThreadIDInGroup.x
        dcl_resource_raw t0
        dcl_uav_raw u0
        dcl_tgsm_raw g0, {shared}
        mov r0.x, vThreadIDInGroup.x
        iadd r0.y, r0.x, l(1)
        ishl r0.z, r0.x, l(2)
        and r0.w, r0.x, l(1)
        if_z r0.w
          store_raw g0.x, r0.z, r0.y
        endif
        ld_raw r4.x, l(0), t0.xxxx
        ushr r0.w, r0.x, l(3)
        imul null, r0.w, r0.w, r4.x
        and r4.y, r0.x, l(7)
        ishl r4.y, r4.y, l(2)
        iadd r0.w, r0.w, r4.y
        sync_g_t\n"
    );
    for (number, (code, _)) in (0..).zip(&ADDRESSES) {
        let at = number * threads * 8;
        text += &format!(
            "{code}
            ld_raw r2.x, r1.x, t0.xxxx
            ld_raw r2.y, r1.x, g0.xxxx
            iadd r3.x, r0.z, l({at})
            store_raw u0.x, r3.x, r2.x
            iadd r3.x, r0.z, l({})
            store_raw u0.x, r3.x, r2.y\n",
            at + threads * 4
        );
    }
    text += &format!(
        "iadd r3.x, r0.w, l({loads})
        store_raw u0.x, r3.x, r0.y
        mov r4.xy, l(0, 0, 0, 0)
        loop
          uge r4.z, r4.x, l(9)
          breakc_nz r4.z
          ishl r4.z, r4.x, l(2)
          ld_raw r4.w, r4.z, g0.xxxx
          ld_raw r4.z, r4.z, t0.xxxx
          iadd r4.y, r4.y, r4.z
          iadd r4.y, r4.y, r4.w
          iadd r4.x, r4.x, l(1)
        endloop
        iadd r3.x, r0.z, l({})
        store_raw u0.x, r3.x, r4.y",
        loads + rows
    );
    let mut bytes: Vec<u8> = (0..buffer).map(|byte| (byte * 37) as u8).collect();
    bytes[..4].copy_from_slice(&PITCH.to_le_bytes());
    let loaded = |address: u32| {
        let start = (address & !3) as usize;
        bytes.get(start..start + 4).map_or(0, |word| u32::from_le_bytes(word.try_into().unwrap()))
    };
    let mut wanted: Vec<u32> = ADDRESSES
        .iter()
        .flat_map(|(_, address)| {
            let of_buffer = (0..threads).map(move |n| loaded(address(n)));
            of_buffer.chain((0..threads).map(move |n| stored(address(n)).unwrap_or(0)))
        })
        .collect();
    wanted.extend((0..rows / 4).map(|word| {
        let (row, column) = (word / (PITCH / 4), word % (PITCH / 4));
        if column < 8 { row * 8 + column + 1 } else { 0 }
    }));
    let sum = (0..9).map(|word| loaded(word * 4).wrapping_add(stored(word * 4).unwrap_or(0)));
    wanted.extend(vec![sum.fold(0, u32::wrapping_add); threads as usize]);
    let shader = Shader::parse(&Source::new(&text).container()).unwrap();
    for vectors in Vectors::of_this_machine() {
        let engine = Engine::new(Config::default().vectors(vectors)).unwrap();
        for backend in [Backend::Jit, Backend::Interpreter] {
            let code = engine.compile(&shader, &CompileOptions::default().backend(backend)).unwrap();
            assert_eq!(code.is_native(), backend == Backend::Jit);
            let memory = AtomicBuffer::zeroed(4 * wanted.len());
            let mut call = code.call();
            call.buffer(0, BufferView::raw(&bytes)).unwrap();
            call.unordered_access(0, MemoryView::raw(&memory)).unwrap().dispatch([1; 3]).unwrap();
            let got: Vec<u32> = (0..wanted.len()).map(|word| memory.word(word).unwrap()).collect();
            for (number, (got, wanted)) in (0..).zip(got.iter().zip(&wanted)) {
                let (access, thread) = (number / threads, number % threads);
                assert_eq!(got, wanted, "{vectors:?}, {backend:?}, {threads} threads, access {access} of {thread}");
            }
        }
    }
}

/// Elements of structured buffers at numbers that rise with those of threads, by rows or all of them, from where they
/// are inside up to where the number or its offset in bytes has no room in 32 bits.
#[test]
fn elements_are_where_their_numbers_say() {
    const PITCH: u32 = 11;
    for (threads, elements) in [(64, 100), (64, 61), (40, 39), (128, 8)] {
        // A number in order, one by rows of eight, one for all of a row, one of elements of eight bytes.
        let text = format!(
            "cs_5_0
            dcl_constantbuffer CB0[1], immediateIndexed
            dcl_thread_group {threads}, 1, 1
            dcl_input vThreadIDInGroup.x
            dcl_resource_structured t0, 4
            dcl_resource_structured t1, 8
            dcl_uav_structured u0, 4
            dcl_uav_structured u1, 4
            dcl_uav_structured u2, 16
            iadd r0.x, vThreadIDInGroup.x, cb0[0].x
            ushr r0.y, vThreadIDInGroup.x, l(3)
            and r0.z, vThreadIDInGroup.x, l(7)
            iadd r0.w, r0.y, cb0[0].x
            imad r0.y, r0.y, cb0[0].y, r0.z
            iadd r0.y, r0.y, cb0[0].x
            iadd r1.w, vThreadIDInGroup.x, l(1)
            ld_structured r1.x, r0.x, l(0), t0.xxxx
            ld_structured r1.y, r0.y, l(0), t0.xxxx
            ld_structured r1.z, r0.w, l(4), t1.xxxx
            ld_structured r2.x, r0.w, l(0), t1.xxxx
            iadd r1.z, r1.z, r2.x
            ld_structured r2.x, r0.x, l(4), t1.xxxx
            iadd r2.x, r2.x, r1.w
            store_structured u0.x, r0.x, l(0), r1.w
            store_structured u1.x, r0.y, l(0), r1.w
            store_structured u2.x, vThreadIDInGroup.x, l(0), r1.x
            store_structured u2.x, vThreadIDInGroup.x, l(4), r1.y
            store_structured u2.x, vThreadIDInGroup.x, l(8), r1.z
            store_structured u2.x, vThreadIDInGroup.x, l(12), r2.x"
        );
        let word = |number: u32| number.wrapping_mul(0x9e37_79b1) | 1;
        let bytes: Vec<u8> = (0..2 * elements).flat_map(|number| word(number).to_le_bytes()).collect();
        let loaded = |number: u32, words: u32, at: u32| {
            let is_inside = number < 2 * elements / words;
            if is_inside { word(number * words + at) } else { 0 }
        };
        let group = ElementGroup::new(&text, &bytes, &[4, 8], [4, 4, 16]);
        for base in [0, 5, elements / 2, elements, 0x1fff_fff8, 0x3fff_fff9, 0x4000_0000, 0x8000_0001, u32::MAX - 9] {
            let row = |n: u32| base.wrapping_add((n >> 3) * PITCH + (n & 7));
            let mut wanted = [vec![0; elements as usize], vec![0; elements as usize], Vec::new()];
            for n in 0..threads {
                for (stored, number) in wanted.iter_mut().zip([base.wrapping_add(n), row(n)]) {
                    if let Some(element) = stored.get_mut(number as usize) {
                        *element = n + 1;
                    }
                }
                let (own, high) = (base.wrapping_add(n), base.wrapping_add(n >> 3));
                wanted[2].extend([
                    loaded(own, 1, 0),
                    loaded(row(n), 1, 0),
                    loaded(high, 2, 1).wrapping_add(loaded(high, 2, 0)),
                    loaded(own, 2, 1).wrapping_add(n + 1),
                ]);
            }
            group.check([base, PITCH], &wanted, &format!("{threads} threads from {base:#x} on"));
        }
    }
}

/// A shader on every engine.
fn codes(text: &str) -> Vec<Arc<CompiledShader>> {
    let shader = Shader::parse(&Source::new(text).container()).unwrap();
    let codes = Vectors::of_this_machine().into_iter().flat_map(|vectors| {
        let engine = Engine::new(Config::default().vectors(vectors)).unwrap();
        let compile = |backend| engine.compile(&shader, &CompileOptions::default().backend(backend)).unwrap();
        [Backend::Jit, Backend::Interpreter].map(compile)
    });
    codes.collect()
}

/// A group on every engine that loads elements of some bytes, and stores some.
struct ElementGroup<'b> {
    codes: Vec<Arc<CompiledShader>>,
    bytes: &'b [u8],
    /// The sizes of what it loads and stores.
    loaded: &'b [u32],
    stored: [u32; 3],
}

impl<'b> ElementGroup<'b> {
    fn new(text: &str, bytes: &'b [u8], loaded: &'b [u32], stored: [u32; 3]) -> ElementGroup<'b> {
        ElementGroup { codes: codes(text), bytes, loaded, stored }
    }

    /// Runs it with two constants, and checks the words that it stores.
    fn check(&self, [first, second]: [u32; 2], wanted: &[Vec<u32>; 3], what: &str) {
        let constants = [first, second, 0, 0].map(u32::to_le_bytes).concat();
        for code in &self.codes {
            let memory = wanted.each_ref().map(|words| AtomicBuffer::zeroed(4 * words.len()));
            let mut call = code.call();
            call.constant_buffer(0, &constants).unwrap();
            for (slot, &stride) in (0..).zip(self.loaded) {
                call.buffer(slot, BufferView::structured(self.bytes, stride)).unwrap();
            }
            for (slot, (memory, stride)) in (0..).zip(memory.iter().zip(self.stored)) {
                call.unordered_access(slot, MemoryView::structured(memory, stride)).unwrap();
            }
            call.dispatch([1; 3]).unwrap();
            for (view, (memory, wanted)) in memory.iter().zip(wanted).enumerate() {
                let got: Vec<u32> = (0..wanted.len()).map(|word| memory.word(word).unwrap()).collect();
                assert_eq!(got, *wanted, "view {view} of {what}, native: {}", code.is_native());
            }
        }
    }
}

/// All threads load the same word of shared memory, each of an element one after the other: all of them are inside, or
/// the last is not.
#[test]
fn one_word_of_an_element_is_loaded_for_all_threads() {
    for elements in [16, 15] {
        let mut text = format!(
            "cs_5_0
            dcl_thread_group 16, 1, 1
            dcl_input vThreadIDInGroup.x
            dcl_uav_structured u0, 4
            dcl_tgsm_structured g0, 32, {elements}
            imad r0.xyzw, vThreadIDInGroup.xxxx, l(8, 8, 8, 8), l(1, 2, 3, 4)
            store_structured g0.xyzw, vThreadIDInGroup.x, l(0), r0.xyzw
            iadd r0.xyzw, r0.xyzw, l(4, 4, 4, 4)
            store_structured g0.xyzw, vThreadIDInGroup.x, l(16), r0.xyzw
            sync_g_t
            mov r1.xy, l(0, 0, 0, 0)
            loop
              uge r1.z, r1.x, l(16)
              breakc_nz r1.z\n"
        );
        for at in [28, 0, 20] {
            text += &format!("ld_structured r1.z, r1.x, l({at}), g0.xxxx\nimad r1.y, r1.y, l(3), r1.z\n");
        }
        text += "iadd r1.x, r1.x, l(1)
            endloop
            iadd r1.y, r1.y, vThreadIDInGroup.x
            store_structured u0.x, vThreadIDInGroup.x, l(0), r1.y";
        let load = |number: u32, word: u32| if number < elements { number * 8 + word + 1 } else { 0 };
        let loaded = (0..16).flat_map(|number| [7, 0, 5].map(|word| load(number, word)));
        let sum = loaded.fold(0u32, |sum, word| sum.wrapping_mul(3).wrapping_add(word));
        for code in codes(&text) {
            let memory = AtomicBuffer::zeroed(64);
            let mut call = code.call();
            call.unordered_access(0, MemoryView::structured(&memory, 4)).unwrap().dispatch([1; 3]).unwrap();
            for thread in 0..16 {
                let got = memory.word(thread as usize).unwrap();
                assert_eq!(got, sum.wrapping_add(thread), "{elements} elements, thread {thread}");
            }
        }
    }
}

/// Elements of several words, of a buffer, of shared memory and of memory, some of which are outside; all of an
/// element's words or some, of all threads or some, and what has been stored in between.
#[test]
fn elements_of_several_words_are_loaded_and_stored() {
    for (threads, elements) in [(64, 64), (64, 70), (40, 41), (128, 200)] {
        for words in [2, 3, 4, 5, 8, 12] {
            check_elements(threads, elements, words);
        }
    }
}

/// Groups of so many threads with so many elements of so many words.
fn check_elements(threads: u32, elements: u32, words: u32) {
    const NAMES: [&str; 5] = ["", "x", "xy", "xyz", "xyzw"];
    let stride = 4 * words;
    let mut text = format!(
        "cs_5_0
        dcl_constantbuffer CB0[1], immediateIndexed
        dcl_thread_group {threads}, 1, 1
        dcl_input vThreadIDInGroup.x
        dcl_resource_structured t0, {stride}
        dcl_uav_structured u0, {stride}
        dcl_uav_structured u1, {stride}
        dcl_uav_structured u2, {stride}
        dcl_tgsm_structured g0, {stride}, {threads}
        mov r0.x, vThreadIDInGroup.x
        ushr r4.x, r0.x, l(3)
        iadd r4.x, r4.x, cb0[0].x
        iadd r0.y, r0.x, cb0[0].x
        and r0.z, r0.x, cb0[0].y
        xor r0.w, r0.x, l(1)\n"
    );
    // Each row goes through shared memory to u0; where a bit of the thread's number is not set, to u1. That of the
    // element that eight threads share goes to u2.
    for at in (0..words).step_by(4) {
        let names = NAMES[(words - at).min(4) as usize];
        text += &format!(
            "ld_structured r1.{names}, r0.y, l({0}), t0.xyzw
            store_structured g0.{names}, r0.x, l({0}), r1.xyzw
            sync_g_t
            ld_structured r2.{names}, r0.x, l({0}), g0.xyzw
            store_structured g0.x, r0.x, l({0}), r0.x
            ld_structured r3.x, r0.x, l({0}), g0.xxxx
            ld_structured r3.y, r0.w, l({0}), g0.xxxx
            iadd r3.x, r3.x, r3.y
            iadd r2.x, r2.x, r3.x
            store_structured u0.{names}, r0.y, l({0}), r2.xyzw
            if_z r0.z
              store_structured u1.{names}, r0.x, l({0}), r2.xyzw
            endif
            ld_structured r5.{names}, r4.x, l({0}), t0.xyzw
            store_structured u2.{names}, r0.x, l({0}), r5.xyzw
            sync_g_t\n",
            4 * at
        );
    }
    let word = |number: u32| number.wrapping_mul(0x9e37_79b1) | 1;
    let bytes: Vec<u8> = (0..words * elements).flat_map(|number| word(number).to_le_bytes()).collect();
    let (loaded, stored) = ([stride], [stride; 3]);
    let group = ElementGroup::new(&text, &bytes, &loaded, stored);
    for (base, bit) in [(0, 0), (0, 1), (5, 16), (elements - 1, 0), (u32::MAX / stride - 20, 0), (u32::MAX - 9, 0)] {
        let mut wanted = [elements, threads, threads].map(|count| vec![0; (count * words) as usize]);
        for n in 0..threads {
            let own = base.wrapping_add(n);
            for at in 0..words {
                let load = |number: u32| if number < elements { word(number * words + at) } else { 0 };
                let loaded = load(own);
                wanted[2][(n * words + at) as usize] = load(base.wrapping_add(n >> 3));
                // What both threads of a pair have stored: a thread's number, or before that the other's element.
                let stored = if at.is_multiple_of(4) { loaded.wrapping_add(n).wrapping_add(n ^ 1) } else { loaded };
                if own < elements {
                    wanted[0][(own * words + at) as usize] = stored;
                }
                if n & bit == 0 {
                    wanted[1][(n * words + at) as usize] = stored;
                }
            }
        }
        group.check([base, bit], &wanted, &format!("{threads} threads, {words} words from {base} on"));
    }
}

/// Threads of a group load and store words within two vectors of each other, in rising order or not, some outside,
/// some the same, some by no thread; and words that are further apart.
#[test]
fn words_near_each_other_are_exchanged() {
    const THREADS: u32 = 64;
    // Threads' addresses, and whether they store.
    let each = |exchange: fn(u32) -> (u32, bool)| -> Vec<(u32, bool)> { (0..THREADS).map(exchange).collect() };
    let mut exchanges = vec![
        each(|n| (8 * n, true)),
        each(|n| (8 * n + 4, n != 20)),
        each(|n| (8 * (n ^ 1), true)),
        each(|n| (4 * n + 4 * (n & 15), true)),
        each(|n| (8 * n + if n & 15 == 15 { 8 } else { 0 }, true)),
        each(|n| (8 * (n & !1), true)),
        each(|n| (8 * n + 3, true)),
        each(|n| (if n == 37 { u32::MAX - 2 } else { 8 * n }, true)),
        each(|n| (500 - 4 * n, n & 3 != 1)),
        each(|n| (4 * (n * 29 % 64), true)),
    ];
    for apart in [1, 2, 4, 8, 16] {
        let butterfly = |n: u32| 8 * n - 4 * (n & (apart - 1));
        exchanges.push((0..THREADS).map(|n| (butterfly(n), true)).collect());
        exchanges.push((0..THREADS).map(|n| (butterfly(n) + 4 * apart, true)).collect());
    }
    for shared in [100, 128, 132, 380, 512] {
        let text = format!(
            "cs_5_0
            dcl_thread_group {THREADS}, 1, 1
            dcl_input vThreadIDInGroup.x
            dcl_resource_raw t0
            dcl_uav_raw u0
            dcl_tgsm_raw g0, {shared}
            ishl r0.x, vThreadIDInGroup.x, l(2)
            iadd r0.y, r0.x, l(256)
            iadd r0.z, vThreadIDInGroup.x, l(1000)
            ld_raw r1.x, r0.x, t0.xxxx
            ld_raw r1.y, r0.y, t0.xxxx
            store_raw g0.x, r0.x, r0.x
            store_raw g0.x, r0.y, r0.y
            sync_g_t
            ld_raw r2.x, r1.x, g0.xxxx
            sync_g_t
            if_nz r1.y
              store_raw g0.x, r1.x, r0.z
            endif
            sync_g_t
            ld_raw r2.y, r0.x, g0.xxxx
            ld_raw r2.z, r0.y, g0.xxxx
            store_raw u0.x, r0.x, r2.y
            store_raw u0.x, r0.y, r2.z
            iadd r0.y, r0.x, l(512)
            store_raw u0.x, r0.y, r2.x"
        );
        for code in codes(&text) {
            for (number, exchange) in exchanges.iter().enumerate() {
                let mut words: Vec<u32> = (0..128).map(|word| if word < shared / 4 { 4 * word } else { 0 }).collect();
                let word = |address: u32| ((address & !3) < shared).then_some(address as usize / 4);
                let load = |&(address, _): &(u32, bool)| word(address).map_or(0, |at| words[at]);
                let loaded: Vec<u32> = exchange.iter().map(load).collect();
                for (n, &(address, is_stored)) in (0..).zip(exchange) {
                    if let Some(at) = word(address).filter(|_| is_stored) {
                        words[at] = n + 1000;
                    }
                }
                words.extend(loaded);
                let bound = exchange.iter().map(|&(address, _)| address);
                let bound = bound.chain(exchange.iter().map(|&(_, is_stored)| is_stored.into()));
                let bytes: Vec<u8> = bound.flat_map(u32::to_le_bytes).collect();
                let memory = AtomicBuffer::zeroed(4 * words.len());
                let mut call = code.call();
                call.buffer(0, BufferView::raw(&bytes)).unwrap();
                call.unordered_access(0, MemoryView::raw(&memory)).unwrap().dispatch([1; 3]).unwrap();
                let got: Vec<u32> = (0..words.len()).map(|word| memory.word(word).unwrap()).collect();
                assert_eq!(got, words, "exchange {number}, {shared} bytes, {:?}", code.native_status());
            }
        }
    }
}

/// Threads take words side by side, and in rows of eight, from addresses that a loop with barriers hands on: each is
/// used behind the place where the next one is there.
#[test]
fn addresses_that_a_loop_hands_on_are_those_of_the_round() {
    const THREADS: u32 = 64;
    const ROUNDS: u32 = 6;
    let text = format!(
        "cs_5_0
        dcl_thread_group {THREADS}, 1, 1
        dcl_input vThreadIDInGroup.x
        dcl_resource_raw t0
        dcl_uav_raw u0
        dcl_tgsm_raw g0, {}
        ishl r0.x, vThreadIDInGroup.x, l(2)
        ld_raw r1.x, r0.x, t0.xxxx
        store_raw g0.x, r0.x, r1.x
        iadd r0.y, r0.x, l({})
        ld_raw r1.x, r0.y, t0.xxxx
        store_raw g0.x, r0.y, r1.x
        ushr r0.z, vThreadIDInGroup.x, l(3)
        ishl r0.z, r0.z, l(3)
        and r0.w, vThreadIDInGroup.x, l(7)
        iadd r0.z, r0.z, r0.w
        ishl r0.z, r0.z, l(2)
        mov r2.xyzw, l(0, 0, 0, 0)
        mov r3.x, r0.x
        mov r3.y, r0.z
        loop
          sync_g_t
          uge r2.z, r2.w, l({ROUNDS})
          breakc_nz r2.z
          iadd r2.w, r2.w, l(1)
          mov r4.xy, r3.xyxx
          iadd r3.x, r3.x, l(4)
          iadd r3.y, r3.y, l(8)
          ld_raw r5.x, r4.x, g0.xxxx
          ld_raw r5.y, r4.y, t0.xxxx
          imul null, r2.x, r2.x, l(3)
          iadd r2.x, r2.x, r5.x
          imul null, r2.y, r2.y, l(5)
          iadd r2.y, r2.y, r5.y
        endloop
        store_raw u0.x, r0.x, r2.x
        store_raw u0.x, r0.y, r2.y",
        8 * THREADS,
        4 * THREADS,
    );
    let word = |number: u32| number.wrapping_mul(0x9e37_79b1) | 1;
    let bytes: Vec<u8> = (0..2 * THREADS).flat_map(|number| word(number).to_le_bytes()).collect();
    let sum = |factor: u32, step: u32| {
        let of = move |thread| {
            (0..ROUNDS).fold(0u32, |sum, round| sum.wrapping_mul(factor).wrapping_add(word(thread + step * round)))
        };
        (0..THREADS).map(of)
    };
    let wanted: Vec<u32> = sum(3, 1).chain(sum(5, 2)).collect();
    check_words(&text, BufferView::raw(&bytes), &wanted);
}

/// One address is a number of elements, and that of bytes inside of words.
#[test]
fn an_address_inside_of_words_may_be_a_number_of_elements() {
    const THREADS: u32 = 64;
    let text = format!(
        "cs_5_0
        dcl_thread_group {THREADS}, 1, 1
        dcl_input vThreadIDInGroup.x
        dcl_resource_structured t0, 4
        dcl_uav_raw u0
        dcl_tgsm_raw g0, {}
        ishl r0.x, vThreadIDInGroup.x, l(2)
        iadd r0.y, r0.x, l(1)
        iadd r0.z, vThreadIDInGroup.x, l(1)
        store_raw g0.x, r0.x, r0.z
        sync_g_t
        ld_structured r1.x, r0.y, l(0), t0.xxxx
        ld_raw r1.y, r0.y, g0.xxxx
        store_raw u0.x, r0.x, r1.x
        iadd r0.z, r0.x, l({})
        store_raw u0.x, r0.z, r1.y",
        4 * THREADS,
        4 * THREADS,
    );
    let bytes: Vec<u8> = (0..4 * THREADS).flat_map(|number| (number * 3).to_le_bytes()).collect();
    let wanted: Vec<u32> = (0..THREADS).map(|thread| (4 * thread + 1) * 3).chain(1..=THREADS).collect();
    check_words(&text, BufferView::structured(&bytes, 4), &wanted);
}

/// Runs a group on every engine, and checks the words that it stores.
fn check_words(text: &str, view: BufferView<'_>, wanted: &[u32]) {
    for code in codes(text) {
        let memory = AtomicBuffer::zeroed(4 * wanted.len());
        let mut call = code.call();
        call.buffer(0, view).unwrap();
        call.unordered_access(0, MemoryView::raw(&memory)).unwrap().dispatch([1; 3]).unwrap();
        let got: Vec<u32> = (0..wanted.len()).map(|word| memory.word(word).unwrap()).collect();
        assert_eq!(got, wanted, "{:?}", code.native_status());
    }
}
