//! `reflect`: what a shader declares to the program that uses it: signatures, buffers, bindings and the like.
//!
//! One set of structs is both forms of output: the JSON document, whose schema is `schema.json` beside this file, and
//! the text, which [`text`] makes of the same document.

mod buffers;
mod declared;
mod dxbc;
mod dxil;
mod level;
mod level9;
mod library;
mod shbin;
mod spirv;
mod text;
mod vbc;

pub use dxbc::profile;

use crate::options::ShaderArgs;
use crate::report::{Failure, Outcome, Report};
use serde::Serialize;
use shaderjit::container::{Container, Name};

/// The version of the document. It changes when a field changes its meaning or goes; new fields do not change it.
const VERSION: u32 = 1;

/// The schema of the document.
const SCHEMA: &str = include_str!("schema.json");

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shader: Option<ShaderArgs>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the JSON schema of what `--json` prints, and nothing else
    #[arg(long, conflicts_with_all = ["json", "file"])]
    schema: bool,
}

/// The document.
#[derive(Serialize)]
struct Document {
    version: u32,
    #[serde(flatten)]
    container: Reflection,
    /// What is wrong with parts that do not parse; they are left out above.
    malformed: Vec<String>,
}

#[derive(Serialize)]
#[serde(tag = "format")]
enum Reflection {
    #[serde(rename = "DXBC")]
    Dxbc(Box<dxbc::Dxbc>),
    #[serde(rename = "SHBIN")]
    Shbin(shbin::Shbin),
    #[serde(rename = "DVOJ")]
    Dvoj(shbin::Object),
    #[serde(rename = "VBC")]
    Vbc(vbc::Vbc),
    #[serde(rename = "SPIR-V")]
    Spirv(spirv::Spirv),
}

pub fn run(args: &Args) -> Outcome {
    if args.schema {
        return Ok(Report::text(SCHEMA));
    }
    let Some(shader) = &args.shader else {
        return Err(Failure::usage("which file?"));
    };
    let loaded = shader.load()?;
    let container = loaded.container().expect("a file is a container");
    let document = Document {
        version: VERSION,
        container: match &container {
            Container::Dxbc(container) => Reflection::Dxbc(Box::new(dxbc::reflect(container))),
            Container::Shbin(container) => Reflection::Shbin(shbin::reflect(container)),
            Container::Dvoj(container) => {
                Reflection::Dvoj(shbin::reflect_object(container).map_err(|error| shader.failure(error))?)
            }
            Container::Vbc(container) => Reflection::Vbc(vbc::reflect(container)),
            Container::Spirv(file) => {
                Reflection::Spirv(spirv::reflect(file.bytes()).map_err(|error| shader.failure(error))?)
            }
            _ => return Err(shader.failure("this format has no reflection")),
        },
        malformed: container.errors().iter().map(ToString::to_string).collect(),
    };
    Ok(if args.json { Report::json(&document) } else { Report::text(text::render(&document)) })
}

/// A name as a document has it: as it is. How it is shown, the form of the document says.
fn name(name: Name<'_>) -> String {
    name.to_str().into_owned()
}

/// The letters of a component mask, bit 0 = x.
fn letters(mask: u8) -> String {
    "xyzw".chars().enumerate().filter(|(bit, _)| mask >> bit & 1 != 0).map(|(_, letter)| letter).collect()
}
