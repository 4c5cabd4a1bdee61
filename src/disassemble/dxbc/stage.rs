//! The tables of hull and domain shaders.

use std::fmt::Write;

use super::line;
use crate::frontend::sm4::codes::{TessDomain, TessOutput, TessPartitioning};
use crate::frontend::sm4::{Declaration, Program, Stage};

pub(super) fn tables(out: &mut String, program: &Program) {
    if !matches!(program.version.stage, Stage::Hull | Stage::Domain) {
        return;
    }
    let (mut domain, mut control_points, mut partitioning, mut output) = ("", 0, "", "");
    for declaration in program.instructions.iter().filter_map(|instruction| instruction.declaration()) {
        match declaration {
            Declaration::TessDomain(value) => domain = domain_name(*value),
            // A hull shader declares both counts, its input's first: what counts is the patch that the tessellator
            // gets.
            Declaration::InputControlPointCount(count) | Declaration::OutputControlPointCount(count) => {
                control_points = *count;
            }
            Declaration::TessPartitioning(value) => partitioning = partitioning_name(*value),
            Declaration::TessOutput(value) => output = output_name(*value),
            _ => {}
        }
    }
    line!(out, "Tessellation Domain   # of control points");
    line!(out, "-------------------- --------------------");
    line!(out, "{domain:<20} {control_points:>20}");
    line!(out);
    if program.version.stage == Stage::Hull {
        line!(out, "Tessellation Output Primitive  Partitioning Type ");
        line!(out, "------------------------------ ------------------");
        line!(out, "{output:<30} {partitioning:<18}");
        line!(out);
    }
}

fn domain_name(domain: TessDomain) -> &'static str {
    match domain {
        TessDomain::Undefined => "Undefined",
        TessDomain::Isoline => "Isoline",
        TessDomain::Tri => "Triangle",
        TessDomain::Quad => "Quadrilateral",
    }
}

fn partitioning_name(partitioning: TessPartitioning) -> &'static str {
    match partitioning {
        TessPartitioning::Undefined => "Undefined",
        TessPartitioning::Integer => "Integer",
        TessPartitioning::Pow2 => "Integer Power of 2",
        TessPartitioning::FractionalOdd => "Odd Fractional",
        TessPartitioning::FractionalEven => "Even Fractional",
    }
}

fn output_name(output: TessOutput) -> &'static str {
    match output {
        TessOutput::Undefined => "Undefined",
        TessOutput::Point => "Point",
        TessOutput::Line => "Line",
        TessOutput::TriangleCw => "Clockwise Triangles",
        TessOutput::TriangleCcw => "Counter-Clockwise Triangles",
    }
}
