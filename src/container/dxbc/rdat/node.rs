//! Records of work graphs: nodes, their inputs and outputs, and attributes of both.

use super::field::Rows;
use super::pool::Pools;
use super::record::record;
use super::table::{Check, Field, Record, Row};
use crate::container::dxbc::dwords::Dwords;
use crate::container::name::Name;
use crate::container::reader::Reader;
use crate::error::ContainerError;

record! {
    /// The name of a node.
    NodeId "RDAT node" {
        /// Name.
        name: Name<'a>,
        /// Place in an array of nodes of that name.
        index: u32,
    }
}

open_code! {
    /// How a node is launched.
    LaunchType(u32) {
        0 INVALID "invalid",
        1 BROADCASTING "broadcasting",
        2 COALESCING "coalescing",
        3 THREAD "thread",
        4 MESH "mesh",
    }
}

record! {
    /// A node.
    NodeShader "RDAT node shader" {
        /// How it is launched.
        launch: LaunchType,
        /// Bytes of group-shared memory.
        group_shared_bytes: u32,
        /// Its attributes.
        attributes: Rows<'a, NodeFunctionAttribute<'a>>,
        /// Its outputs.
        outputs: Rows<'a, NodeIo<'a>>,
        /// Its inputs.
        inputs: Rows<'a, NodeIo<'a>>,
    }
}

open_code! {
    /// What an input or output of a node is, by its name in HLSL.
    NodeIoKind(u32) {
        0x00 INVALID "invalid",
        0x06 NODE_OUTPUT "NodeOutput",
        0x09 EMPTY_INPUT "EmptyNodeInput",
        0x0a EMPTY_OUTPUT "EmptyNodeOutput",
        0x16 NODE_OUTPUT_ARRAY "NodeOutputArray",
        0x1a EMPTY_OUTPUT_ARRAY "EmptyNodeOutputArray",
        0x21 THREAD_INPUT "ThreadNodeInputRecord",
        0x25 RW_THREAD_INPUT "RWThreadNodeInputRecord",
        0x26 THREAD_OUTPUT "ThreadNodeOutputRecords",
        0x41 GROUP_INPUT "GroupNodeInputRecords",
        0x45 RW_GROUP_INPUT "RWGroupNodeInputRecords",
        0x46 GROUP_OUTPUT "GroupNodeOutputRecords",
        0x61 DISPATCH_INPUT "DispatchNodeInputRecord",
        0x65 RW_DISPATCH_INPUT "RWDispatchNodeInputRecord",
    }
}

record! {
    /// An input or output of a node.
    NodeIo "RDAT node input or output" {
        /// What it is in bits 0 to 6; flags: 0x100 who shares a written input is tracked, 0x200 coherent on the whole
        /// device.
        flags: u32,
        /// Its attributes.
        attributes: Rows<'a, NodeIoAttribute<'a>>,
    }
}

impl NodeIo<'_> {
    /// What it is.
    pub fn kind(&self) -> NodeIoKind {
        NodeIoKind(self.flags & 0x7f)
    }
}

/// An attribute of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeFunctionAttribute<'a> {
    /// Its name.
    Id(Option<Row<NodeId<'a>>>),
    /// Threads of its groups in x, y and z; 1 where there are fewer than three.
    Threads(Dwords<'a>),
    /// The node whose input it shares.
    SharesInputOf(Option<Row<NodeId<'a>>>),
    /// Groups of a launch in x, y and z.
    DispatchGrid(Dwords<'a>),
    /// How often it may launch itself.
    MaxRecursion(u32),
    /// Place of its local root arguments in the table of them.
    LocalRootArguments(u32),
    /// Groups of a launch at most, in x, y and z.
    MaxDispatchGrid(Dwords<'a>),
    /// Another one.
    Unknown {
        /// Kind.
        kind: u32,
        /// Value.
        value: u32,
    },
}

impl<'a> Record<'a> for NodeFunctionAttribute<'a> {
    const SIZE: u32 = 8;

    fn read(mut record: Reader<'a>, pools: &Pools<'a>) -> Result<Self, ContainerError> {
        let record = &mut record;
        let kind = record.u32("RDAT node attribute")?;
        Ok(match kind {
            1 => Self::Id(Field::read(record, pools, "RDAT node name")?),
            2 => Self::Threads(Field::read(record, pools, "RDAT node threads")?),
            3 => Self::SharesInputOf(Field::read(record, pools, "RDAT node that shares its input")?),
            4 => Self::DispatchGrid(Field::read(record, pools, "RDAT node grid")?),
            5 => Self::MaxRecursion(Field::read(record, pools, "RDAT node recursion")?),
            6 => Self::LocalRootArguments(Field::read(record, pools, "RDAT node arguments")?),
            7 => Self::MaxDispatchGrid(Field::read(record, pools, "RDAT node grid")?),
            _ => Self::Unknown { kind, value: Field::read(record, pools, "RDAT node attribute")? },
        })
    }

    fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError> {
        match self {
            Self::Id(row) => row.check(check, "RDAT node name"),
            Self::SharesInputOf(row) => row.check(check, "RDAT node that shares its input"),
            Self::Threads(_) | Self::DispatchGrid(_) | Self::MaxDispatchGrid(_) => Ok(()),
            Self::MaxRecursion(_) | Self::LocalRootArguments(_) | Self::Unknown { .. } => Ok(()),
        }
    }
}

/// Where the record that launches a node says how many groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordDispatchGrid {
    /// Byte offset in the record.
    pub offset: u16,
    /// Number of components, 1 to 3.
    pub components: u8,
    /// Type of a component, as DXIL numbers it.
    pub component_type: u16,
}

/// An attribute of an input or output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeIoAttribute<'a> {
    /// The node an output launches.
    Output(Option<Row<NodeId<'a>>>),
    /// Records at most.
    MaxRecords(u32),
    /// Number of the output with which the records are shared.
    MaxRecordsSharedWith(u32),
    /// Bytes of a record.
    RecordBytes(u32),
    /// Where a record says how many groups are launched.
    RecordDispatchGrid(RecordDispatchGrid),
    /// Nodes of an array of outputs.
    OutputArraySize(u32),
    /// Whether nodes of an array may be missing.
    AllowSparseNodes(u32),
    /// Alignment of a record in bytes.
    RecordAlignment(u32),
    /// Records at most for each node of an array.
    MaxRecordsPerNode(u32),
    /// Another one.
    Unknown {
        /// Kind.
        kind: u32,
        /// Value.
        value: u32,
    },
}

impl<'a> Record<'a> for NodeIoAttribute<'a> {
    const SIZE: u32 = 8;

    fn read(mut record: Reader<'a>, pools: &Pools<'a>) -> Result<Self, ContainerError> {
        let record = &mut record;
        let kind = record.u32("RDAT node input or output attribute")?;
        if kind == 1 {
            return Ok(Self::Output(Field::read(record, pools, "RDAT node output")?));
        }
        let value = record.u32("RDAT node input or output attribute")?;
        Ok(match kind {
            2 => Self::MaxRecords(value),
            3 => Self::MaxRecordsSharedWith(value),
            4 => Self::RecordBytes(value),
            5 => Self::RecordDispatchGrid(RecordDispatchGrid {
                offset: value as u16,
                components: (value >> 16 & 3) as u8,
                component_type: (value >> 18) as u16,
            }),
            6 => Self::OutputArraySize(value),
            7 => Self::AllowSparseNodes(value),
            8 => Self::RecordAlignment(value),
            9 => Self::MaxRecordsPerNode(value),
            _ => Self::Unknown { kind, value },
        })
    }

    fn check(&self, check: &mut Check<'_, 'a>) -> Result<(), ContainerError> {
        match self {
            Self::Output(row) => row.check(check, "RDAT node output"),
            _ => Ok(()),
        }
    }
}
