//! Output elements as text, JSON and raw bytes.

use crate::bindings::Record;
use crate::json;
use crate::spreadsheet::{self, Sheet};
use clap::ValueEnum;
use serde::Serialize;
use shaderjit::printable::Printable;
use shaderjit::{CompiledShader, Outputs, ShaderFormat};
use shaderjit::{ComponentType, Element};
use std::fmt::Write;

/// The form of a shader's outputs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A line for each vertex and element: numbers, values, bits
    Table,
    /// A line for each vertex, a column for each component
    Csv,
    /// One document
    Json,
    /// 16 bytes for each element of the signature (DXBC), or o0 to o15 (PICA), vertex by vertex; triangles have the
    /// numbers of their invocation and whether they are inverted in front
    Raw,
}

/// The outputs of one or several instances.
pub struct Results<'a> {
    pub format: ShaderFormat,
    pub code: &'a CompiledShader,
    /// One entry an instance.
    pub instances: Vec<Outputs>,
}

impl Results<'_> {
    pub fn print(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Table => self.table().into_bytes(),
            Format::Csv => self.csv(),
            Format::Json => self.json(),
            Format::Raw => self.raw(),
        }
    }

    /// Number, element and name of the elements the program sets; it says nothing about the others.
    fn written(&self) -> Vec<(usize, &Element, String)> {
        let elements = self.code.interface().outputs.iter().enumerate();
        let written = elements.filter(|&(number, _)| self.code.writes_output(number));
        // What is behind the signature's elements is no semantic with an index.
        let in_signature = self.code.interface().signature_outputs().len();
        let name = |number, element: &Element| {
            if number < in_signature { element.name() } else { element.semantic.clone() }
        };
        written.map(|(number, element)| (number, element, name(number, element))).collect()
    }

    fn has_instances(&self) -> bool {
        self.instances.len() > 1
    }

    fn table(&self) -> String {
        let mut written = self.written();
        written.iter_mut().for_each(|(.., name)| *name = Printable(&*name).to_string());
        let width = written.iter().map(|(.., name)| name.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for (instance, outputs) in self.instances.iter().enumerate() {
            for vertex in 0..outputs.count() {
                for (number, element, name) in &written {
                    let bits = self.bits(outputs, *number, vertex);
                    let components = &bits[..element.components() as usize];
                    let values: Vec<String> = components.iter().map(|&bits| element.ty.text(bits)).collect();
                    let words: Vec<String> = components.iter().map(|bits| format!("{bits:08x}")).collect();
                    if self.has_instances() {
                        let _ = write!(out, "{instance:<4} ");
                    }
                    let _ = writeln!(out, "{vertex:<5} {name:<width$} {:<44} [{}]", values.join(" "), words.join(" "));
                }
            }
        }
        out
    }

    fn csv(&self) -> Vec<u8> {
        let written = self.written();
        let names = written.iter().flat_map(|(_, element, name)| {
            let name = spreadsheet::name(name);
            "xyzw".chars().take(element.components() as usize).map(move |component| format!("{name}.{component}"))
        });
        let instance = self.has_instances().then(|| "instance".to_string());
        let mut sheet = Sheet::new(instance.into_iter().chain(["vertex".to_string()]).chain(names));
        for (instance, outputs) in self.instances.iter().enumerate() {
            for vertex in 0..outputs.count() {
                let values = written.iter().flat_map(|(number, element, _)| {
                    let bits = self.bits(outputs, *number, vertex).into_iter().take(element.components() as usize);
                    bits.map(|bits| element.ty.text(bits))
                });
                let instance = self.has_instances().then(|| instance.to_string());
                sheet.row(instance.into_iter().chain([vertex.to_string()]).chain(values));
            }
        }
        sheet.into_bytes()
    }

    fn json(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Document {
            vertices: usize,
            instances: usize,
            outputs: Vec<Output>,
        }
        #[derive(Serialize)]
        struct Output {
            semantic: String,
            index: u32,
            /// `null` for what has none with a number.
            register: Option<u32>,
            components: u32,
            r#type: &'static str,
            /// One entry a vertex, instance by instance.
            values: Vec<Vec<Value>>,
        }
        /// JSON has no infinities and NaNs: those are strings.
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Value {
            Float(f32),
            Int(i64),
            Text(String),
        }
        let json = |ty: ComponentType, bits| match ty {
            ComponentType::F32 if f32::from_bits(bits).is_finite() => Value::Float(f32::from_bits(bits)),
            ComponentType::U32 => Value::Int(bits.into()),
            ComponentType::I32 => Value::Int((bits as i32).into()),
            _ => Value::Text(ty.text(bits)),
        };
        let output = |(number, element, _): (usize, &Element, String)| {
            let vertices = self.instances.iter().flat_map(|outputs| (0..outputs.count()).map(move |v| (outputs, v)));
            let values = vertices.map(|(outputs, vertex)| {
                let bits = self.bits(outputs, number, vertex);
                bits[..element.components() as usize].iter().map(|&bits| json(element.ty, bits)).collect()
            });
            Output {
                semantic: element.semantic.clone(),
                index: element.index,
                register: (element.register != u32::MAX).then_some(element.register),
                components: element.components(),
                r#type: element.ty.name(),
                values: values.collect(),
            }
        };
        let document = Document {
            vertices: self.instances.first().map_or(0, Outputs::count),
            instances: self.instances.len(),
            outputs: self.written().into_iter().map(output).collect(),
        };
        json::compact(&document)
    }

    fn raw(&self) -> Vec<u8> {
        // The signature's elements; what is behind them has no place in a record.
        let elements = self.code.interface().signature_outputs();
        let record = Record::new(self.format, elements.len());
        let count: usize = self.instances.iter().map(Outputs::count).sum();
        let mut out = vec![0; count * record.stride];
        let vertices = self.instances.iter().flat_map(|outputs| (0..outputs.count()).map(move |v| (outputs, v)));
        for ((outputs, vertex), bytes) in vertices.zip(out.chunks_mut(record.stride.max(1))) {
            for (number, element) in elements.iter().enumerate() {
                let offset = record.offset(number, element.register);
                let words = bytes[offset..offset + 16].as_chunks_mut().0;
                for (word, bits) in words.iter_mut().zip(self.bits(outputs, number, vertex)) {
                    *word = bits.to_le_bytes();
                }
            }
        }
        out
    }

    fn bits(&self, outputs: &Outputs, element: usize, vertex: usize) -> [u32; 4] {
        outputs
            .element(element)
            .and_then(|view| view.bits(vertex))
            .expect("the run stored every element of every vertex")
    }
}
