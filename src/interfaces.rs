//! Class instances by name → what the lowering needs of them: the function table of their class, and where they lie.

use crate::container::dxbc::{ClassInstance, Dxbc, InterfaceSlots, Interfaces};
use crate::error::{CallError, Error};
use crate::frontend::sm4;
use std::collections::BTreeMap;

/// Looks up the instance of each slot in the container's tables.
pub(crate) fn resolve(
    dxbc: Option<&Dxbc<'_>>,
    classes: &BTreeMap<u32, (String, u32)>,
) -> Result<BTreeMap<u32, sm4::ClassInstance>, Error> {
    if classes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let interfaces = dxbc.map(Dxbc::interfaces).transpose()?.flatten();
    let interfaces = interfaces.ok_or_else(|| CallError::unknown("interfaces", []))?;
    let instance =
        |(&slot, (name, number)): (&u32, &(String, u32))| Ok((slot, find(&interfaces, slot, name, *number)?));
    classes.iter().map(instance).collect()
}

fn find(interfaces: &Interfaces<'_>, slot: u32, name: &str, number: u32) -> Result<sm4::ClassInstance, CallError> {
    let mut instances = interfaces.class_instances.iter();
    let instance = instances.find(|instance| instance.name == name && number < instance.count.into());
    let instance = instance
        .ok_or_else(|| CallError::unknown(format!("class instance {name}[{number}]"), names(interfaces, |_| true)))?;
    let run = run_of(interfaces, slot);
    let run = run.ok_or_else(|| CallError::unknown(format!("interface slot {slot}"), []))?;
    let fits = run.classes.iter().find(|&&(class, _)| class == instance.class_type);
    let &(_, table) =
        fits.ok_or_else(|| CallError::Invalid(format!("class instance {name} is of no class that fits slot {slot}")))?;
    Ok(sm4::ClassInstance { table, data: data(interfaces, instance, number) })
}

/// Where instance `number` of an array lies.
fn data(interfaces: &Interfaces<'_>, instance: &ClassInstance<'_>, number: u32) -> [u32; 4] {
    let class = interfaces.class_types.get(usize::from(instance.class_type));
    let strides = class.map_or([0; 3], |class| [class.constant_buffer_stride, class.textures, class.samplers]);
    let first = [Some(instance.constant_buffer_offset), instance.texture, instance.sampler];
    let [row, texture, sampler] = std::array::from_fn(|place| {
        // Both factors are below 2^16, as is the first place.
        first[place].map_or(0, |first| u32::from(first).wrapping_add(number.wrapping_mul(strides[place].into())))
    });
    [instance.constant_buffer.into(), row, texture, sampler]
}

/// The run of slots that a slot is in.
fn run_of<'a>(interfaces: &'a Interfaces<'_>, slot: u32) -> Option<&'a InterfaceSlots> {
    interfaces.slots.iter().find(|run| slot.checked_sub(run.first).is_some_and(|slot| slot < run.count))
}

/// The class instances of a kind, as options name them.
fn names(interfaces: &Interfaces<'_>, is_wanted: impl Fn(&ClassInstance<'_>) -> bool) -> Vec<String> {
    let name = |instance: &ClassInstance<'_>| match instance.count {
        0 | 1 => instance.name.to_str().into_owned(),
        count => format!("{}[0..{count}]", instance.name.to_str()),
    };
    interfaces.class_instances.iter().filter(|instance| is_wanted(instance)).map(name).collect()
}

/// The class instances that an interface slot takes.
pub(crate) fn candidates(dxbc: &Dxbc<'_>, slot: u32) -> Vec<String> {
    let Ok(Some(interfaces)) = dxbc.interfaces() else { return Vec::new() };
    let Some(run) = run_of(&interfaces, slot) else { return Vec::new() };
    names(&interfaces, |instance| run.classes.iter().any(|&(class, _)| class == instance.class_type))
}
