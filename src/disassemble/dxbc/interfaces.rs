//! The tables of interfaces: classes, their instances, and which class fits which slot.

use std::fmt::Write;

use super::line;
use crate::container::dxbc::{ClassInstance, ClassType, InterfaceSlots, Interfaces};

pub(super) fn tables(out: &mut String, interfaces: &Interfaces<'_>) {
    line!(out);
    line!(out, "Available Class Types:");
    line!(out);
    line!(out, "Name                             ID CB Stride Texture Sampler");
    line!(out, "------------------------------ ---- --------- ------- -------");
    for (id, class) in interfaces.class_types.iter().enumerate() {
        let ClassType { name, constant_buffer_stride, textures, samplers, .. } = class;
        line!(out, "{name:<30} {id:>4} {constant_buffer_stride:>9} {textures:>7} {samplers:>7}");
    }
    line!(out);
    class_instances(out, &interfaces.class_instances);
    line!(out, "Interface slots, {} total:", interfaces.slot_count);
    line!(out);
    line!(out, "            Slots");
    let rule = "+----------+---------+---------------------------------------";
    line!(out, "{rule}");
    for InterfaceSlots { first, count, classes } in &interfaces.slots {
        let last = first.saturating_add(count.saturating_sub(1));
        let range = if last == *first { format!("{first}    ") } else { format!("{first}-{last}  ") };
        let types: String = classes.iter().map(|(ty, _)| format!("{ty:<5}")).collect();
        let tables: String = classes.iter().map(|(_, table)| format!("{table:<5}")).collect();
        line!(out, "| Type ID  |{range:>8} |{types}");
        line!(out, "| Table ID |         |{tables}");
        line!(out, "{rule}");
    }
}

/// The table of the instances, if there are any.
fn class_instances(out: &mut String, instances: &[ClassInstance<'_>]) {
    if instances.is_empty() {
        return;
    }
    line!(out, "Available Class Instances:");
    line!(out);
    line!(out, "Name                        Type CB CB Offset Texture Sampler");
    line!(out, "--------------------------- ---- -- --------- ------- -------");
    for instance in instances {
        let ClassInstance { name, class_type, count, constant_buffer, constant_buffer_offset, texture, sampler } =
            instance;
        let name = if *count > 1 { format!("{name}[{count}]") } else { name.to_string() };
        let slot = |slot: &Option<u16>| slot.map_or("-".to_string(), |slot| slot.to_string());
        let (texture, sampler) = (slot(texture), slot(sampler));
        line!(
            out,
            "{name:<27} {class_type:>4} {constant_buffer:>2} {constant_buffer_offset:>9} {texture:>7} {sampler:>7}"
        );
    }
    line!(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Name;

    /// A listing of the public test shader `interfaces`: no instance is declared in it.
    #[test]
    fn without_instances_there_is_no_table_of_them() {
        let classes = ["TwoThirdsAlpha", "OneAlpha"];
        let class = |name: &'static str| ClassType {
            name: Name::new(name.as_bytes()),
            id: 0,
            constant_buffer_stride: 0,
            textures: 0,
            samplers: 0,
        };
        let interfaces = Interfaces {
            class_types: classes.map(class).to_vec(),
            class_instances: vec![],
            slots: vec![InterfaceSlots { first: 0, count: 1, classes: vec![(0, 6), (1, 7)] }],
            slot_count: 1,
        };
        let mut out = String::new();
        tables(&mut out, &interfaces);
        let expected = "//
// Available Class Types:
//
// Name                             ID CB Stride Texture Sampler
// ------------------------------ ---- --------- ------- -------
// TwoThirdsAlpha                    0         0       0       0
// OneAlpha                          1         0       0       0
//
// Interface slots, 1 total:
//
//             Slots
// +----------+---------+---------------------------------------
// | Type ID  |   0     |0    1    \n\
// | Table ID |         |6    7    \n\
// +----------+---------+---------------------------------------
";
        assert_eq!(out, expected);
    }
}
