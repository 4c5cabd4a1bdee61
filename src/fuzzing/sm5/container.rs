//! The parts of the container.

use super::declare::Declared;
use super::signature::Element;
use super::subroutine::{INSTANCES, Interface, instance_name};
use crate::container::digest::Signing;
use crate::container::dxbc::{Builder, FourCc, StoredType, SystemValue};
use crate::frontend::sm4::{Program, Stage};

/// A program with its signatures, and with the tables of its interface.
pub fn container(program: &Program, declared: &Declared) -> Vec<u8> {
    let code = bytes(&program.encode());
    let name = if program.version.major == 4 { FourCc::SHDR } else { FourCc::SHEX };
    let interfaces = declared.interface.as_ref().map(interfaces);
    let stage = program.version.stage;
    let inputs = signature(&declared.input_elements, false, false);
    let has_streams = declared.output_elements.iter().any(|element| element.stream != 0);
    let outputs = signature(&declared.output_elements, true, has_streams);
    let constants = signature(&declared.constant_elements, stage == Stage::Hull, false);
    let has_constants = matches!(stage, Stage::Hull | Stage::Domain);
    let builder = interfaces.iter().fold(Builder::new(), |builder, data| builder.part(FourCc::IFCE, data));
    let of_outputs = if has_streams { FourCc::OSG5 } else { FourCc::OSGN };
    let builder = builder.part(FourCc::ISGN, &inputs).part(of_outputs, &outputs);
    let builder = if has_constants { builder.part(FourCc::PCSG, &constants) } else { builder };
    let builder = builder.part(name, &code);
    builder.build(Signing::Retail).expect("four parts of a few pages are within the limits")
}

fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect()
}

/// Dwords, and behind them names that they have offsets of.
struct Named {
    dwords: Vec<u32>,
    names: Vec<u8>,
    /// How many dwords there will be.
    count: usize,
}

impl Named {
    fn new(count: usize) -> Named {
        Named { dwords: Vec::with_capacity(count), names: Vec::new(), count }
    }

    fn name(&mut self, name: &str) {
        self.dwords.push((4 * self.count + self.names.len()) as u32);
        self.names.extend_from_slice(name.as_bytes());
        self.names.push(0);
    }

    fn finish(mut self) -> Vec<u8> {
        debug_assert_eq!(self.dwords.len(), self.count);
        self.names.resize(self.names.len().next_multiple_of(4), 0);
        [bytes(&self.dwords), self.names].concat()
    }
}

/// A signature part, of elements that name their stream or not: the second mask says what is always read of inputs, and
/// what is never written of outputs.
fn signature(elements: &[Element], outputs: bool, streams: bool) -> Vec<u8> {
    let mut part = Named::new(2 + (6 + usize::from(streams)) * elements.len());
    part.dwords.extend([elements.len() as u32, 8]);
    for &Element {
        semantic,
        index,
        system_value: SystemValue(value),
        ty: StoredType(ty),
        register,
        mask,
        used,
        stream,
    } in elements
    {
        let second = if outputs { mask.bits() & !used.bits() } else { used.bits() };
        part.dwords.extend(streams.then_some(stream));
        part.name(semantic);
        let masks = u32::from(mask.bits()) | u32::from(second) << 8;
        part.dwords.extend([index, value, ty, register.unwrap_or(u32::MAX), masks]);
    }
    part.finish()
}

/// An `IFCE` part: each class has an array of instances in constant buffers, and fits every slot.
fn interfaces(interface: &Interface) -> Vec<u8> {
    let &Interface { slots, classes_count: classes, .. } = interface;
    let (types_at, instances_at) = (9, 9 + 3 * classes);
    let (slots_at, lists_at) = (instances_at + 4 * classes, instances_at + 4 * classes + 4);
    // Numbers of classes take two bytes each.
    let (tables_at, end) = (lists_at + classes.div_ceil(2), lists_at + classes.div_ceil(2) + classes);
    let mut part = Named::new(end as usize);
    part.dwords.extend([classes, classes, 1, slots, 4 * instances_at, 4 * types_at, 4 * slots_at, 0, 0]);
    for class in 0..classes {
        part.name(&format!("C{class}"));
        // Rows of the constant buffer; textures and samplers.
        part.dwords.extend([(1 + class) << 16, 1 | 1 << 16]);
    }
    for class in 0..classes {
        part.name(&instance_name(class));
        let none = u32::from(u16::MAX);
        // Its class and how many there are; buffer and first row; no texture, and a sampler.
        part.dwords.extend([class | u32::from(INSTANCES) << 16, class | (2 * class) << 16, none | class << 16]);
    }
    part.dwords.extend([slots, classes, 4 * lists_at, 4 * tables_at]);
    part.dwords.extend((0..classes).step_by(2).map(|class| class | (class + 1) << 16));
    part.dwords.extend(0..classes);
    part.finish()
}
