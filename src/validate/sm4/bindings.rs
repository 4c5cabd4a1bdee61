//! Resource definitions against the program's declarations, in both directions.

use std::collections::HashMap;

use crate::container::Dxbc;
use crate::frontend::sm4::declaration::Binding;
use crate::frontend::sm4::operand::RegisterFile;
use crate::frontend::sm4::{Body, Declaration, Program};
use crate::validate::Findings;

/// Slots of each register file and space: first and last of each range.
type Slots = HashMap<(RegisterFile, u32), Vec<(u32, u32)>>;

/// What a declaration binds.
fn declared(declaration: &Declaration) -> Option<(RegisterFile, Binding)> {
    Some(match *declaration {
        Declaration::ConstantBuffer { binding, .. } => (RegisterFile::ConstantBuffer, binding),
        Declaration::Sampler { binding, .. } => (RegisterFile::Sampler, binding),
        Declaration::Resource { binding, .. }
        | Declaration::ResourceRaw { binding }
        | Declaration::ResourceStructured { binding, .. } => (RegisterFile::Resource, binding),
        Declaration::UavTyped { binding, .. }
        | Declaration::UavRaw { binding, .. }
        | Declaration::UavStructured { binding, .. } => (RegisterFile::UnorderedAccess, binding),
        _ => return None,
    })
}

pub(super) fn check(program: &Program, dxbc: &Dxbc<'_>, findings: &mut Findings) {
    // Without definitions there is nothing to compare; malformed ones were reported as such.
    let Ok(Some(definitions)) = dxbc.resource_definitions() else { return };
    let offset = dxbc.part(crate::container::dxbc::FourCc::RDEF).map_or(0, |part| part.offset);
    let declarations = || {
        let declaration = |instruction: &crate::frontend::sm4::Instruction| match &instruction.body {
            Body::Declaration(declaration) => Some((instruction.offset, declared(declaration)?)),
            _ => None,
        };
        program.instructions.iter().filter_map(declaration)
    };
    let bindings = || {
        definitions.bindings.iter().filter_map(|binding| {
            // Unbounded ranges have no slots of their own to count.
            let more = binding.slots.count.checked_sub(1).unwrap_or(u32::MAX);
            let last = binding.slots.first.saturating_add(more);
            Some((
                binding.name,
                RegisterFile::of_binding(binding.input_type)?,
                binding.space,
                (binding.slots.first, last),
            ))
        })
    };

    let defined = merge(bindings().map(|(_, file, space, slots)| ((file, space), slots)));
    for (offset, (file, binding)) in declarations() {
        let Binding { lower, space, .. } = binding;
        if !overlaps(&defined, (file, space), binding.slots().into_inner()) {
            let place = place(file, lower, space);
            findings.warning(offset, format_args!("{place} is declared and not in the resource definitions"));
        }
    }
    let used = merge(declarations().map(|(_, (file, at))| ((file, at.space), at.slots().into_inner())));
    for (name, file, space, slots) in bindings() {
        if !overlaps(&used, (file, space), slots) {
            let place = place(file, slots.0, space);
            findings.warning(offset, format_args!("{name} is bound to {place}, which the program does not declare"));
        }
    }
}

fn place(file: RegisterFile, slot: u32, space: u32) -> String {
    match space {
        0 => format!("{}{slot}", file.letters()),
        _ => format!("{}{slot} in space {space}", file.letters()),
    }
}

/// Ranges by file and space, sorted and without overlaps.
fn merge(ranges: impl Iterator<Item = ((RegisterFile, u32), (u32, u32))>) -> Slots {
    let mut slots = Slots::new();
    for (place, range) in ranges {
        slots.entry(place).or_default().push(range);
    }
    for ranges in slots.values_mut() {
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let touches = next.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(next.1);
            }
            touches
        });
    }
    slots
}

/// Whether some slot of the range is among those of the file and space.
fn overlaps(slots: &Slots, place: (RegisterFile, u32), (first, last): (u32, u32)) -> bool {
    slots.get(&place).is_some_and(|ranges| {
        let at = ranges.partition_point(|range| range.1 < first);
        ranges.get(at).is_some_and(|range| range.0 <= last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::dxbc::{FourCc, InputType};
    use crate::validate::sm4::testing::*;

    /// The data of an `RDEF` part of shader model 4: for each binding its type, first slot and number of slots.
    fn definitions(bindings: &[[u32; 3]]) -> Vec<u8> {
        let names = 28 + 32 * bindings.len() as u32;
        let mut dwords = vec![0, 0, bindings.len() as u32, 28, 0xfffe_0400, 0, names];
        for &[input_type, first, count] in bindings {
            dwords.extend([names, input_type, 0, 0, 0, first, count, 0]);
        }
        let mut data = crate::frontend::sm4::testing::bytes(&dwords);
        data.extend_from_slice(b"it\0\0");
        data
    }

    fn found(bindings: &[[u32; 3]], text: &str) -> Vec<String> {
        findings_of(&[(FourCc::RDEF, definitions(bindings))], VS_5_0, &format!("{text}\nret"))
    }

    #[test]
    fn bindings_and_declarations_agree() {
        let bindings = [[InputType::CBUFFER.0, 1, 1], [InputType::TEXTURE.0, 4, 3], [InputType::SAMPLER.0, 2, 1]];
        let buffers = "dcl_constantbuffer cb1[4].xyzw\n dcl_sampler s2\n";
        assert_eq!(found(&bindings, &format!("{buffers} dcl_resource_raw t6")), [""; 0]);
        let unbound = [
            "warning: it is bound to t4, which the program does not declare",
            "warning: t7 is declared and not in the resource definitions",
        ];
        assert_eq!(found(&bindings, &format!("{buffers} dcl_resource_raw t7")), unbound);
        assert_eq!(found(&bindings[..1], "dcl_constantbuffer cb1[4].xyzw"), [""; 0]);
        assert_eq!(found(&[], "dcl_sampler s0"), ["warning: s0 is declared and not in the resource definitions"]);
    }

    #[test]
    fn ranges_without_a_size_have_no_end() {
        let found = |slots: [u32; 2]| {
            let bindings = definitions(&[[InputType::TEXTURE.0, slots[0], slots[1]]]);
            findings_of(&[(FourCc::RDEF, bindings)], VS_5_1, "dcl_resource_raw t1[1][0], 0\nret")
        };
        assert_eq!((found([1, 0]), found([9, 1])), (vec![], vec![]));
        assert_eq!(found([0, 1]).len(), 2);
    }

    #[test]
    fn ranges_are_merged_and_found() {
        let at = |space| (RegisterFile::Resource, space);
        let ranges = [(5, 7), (0, 2), (2, 3), (9, u32::MAX)];
        let slots = merge(ranges.into_iter().map(|range| (at(0), range)));
        assert_eq!(slots[&at(0)], [(0, 3), (5, 7), (9, u32::MAX)]);
        assert!(overlaps(&slots, at(0), (3, 4)) && overlaps(&slots, at(0), (1 << 20, 1 << 21)));
        assert!(
            !overlaps(&slots, at(0), (4, 4)) && !overlaps(&slots, at(0), (8, 8)) && !overlaps(&slots, at(1), (0, 9))
        );
    }
}
