//! How to lower a shader: what its program leaves to those who compile it, such as class instances and specialisation
//! constants.

use super::{ProgramArgs, Source, number, slot_and_space};
use crate::report::Failure;
use clap::ValueEnum;
use shaderjit::{CompileOptions, FloatPrecision, FlowForm, PicaUniforms};
use std::num::NonZero;
use std::str::FromStr;

/// How to lower.
#[derive(clap::Args)]
pub struct LowerArgs {
    /// Samples that a pixel of the target has, for programs that ask [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) samples: Option<u32>,
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
    pub(super) fn options_of(&self, entry: usize) -> Result<CompileOptions, Failure> {
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

/// What only PICA200 programs have a choice of.
#[derive(clap::Args)]
struct PicaArgs {
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
    fn apply(&self, options: CompileOptions) -> Result<CompileOptions, Failure> {
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

/// A specialisation constant: `ID=BITS`.
#[derive(Clone, Debug)]
struct Specialization {
    number: u32,
    bits: u64,
}

impl FromStr for Specialization {
    type Err = String;

    fn from_str(text: &str) -> Result<Specialization, String> {
        let (id, bits) = text.split_once('=').ok_or("expected ID=BITS")?;
        let id = number(id)?;
        let parsed = match bits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => bits.parse(),
        };
        Ok(Specialization { number: id, bits: parsed.map_err(|_| format!("{bits:?} is no number"))? })
    }
}

/// Elements of an array of descriptors: `BINDING:SET=N,…`.
#[derive(Clone, Debug)]
struct Elements {
    binding: u32,
    set: u32,
    numbers: Vec<u32>,
}

impl FromStr for Elements {
    type Err = String;

    fn from_str(text: &str) -> Result<Elements, String> {
        let (place, numbers) = text.split_once('=').ok_or("expected BINDING:SET=N,…")?;
        let (binding, set) = slot_and_space(place, &[])?;
        Ok(Elements { binding, set, numbers: numbers.split(',').map(number).collect::<Result<_, _>>()? })
    }
}

/// A class instance: `SLOT=NAME`, or `SLOT=NAME[N]` of an array.
#[derive(Clone, Debug)]
struct Class {
    slot: u32,
    name: String,
    number: u32,
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Class, String> {
        let (slot, name) = text.split_once('=').ok_or("expected SLOT=NAME")?;
        let (name, place) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((name, place)) => (name, place),
            None => (name, "0"),
        };
        Ok(Class { slot: number(slot)?, name: name.to_string(), number: number(place)? })
    }
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
}
