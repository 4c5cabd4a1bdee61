//! The tables of the signatures.

use std::fmt::Write;

use super::{line, malformed};
use crate::container::dxbc::{Dxbc, Signature, SignatureElement, SystemValue};
use crate::error::ContainerError;
use crate::frontend::sm4::codes::MinPrecision;
use crate::frontend::sm4::{Dialect, Stage};

/// How a signature is used: what its second mask means, and whether its semantics name system values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Written,
    /// Written by a pixel shader, whose system values are not stored.
    Target,
}

pub(super) fn tables(out: &mut String, dxbc: &Dxbc<'_>, stage: Stage, dialect: Dialect) {
    let patch = if stage == Stage::Domain { Direction::Read } else { Direction::Written };
    let output = if stage == Stage::Pixel { Direction::Target } else { Direction::Written };
    let tables = [
        ("Patch Constant", dxbc.patch_constant_signature(), patch),
        ("Input", dxbc.input_signature(), Direction::Read),
        ("Output", dxbc.output_signature(), output),
    ];
    for (title, signature, direction) in tables {
        table(out, title, signature, direction, dialect);
    }
}

fn table(
    out: &mut String,
    title: &str,
    signature: Result<Option<Signature<'_>>, ContainerError>,
    direction: Direction,
    dialect: Dialect,
) {
    let signature = match signature {
        Ok(Some(signature)) => signature,
        Ok(None) => return,
        Err(error) => return malformed(out, &error),
    };
    line!(out);
    line!(out, "{title} signature:");
    line!(out);
    let format_width = dialect.spelling().format_width;
    line!(out, "Name                 Index   Mask Register SysValue {:>format_width$}   Used", "Format");
    line!(out, "-------------------- ----- ------ -------- -------- {:->format_width$} ------", "");
    if signature.elements.is_empty() {
        return line!(out, "no {title}");
    }
    for element in &signature.elements {
        let system_value = match direction {
            Direction::Target => element.effective_system_value(),
            _ => element.system_value,
        };
        let used = match direction {
            Direction::Read => element.rw_mask,
            _ => element.written(),
        };
        let (mask, register, used) = match element.register {
            Some(register) => (letters(element.mask), register.to_string(), letters(used)),
            None => {
                let used = if used == 0 { "NO" } else { "YES" };
                ("N/A".to_string(), register_name(system_value).to_string(), used.to_string())
            }
        };
        line!(
            out,
            "{name:<20} {index:>5} {mask:>6} {register:>8} {system_value:>8} {format:>format_width$} {used:>6}",
            name = name(element, &signature),
            index = element.index,
            system_value = system_value_name(system_value),
            format = format(element),
        );
    }
    line!(out);
}

/// The semantic, behind the stream's number if the shader has several.
fn name(element: &SignatureElement<'_>, signature: &Signature<'_>) -> String {
    match signature.elements.iter().any(|element| element.stream != 0) {
        true => format!("m{}:{}", element.stream, element.semantic),
        false => element.semantic.to_string(),
    }
}

/// The column `Format`: the type of the components, or the minimum precision that stands in for it.
fn format(element: &SignatureElement<'_>) -> String {
    match MinPrecision::from_number(element.min_precision.0) {
        None | Some(MinPrecision::Default) => element.component_type.to_string(),
        Some(minimum) => minimum.name().to_string(),
    }
}

/// Four columns, a letter or a blank each.
fn letters(mask: u8) -> String {
    "xyzw".chars().enumerate().map(|(bit, letter)| if mask >> bit & 1 != 0 { letter } else { ' ' }).collect()
}

/// What an element without a register is in the instructions.
fn register_name(value: SystemValue) -> &'static str {
    match value {
        SystemValue::DEPTH => "oDepth",
        SystemValue::DEPTH_GREATER_EQUAL => "oDepthGE",
        SystemValue::DEPTH_LESS_EQUAL => "oDepthLE",
        SystemValue::COVERAGE => "oMask",
        // The blanks are the reference's own.
        SystemValue::STENCIL_REF => "   oStencilRef",
        SystemValue::PRIMITIVE_ID => "primID",
        _ => "special",
    }
}

fn system_value_name(value: SystemValue) -> String {
    let name = match value {
        SystemValue::NONE => "NONE",
        SystemValue::POSITION => "POS",
        SystemValue::CLIP_DISTANCE => "CLIPDST",
        SystemValue::CULL_DISTANCE => "CULLDST",
        SystemValue::RENDER_TARGET_ARRAY_INDEX => "RTINDEX",
        SystemValue::VIEWPORT_ARRAY_INDEX => "VPINDEX",
        SystemValue::VERTEX_ID => "VERTID",
        SystemValue::PRIMITIVE_ID => "PRIMID",
        SystemValue::INSTANCE_ID => "INSTID",
        SystemValue::IS_FRONT_FACE => "FFACE",
        SystemValue::SAMPLE_INDEX => "SAMPLE",
        SystemValue::FINAL_QUAD_EDGE_TESS_FACTOR => "QUADEDGE",
        SystemValue::FINAL_QUAD_INSIDE_TESS_FACTOR => "QUADINT",
        SystemValue::FINAL_TRI_EDGE_TESS_FACTOR => "TRIEDGE",
        SystemValue::FINAL_TRI_INSIDE_TESS_FACTOR => "TRIINT",
        SystemValue::FINAL_LINE_DETAIL_TESS_FACTOR => "LINEDET",
        SystemValue::FINAL_LINE_DENSITY_TESS_FACTOR => "LINEDEN",
        SystemValue::BARYCENTRICS => "BARYCEN",
        SystemValue::SHADING_RATE => "SHDINGRATE",
        SystemValue::CULL_PRIMITIVE => "CULLPRIM",
        SystemValue::TARGET => "TARGET",
        SystemValue::DEPTH => "DEPTH",
        SystemValue::COVERAGE => "COVERAGE",
        SystemValue::DEPTH_GREATER_EQUAL => "DEPTHGE",
        SystemValue::DEPTH_LESS_EQUAL => "DEPTHLE",
        SystemValue::STENCIL_REF => "STENCILREF",
        SystemValue::INNER_COVERAGE => "INNERCOV",
        other => return other.to_string(),
    };
    name.to_string()
}
