//! What declarations may say: numbers in range, the stages they are for, the ones that a stage must have.

use crate::frontend::sm4::codes::{Stage, TessDomain, TessOutput, TessPartitioning};
use crate::frontend::sm4::{Declaration, Instruction, Opcode, Version};
use crate::validate::Findings;

/// Limits of Direct3D 10 and 11 (`d3d11.h`, D3D11_… constants).
pub(super) mod limits {
    /// `r#` and the registers of all `x#` together.
    pub const TEMPS: u64 = 4096;
    /// Rows of a constant buffer, also of the immediate one.
    pub const ROWS: u32 = 4096;
    /// Slots of constant buffers, samplers, resources, and unordered-access views (11.1).
    pub const BUFFER_SLOTS: u32 = 14;
    pub const SAMPLER_SLOTS: u32 = 16;
    pub const RESOURCE_SLOTS: u32 = 128;
    pub const UAV_SLOTS: u32 = 64;
    /// Input and output registers, and patch constants, in one index range.
    pub const REGISTERS: u32 = 32;
    pub const CONTROL_POINTS: u32 = 32;
    pub const MAX_TESS_FACTOR: f32 = 64.0;
    pub const OUTPUT_VERTICES: u32 = 1024;
    /// Components of all vertices that a geometry shader emits.
    pub const OUTPUT_COMPONENTS: u64 = 1024;
    pub const GS_INSTANCES: u32 = 32;
    pub const STREAMS: u32 = 4;
    /// Group-shared bytes and threads of a group: shader model 5, and 4.
    pub const GROUP_BYTES: [u64; 2] = [32768, 16384];
    pub const GROUP_SIZE: [[u32; 3]; 2] = [[1024, 1024, 64], [768, 768, 1]];
    pub const GROUP_THREADS: [u64; 2] = [1024, 768];
}

/// Holds the numbers of a declaration, which no instruction looks up, against their limits.
pub(super) fn numbers(version: Version, instruction: &Instruction, declaration: &Declaration, findings: &mut Findings) {
    let (opcode, offset) = (instruction.opcode(), instruction.offset);
    match *declaration {
        Declaration::MaxOutputVertices(count) if !(1..=limits::OUTPUT_VERTICES).contains(&count) => {
            out_of_range(findings, offset, "the most vertices emitted", count.into());
        }
        Declaration::GsInstances(count) if !(1..=limits::GS_INSTANCES).contains(&count) => {
            out_of_range(findings, offset, "the number of instances", count.into());
        }
        Declaration::HsForkPhaseInstanceCount(0) | Declaration::HsJoinPhaseInstanceCount(0) => {
            out_of_range(findings, offset, "the number of instances", 0);
        }
        Declaration::InputControlPointCount(count) if !(1..=limits::CONTROL_POINTS).contains(&count) => {
            out_of_range(findings, offset, "the number of control points", count.into());
        }
        Declaration::OutputControlPointCount(count) if count > limits::CONTROL_POINTS => {
            out_of_range(findings, offset, "the number of control points", count.into());
        }
        Declaration::HsMaxTessFactor { bits } => {
            let factor = f32::from_bits(bits);
            if !(1.0..=limits::MAX_TESS_FACTOR).contains(&factor) {
                findings.error(offset, format_args!("the largest tessellation factor is {factor}"));
            }
        }
        Declaration::TessDomain(TessDomain::Undefined)
        | Declaration::TessPartitioning(TessPartitioning::Undefined)
        | Declaration::TessOutput(TessOutput::Undefined) => {
            findings.error(offset, format_args!("{opcode} says nothing"));
        }
        Declaration::ThreadGroup(size) => {
            let threads = size.iter().map(|&size| u64::from(size)).try_fold(1, u64::checked_mul);
            let fits = |(&size, limit): (&u32, u32)| (1..=limit).contains(&size);
            if !size.iter().zip(limits::GROUP_SIZE[usize::from(version.major < 5)]).all(fits)
                || threads.is_none_or(|threads| threads > limits::GROUP_THREADS[usize::from(version.major < 5)])
            {
                let [x, y, z] = size;
                findings.error(offset, format_args!("a thread group has no size of {x}, {y}, {z}"));
            }
        }
        _ => {}
    }
}

/// A number that is out of its range.
pub(super) fn out_of_range(findings: &mut Findings, offset: usize, what: &str, value: u64) {
    findings.error(offset, format_args!("{what} is {value}"));
}

/// Declarations of which a program has one at most.
pub(super) fn is_single(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        DclGlobalFlags
            | DclInputPrimitive
            | DclMaxOut
            | DclGsInstances
            | HsDecls
            | HsControlPointPhase
            | DclInputControlPointCount
            | DclOutputControlPointCount
            | DclTessDomain
            | DclTessPartitioning
            | DclTessOutputPrimitive
            | DclHsMaxTessFactor
            | DclThreadGroup
    )
}

/// The stages that a declaration is for; `None` for all.
pub(super) fn stages(opcode: Opcode) -> Option<&'static [Stage]> {
    use Opcode::*;
    use Stage::{Compute, Domain, Geometry, Hull, Pixel};
    Some(match opcode {
        DclOutputTopology | DclInputPrimitive | DclMaxOut | DclStream | DclGsInstances => &[Geometry],
        DclInputPs | DclInputPsSgv | DclInputPsSiv => &[Pixel],
        HsDecls | HsControlPointPhase | HsForkPhase | HsJoinPhase => &[Hull],
        DclOutputControlPointCount | DclTessPartitioning | DclTessOutputPrimitive => &[Hull],
        DclHsMaxTessFactor | DclHsForkPhaseInstanceCount | DclHsJoinPhaseInstanceCount => &[Hull],
        DclInputControlPointCount | DclTessDomain => &[Hull, Domain],
        DclThreadGroup | DclTgsmRaw | DclTgsmStructured => &[Compute],
        _ => return None,
    })
}

/// The declarations that a stage must have.
pub(super) fn required(stage: Stage) -> &'static [Opcode] {
    use Opcode::*;
    match stage {
        Stage::Geometry => &[DclInputPrimitive, DclMaxOut],
        Stage::Hull => &[HsDecls, DclTessDomain, DclTessPartitioning, DclTessOutputPrimitive],
        Stage::Domain => &[DclTessDomain],
        Stage::Compute => &[DclThreadGroup],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use crate::validate::sm4::testing::*;

    /// A compute shader of these declarations.
    fn cs(declarations: &str) -> String {
        format!("dcl_thread_group 1, 1, 1\n{declarations}\nret")
    }

    /// A geometry shader of these declarations.
    fn gs(declarations: &str) -> String {
        format!("dcl_inputprimitive!0x1800\n{declarations}\nret")
    }

    /// A hull shader with these declarations behind the four that it needs, and a phase unless they begin one.
    fn hs(declarations: &str) -> String {
        let needed = "hs_decls\ndcl_tessellator_domain!0x1000\ndcl_tessellator_partitioning!0x800\n\
                      dcl_tessellator_output_primitive!0x1000";
        let phase = if declarations.contains("_phase\n") { "" } else { "hs_fork_phase\n" };
        format!("{needed}\n{declarations}\n{phase}ret")
    }

    #[test]
    fn declarations_come_before_the_code_once_each() {
        breaks(VS_5_0, "nop\n dcl_temps 1\n ret", 1, "error: dcl_temps follows instructions");
        breaks(VS_5_0, "dcl_temps 1\n dcl_temps 1\n ret", 1, "error: dcl_temps is there twice");
        breaks(CS_5_0, &cs("dcl_thread_group 1, 1, 1"), 1, "error: dcl_thread_group is there twice");
        breaks(
            VS_5_0,
            "dcl_indexableTemp x0[4], 4\n dcl_indexableTemp x0[4], 4\n ret",
            1,
            "error: x0 is declared twice",
        );
        breaks(VS_5_0, "dcl_input v0.xy\n dcl_input v0.yz\n ret", 1, "error: v0.y is declared twice");
        breaks(VS_5_0, "dcl_output o0.x\n dcl_output o0.x\n ret", 1, "error: o0.x is declared twice");
        breaks(VS_5_0, "dcl_sampler s0\n dcl_sampler s0\n ret", 1, "error: s0 is declared twice");
        breaks(CS_5_0, &cs("dcl_tgsm_raw g0, 4\n dcl_tgsm_raw g0, 4"), 2, "error: g0 is declared twice");
        breaks(GS_5_0, &gs("dcl_maxout 1\n dcl_stream m0\n dcl_stream m0"), 3, "error: m0 is declared twice");
        let body = "dcl_function_body 0\n dcl_function_body 0\n ret\n label fb0\n ret";
        breaks(PS_5_0, body, 1, "error: fb0 is declared twice");
        let table =
            "dcl_function_body 0\n dcl_function_table 0, 1, 0\n dcl_function_table 0, 1, 0\n ret\n label fb0\n ret";
        breaks(PS_5_0, table, 2, "error: ft0 is declared twice");
    }

    #[test]
    fn phases_and_streams_declare_their_own() {
        let phases = "hs_fork_phase\n dcl_output o0.x\n dcl_temps 1\n ret\n\
                      hs_join_phase\n dcl_output o0.x\n dcl_temps 1";
        is_fine(HS_5_0, &hs(phases));
        is_fine(GS_5_0, &gs("dcl_maxout 1\n dcl_stream m0\n dcl_output o0.x\n dcl_stream m1\n dcl_output o0.x"));
        is_fine(VS_5_0, "dcl_input v0.xy\n dcl_input v0.zw\n ret");
    }

    #[test]
    fn a_stage_has_what_it_needs_and_nothing_else() {
        assert_eq!(findings(CS_5_0, "ret"), ["error: dcl_thread_group is missing (at offset 0x0)"]);
        assert_eq!(findings(DS_5_0, "ret"), ["error: dcl_tessellator_domain is missing (at offset 0x0)"]);
        let missing = findings(GS_5_0, "ret");
        assert_eq!(missing[0], "error: dcl_inputprimitive is missing (at offset 0x0)");
        assert_eq!(missing[1], "error: dcl_maxout is missing (at offset 0x0)");
        assert_eq!(findings(HS_5_0, "hs_fork_phase\n ret").len(), 4);
        breaks(VS_5_0, "dcl_maxout 3\n ret", 0, "error: dcl_maxout in vs code");
        breaks(VS_5_0, "dcl_input_ps!0x1000 v0.x\n ret", 0, "error: dcl_input_ps in vs code");
    }

    #[test]
    fn numbers_have_limits() {
        breaks(VS_5_0, "dcl_temps 4097\n ret", 0, "error: the number of temporary registers is 4097");
        let together = "dcl_temps 1\n dcl_indexableTemp x0[4096], 4\n ret";
        breaks(VS_5_0, together, 1, "error: the number of temporary registers is 4097");
        breaks(VS_5_0, "dcl_indexableTemp x0[0], 4\n ret", 0, "error: the number of registers of the array is 0");
        breaks(VS_5_0, "dcl_indexableTemp x0[1], 5\n ret", 0, "error: the number of components is 5");
        breaks(VS_5_0, "dcl_constantbuffer cb0[4097].xyzw\n ret", 0, "error: the number of rows is 4097");
        breaks(VS_5_0, "dcl_constantbuffer cb14[1].xyzw\n ret", 0, "error: there is no slot cb14");
        breaks(VS_5_0, "dcl_sampler s16\n ret", 0, "error: there is no slot s16");
        breaks(VS_5_0, "dcl_resource_raw t128\n ret", 0, "error: there is no slot t128");
        breaks(PS_5_0, "dcl_uav_raw u64\n ret", 0, "error: there is no slot u64");
        breaks(VS_5_1, "dcl_sampler s0[5][3], 0\n ret", 0, "error: the registers 5 to 3 are no range");
        breaks(GS_5_0, &gs("dcl_maxout 1025"), 1, "error: the most vertices emitted is 1025");
        let full = (0..31).map(|register| format!("dcl_output o{register}.xyzw\n")).collect::<String>();
        is_fine(GS_5_0, &gs(&format!("dcl_maxout 8\n {full}")));
        let message = "error: 9 vertices of 124 components are more than 1024";
        breaks(GS_5_0, &gs(&format!("dcl_maxout 9\n {full}")), 1, message);
        breaks(GS_5_0, &gs("dcl_maxout 1\n dcl_gsinstances 33"), 2, "error: the number of instances is 33");
        breaks(GS_5_0, &gs("dcl_maxout 1\n dcl_stream m4"), 2, "error: the number of the stream is 4");
        breaks(HS_5_0, &hs("dcl_hs_max_tessfactor 65.0"), 4, "error: the largest tessellation factor is 65");
        breaks(HS_5_0, &hs("dcl_input_control_point_count!0x10800"), 4, "error: the number of control points is 33");
        breaks(HS_5_0, &hs("dcl_output_control_point_count!0x10800"), 4, "error: the number of control points is 33");
        let fork = "hs_fork_phase\n dcl_hs_fork_phase_instance_count 0";
        breaks(HS_5_0, &hs(fork), 5, "error: the number of instances is 0");
        breaks(DS_5_0, "dcl_tessellator_domain\n ret", 0, "error: dcl_tessellator_domain says nothing");
    }

    #[test]
    fn thread_groups_and_their_memory_have_limits() {
        is_fine(CS_5_0, "dcl_thread_group 32, 32, 1\n ret");
        for (model, size) in [(CS_5_0, "32, 33, 1"), (CS_5_0, "1, 1, 65"), (CS_5_0, "0, 1, 1"), (CS_4_0, "1, 1, 2")] {
            breaks(
                model,
                &format!("dcl_thread_group {size}\n ret"),
                0,
                &format!("error: a thread group has no size of {size}"),
            );
        }
        let size = "4294967295, 4294967295, 4294967295";
        let message = format!("error: a thread group has no size of {size}");
        breaks(CS_5_0, &format!("dcl_thread_group {size}\n ret"), 0, &message);
        let message = "error: there are 32772 bytes of group-shared memory, the limit is 32768";
        breaks(CS_5_0, &cs("dcl_tgsm_raw g0, 32768\n dcl_tgsm_structured g1, 4, 1"), 2, message);
        breaks(
            CS_4_0,
            &cs("dcl_tgsm_raw g0, 16388"),
            1,
            "error: there are 16388 bytes of group-shared memory, the limit is 16384",
        );
    }

    #[test]
    fn index_ranges_are_of_registers_that_are_declared() {
        is_fine(VS_5_0, "dcl_input v1.xy\n dcl_input v2.xy\n dcl_indexrange v1.x 2\n ret");
        let range = |range: &str| format!("dcl_input v1.x\n dcl_input v2.y\n dcl_indexrange {range}\n ret");
        breaks(VS_5_0, &range("v1.x 2"), 2, "warning: v2.x of the index range is not declared");
        breaks(VS_5_0, &range("v1.x 3"), 2, "error: v3, an end of the index range, is not declared");
        breaks(VS_5_0, &range("v0.x 2"), 2, "error: v0, an end of the index range, is not declared");
        let phase =
            |range: &str| hs(&format!("hs_fork_phase\n dcl_output o0.x\n dcl_output o2.x\n dcl_indexrange {range}\n"));
        is_fine(HS_5_0, &phase("o0.x 3"));
        breaks(HS_5_0, &phase("o0.x 4"), 7, "error: o3, an end of the index range, is not declared");
        breaks(VS_5_0, &range("v1.x 32"), 2, "error: an index range has 32 registers from 1 on");
        breaks(VS_5_0, &range("v1.x 0"), 2, "error: an index range has 0 registers from 1 on");
    }

    #[test]
    fn interfaces_use_what_is_declared() {
        let end = "ret\n label fb0\n ret";
        is_fine(
            PS_5_0,
            &format!("dcl_function_body 0\n dcl_function_table 0, 1, 0\n dcl_interface 0, 1, 0x10001, 0\n {end}"),
        );
        breaks(PS_5_0, &format!("dcl_function_table 0, 1, 0\n {end}"), 0, "error: fb0 is not declared");
        breaks(PS_5_0, "dcl_interface 0, 1, 0x10001, 7\n ret", 0, "error: ft7 is not declared");
        let body = "dcl_function_body 0\n dcl_function_table 0, 1, 0\n ret";
        breaks(PS_5_0, body, 1, "error: there is no fb0");
        let twice = "dcl_interface 0, 1, 0x10000\n dcl_interface 0, 1, 0x10000\n ret";
        breaks(PS_5_0, twice, 1, "error: fp0 is declared twice");
    }
}
