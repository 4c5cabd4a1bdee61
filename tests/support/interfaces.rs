//! The part of a container that says which class instances its interface slots may have (`IFCE`).

use super::program::bytes;

/// A class instance: for each a class of its own, which fits one slot.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// The interface slot.
    pub slot: u32,
    /// The function table that the class has there.
    pub table: u32,
    /// The constant buffer that it lies in, and the row that it begins at.
    pub place: [u16; 2],
}

impl Instance {
    /// What its name is.
    pub fn name(&self) -> String {
        format!("slot{}", self.slot)
    }
}

/// The part: header, classes, instances, slots, lists of the slots, names.
pub fn part(instances: &[Instance]) -> Vec<u8> {
    const HEADER: usize = 36;
    const NONE: u32 = 0xffff_ffff;
    let count = instances.len();
    let slots = instances.iter().map(|instance| instance.slot + 1).max().unwrap_or(0);
    let at_instances = HEADER + 12 * count;
    let at_slots = at_instances + 16 * count;
    let at_lists = at_slots + 16 * slots as usize;
    let at_names = at_lists + 8 * count;
    let name = |number: usize| {
        let before: usize = instances[..number].iter().map(|instance| instance.name().len() + 1).sum();
        (at_names + before) as u32
    };
    let header = [count, count, slots as usize, slots as usize, at_instances, HEADER, at_slots, 0, 0];
    let mut part = bytes(&header.map(|field| field as u32));
    for number in 0..count {
        // One row of constants an instance.
        part.extend(bytes(&[name(number), 1 << 16, 0]));
    }
    for (number, &Instance { place: [buffer, row], .. }) in instances.iter().enumerate() {
        part.extend(bytes(&[name(number), number as u32 | 1 << 16, u32::from(buffer) | u32::from(row) << 16, NONE]));
    }
    for slot in 0..slots {
        // Types and tables of a slot, two bytes and four for each class.
        let record = match instances.iter().position(|instance| instance.slot == slot) {
            Some(number) => [1, 1, at_lists + 8 * number, at_lists + 8 * number + 4],
            None => [1, 0, at_lists, at_lists],
        };
        part.extend(bytes(&record.map(|field| field as u32)));
    }
    for (number, instance) in instances.iter().enumerate() {
        part.extend(bytes(&[number as u32, instance.table]));
    }
    part.extend(instances.iter().flat_map(|instance| instance.name().into_bytes().into_iter().chain([0])));
    part.resize(part.len().next_multiple_of(4), 0);
    part
}
