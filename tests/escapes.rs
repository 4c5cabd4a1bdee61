//! Strings in containers that attack whoever looks at them: no verb of the command line lets one act on a terminal,
//! forge a line or become a spreadsheet's formula, and JSON has them as they are.
#![cfg(feature = "cli")]

use serde_json::Value;
use shaderjit::container::digest::Signing;
use shaderjit::container::dxbc::{Builder, FourCc};
use shaderjit::container::vbc::{
    self, Reflection, StageMask, TableSizes, UniformBlock, VbcBaseType, VbcMember, VbcStage,
};
use shaderjit::container::{Dxbc, Name};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What hostile names are made of. A line that begins with `FORGED` is one that a name has begun.
const HOSTILE: [&[u8]; 10] = [
    b"\x1b[2J\x1b]0;title\x07\x1b[8m",
    "\u{9b}31m\u{85}\u{9d}0;title\u{9c}".as_bytes(),
    b"a\r\nFORGED\x0b\x0c\t\x08\x7f",
    "\u{202e}live\u{2066}\u{200f}\u{61c}".as_bytes(),
    "\u{2028}FORGED\u{2029}".as_bytes(),
    "a\u{200b}\u{feff}\u{ad}\u{2060}\u{e0041}".as_bytes(),
    b"=HYPERLINK(\"http://x\"),\"\nFORGED",
    b"@SUM(1)\t-1+1,'\"",
    b"\"\\\"}],\\u001b\\x1b\\",
    b"\xff\xfe\xc0\x80\xed\xa0\x80\x1b[31m",
];

/// A container, and the string in all its names.
struct Hostile {
    path: PathBuf,
    text: String,
    /// Whether `reflect` has names of this container that are long enough to know the string by.
    reflected: bool,
}

/// A folder of containers, gone with the guard.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// `length` bytes of a hostile string, repeated or cut between characters, filled up with an `x`.
fn of_length(hostile: &[u8], length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = hostile.iter().copied().cycle().take(length).collect();
    if std::str::from_utf8(hostile).is_ok() {
        let whole = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        bytes[whole..].fill(b'x');
    }
    bytes
}

/// Puts a hostile string over every name: over every run of three or more graphic characters that ends in a NUL.
/// Lengths stay, so whatever refers to a name still does.
fn poison(bytes: &mut [u8], hostile: &[u8]) {
    let mut start = 0;
    while start < bytes.len() {
        let length = bytes[start..].iter().take_while(|&&byte| byte == b' ' || byte.is_ascii_graphic()).count();
        let run = start..start + length;
        // `RD11` is the mark of resource definitions since shader model 5, and a NUL follows the number behind it.
        if length >= 3 && bytes.get(run.end) == Some(&0) && !bytes[run.clone()].starts_with(b"RD11") {
            bytes[run.clone()].copy_from_slice(&of_length(hostile, length));
        }
        start = run.end + 1;
    }
}

/// The container with hostile names in these parts.
fn poisoned_parts(path: &str, parts: &[FourCc], hostile: &[u8]) -> Vec<u8> {
    let bytes = std::fs::read(data(path)).unwrap();
    let container = Dxbc::parse(&bytes).unwrap();
    let mut copies: Vec<(FourCc, Vec<u8>)> =
        container.parts().iter().map(|part| (part.name, part.data.to_vec())).collect();
    for (_, part) in copies.iter_mut().filter(|(name, _)| parts.contains(name)) {
        poison(part, hostile);
    }
    build(&copies)
}

fn build(parts: &[(FourCc, Vec<u8>)]) -> Vec<u8> {
    let builder = parts.iter().fold(Builder::new(), |builder, (name, part)| builder.part(*name, part));
    builder.build(Signing::Retail).unwrap()
}

/// The symbols of a SHBIN end each executable, behind its other tables; no name of the test data is shorter than three.
fn poisoned_shbin(path: &str, hostile: &[u8]) -> Vec<u8> {
    let mut bytes = std::fs::read(data(path)).unwrap();
    let starts: Vec<usize> = (0..bytes.len() - 4).filter(|&at| &bytes[at..at + 4] == b"DVLE").collect();
    for start in starts {
        let field = |at: usize| u32::from_le_bytes(*bytes[start + at..].first_chunk().unwrap()) as usize;
        let symbols = start + field(0x38)..start + field(0x38) + field(0x3c);
        poison(&mut bytes[symbols], hostile);
    }
    bytes
}

/// Names of a program's sources, one behind the other, and arguments (`SRCI`), which compilers compress: here they are
/// not.
fn sources(hostile: &[u8]) -> Vec<u8> {
    let dwords = |dwords: &[u32]| dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect::<Vec<u8>>();
    let section = |kind: u32, mut body: Vec<u8>| {
        body.resize(body.len().next_multiple_of(4), 0);
        [dwords(&[8 + body.len() as u32, kind << 16]), body].concat()
    };
    let length = hostile.len() as u32 + 1;
    let names = [dwords(&[0, 1]), vec![0; 2], dwords(&[16 + length, 0, length, 1]), hostile.to_vec(), vec![0]].concat();
    let argument = [hostile, b"\0", hostile, b"\0"].concat();
    let arguments = [dwords(&[0, argument.len() as u32, 1]), argument].concat();
    let sections = [section(1, names), section(2, arguments)].concat();
    [dwords(&[8 + sections.len() as u32, 2 << 16]), sections].concat()
}

/// A program database of DXC, its names and sources.
fn debug_information(hostile: &[u8]) -> Vec<u8> {
    let path = "dxil/debug_information/main.ps_6_0.slim.dxil";
    let bytes = poisoned_parts(path, &[FourCc::ILDN, FourCc::VERS], hostile);
    let container = Dxbc::parse(&bytes).unwrap();
    let parts = container.parts().iter().map(|part| match part.name {
        FourCc::SRCI => (part.name, sources(hostile)),
        name => (name, part.data.to_vec()),
    });
    build(&parts.collect::<Vec<_>>())
}

/// Parts whose names are hostile, and private data that is.
fn part_names(hostile: &[u8]) -> Vec<u8> {
    let name = |bytes: &[u8]| FourCc(*of_length(bytes, 4).first_chunk().unwrap());
    let bytes = std::fs::read(data("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc")).unwrap();
    let container = Dxbc::parse(&bytes).unwrap();
    let mut parts: Vec<_> = container.parts().iter().map(|part| (part.name, part.data.to_vec())).collect();
    parts.push((FourCc::PRIV, hostile.to_vec()));
    parts.extend(hostile.chunks(4).map(|chunk| (name(chunk), hostile.to_vec())));
    build(&parts)
}

/// A uniform block whose members have the name.
fn vega(hostile: &[u8]) -> Vec<u8> {
    let member = VbcMember { name: Name::new(hostile), offset: 0, base: VbcBaseType(4), dimensions: [4, 1], array: 1 };
    let uniform = Some(UniformBlock { size: 16, stages: StageMask(1), members: vec![member] });
    let (inputs, outputs, bindings, subpass_inputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let reflection = Reflection { inputs, outputs, bindings, uniform, subpass_inputs, warning: None };
    let tables = TableSizes { samplers: 0, images: 0, buffers: 0, ro_texels: 0, rw_texels: 0 };
    let module = vbc::SpirV { stage: VbcStage::Vertex, offset: 0, bytes: &[3, 2, 0x23, 7] };
    vbc::write(tables, &reflection, &[module]).unwrap()
}

/// All files: those that came from outside, and every kind of string place times every hostile string.
fn files(folder: &Path) -> Vec<Hostile> {
    let outside = std::fs::read_dir(data("escapes")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<Hostile> = outside.map(|path| Hostile { path, text: String::new(), reflected: false }).collect();
    let dxbc = [FourCc::RDEF, FourCc::ISGN, FourCc::OSGN, FourCc::OSG5, FourCc::PCSG, FourCc::IFCE];
    let dxil = [FourCc::ISG1, FourCc::OSG1, FourCc::PSG1, FourCc::PSV0, FourCc::RDAT, FourCc::ILDN];
    for (number, hostile) in HOSTILE.iter().enumerate() {
        let made = [
            ("transform", poisoned_parts("dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc", &dxbc, hostile)),
            ("interface", poisoned_parts("dxbc/ps_interface/PS.ps_5_0.fxc101.dxbc", &dxbc, hostile)),
            ("hull", poisoned_parts("dxbc/tess_tri/HS.hs_5_0.fxc101.dxbc", &dxbc, hostile)),
            ("messages", poisoned_parts("dxbc/cs_dbg/CS.cs_5_0.fxc101.dxbc", &[FourCc::SHEX], hostile)),
            ("view", poisoned_parts("dxil/ps_resources/main.ps_6_6.dxil", &dxil, hostile)),
            ("library", poisoned_parts("dxil/lib_rays/lib.lib_6_7.dxil", &dxil, hostile)),
            ("sources", debug_information(hostile)),
            ("part-names", part_names(hostile)),
            ("pica", poisoned_shbin("pica/t25_skinning.shbin", hostile)),
            ("geometry", poisoned_shbin("pica/t31_geo_point.shbin", hostile)),
            ("vega", vega(hostile)),
        ];
        for (name, bytes) in made {
            let path = folder.join(format!("{name}-{number}"));
            std::fs::write(&path, bytes).unwrap();
            let text = String::from_utf8_lossy(hostile).into_owned();
            files.push(Hostile { path, text, reflected: !["messages", "part-names", "geometry"].contains(&name) });
        }
    }
    files
}

/// A character that may do more on a terminal than stand there: from the Unicode standard, not from what the tool takes
/// for one.
fn acts(c: char) -> bool {
    matches!(c,
        '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}' // C0 but for tab and newline, DEL, C1
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' // direction
        | '\u{2028}' | '\u{2029}' // separators
        | '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' // nothing to see
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Every verb in every form that prints a file's strings. `extract` and `sign` write bytes where they succeed, and say
/// what there is where they do not.
const TEXT: [&str; 17] = [
    "parts FILE",
    "val FILE",
    "reflect FILE",
    "scan FILE",
    "extract FILE NONE",
    "dis FILE",
    "dis FILE --offsets --raw",
    "ir FILE",
    "batch FILE",
    "clif FILE",
    "asm FILE",
    "run FILE",
    "run FILE --count 1 --unbound-as-zero",
    "run FILE --gs --count 1 --unbound-as-zero",
    "diff FILE --count 4",
    "diff FILE --class 0=none --class 1=none",
    "bench FILE --millis 0 --count 1",
];
const JSON: [&str; 6] = [
    "parts FILE --json",
    "val FILE --json",
    "reflect FILE --json",
    "scan FILE --json",
    "run FILE --count 1 --unbound-as-zero --format json",
    "bench FILE --millis 0 --count 1 --json",
];
const CSV: &str = "run FILE --count 2 --instances 2 --unbound-as-zero --format csv";

/// Runs a command and gives what it printed to stdout. Nothing in that or in stderr may act, and no name may have begun
/// a line.
fn run(command: &str, file: &Path) -> String {
    let mut shaderjit = Command::new(env!("CARGO_BIN_EXE_shaderjit"));
    for arg in command.split(' ') {
        if arg == "FILE" {
            shaderjit.arg(file)
        } else {
            shaderjit.arg(arg)
        };
    }
    let output = shaderjit.stdin(Stdio::null()).output().unwrap();
    let what = format!("{command}: {}", file.display());
    // 2: a compute shader is not told how many groups are to run.
    assert!(matches!(output.status.code(), Some(0..=2)), "{what}: {:?}", output.status);
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect(&what));
    for text in [&stdout, &stderr] {
        assert!(!text.contains(acts), "{what}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{what}: {text}");
    }
    stdout
}

/// Whether a string of the document begins as the text does. Names are as long as they were, so few have all of it.
fn has_beginning(document: &Value, text: &str) -> bool {
    let beginning: String = text.chars().take(2).collect();
    match document {
        Value::String(string) => string.contains(&beginning),
        Value::Array(items) => items.iter().any(|item| has_beginning(item, text)),
        Value::Object(fields) => fields.values().any(|value| has_beginning(value, text)),
        _ => false,
    }
}

/// Every row has a cell a column, no column's name is a formula, and the rest are numbers.
fn check_csv(text: &str, what: &str) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().expect(what);
    assert!(columns.iter().all(|name| !name.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{what}: {text}");
    for row in reader.records() {
        assert!(row.expect(what).iter().all(|cell| cell.parse::<f64>().is_ok()), "{what}: {text}");
    }
}

fn check(Hostile { path, text, reflected }: &Hostile) {
    for command in TEXT {
        run(command, path);
    }
    for command in JSON {
        let what = format!("{command}: {}", path.display());
        let json = run(command, path);
        // What does not run prints nothing.
        if json.is_empty() && (command.starts_with("run") || command.starts_with("bench")) {
            continue;
        }
        let document: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{what}: {error}"));
        if *reflected && command.starts_with("reflect") {
            assert!(has_beginning(&document, text), "{what}: {json}");
        }
    }
    let csv = run(CSV, path);
    if !csv.is_empty() {
        check_csv(&csv, &path.display().to_string());
    }
}

#[test]
fn no_string_of_a_file_acts_on_whoever_reads_it() {
    let folder = Folder(std::env::temp_dir().join(format!("shaderjit-escapes-{}", std::process::id())));
    std::fs::create_dir(&folder.0).unwrap();
    let files = files(&folder.0);
    assert!(files.len() >= 74, "{} files", files.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(file);
                }
            });
        }
    });
}

#[test]
fn nor_does_the_name_of_a_file() {
    for name in ["/nonexistent/\u{1b}[2J\nFORGED", "/nonexistent/\u{202e}"] {
        run("parts FILE", Path::new(name));
        run("scan FILE", Path::new(name));
    }
}
