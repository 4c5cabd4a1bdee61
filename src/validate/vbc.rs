//! VBC containers: what the reflection says of itself, since nothing else here reads SPIR-V.

use super::Findings;
use crate::container::Vbc;
use crate::container::vbc::{Reflection, Warning};

/// Binding slots of a shader (VSL's format).
const SLOTS: u8 = 32;
/// Subpass inputs of a shader (VSL's format).
const SUBPASS_INPUTS: usize = 4;
/// Where the reflection begins.
const REFLECTION: usize = 25;

pub(super) fn check(vbc: &Vbc<'_>, findings: &mut Findings) {
    // What is malformed was reported as such.
    let Ok(reflection) = vbc.reflection() else { return };
    if let Some(warning) = &reflection.warning {
        let Warning::SubpassRecordSize { offset, .. } = *warning;
        let text = warning.to_string();
        let message = text.strip_suffix(&format!(" (at offset {offset:#x})")).unwrap_or(&text);
        findings.warning(offset, format_args!("{message}"));
    }
    self::reflection(&reflection, findings);
}

fn reflection(reflection: &Reflection<'_>, findings: &mut Findings) {
    for (what, variables) in [("input", &reflection.inputs), ("output", &reflection.outputs)] {
        let mut seen = [false; 256];
        for variable in variables {
            if std::mem::replace(&mut seen[usize::from(variable.location)], true) {
                findings.error(REFLECTION, format_args!("two {what}s are at location {}", variable.location));
            }
        }
    }
    let mut seen = [false; 256];
    for binding in &reflection.bindings {
        if binding.slot >= SLOTS {
            findings.error(REFLECTION, format_args!("binding slot {} is not below {SLOTS}", binding.slot));
        }
        if std::mem::replace(&mut seen[usize::from(binding.slot)], true) {
            findings.error(REFLECTION, format_args!("two bindings are in slot {}", binding.slot));
        }
    }
    if let Some(block) = &reflection.uniform {
        for member in block.members.iter().filter(|member| member.offset >= block.size) {
            let (name, offset, size) = (member.name, member.offset, block.size);
            findings.error(REFLECTION, format_args!("{name} begins at byte {offset} of a uniform block of {size}"));
        }
    }
    let count = reflection.subpass_inputs.len();
    if count > SUBPASS_INPUTS {
        findings.error(REFLECTION, format_args!("{count} subpass inputs are more than {SUBPASS_INPUTS}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Name;
    use crate::container::vbc::{
        Binding, BindingDetail, InterfaceVariable, StageMask, UniformBlock, VbcBaseType, VbcMember,
    };

    fn findings(change: impl FnOnce(&mut Reflection<'static>)) -> Vec<String> {
        let variable =
            InterfaceVariable { location: 0, base: VbcBaseType(4), dimensions: [4, 1], array: 1, reserved: [0; 3] };
        let detail = BindingDetail::Buffer { size: 16, reserved: [0; 2] };
        let member = VbcMember { name: Name::new(b"m"), offset: 0, base: VbcBaseType(4), dimensions: [4, 1], array: 1 };
        let mut reflection = Reflection {
            inputs: vec![variable],
            outputs: vec![variable],
            bindings: vec![Binding { slot: 31, base: VbcBaseType(7), stages: StageMask(1), detail }],
            uniform: Some(UniformBlock { size: 16, stages: StageMask(1), members: vec![member] }),
            subpass_inputs: Vec::new(),
            warning: None,
        };
        change(&mut reflection);
        let mut findings = Findings::default();
        super::reflection(&reflection, &mut findings);
        findings.finish().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_rule() {
        assert!(findings(|_| {}).is_empty());
        let one = |change: fn(&mut Reflection<'static>), expected: &str| assert_eq!(findings(change), [expected]);
        one(|it| it.inputs.push(it.inputs[0]), "error: two inputs are at location 0 (at offset 0x19)");
        one(|it| it.outputs.push(it.outputs[0]), "error: two outputs are at location 0 (at offset 0x19)");
        one(|it| it.bindings[0].slot = 32, "error: binding slot 32 is not below 32 (at offset 0x19)");
        one(|it| it.bindings.push(it.bindings[0]), "error: two bindings are in slot 31 (at offset 0x19)");
        one(
            |it| it.uniform.as_mut().unwrap().members[0].offset = 16,
            "error: m begins at byte 16 of a uniform block of 16 (at offset 0x19)",
        );
        let input = crate::container::vbc::SubpassInput::Object(&[]);
        let five = findings(|it| it.subpass_inputs = vec![input; 5]);
        assert_eq!(five, ["error: 5 subpass inputs are more than 4 (at offset 0x19)"]);
    }
}
