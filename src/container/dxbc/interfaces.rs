//! Interfaces (`IFCE`): the classes a program's interfaces can be, their instances, and for each interface slot which
//! function table each class has there.
//!
//! | bytes | field |
//! |---|---|
//! | 0, 4, 8 | numbers of instances, class types, slot records |
//! | 12 | interface slots in all |
//! | 16, 20, 24 | offsets of the three tables, relative to the part's data |
//! | 28..36 | memory the compiler did not initialise |

use super::{FourCc, Part};
use crate::container::name::Name;
use crate::container::reader::{Reader, over_limit};
use crate::error::ContainerError;

/// Bytes of a class-type record.
const CLASS_TYPE: u32 = 12;
/// Bytes of a class-instance record.
const CLASS_INSTANCE: u32 = 16;
/// Bytes of a slot record.
const SLOTS: u32 = 16;

/// An `IFCE` part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interfaces<'a> {
    /// The classes that implement an interface.
    pub class_types: Vec<ClassType<'a>>,
    /// The instances of classes in constant buffers.
    pub class_instances: Vec<ClassInstance<'a>>,
    /// Runs of interface slots with the classes that fit them, by ascending slot.
    pub slots: Vec<InterfaceSlots>,
    /// Interface slots in all.
    pub slot_count: u32,
}

/// A class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassType<'a> {
    /// Name.
    pub name: Name<'a>,
    /// Number as stored; compilers write 0.
    pub id: u16,
    /// Rows of 16 bytes that an instance takes in its constant buffer.
    pub constant_buffer_stride: u16,
    /// Textures an instance holds.
    pub textures: u16,
    /// Samplers an instance holds.
    pub samplers: u16,
}

/// An instance of a class, or an array of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassInstance<'a> {
    /// Name.
    pub name: Name<'a>,
    /// Index of its class in [`Interfaces::class_types`], as stored.
    pub class_type: u16,
    /// Instances in the array; 1 if it is none.
    pub count: u16,
    /// Slot of its constant buffer.
    pub constant_buffer: u16,
    /// First row of 16 bytes in the constant buffer.
    pub constant_buffer_offset: u16,
    /// First texture slot.
    pub texture: Option<u16>,
    /// First sampler slot.
    pub sampler: Option<u16>,
}

/// A run of interface slots that the same classes fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceSlots {
    /// First slot.
    pub first: u32,
    /// Number of slots.
    pub count: u32,
    /// The classes that fit, by index into [`Interfaces::class_types`], and the function table of each.
    pub classes: Vec<(u16, u32)>,
}

impl<'a> Interfaces<'a> {
    pub(super) fn parse(part: &Part<'a>) -> Result<Self, ContainerError> {
        debug_assert_eq!(part.name, FourCc::IFCE);
        let mut header = part.reader();
        let instance_count = header.u32("class instance count")?;
        let type_count = header.u32("class type count")?;
        let slots_count = header.u32("interface slot record count")?;
        let slot_count = header.u32("interface slot count")?;
        let instances_offset = header.u32("class instances offset")?;
        let types_offset = header.u32("class types offset")?;
        let slots_offset = header.u32("interface slot records offset")?;
        header.array::<8>("padding")?; // Uninitialised memory of the compiler.

        let class_types = header
            .records(types_offset, type_count, CLASS_TYPE, "class types")?
            .map(|record| class_type(&header, record))
            .collect::<Result<_, _>>()?;
        let class_instances = header
            .records(instances_offset, instance_count, CLASS_INSTANCE, "class instances")?
            .map(|record| class_instance(&header, record))
            .collect::<Result<_, _>>()?;
        // Lists of real files do not overlap, so all of them together fit the part; it also bounds what is allocated.
        let mut left = header.len() / 6;
        let mut first = 0u32;
        let mut slots = Vec::new();
        for record in header.records(slots_offset, slots_count, SLOTS, "interface slot records")? {
            let run = interface_slots(&header, record, first, &mut left)?;
            first = first.saturating_add(run.count);
            slots.push(run);
        }
        Ok(Self { class_types, class_instances, slots, slot_count })
    }
}

fn class_type<'a>(part: &Reader<'a>, mut record: Reader<'a>) -> Result<ClassType<'a>, ContainerError> {
    Ok(ClassType {
        name: part.name(record.u32("class name offset")?, "class name")?,
        id: record.u16("class number")?,
        constant_buffer_stride: record.u16("class stride")?,
        textures: record.u16("class textures")?,
        samplers: record.u16("class samplers")?,
    })
}

fn class_instance<'a>(part: &Reader<'a>, mut record: Reader<'a>) -> Result<ClassInstance<'a>, ContainerError> {
    let slot = |slot: u16| (slot != u16::MAX).then_some(slot);
    Ok(ClassInstance {
        name: part.name(record.u32("class instance name offset")?, "class instance name")?,
        class_type: record.u16("class of an instance")?,
        count: record.u16("class instance count")?,
        constant_buffer: record.u16("class instance constant buffer")?,
        constant_buffer_offset: record.u16("class instance constant buffer offset")?,
        texture: slot(record.u16("class instance texture")?),
        sampler: slot(record.u16("class instance sampler")?),
    })
}

fn interface_slots(
    part: &Reader<'_>,
    mut record: Reader<'_>,
    first: u32,
    left: &mut usize,
) -> Result<InterfaceSlots, ContainerError> {
    let count = record.u32("interface slot span")?;
    let classes_offset = record.offset();
    let classes = record.u32("class count of an interface slot")?;
    let types = part.records(record.u32("types of an interface slot")?, classes, 2, "types of an interface slot")?;
    let tables = part.records(record.u32("tables of an interface slot")?, classes, 4, "tables of an interface slot")?;
    *left = left
        .checked_sub(types.len())
        .ok_or_else(|| over_limit("classes of all interface slots", classes.into(), *left as u64, classes_offset))?;
    let pair = |(mut ty, mut table): (Reader<'_>, Reader<'_>)| {
        Ok((ty.u16("type of an interface slot")?, table.u32("table of an interface slot")?))
    };
    let classes = types.zip(tables).map(pair).collect::<Result<_, _>>()?;
    Ok(InterfaceSlots { first, count, classes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::reader::truncated;

    const BASE: usize = 0x48;

    /// Slots in all, slot records, and the sampler of each instance.
    type Parsed = (u32, Vec<InterfaceSlots>, Vec<Option<u16>>);

    fn parse(dwords: &[u32]) -> Result<Parsed, ContainerError> {
        let data: Vec<u8> = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        let parsed = Interfaces::parse(&Part { name: FourCc::IFCE, offset: BASE - 8, data: &data })?;
        assert!(parsed.class_types.iter().all(|class| class.name == "C" && class.constant_buffer_stride == 5));
        Ok((parsed.slot_count, parsed.slots, parsed.class_instances.iter().map(|instance| instance.sampler).collect()))
    }

    /// One instance, one class, one slot record of `count` classes; lists at byte 88, the name at 96.
    fn part(count: u32) -> [u32; 25] {
        let name = u32::from(b'C');
        let header = [1, 1, 1, 3, 48, 36, 64, 0xdead_beef, 0xdead_beef];
        let mut part = [0; 25];
        part[..9].copy_from_slice(&header);
        part[9..12].copy_from_slice(&[96, 5 << 16, 0]);
        part[12..16].copy_from_slice(&[96, 1 << 16, 7 << 16, 0xffff_0002]);
        part[16..20].copy_from_slice(&[2, count, 84, 88]);
        part[21..25].copy_from_slice(&[0x0001_0000, 4, 9, name]);
        part
    }

    #[test]
    fn every_table() {
        let mut part = part(2);
        part[16..20].copy_from_slice(&[2, 2, 84, 88]);
        let slots = InterfaceSlots { first: 0, count: 2, classes: vec![(0, 4), (1, 9)] };
        assert_eq!(parse(&part), Ok((3, vec![slots], vec![None])));
    }

    #[test]
    fn slot_records_cannot_multiply_one_list() {
        let mut part = vec![0, 0, 20, 20, 0, 0, 36, 0, 0];
        (0..20).for_each(|_| part.extend([1, 8, 36, 36]));
        let left = (part.len() * 4 / 6 - 7 * 8) as u64;
        let offset = BASE + 36 + 7 * 16 + 4;
        assert_eq!(parse(&part), Err(over_limit("classes of all interface slots", 8, left, offset)));
    }

    #[test]
    fn tables_outside_the_part_are_errors() {
        assert_eq!(parse(&[0, 9, 0, 0, 0, 40, 0, 0, 0]), Err(truncated("class types", BASE + 40, 108, 0)));
        assert_eq!(parse(&part(30)), Err(truncated("types of an interface slot", BASE + 84, 60, 16)));
        assert_eq!(parse(&[0; 8]), Err(truncated("padding", BASE + 28, 8, 4)));
    }
}
