//! Megabytes a second from bytes to instructions, over every program of `tests/data`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use shaderjit::container::{Dxbc, Shbin};
use shaderjit::frontend::{pica, sm4};
use std::fs;
use std::hint::black_box;
use std::path::Path;

criterion_group!(benches, sm4_tokens, dxbc_containers, shbin_containers);
criterion_main!(benches);

/// The tokens alone.
fn sm4_tokens(criterion: &mut Criterion) {
    let files = corpus("dxbc");
    let containers: Vec<Dxbc> = files.iter().map(|file| Dxbc::parse(file).expect(CORPUS)).collect();
    let programs: Vec<_> = containers.iter().map(|dxbc| dxbc.program().expect(CORPUS).expect("it has one")).collect();
    let bytes = programs.iter().map(|program| program.tokens.len()).sum::<usize>();
    bench(criterion, "SM4/SM5 tokens", bytes, || {
        for program in &programs {
            black_box(sm4::Program::from_container(program).expect(CORPUS));
        }
    });
}

/// From the container's first byte: parts, signatures, program.
fn dxbc_containers(criterion: &mut Criterion) {
    let files = corpus("dxbc");
    bench(criterion, "DXBC", size(&files), || {
        for file in &files {
            let dxbc = Dxbc::parse(file).expect(CORPUS);
            black_box((dxbc.input_signature().expect(CORPUS), dxbc.output_signature().expect(CORPUS)));
            let program = dxbc.program().expect(CORPUS).expect("it has one");
            black_box(sm4::Program::from_container(&program).expect(CORPUS));
        }
    });
}

/// From the container's first byte: program memory, descriptors, every executable.
fn shbin_containers(criterion: &mut Criterion) {
    let files = corpus("shbin");
    bench(criterion, "SHBIN", size(&files), || {
        for file in &files {
            let shbin = Shbin::parse(file).expect(CORPUS);
            let dvlp = shbin.dvlp().expect(CORPUS);
            black_box(pica::decode(&dvlp.code, &dvlp.descriptors, dvlp.code_offset).expect(CORPUS));
            for executable in 0..shbin.dvle_count() {
                black_box(shbin.dvle(executable).expect(CORPUS));
            }
        }
    });
}

const CORPUS: &str = "the corpus is well-formed";

fn bench(criterion: &mut Criterion, name: &str, bytes: usize, mut decode: impl FnMut()) {
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::BytesDecimal(bytes as u64));
    group.bench_function(name, |bencher| bencher.iter(&mut decode));
    group.finish();
}

fn size(files: &[Vec<u8>]) -> usize {
    files.iter().map(Vec::len).sum()
}

/// Every file of `tests/data` with that extension, in a fixed order.
fn corpus(extension: &str) -> Vec<Vec<u8>> {
    fn visit(directory: &Path, extension: &str, files: &mut Vec<Vec<u8>>) {
        let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("the directory is readable").path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                visit(&path, extension, files);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
            }
        }
    }
    let mut files = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), extension, &mut files);
    assert!(!files.is_empty(), "tests/data has no .{extension}");
    files
}
