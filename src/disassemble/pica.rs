//! PICA200 programs near to how the assembler picasso would have them: the tables of an executable as directives, then
//! the whole program memory.
//!
//! A directive that picasso has is written as picasso reads it, with the register in a comment where picasso chooses
//! that itself. What the assembler could not take follows `;` as everything else does that is only to be known.

use std::fmt::Write;

use super::ListingOptions;
use crate::container::Name;
use crate::container::shbin::{
    Constant, Dvoj, Geometry, GeometryMode, Label, OutputMapping, RegisterFile, ShaderKind, Shbin, Uniform,
};
use crate::error::Error;
use crate::frontend::pica::names::{LONGEST, Names};
use crate::frontend::pica::operand::{Address, Component};
use crate::frontend::pica::print::Listing;
use crate::frontend::pica::{self, Program};

/// A line of text: `line!(out, "format", ...)`.
macro_rules! line {
    ($out:expr, $($format:tt)*) => {
        writeln!($out, $($format)*).expect("a String takes any text")
    };
}

/// The listing of executable `entry`, which exists, of a SHBIN.
pub(crate) fn shbin(shbin: &Shbin<'_>, entry: usize, options: ListingOptions) -> Result<String, Error> {
    let dvle = shbin.dvle(entry)?.expect("the caller has found that the executable exists");
    let dvlp = shbin.dvlp()?;
    let program = pica::decode(&dvlp.code, &dvlp.descriptors, dvlp.code_offset)?;
    let mut out = String::new();
    line!(out, "; DVLE {entry} of {}: {} shader", shbin.dvle_count(), dvle.kind);
    if dvle.merges_output_maps() {
        line!(out, "; the output maps of vertex and geometry shader are merged");
    }
    let executable = Executable {
        kind: dvle.kind,
        geometry: dvle.geometry,
        main: address(dvle.main),
        end: Some(address(dvle.end)),
        constants: &dvle.constants,
        labels: &dvle.labels,
        outputs: &dvle.outputs,
        uniforms: &dvle.uniforms,
    };
    executable.listing(out, &program, options)
}

/// The listing of an unlinked object.
pub(crate) fn dvoj(dvoj: &Dvoj<'_>, options: ListingOptions) -> Result<String, Error> {
    let object = dvoj.object()?;
    let program = pica::decode(&object.code, &object.descriptors, object.code_offset)?;
    let mut out = String::new();
    line!(out, "; DVOJ: {} shader", object.kind);
    if object.merges_output_maps() {
        line!(out, "; the output maps of vertex and geometry shader are merged");
    }
    let executable = Executable {
        kind: object.kind,
        geometry: None,
        main: Address(0),
        end: None,
        constants: &object.constants,
        labels: &object.labels,
        outputs: &object.outputs,
        uniforms: &object.uniforms,
    };
    executable.listing(out, &program, options)
}

/// The listing of a program without a container. Offsets count from its first word.
pub(crate) fn words(words: &[u32], descriptors: &[u32], entry: u32, options: ListingOptions) -> Result<String, Error> {
    let program = pica::decode(words, descriptors, 0)?;
    let executable = Executable {
        kind: ShaderKind::Vertex,
        geometry: None,
        main: address(entry),
        end: None,
        constants: &[],
        labels: &[],
        outputs: &[],
        uniforms: &[],
    };
    executable.listing(String::new(), &program, options)
}

/// A word of program memory, or one far behind it.
fn address(word: u32) -> Address {
    Address(u16::try_from(word).unwrap_or(u16::MAX))
}

/// What is said of a program.
struct Executable<'a> {
    kind: ShaderKind,
    geometry: Option<Geometry>,
    main: Address,
    /// The word behind the main function.
    end: Option<Address>,
    constants: &'a [Constant],
    labels: &'a [Label<'a>],
    outputs: &'a [OutputMapping],
    uniforms: &'a [Uniform<'a>],
}

impl Executable<'_> {
    /// Appends the directives and the program to `out`.
    fn listing(&self, mut out: String, program: &Program, options: ListingOptions) -> Result<String, Error> {
        let mut names = Names::default();
        let mut directives = String::new();
        self.geometry(&mut directives);
        self.uniforms(&mut directives, &mut names);
        self.outputs(&mut directives, &mut names);
        self.constants(&mut directives, &names, options.raw);
        self.labels(&mut directives, &mut names);
        names.find_procedures(program);
        line!(out, ".entry {}", names.address(self.main));
        out.push_str(&directives);
        out.push('\n');
        let ListingOptions { offsets, raw } = options;
        line!(out, "{}", Listing { program, names: &names, offsets, raw }.to_string().trim_end());
        Ok(out)
    }

    fn geometry(&self, out: &mut String) {
        if self.kind != ShaderKind::Geometry {
            return;
        }
        match self.geometry {
            None => line!(out, ".gsh"),
            Some(Geometry { mode, fixed_start, variable_vertices, fixed_vertices }) => match mode {
                GeometryMode::VARIABLE => line!(out, ".gsh {mode} {variable_vertices}"),
                GeometryMode::FIXED => line!(out, ".gsh {mode} c{fixed_start} {fixed_vertices}"),
                mode => line!(out, ".gsh {mode}"),
            },
        }
    }

    fn uniforms(&self, out: &mut String, names: &mut Names) {
        for Uniform { name, registers, .. } in self.uniforms {
            if !names.registers(&name.to_str(), *registers) {
                line!(out, "; {registers}: {}", Quoted(*name));
                continue;
            }
            let elements = u16::from(registers.last - registers.first) + 1;
            let array = if elements > 1 { format!("[{elements}]") } else { String::new() };
            match registers.file {
                RegisterFile::Input => line!(out, ".in {name}{array} {registers}"),
                RegisterFile::Float => line!(out, ".fvec {name}{array} ; {registers}"),
                RegisterFile::Int => line!(out, ".ivec {name}{array} ; {registers}"),
                RegisterFile::Bool => line!(out, ".bool {name}{array} ; {registers}"),
            }
        }
    }

    /// An output is called by what it is, if it is one thing and nothing else is called so.
    fn outputs(&self, out: &mut String, names: &mut Names) {
        for output in self.outputs {
            let OutputMapping { semantic, register, mask, .. } = *output;
            let alone = |other: &OutputMapping| {
                std::ptr::eq(other, output) || other.register != register && other.semantic != semantic
            };
            let candidates = [semantic.to_string(), format!("out_{semantic}")];
            let name = candidates.iter().find(|name| self.outputs.iter().all(alone) && names.output(register, name));
            let name = name.map_or("-", String::as_str);
            let mask: String = match mask {
                0b1111 => String::new(),
                _ => [".".to_owned()].into_iter().chain(components(mask)).collect(),
            };
            let property = semantic.name().map_or_else(|| semantic.0.to_string(), str::to_owned);
            line!(out, ".out {name} {property} o{register}{mask}");
        }
    }

    fn constants(&self, out: &mut String, names: &Names, raw: bool) {
        for constant in self.constants {
            let (file, register) = constant.register();
            let register = names.register(file, register);
            match *constant {
                Constant::Bool { value, .. } => line!(out, ".setb {register} {value}"),
                Constant::Int { value: [x, y, z, w], .. } => line!(out, ".seti {register}({x}, {y}, {z}, {w})"),
                Constant::Float { bits, .. } => {
                    let [x, y, z, w] = constant.float_value().expect("it is a float constant");
                    line!(out, ".setf {register}({x:?}, {y:?}, {z:?}, {w:?})");
                    if raw {
                        let [x, y, z, w] = bits;
                        line!(out, "; {x:08x} {y:08x} {z:08x} {w:08x}");
                    }
                }
            }
        }
    }

    /// The entry point has a name in any case. It is the table's, if that has one.
    fn labels(&self, out: &mut String, names: &mut Names) {
        for Label { position, words, name, .. } in self.labels {
            let at = address(*position);
            // The table may leave out the size of the main function, which the executable has.
            let end = match words {
                Some(words) => Some(address(position.saturating_add(*words))),
                None => self.end.filter(|_| at == self.main),
            };
            if !names.label(at, &name.to_str(), end) {
                line!(out, "; {at}: {}", Quoted(*name));
            }
        }
        names.set_entry(self.main);
        let unnamed = names.address(self.main) == Names::default().address(self.main);
        if unnamed {
            // If something else is called `main`, the label is made from the address.
            names.label(self.main, "main", self.end);
        }
    }
}

/// The components of an output mask, whose lowest bit is x.
fn components(mask: u8) -> impl Iterator<Item = String> {
    Component::ALL.into_iter().filter(move |c| mask >> c.index() & 1 != 0).map(|c| c.letter().to_string())
}

/// A name that is not used, to be read by people only.
struct Quoted<'a>(Name<'a>);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_bytes().len() {
            length if length > LONGEST => write!(f, "a name of {length} bytes"),
            _ => write!(f, "{:?}", self.0),
        }
    }
}

#[cfg(test)]
mod tests;
