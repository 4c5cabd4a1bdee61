//! Every hard limit of the container stage. Each is far above what compilers write and low enough that a hostile file
//! can neither make this stage allocate out of proportion to its own size nor keep it busy.

/// Bytes of a `DXBC` container: the largest file size the format's own readers accept.
pub const DXBC_BYTES: u32 = 0x8000_0000;
/// Parts of a `DXBC` container. Compilers write about a dozen.
pub const DXBC_PARTS: u32 = 1024;
/// Elements of one signature. A stage has 32 registers of 4 components, times 4 streams.
pub const SIGNATURE_ELEMENTS: u32 = 1024;
/// Bytes of one name (semantic, constant buffer, variable, symbol), without its terminator.
pub const NAME_BYTES: usize = 4096;
/// Constant-buffer records of one `RDEF` part.
pub const CONSTANT_BUFFERS: u32 = 4096;
/// Resource-binding records of one `RDEF` part.
pub const RESOURCE_BINDINGS: u32 = 1 << 16;
/// Variable records of one `RDEF` part, over all constant buffers.
pub const VARIABLES: u32 = 1 << 20;
/// Types that contain one another in one `RDEF` part: structs in structs, classes and what they inherit.
pub const TYPE_DEPTH: u32 = 64;
/// Members of all variables of one `RDEF` part, members of members counted as often as they occur: what a listing
/// prints.
pub const LISTED_MEMBERS: u64 = 1 << 18;
/// Bytes of one record of an `RDEF` table. Such a part states its record sizes, the largest known of which is 60.
pub const RDEF_STRIDE: u32 = 4096;

/// `DVLE`s of one SHBIN.
pub const DVLES: u32 = 256;
/// Bytes by which the tables of all executables of one SHBIN may be larger than the file, because executables share
/// them.
pub const DVLE_SHARED_BYTES: u32 = 1 << 18;
/// Words of PICA200 program memory.
pub const PICA_CODE_WORDS: u32 = 4096;
/// PICA200 operand descriptors.
pub const PICA_DESCRIPTORS: u32 = 128;
/// Constants of one `DVLE`. There are 96 + 4 + 16 registers to give a value to.
pub const DVLE_CONSTANTS: u32 = 512;
/// Labels of one `DVLE`: one a program word.
pub const DVLE_LABELS: u32 = PICA_CODE_WORDS;
/// Output-map records of one `DVLE`. There are 16 registers of 4 components.
pub const DVLE_OUTPUTS: u32 = 256;
/// Uniform records of one `DVLE`.
pub const DVLE_UNIFORMS: u32 = 1024;

/// Dwords of a `STAT` part behind the known counters.
pub const UNKNOWN_STATISTICS: usize = 256;

/// Parameters of a root signature. Direct3D 12 has room for 64 dwords of them.
pub const ROOT_PARAMETERS: u32 = 4096;
/// Static samplers of a root signature. Direct3D 12 accepts 2032.
pub const STATIC_SAMPLERS: u32 = 4096;

/// Sub-parts of an `RDAT` part. About twenty types are known, and each is there once.
pub const RDAT_SUB_PARTS: u32 = 256;
/// Records of one table of an `RDAT` part.
pub const RDAT_RECORDS: u32 = 1 << 20;
/// References from all records of an `RDAT` part to one another and to names, by way of arrays that they may share.
pub const RDAT_REFERENCES: u64 = 1 << 24;

/// Bytes that what a part of `part_bytes` bytes holds compressed may have when inflated: eight times as many and 256
/// KiB.
///
/// Sources shrink to about a fifth. That is half of what this stage promises not to exceed (16 times the input and 1
/// MiB): the other half is left to what is parsed out of the inflated bytes.
pub const fn inflated_bytes(part_bytes: usize) -> usize {
    part_bytes.saturating_mul(8).saturating_add(256 << 10)
}

/// Records of one list of a VBC. The longest that its compiler accepts is that of the uniforms: 1024 bytes of members.
pub const VBC_RECORDS: u32 = 256;
