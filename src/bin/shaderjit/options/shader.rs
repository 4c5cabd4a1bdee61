//! Which shader: a container and a program in it, or program memory without a container.

use super::Source;
use crate::report::{Failure, with_hint};
use shaderjit::{CompiledShader, NativeStatus, Shader};

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
