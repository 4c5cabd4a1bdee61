//! Options that several subcommands have, and reading what they name.

use crate::report::{Failure, Outcome, Report, with_hint};
use clap::ValueEnum;
use shaderjit::{
    Backend, CompileOptions, CompiledShader, Config, Engine, FloatPrecision, FlowForm, Lanes, NativeStatus,
    PicaUniforms, Shader, Vectors,
};
use std::io::Read;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// The shader.
#[derive(clap::Args)]
pub struct ShaderArgs {
    /// Container file (DXBC, SHBIN, VBC or SPIR-V), or `-` for standard input
    #[arg(value_name = "FILE")]
    file: Source,
    /// Which program of the container; executables of a SHBIN, stages of a VBC and entry points count from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub entry: usize,
}

impl ShaderArgs {
    pub fn load(&self) -> Result<Shader, Failure> {
        let bytes = self.file.read()?;
        Shader::parse(&bytes).map_err(|error| self.failure(with_hint(&error)))
    }

    /// An error with the file's name in front.
    pub fn failure(&self, error: impl std::fmt::Display) -> Failure {
        Failure::input(format_args!("{}: {error}", self.file.0))
    }
}

/// The shader: a container, or program memory without one.
#[derive(Clone, clap::Args)]
pub struct ProgramArgs {
    /// Container file (DXBC, SHBIN, VBC or SPIR-V), or `-` for standard input
    #[arg(value_name = "FILE", conflicts_with = "raw")]
    file: Option<Source>,
    /// PICA200 program memory instead of a container: words, little-endian, from word 0
    #[arg(long, value_name = "WORDS")]
    raw: Option<Source>,
    /// The operand descriptors of --raw: words, little-endian
    #[arg(long, value_name = "WORDS", requires = "raw")]
    descriptors: Option<Source>,
    /// Which program of the container; executables of a SHBIN count from 0. With --raw, the word the program begins at
    #[arg(long, value_name = "N", default_value_t = 0)]
    entry: usize,
}

impl ProgramArgs {
    pub fn load(&self) -> Result<Shader, Failure> {
        self.load_as(Shader::from_pica_words)
    }

    /// Words without a container are a geometry shader that emits every output register.
    pub fn load_geometry(&self) -> Result<Shader, Failure> {
        self.load_as(|words, descriptors, entry| Shader::from_pica_geometry(words, descriptors, entry, [0xf; 16]))
    }

    fn load_as(&self, from_words: impl FnOnce(&[u32], &[u32], u32) -> Shader) -> Result<Shader, Failure> {
        match (&self.file, &self.raw) {
            (_, Some(raw)) => {
                let descriptors = self.descriptors.as_ref().map_or(Ok(Vec::new()), Source::words)?;
                let entry = u32::try_from(self.entry).map_err(|error| self.failure(error))?;
                Ok(from_words(&raw.words()?, &descriptors, entry))
            }
            (Some(file), None) => Shader::parse(&file.read()?).map_err(|error| self.failure(with_hint(&error))),
            (None, None) => Err(Failure::usage("a FILE is needed, or --raw")),
        }
    }

    /// An error if a shader is given beside an option that names others.
    pub fn refuse(&self, beside: &str) -> Result<(), Failure> {
        match self.file.is_some() || self.raw.is_some() {
            true => Err(Failure::usage(format_args!("{beside} stands for FILE"))),
            false => Ok(()),
        }
    }

    /// These arguments with this file, if none was named.
    pub fn or_file(&self, file: Option<&Source>) -> ProgramArgs {
        let mut args = self.clone();
        if args.raw.is_none() {
            args.file = args.file.or(file.cloned());
        }
        args
    }

    /// The same program of another file.
    pub fn with_file(&self, file: &Source) -> ProgramArgs {
        ProgramArgs { file: Some(file.clone()), raw: None, descriptors: None, entry: self.entry }
    }

    /// Which program of the shader.
    pub fn entry(&self) -> usize {
        if self.raw.is_some() { 0 } else { self.entry }
    }

    /// There is native code, or this says why not.
    pub fn require_native(&self, code: &CompiledShader) -> Result<(), Failure> {
        match code.native_status() {
            NativeStatus::Refused(reason) => Err(self.failure(format_args!("there is no native code: {reason}"))),
            _ => Ok(()),
        }
    }

    /// The file, if one is named.
    pub fn file(&self) -> Option<&Source> {
        self.file.as_ref()
    }

    /// What the file is called.
    pub fn name(&self) -> &str {
        self.file.as_ref().or(self.raw.as_ref()).map_or("", |source| &source.0)
    }

    /// An error with the file's name in front.
    pub fn failure(&self, error: impl std::fmt::Display) -> Failure {
        Failure::input(format_args!("{}: {error}", self.name()))
    }
}

/// What only PICA200 programs have a choice of.
#[derive(clap::Args)]
pub struct PicaArgs {
    /// How a PICA200 program keeps its numbers
    #[arg(long, value_enum, value_name = "MODE", default_value = "fast")]
    mode: Mode,
    /// What becomes of a PICA200 program's control flow
    #[arg(long, value_enum, value_name = "FORM", default_value = "graph")]
    flow: Flow,
    /// Compile for the bool and integer uniforms of these PICA uniforms alone; 1556 bytes as for --uniforms
    #[arg(long, value_name = "RAW")]
    specialize: Option<Source>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// In 32 bits
    Fast,
    /// Rounded to 24 bits, as the hardware does
    Float24,
}

#[derive(Clone, Copy, ValueEnum)]
enum Flow {
    /// A graph; where it is too large, the loop
    Graph,
    /// A loop that goes through the program word by word
    Dispatch,
}

impl PicaArgs {
    /// The options with what these say.
    pub fn apply(&self, options: CompileOptions) -> Result<CompileOptions, Failure> {
        let options = options.float_precision(match self.mode {
            Mode::Fast => FloatPrecision::Fast,
            Mode::Float24 => FloatPrecision::Float24,
        });
        let options = options.flow(match self.flow {
            Flow::Graph => FlowForm::Graph,
            Flow::Dispatch => FlowForm::Dispatch,
        });
        match &self.specialize {
            None => Ok(options),
            Some(source) => Ok(options.specialize(&PicaUniforms::from_bytes(&source.read()?)?)),
        }
    }
}

/// A file of any kind.
#[derive(clap::Args)]
pub struct FileArgs {
    /// File, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: Source,
}

impl FileArgs {
    pub fn read(&self) -> Result<Vec<u8>, Failure> {
        self.file.read()
    }

    /// An error with the file's name in front.
    pub fn failure(&self, error: impl std::fmt::Display) -> Failure {
        Failure::input(format_args!("{}: {error}", self.file.0))
    }
}

/// Files and directories.
#[derive(clap::Args)]
pub struct PathArgs {
    /// Files, or `-` for standard input; directories stand for every file below them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<Source>,
}

/// Where results go that are bytes.
#[derive(clap::Args)]
pub struct OutputArgs {
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where bytes go that may also be printed as JSON.
#[derive(clap::Args)]
pub struct BytesArgs {
    #[command(flatten)]
    output: OutputArgs,
    /// Print JSON: the number of bytes, and the bytes in hexadecimal unless they go to a file
    #[arg(long)]
    json: bool,
}

impl BytesArgs {
    /// Puts the bytes where they go.
    pub fn write(&self, bytes: Vec<u8>) -> Outcome {
        #[derive(serde::Serialize)]
        struct Bytes {
            size: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<String>,
        }
        if !self.json {
            return self.output.write(bytes);
        }
        let size = bytes.len();
        let data = match &self.output.output {
            None => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            Some(_) => self.output.write(bytes).map(|_| None)?,
        };
        Ok(Report::json(&Bytes { size, data }))
    }
}

impl OutputArgs {
    /// The same file, whatever folder is gone to.
    pub fn absolute(&self) -> Result<OutputArgs, Failure> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))
        };
        Ok(OutputArgs { output: self.output.as_ref().map(absolute).transpose()? })
    }

    /// Puts the bytes where they go.
    pub fn write(&self, bytes: Vec<u8>) -> Outcome {
        match &self.output {
            None => Ok(Report::bytes(bytes)),
            Some(path) => {
                let written = std::fs::write(path, bytes);
                written.map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))?;
                Ok(Report::text(""))
            }
        }
    }
}

/// How to compile.
#[derive(clap::Args)]
pub struct CompileArgs {
    /// Vertices that run in lockstep [default: as suits the program]
    #[arg(long, value_name = "4|8|16", value_parser = ["4", "8", "16"])]
    lanes: Option<String>,
    /// The widest vectors of native code [default: those of this machine]
    #[arg(long, value_name = "cranelift|avx2|avx512", value_parser = ["cranelift", "avx2", "avx512"])]
    vectors: Option<String>,
    #[command(flatten)]
    mad: MadArgs,
    /// Instructions that the loops of each wave, the vertices that run together, may take [default: 67108864]
    #[arg(long, value_name = "N")]
    fuel: Option<u32>,
    /// Instructions that the loops of all waves of a call may take together [default: 1099511627776]
    #[arg(long, value_name = "N")]
    call_fuel: Option<u64>,
    #[command(flatten)]
    lower: LowerArgs,
}

/// How to lower.
#[derive(clap::Args)]
pub struct LowerArgs {
    /// Samples that a pixel of the target has, for programs that ask [default: 1]
    #[arg(long, value_name = "N")]
    samples: Option<u32>,
    /// Registers of a range without an end (shader model 5.1), of which an index chooses one
    #[arg(long, value_name = "N")]
    unbounded: Option<NonZero<u32>>,
    /// The class instance of an interface slot; a number tells those of an array apart
    #[arg(long, value_name = "SLOT=NAME[N]")]
    class: Vec<Class>,
    /// The bits of a specialisation constant of SPIR-V, decimal or 0x…
    #[arg(long, value_name = "ID=BITS")]
    spec: Vec<Specialization>,
    /// Which elements of an array of descriptors are ever bound, of which an index chooses one (SPIR-V)
    #[arg(long, value_name = "BINDING:SET=N,…")]
    elements: Vec<Elements>,
    #[command(flatten)]
    pica: PicaArgs,
}

impl LowerArgs {
    /// What to lower of the shader.
    pub fn options(&self, shader: &ProgramArgs) -> Result<CompileOptions, Failure> {
        self.options_of(shader.entry())
    }

    /// What to lower of a shader whose program has that number.
    fn options_of(&self, entry: usize) -> Result<CompileOptions, Failure> {
        let mut options = CompileOptions::default().entry(entry);
        if let Some(samples) = self.samples {
            options = options.samples(samples);
        }
        if let Some(registers) = self.unbounded {
            options = options.unbounded(registers);
        }
        options = self.pica.apply(options)?;
        for Class { slot, name, number } in &self.class {
            options = options.class(*slot, name, *number);
        }
        for Specialization { number, bits } in &self.spec {
            options = options.specialization(*number, *bits);
        }
        for Elements { binding, set, numbers } in &self.elements {
            options = options.descriptors(*set, *binding, numbers.iter().copied());
        }
        Ok(options)
    }
}

/// How sums of products round.
#[derive(clap::Args)]
pub struct MadArgs {
    /// Whether `mad` and `dp` round once where the program leaves it open [default: as this machine can]
    #[arg(long, value_enum, value_name = "HOW")]
    mad: Option<Mad>,
}

impl MadArgs {
    /// Whether they round once, if that was said.
    pub fn fused(&self) -> Option<bool> {
        self.mad.map(|mad| matches!(mad, Mad::Fused))
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Mad {
    /// One rounding
    Fused,
    /// Two roundings
    Separate,
}

impl CompileArgs {
    /// An engine with these options.
    pub fn engine(&self, default_fuel: Option<u32>) -> Result<Engine, Failure> {
        Ok(Engine::new(self.config(default_fuel))?)
    }

    /// These options, as far as they are an engine's.
    pub fn config(&self, default_fuel: Option<u32>) -> Config {
        let mut config = Config::default();
        if let Some(fuel) = self.fuel.or(default_fuel) {
            config = config.fuel(fuel);
        }
        if let Some(fuel) = self.call_fuel {
            config = config.call_fuel(fuel);
        }
        if let Some(fused) = self.mad.fused() {
            config = config.fused_mad(fused);
        }
        if let Some(vectors) = self.vectors.as_deref().and_then(Vectors::from_name) {
            config = config.vectors(vectors);
        }
        config
    }

    /// The ways to make native code that are asked for: every kind of vectors that this machine has, one vector a value
    /// and two, as far as programs may have so many lanes, unless this says otherwise.
    pub fn ways(&self) -> Vec<(Vectors, Lanes)> {
        let pinned = self.vectors.clone().or_else(|| std::env::var("SHADERJIT_BACKEND").ok());
        let asked = (pinned.as_deref().and_then(Vectors::from_name), self.lanes());
        let mut ways = Vec::new();
        for vectors in Vectors::of_this_machine() {
            let one = u32::from(vectors.lanes());
            let of_one_or_two = |lanes: &Lanes| [one, 2 * one].contains(&lanes.count());
            ways.extend(Lanes::ALL.into_iter().filter(of_one_or_two).map(|lanes| (vectors, lanes)));
        }
        ways.retain(|&(vectors, lanes)| asked.0.unwrap_or(vectors) == vectors && asked.1.unwrap_or(lanes) == lanes);
        ways
    }

    /// How many lanes, if that was said.
    pub fn lanes(&self) -> Option<Lanes> {
        let count = self.lanes.as_ref().and_then(|lanes| lanes.parse().ok());
        Lanes::ALL.into_iter().find(|lanes| Some(lanes.count()) == count)
    }

    /// What to compile of the shader.
    pub fn options(&self, shader: &ProgramArgs) -> Result<CompileOptions, Failure> {
        self.options_of(shader.entry())
    }

    /// Samples of a target's pixels.
    pub fn samples(&self) -> u32 {
        self.lower.samples.unwrap_or(1)
    }

    /// What to compile of a shader whose program has that number.
    pub fn options_of(&self, entry: usize) -> Result<CompileOptions, Failure> {
        let options = self.lower.options_of(entry)?;
        Ok(match self.lanes() {
            Some(lanes) => options.lanes(lanes),
            None => options,
        })
    }

    /// Loads and compiles the shader.
    pub fn compile(&self, shader: &ProgramArgs, backend: Backend) -> Result<(Shader, Arc<CompiledShader>), Failure> {
        self.compile_on(&self.engine(None)?, shader, backend)
    }

    /// The same on an engine that is there.
    pub fn compile_on(
        &self,
        engine: &Engine,
        shader: &ProgramArgs,
        backend: Backend,
    ) -> Result<(Shader, Arc<CompiledShader>), Failure> {
        let loaded = shader.load()?;
        let options = self.options(shader)?.backend(backend);
        let code = engine.compile(&loaded, &options).map_err(|error| shader.failure(with_hint(&error)))?;
        Ok((loaded, code))
    }
}

/// Where bytes come from: a path, `-` for standard input, `hex:AABB` for bytes in place, or `zero:N` for so many zeros.
#[derive(Clone, Debug)]
pub struct Source(String);

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        if let Some(digits) = text.strip_prefix("hex:") {
            hex(digits)?;
        }
        if let Some(count) = text.strip_prefix("zero:") {
            zeros(count)?;
        }
        Ok(Source(text.to_string()))
    }
}

impl Source {
    pub fn read(&self) -> Result<Vec<u8>, Failure> {
        let bytes = match self.0.as_str() {
            "-" => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            name => match (name.strip_prefix("hex:"), name.strip_prefix("zero:")) {
                (Some(digits), _) => return hex(digits).map_err(Failure::usage),
                (_, Some(count)) => return zeros(count).map(|count| vec![0; count as usize]).map_err(Failure::usage),
                (None, None) => std::fs::read(name),
            },
        };
        bytes.map_err(|error| Failure::input(format_args!("{}: {error}", self.0)))
    }
}

impl Source {
    /// The file of that path, whatever its name looks like.
    pub fn of_path(path: &std::path::Path) -> Source {
        Source(path.display().to_string())
    }

    /// The path, or the text that stands for the bytes.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Words, little-endian.
    fn words(&self) -> Result<Vec<u32>, Failure> {
        let bytes = self.read()?;
        match bytes.as_chunks::<4>() {
            (words, []) => Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect()),
            _ => Err(Failure::input(format_args!("{}: {} bytes are no words", self.0, bytes.len()))),
        }
    }
}

/// How many zeros; more than 1 GiB is a slip.
fn zeros(count: &str) -> Result<u32, String> {
    let small = |&count: &u32| count <= 1 << 30;
    count.parse().ok().filter(small).ok_or_else(|| format!("{count:?} is no number of bytes up to 2^30"))
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digit = |c: char| c.to_digit(16).ok_or_else(|| format!("{c:?} is no hexadecimal digit"));
    let nibbles = digits.chars().map(digit).collect::<Result<Vec<u32>, _>>()?;
    match nibbles.as_chunks::<2>() {
        (pairs, []) => Ok(pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect()),
        _ => Err("an odd number of hexadecimal digits".to_string()),
    }
}

/// A constant buffer: `SLOT=SOURCE`, or `SLOT:SPACE=SOURCE` in a register space of shader model 5.1.
#[derive(Clone, Debug)]
pub struct ConstantBuffer {
    pub slot: u32,
    pub space: u32,
    pub source: Source,
}

impl FromStr for ConstantBuffer {
    type Err = String;

    fn from_str(text: &str) -> Result<ConstantBuffer, String> {
        let (slot, source) = text.split_once('=').ok_or("expected SLOT=PATH")?;
        let (slot, space) = slot_and_space(slot, &["cb", "b"])?;
        Ok(ConstantBuffer { slot, space, source: source.parse()? })
    }
}

/// A specialisation constant: `ID=BITS`.
#[derive(Clone, Debug)]
pub struct Specialization {
    number: u32,
    bits: u64,
}

impl FromStr for Specialization {
    type Err = String;

    fn from_str(text: &str) -> Result<Specialization, String> {
        let (number, bits) = text.split_once('=').ok_or("expected ID=BITS")?;
        let number = number.parse().map_err(|_| format!("{number:?} is no number"))?;
        let parsed = match bits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => bits.parse(),
        };
        Ok(Specialization { number, bits: parsed.map_err(|_| format!("{bits:?} is no number"))? })
    }
}

/// Elements of an array of descriptors: `BINDING:SET=N,…`.
#[derive(Clone, Debug)]
pub struct Elements {
    binding: u32,
    set: u32,
    numbers: Vec<u32>,
}

impl FromStr for Elements {
    type Err = String;

    fn from_str(text: &str) -> Result<Elements, String> {
        let (place, numbers) = text.split_once('=').ok_or("expected BINDING:SET=N,…")?;
        let (binding, set) = slot_and_space(place, &[])?;
        let numbers = numbers.split(',').map(|number| number.parse().map_err(|_| format!("{number:?} is no number")));
        Ok(Elements { binding, set, numbers: numbers.collect::<Result<_, _>>()? })
    }
}

/// A class instance: `SLOT=NAME`, or `SLOT=NAME[N]` of an array.
#[derive(Clone, Debug)]
pub struct Class {
    slot: u32,
    name: String,
    number: u32,
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Class, String> {
        let (slot, name) = text.split_once('=').ok_or("expected SLOT=NAME")?;
        let (name, number) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((name, number)) => (name, number),
            None => (name, "0"),
        };
        let parse = |text: &str| text.parse().map_err(|_| format!("{text:?} is no number"));
        Ok(Class { slot: parse(slot)?, name: name.to_string(), number: parse(number)? })
    }
}

/// `SLOT` or `SLOT:SPACE`. One of these register names may stand in front: `3`, `b3` and `cb3` are one slot.
pub fn slot_and_space(text: &str, names: &[&str]) -> Result<(u32, u32), String> {
    let (slot, space) = text.split_once(':').unwrap_or((text, "0"));
    let digits = names.iter().find_map(|name| slot.strip_prefix(name)).unwrap_or(slot);
    let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is no slot number"));
    Ok((number(digits)?, number(space)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_name_a_slot_and_an_instance() {
        let class: Class = "3=lamps[2]".parse().unwrap();
        assert_eq!((class.slot, class.name.as_str(), class.number), (3, "lamps", 2));
        let class: Class = "0=sun".parse().unwrap();
        assert_eq!((class.slot, class.name.as_str(), class.number), (0, "sun", 0));
        for bad in ["sun", "x=sun", "0=sun[x]", ""] {
            assert!(bad.parse::<Class>().is_err(), "{bad}");
        }
    }

    #[test]
    fn constant_buffers_name_a_slot_and_a_source() {
        let buffer: ConstantBuffer = "3=hex:00ff7F".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space), (3, 0));
        assert!(buffer.source.read().is_ok_and(|bytes| bytes == [0, 0xff, 0x7f]));
        let buffer: ConstantBuffer = "cb3=zero:4".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space), (3, 0));
        let buffer: ConstantBuffer = "b3:1=zero:4".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space), (3, 1));
        let buffer: ConstantBuffer = "3:2=a=b".parse().unwrap();
        assert_eq!((buffer.slot, buffer.space, buffer.source.0.as_str()), (3, 2, "a=b"));
        for bad in ["3", "x=a", "t3=a", "-1=a", "0=hex:abc", "0=hex:zz", ""] {
            assert!(bad.parse::<ConstantBuffer>().is_err(), "{bad}");
        }
    }
}
