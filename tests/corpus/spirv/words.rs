//! Vertices and thread groups, against what was recorded for the containers.

use super::bound::{Memory, Run, bind, inputs};
use super::{Row, known_to_differ, map, places};
use crate::groups::{difference, rule};
use crate::{data, names, read};
use shaderjit::{Backend, CompileOptions, CompiledShader, Config, Engine, Lanes, Shader, Vectors, VertexBufferView};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Modules whose own words ask for something else than the source does, which the executor is recorded to agree with
/// all the same: `FindUMsb` of a negative number, which has bit 31 set, and a byte shift to the left in `msad4`.
const WORDS_SAY_OTHERWISE: [&str; 2] = ["vs_bits/VS.vs_5_0.dxc.spv r0", "cs_msad/CS.cs_5_0.dxc.spv r0"];

/// The lines of a vertex shader's run, of those that were recorded.
fn vertex_lines(code: &CompiledShader, rows: &[Row], run: &Run, elements: &[String], wanted: &str) -> String {
    let memory = Memory::new(run);
    let streams = inputs(code, rows, run, elements);
    let count = run.count.unwrap_or((run.input.len() / (16 * elements.len()).max(1)) as u32);
    let mut results = Vec::new();
    for instance in 0..run.instances {
        let mut call = code.call();
        call.reinterpret_inputs(true);
        bind(&mut call, code, rows, run, &memory);
        for (&location, bytes) in &streams {
            call.input("LOCATION", location, VertexBufferView::u32x4(bytes, 16)).unwrap();
        }
        results.push(call.instance(instance).run(0..count).unwrap());
    }
    let mut lines = String::new();
    for line in wanted.lines() {
        let Some((name, words)) = named(line) else { continue };
        let (vertex, semantic) = name.split_once(' ').unwrap();
        let Some((output, index, mask)) = output_of(rows, semantic) else { continue };
        let vertex: usize = vertex.parse().unwrap();
        let result = &results[vertex / count as usize];
        let Some(view) = result.output(output, index) else { panic!("{output}{index} is no output") };
        let bits = view.bits(vertex % count as usize).unwrap();
        let components = (0..4).filter(|component| mask >> component & 1 != 0);
        let found =
            components.map(|component| view.element().component_of(component).map_or(0, |c| bits[usize::from(c)]));
        let found: Vec<String> = found.take(words).map(|bits| format!("{bits:08x}")).collect();
        writeln!(lines, "{name}  [{}]", found.join(" ")).unwrap();
    }
    lines
}

/// The name of a line and how many words it has.
fn named(line: &str) -> Option<(String, usize)> {
    let (front, words) = line.split_once("  [")?;
    let mut front = front.split_whitespace();
    let (first, second) = (front.next()?, front.next()?);
    let name = if first.starts_with('u') { first.to_string() } else { format!("{first} {second}") };
    Some((name, words.split(' ').count()))
}

/// Where a semantic goes: semantic and index of our element, and the components of the location.
fn output_of(rows: &[Row], semantic: &str) -> Option<(&'static str, u32, u8)> {
    if semantic == "SV_Position0" {
        return Some(("SV_Position", 0, 0xf));
    }
    let outputs = rows.iter().filter(|row| row[0] == "out").flat_map(places);
    let mut found = outputs.filter(|(_, name, _)| name == semantic);
    found.next().map(|(location, _, mask)| ("LOCATION", location, mask))
}

/// The lines of a compute shader's run, of those that were recorded.
fn group_lines(code: &CompiledShader, rows: &[Row], run: &Run, wanted: &str) -> String {
    let memory = Memory::new(run);
    let mut call = code.call();
    bind(&mut call, code, rows, run, &memory);
    call.dispatch(run.groups).unwrap();
    drop(call);
    let mut lines = String::new();
    for line in wanted.lines() {
        if let Some((register, _)) = line.split_once(" counter ") {
            let count = memory.buffers[&format!("{register}.counter")].word(0).unwrap();
            writeln!(lines, "{register} counter {count}").unwrap();
            continue;
        }
        let Some((name, words)) = named(line) else { continue };
        let (register, index) = name.trim_end_matches(']').split_once('[').unwrap();
        // An element is what a line has.
        let width = line.rsplit_once('[').unwrap().1.trim_end_matches(']').split(' ').next().unwrap().len() / 2;
        let stride = words * width;
        let bytes = memory.buffers[register].to_bytes();
        let at = index.parse::<usize>().unwrap() * stride;
        let words = bytes[at..at + stride].chunks(width).map(|word| {
            word.iter().rev().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").unwrap();
                text
            })
        });
        writeln!(lines, "{name}  [{}]", words.collect::<Vec<_>>().join(" ")).unwrap();
    }
    lines
}

/// What a module gives in every way: two, one for each rounding of `mad`; each the same on all engines.
fn in_every_way(
    engines: &[(Engine, &str); 3],
    bytes: &[u8],
    what: &str,
    run: impl Fn(&CompiledShader) -> String,
) -> [String; 2] {
    let shader = Shader::parse(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut results: [Option<String>; 3] = [const { None }; 3];
    for ((engine, name), result) in engines.iter().zip(&mut results) {
        let compile = |options: &CompileOptions| {
            engine.compile(&shader, options).unwrap_or_else(|error| panic!("{what}: {error}"))
        };
        for lanes in Lanes::ALL {
            // How many run side by side decides who is first at memory that several change.
            let options = CompileOptions::default().lanes(lanes);
            let reference = run(&compile(&options.clone().backend(Backend::Interpreter)));
            let found = run(&compile(&options));
            assert!(found == reference, "{what}: {name} with {lanes:?} lanes differs from the interpreter");
            *result = Some(reference);
        }
    }
    let [fused, _, separate] = results.map(|result| result.expect("every engine ran"));
    [fused, separate]
}

fn check(prefix: &str) -> (usize, Vec<String>) {
    let (map, differ) = (map(), known_to_differ());
    let config = Config::default();
    let narrow = Engine::new(config.clone().vectors(Vectors::Cranelift)).unwrap();
    let separate = Engine::new(config.clone().fused_mad(false)).unwrap();
    let engines = [(Engine::new(config).unwrap(), "wide"), (narrow, "cranelift"), (separate, "separate")];
    let (mut compared, mut failures) = (0, Vec::new());
    let only = std::env::var("SPIRV_CASE").unwrap_or_default();
    for ((case, file), rows) in &map {
        if !case.starts_with(prefix) || !format!("{case}/{file}").contains(&only) {
            continue;
        }
        let (folder, dxbc) = (data().join("spirv").join(case), data().join("dxbc").join(case));
        if !folder.join(file).exists() {
            continue;
        }
        let bytes = read(&folder.join(file));
        let mut parts = file.split('.');
        let (entry, profile) = (parts.next().unwrap(), parts.next().unwrap());
        let container = Shader::parse(&read(&dxbc.join(format!("{entry}.{profile}.fxc101.dxbc")))).unwrap();
        let elements = container.interface(&CompileOptions::default()).unwrap().inputs;
        let elements: Vec<String> =
            elements.iter().map(|element| format!("{}{}", element.semantic, element.index)).collect();
        for command in names(&dxbc).iter().filter(|name| name.ends_with(".cmd")) {
            let id = command.trim_start_matches("run.").trim_end_matches(".cmd");
            let text = String::from_utf8(read(&dxbc.join(command))).unwrap();
            let Some(run) = Run::parse(&dxbc, &text) else { continue };
            let recorded = dxbc.join(format!("run.{id}.{profile}.fxc101.dxvk.txt"));
            if run.entry != entry || !recorded.exists() {
                continue;
            }
            let what = format!("{case}/{file} {id}");
            let wanted = String::from_utf8(read(&recorded)).unwrap();
            let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                in_every_way(&engines, &bytes, &what, |code| match prefix {
                    "vs_" => vertex_lines(code, rows, &run, &elements, &wanted),
                    _ => group_lines(code, rows, &run, &wanted),
                })
            }));
            let Ok(results) = attempt else {
                failures.push(what);
                continue;
            };
            let known: BTreeSet<String> =
                results[0].lines().map(|line| line.split("  [").next().unwrap().to_string()).collect();
            let is_there =
                |line: &&str| named(line).map_or_else(|| known.contains(*line), |(name, _)| known.contains(&name));
            // The decimals are for people.
            let plain = |line: &str| match (named(line), line.split_once("  [")) {
                (Some((name, _)), Some((_, words))) => format!("{name}  [{words}\n"),
                _ => format!("{line}\n"),
            };
            let wanted: String = wanted.lines().filter(is_there).map(plain).collect();
            compared += known.len();
            let differences = results.each_ref().map(|found| difference(found, &wanted, rule(case)));
            if let [Some(first), Some(_)] = differences
                && !differ.contains(&(case.clone(), file.clone(), id.to_string()))
                && !WORDS_SAY_OTHERWISE.contains(&what.as_str())
            {
                failures.push(format!("{what}: {first}"));
            }
        }
    }
    (compared, failures)
}

#[test]
fn vertex_shaders_give_the_recorded_words() {
    let (compared, failures) = check("vs_");
    println!("{compared} elements compared");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn compute_shaders_give_the_recorded_words() {
    let (compared, failures) = check("cs_");
    println!("{compared} elements compared");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
