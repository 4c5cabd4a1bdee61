//! Traces: every instruction writes what the interpreter computes of the same operands by itself, and a run that is
//! traced gives what it gives untraced. Those of whole pipelines are in `corpus`, those of generated programs in
//! `generated_programs_do_on_both_engines_what_they_do_alone`.

mod support;

use shaderjit::container::Container;
use shaderjit::error::CallError;
use shaderjit::frontend::sm4::codes::SystemValue;
use shaderjit::frontend::sm4::{Body, CustomData, Declaration, Program, RegisterFile};
use shaderjit::{
    Backend, CompileOptions, CompiledShader, Config, Engine, FlowForm, Invocation, Outputs, PicaUniforms, Shader, Step,
    Tracer, VertexBufferView, WrittenAs,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::program::Source;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn engine() -> Engine {
    Engine::new(Config::default()).expect("this machine has native code")
}

/// The files of a folder and below whose names end like that.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_str().is_some_and(|path| path.ends_with(end)) => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    files
}

/// The steps of a vertex, and the outputs of the call with it.
fn traced(call: &shaderjit::Call<'_>, count: u32, vertex: u32) -> (Vec<Step>, Outputs) {
    let mut steps = Vec::new();
    let tracer = Tracer::new(Invocation::Vertex { number: vertex, instance: 0 }, |step| {
        steps.push(step.clone());
        ControlFlow::Continue(())
    });
    let mut call = call.clone();
    let outputs = call.trace(&tracer).run(0..count).unwrap();
    assert_eq!(tracer.runs(), 1);
    drop(call);
    drop(tracer);
    (steps, outputs)
}

fn is_same(a: u32, b: u32) -> bool {
    let is_nan = |bits| f32::from_bits(bits).is_nan();
    a == b || is_nan(a) && is_nan(b)
}

/// A number for a place, none of them special.
fn number(at: usize) -> f32 {
    ((at as u32).wrapping_mul(0x9e37_79b9) >> 20) as f32 / 512.0 - 4.0
}

/// The operands of a listed instruction.
fn split(operands: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in operands.char_indices() {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        if c == ',' && depth == 0 {
            parts.push(operands[start..at].trim());
            start = at + 1;
        }
    }
    parts.push(operands[start..].trim());
    parts
}

/// What registers hold when an instruction begins, by their names: `r0`, `v2`, `cb0[3]`, `x1[5]`, `icb[4]`.
type Registers = BTreeMap<(String, u8), u32>;

/// A listed operand in its parts: signs in front, the register, and what follows it.
struct Listed<'t> {
    before: &'t str,
    /// With indices resolved.
    register: String,
    behind: &'t str,
}

/// The number that an index is: `3`, `r0.x`, `r0.x + 3`, `x0[2].y + 1`.
fn index(text: &str, registers: &Registers) -> Option<u32> {
    let mut sum = 0u32;
    for part in text.split(" + ") {
        sum = sum.wrapping_add(match part.parse() {
            Ok(number) => number,
            Err(_) => {
                let (register, component) = part.rsplit_once('.')?;
                let component = "xyzw".find(component)? as u8;
                let register = listed(register, registers)?.register;
                *registers.get(&(register, component)).unwrap_or(&0)
            }
        });
    }
    Some(sum)
}

fn listed<'t>(text: &'t str, registers: &Registers) -> Option<Listed<'t>> {
    let start = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (before, rest) = text.split_at(start);
    let mut end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let mut register = rest[..end].to_string();
    while rest[end..].starts_with('[') {
        let close = end + matching(&rest[end..])?;
        let number = index(&rest[end + 1..close], registers)?;
        // `v[r0.x + 3]` is one of the registers that are `v0` and on elsewhere.
        register += &if matches!(&*register, "v" | "o") { number.to_string() } else { format!("[{number}]") };
        end = close + 1;
    }
    // Precisions of less than 32 bits are computed in 32.
    let behind = rest[end..].split(" {").next()?;
    Some(Listed { before, register, behind })
}

/// Where the bracket ends that a text begins with.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        (depth == 0).then_some(at)
    })
}

/// Whether a step can be told alone: it computes registers of registers. Those that ask textures and memory are told
/// with what they got, and derivatives are of four pixels.
fn is_computed(step: &Step) -> bool {
    let head = step.text.split(' ').next().unwrap_or_default();
    let of_quads = ["deriv", "eval_", "sample", "lod"].iter().any(|of| head.starts_with(of));
    let of_views = head.contains("info");
    !step.writes.is_empty() && step.accesses.is_empty() && step.test.is_none() && !of_quads && !of_views
}

/// Holds one step against the interpreter: a program of that instruction alone, on the same values of its operands.
/// What cannot be said alone is the error.
fn check(engine: &Engine, program: &Program, step: &Step, registers: &Registers) -> Result<(), String> {
    let instruction = program.instructions.iter().find(|it| it.offset == step.offset as usize).expect("it is there");
    let (head, operands) = step.text.split_once(' ').ok_or("no operands")?;
    let operands = match operands.strip_prefix("[precise") {
        Some(rest) => rest.split_once("] ").expect("it ends").1,
        None => operands,
    };
    let texts = split(operands);
    if texts.len() != instruction.operands().len() {
        return Err("other operands than listed".to_string());
    }
    let opcode = instruction.token.opcode;
    // Destinations are r0 and r1, sources r2 and on, each an input of the program.
    let (mut renamed, mut places, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (text, operand)) in texts.iter().zip(instruction.operands()).enumerate() {
        if let (RegisterFile::Immediate32, Some(words)) = (operand.file(), operand.immediates()) {
            let words: Vec<String> = words.iter().map(|word| format!("{word:#010x}")).collect();
            renamed.push(format!("l({})", words.join(", ")));
            continue;
        }
        if let (RegisterFile::Immediate64, Some(words)) = (operand.file(), operand.immediates()) {
            rows.push((number, std::array::from_fn(|n| words.get(n).copied().unwrap_or(0))));
            renamed.push(format!("r{number}.xyzw"));
            continue;
        }
        if *text == "null" {
            renamed.push("null".to_string());
            continue;
        }
        let Listed { before, register, behind } = listed(text, registers).ok_or_else(|| format!("operand {text}"))?;
        // `oDepth` is one number.
        let behind = if behind.is_empty() { ".x" } else { behind };
        renamed.push(format!("{before}r{number}{behind}"));
        let row = [0, 1, 2, 3].map(|c| registers.get(&(register.clone(), c)).copied().unwrap_or(0));
        if number < opcode.destinations() {
            places.push((register, number));
        } else {
            rows.push((number, row));
        }
    }
    let mut text = String::from("vs_5_0\n");
    for (input, (number, _)) in rows.iter().enumerate() {
        text += &format!("mov r{number}.xyzw, v{input}.xyzw\n");
    }
    text += &format!("{head} {}\n", renamed.join(", "));
    for (output, (_, number)) in places.iter().enumerate() {
        text += &format!("mov o{output}.xyzw, r{number}.xyzw\n");
    }
    let shader = Shader::parse(&Source::new(&text).container()).unwrap();
    let code = engine.compile(&shader, &CompileOptions::default().backend(Backend::Interpreter)).unwrap();
    let bytes: Vec<u8> = rows.iter().flat_map(|(_, row)| *row).flat_map(u32::to_le_bytes).collect();
    let mut call = code.call();
    call.reinterpret_inputs(true).unbound_as_zero(true);
    for input in 0..rows.len() {
        call.input_element(input, VertexBufferView::u32x4(&bytes[16 * input..], 0)).unwrap();
    }
    let alone = call.run(0..1).unwrap();
    for write in &step.writes {
        let name = &write.register.register;
        let place =
            places.iter().position(|(register, _)| register == name).ok_or_else(|| format!("written {name}"))?;
        let component = usize::from(write.register.component.unwrap_or(0));
        let found = alone.element(place).unwrap().bits(0).unwrap()[component];
        assert!(
            is_same(found, write.bits),
            "{}\n{} {:08x}, alone {found:08x}\n{text}",
            step.text,
            write.register,
            write.bits
        );
    }
    Ok(())
}

/// What inputs and constants hold: as the listing names them.
fn known(code: &CompiledShader, program: &Program, input: &[u32], constants: &[u32]) -> Registers {
    let mut registers = Registers::new();
    for (element, declared) in code.interface().signature_inputs().iter().enumerate() {
        let components = (0..4).filter(|component| declared.mask >> component & 1 != 0);
        let register = match declared.register {
            u32::MAX => declared.semantic.replace("SV_", "v"),
            number => format!("v{number}"),
        };
        for (word, component) in (4 * element..).zip(components) {
            registers.insert((register.clone(), component), input[word]);
        }
    }
    for slot in 0..14 {
        for (at, &word) in constants.iter().enumerate() {
            registers.insert((format!("cb{slot}[{}]", at / 4), (at % 4) as u8), word);
        }
    }
    // Vertex 2 of instance 0 is traced.
    for instruction in &program.instructions {
        let Body::Declaration(Declaration::Input { operand, system_value: Some(value), .. }) = &instruction.body else {
            continue;
        };
        let (value, indices) = (u32::from(*value == SystemValue::VertexId) * 2, operand.constant_indices());
        if let Some(&[register]) = indices {
            (0..4).for_each(|component| {
                registers.entry((format!("v{register}"), component)).or_insert(value);
            });
        }
    }
    let data = program.instructions.iter().filter_map(|instruction| match &instruction.body {
        Body::CustomData(data) => Some(data),
        _ => None,
    });
    for data in data {
        if let CustomData::ImmediateConstants(rows) = &**data {
            for (row, component) in (0..rows.len()).flat_map(|row| (0..4).map(move |component| (row, component))) {
                registers.insert((format!("icb[{row}]"), component as u8), rows[row][component]);
            }
        }
    }
    registers
}

#[test]
fn every_instruction_writes_what_it_computes_alone() {
    let (engine, mut checked, mut computed, mut left) = (engine(), 0, 0, BTreeMap::new());
    let mut mnemonics = BTreeSet::new();
    for path in files(&data().join("dxbc"), "s_5_0.fxc101.dxbc") {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !(name.contains(".vs_") || name.contains(".ps_")) {
            continue;
        }
        let shader = Shader::parse(&bytes).unwrap();
        let Ok(code) = engine.compile(&shader, &CompileOptions::default()) else { continue };
        let Some(Container::Dxbc(dxbc)) = shader.container() else { panic!("{name}") };
        let program = Program::from_container(&dxbc.program().unwrap().unwrap()).unwrap();
        let elements = code.interface().signature_inputs().len();
        let input: Vec<u32> = (0..4 * elements).map(|at| number(at).to_bits()).collect();
        let input_bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        let constants: Vec<u32> = (0..1024).map(|at| number(at + 7).to_bits()).collect();
        let constant_bytes: Vec<u8> = constants.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut call = code.call();
        call.unbound_as_zero(true).reinterpret_inputs(true);
        for element in 0..elements {
            // The same for every vertex.
            call.input_element(element, VertexBufferView::u32x4(&input_bytes[16 * element..], 0)).unwrap();
        }
        for slot in 0..14 {
            let _ = call.constant_buffer(slot, &constant_bytes);
        }
        let plain = call.run(0..4).unwrap();
        let (steps, outputs) = traced(&call, 4, 2);
        assert_eq!(outputs.first_difference(&plain), None, "{}", path.display());
        let mut registers = known(&code, &program, &input, &constants);
        for step in &steps {
            // Of what runs round and round, the first rounds.
            if step.visit <= 2 && is_computed(step) {
                computed += 1;
                match check(&engine, &program, step, &registers) {
                    Ok(()) => {
                        checked += 1;
                        mnemonics.insert(step.text.split(' ').next().unwrap().to_string());
                    }
                    Err(why) => {
                        left.entry(format!("{why}: {}", step.text)).or_insert(path.clone());
                    }
                }
            }
            for write in &step.writes {
                if let Some(component) = write.register.component {
                    registers.insert((write.register.register.to_string(), component), write.bits);
                }
            }
        }
    }
    println!("{checked} of {computed} instructions, of {} kinds", mnemonics.len());
    assert!(left.is_empty() && checked > 1000 && mnemonics.len() > 50, "{checked} {mnemonics:?} {left:#?}");
}

/// The output registers as the steps left them, against the outputs.
fn assert_ends_with(steps: &[Step], outputs: &Outputs, vertex: usize, what: &str) {
    let mut last = BTreeMap::new();
    for write in steps.iter().flat_map(|step| &step.writes) {
        last.insert(write.register.to_string(), write.bits);
    }
    let mut compared = 0;
    for number in 0..16 {
        let bits = outputs.element(number).unwrap().bits(vertex).unwrap();
        for (component, letter) in ["x", "y", "z", "w"].into_iter().enumerate() {
            if let Some(&last) = last.get(&format!("o{number}.{letter}")) {
                assert!(is_same(last, bits[component]), "{what}: o{number}.{letter}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0, "{what} writes no outputs");
}

#[test]
fn programs_of_the_pica200_are_traced_in_both_forms() {
    let (engine, folder, mut traces) = (engine(), data().join("pica"), 0);
    let vertices = std::fs::read(folder.join("inputs/normal256.bin")).unwrap();
    for reference in files(&folder, ".normal256.ref.out") {
        let name = reference.file_name().unwrap().to_string_lossy().into_owned();
        let [title, dvle] = [0, 1].map(|part| name.split('.').nth(part).unwrap());
        let uniforms = std::fs::read(folder.join(format!("{title}.{dvle}.uni.bin"))).unwrap();
        let uniforms = PicaUniforms::from_bytes(&uniforms).unwrap();
        let shader = Shader::parse(&std::fs::read(folder.join(format!("{title}.shbin"))).unwrap()).unwrap();
        let options = CompileOptions::default().entry(dvle[1..].parse().unwrap());
        let mut of_forms: Vec<Vec<Step>> = Vec::new();
        for form in [FlowForm::Graph, FlowForm::Dispatch] {
            let code = engine.compile(&shader, &options.clone().flow(form)).unwrap();
            let mut call = code.call();
            for register in 0..16 {
                call.input_element(register, VertexBufferView::f32x4(&vertices[16 * register..], 256)).unwrap();
            }
            call.pica_uniforms(&uniforms);
            let plain = call.run(0..8).unwrap();
            let (steps, outputs) = traced(&call, 8, 5);
            let what = format!("{name} {form:?}");
            assert_eq!(outputs.first_difference(&plain), None, "{what}");
            assert_ends_with(&steps, &outputs, 5, &what);
            assert!(steps.iter().all(|step| !step.text.is_empty()), "{what}: {steps:?}");
            of_forms.push(steps);
            traces += 1;
        }
        // Both forms go through the same words.
        let [graph, dispatch] = of_forms.try_into().unwrap();
        let words = |steps: &[Step]| steps.iter().map(|step| step.offset).collect::<Vec<_>>();
        assert_eq!(words(&graph), words(&dispatch), "{name}");
    }
    assert!(traces > 50, "{traces}");
}

/// The steps of the first vertex of a program on one row of inputs.
fn steps_of(text: &str, input: [f32; 4]) -> Vec<Step> {
    let shader = Shader::parse(&Source::new(text).container()).unwrap();
    let code: std::sync::Arc<CompiledShader> = engine().compile(&shader, &CompileOptions::default()).unwrap();
    let bytes: Vec<u8> = input.into_iter().flat_map(f32::to_le_bytes).collect();
    let mut call = code.call();
    call.reinterpret_inputs(true).input_element(0, VertexBufferView::u32x4(&bytes, 0)).unwrap();
    traced(&call, 1, 0).0
}

#[test]
fn loops_tests_and_kinds_are_told() {
    let steps = steps_of(
        "mov r0.x, l(0)
         loop
           ige r0.y, r0.x, l(3)
           breakc_nz r0.y
           iadd r0.x, r0.x, l(1)
         endloop
         if_z r0.x
           mov o0.x, l(1)
         endif
         add o0.y, v0.x, v0.y
         log o0.z, v0.z",
        [1.0, 2.0, -1.0, 0.0],
    );
    let of = |head: &str| steps.iter().filter(|step| step.text.starts_with(head)).collect::<Vec<_>>();
    let tests: Vec<Option<bool>> = of("breakc_nz").iter().map(|step| step.test).collect();
    assert_eq!(tests, [Some(false), Some(false), Some(false), Some(true)]);
    assert_eq!(
        of("endloop").iter().map(|step| (step.visit, step.goes_back)).collect::<Vec<_>>(),
        [(1, true), (2, true), (3, true)]
    );
    assert_eq!((of("if_z")[0].test, of("mov o0.x").len(), of("loop").len()), (Some(false), 0, 1));
    let (sum, log) = (&of("add")[0].writes[0], &of("log")[0].writes[0]);
    assert_eq!((sum.kind, f32::from_bits(sum.bits), sum.is_nan()), (WrittenAs::Float, 3.0, false));
    assert!(log.is_nan() && !of("ige")[3].writes[0].is_nan());
    assert_eq!(of("ige")[3].writes[0].kind, WrittenAs::Integer);
}

#[test]
fn observers_break_off_and_loops_without_end_run_out_of_fuel() {
    let source = Source::new("loop\niadd r0.x, r0.x, l(1)\nendloop\nmov o0.x, r0.x");
    let shader = Shader::parse(&source.container()).unwrap();
    let engine = Engine::new(Config::default().fuel(10_000)).unwrap();
    let code = engine.compile(&shader, &CompileOptions::default()).unwrap();
    let mut told = 0;
    let tracer = Tracer::new(Invocation::Vertex { number: 0, instance: 0 }, |_| {
        told += 1;
        if told == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let mut call = code.call();
    let ended = call.trace(&tracer).run(0..1).map(drop);
    assert!(matches!(ended, Err(CallError::OutOfFuel { fuel: 10_000 })), "{ended:?}");
    drop(call);
    drop(tracer);
    assert_eq!(told, 10);
}

#[test]
fn spirv_is_not_traced() {
    let module = std::fs::read(data().join("spirv/vs_switch/VS.vs_5_0.dxc.spv")).unwrap();
    let code = engine().compile(&Shader::parse(&module).unwrap(), &CompileOptions::default()).unwrap();
    let tracer = Tracer::new(Invocation::Vertex { number: 0, instance: 0 }, |_| ControlFlow::Continue(()));
    let mut call = code.call();
    call.unbound_as_zero(true).trace(&tracer);
    let error = call.run(0..1).unwrap_err();
    assert_eq!(error, CallError::Invalid("programs of SPIR-V are not traced".to_string()));
    drop(call);
    assert_eq!(tracer.runs(), 0);
}
