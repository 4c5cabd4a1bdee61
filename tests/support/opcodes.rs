//! Which opcodes of shader model 4 and 5 run, and for each that does not a valid program around it.

use super::program::Source;
use super::sm4::opcode::{DataClass, Role};
use super::sm4::{Group, Opcode, Stage};
use std::path::{Path, PathBuf};

/// Whether shaders of some stage run with this opcode.
pub fn runs(opcode: Opcode) -> bool {
    Stage::ALL.iter().any(|&stage| super::sm4::runs(stage, opcode))
}

/// Whether it is an instruction: neither a declaration nor a block of data.
pub fn is_instruction(opcode: &Opcode) -> bool {
    !matches!(opcode.group(), Group::Declaration | Group::CustomData)
}

/// The file that says what an opcode must compute.
pub fn file(opcode: Opcode) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/sm4");
    folder.join(opcode.mnemonic()).with_extension("op")
}

/// A valid pixel shader of the instruction.
pub fn program_with(opcode: Opcode) -> Source {
    let mnemonic = opcode.mnemonic();
    if opcode == Opcode::Sync {
        return Source::new("ps_5_0\nsync_uglobal");
    }
    // The view is a structured buffer, a raw one, a texture of several samples or a texture, as the name tells.
    let writable =
        opcode.slots()[0].class == DataClass::View || mnemonic.contains("uav") || mnemonic.contains("atomic");
    let (file, kind) = if writable { ('u', "uav") } else { ('t', "resource") };
    let view = match mnemonic {
        name if name.contains("structured") => format!("dcl_{kind}_structured {file}0, 16"),
        // These count in a hidden counter.
        "imm_atomic_alloc" | "imm_atomic_consume" => "dcl_uav_structured!0x800000 u0, 16".to_string(),
        name if name.contains("raw") => format!("dcl_{kind}_raw {file}0"),
        name if name.contains("ms") || name == "samplepos" => {
            "dcl_resource_texture2dms!0x40000 (float,float,float,float) t0".to_string()
        }
        _ if writable => "dcl_uav_typed_texture2d (uint,uint,uint,uint) u0".to_string(),
        _ => "dcl_resource_texture2d (float,float,float,float) t0".to_string(),
    };
    let sampler = if mnemonic.contains("_c") { "dcl_sampler s0, mode_comparison" } else { "dcl_sampler s0" };
    let has = |class| opcode.slots().iter().any(|slot| slot.class == class);
    let mut text = "ps_5_0\n".to_string();
    for (_, line) in
        [(has(DataClass::View), view.as_str()), (has(DataClass::Sampler), sampler)].iter().filter(|it| it.0)
    {
        text += line;
        text += "\n";
    }
    let mut outputs = 0..;
    let operands = opcode.slots().iter().map(|slot| match (slot.role, slot.class) {
        (Role::Destination, DataClass::View) => "u0.xyzw".to_string(),
        (_, DataClass::View) => format!("{file}0.xyzw"),
        (_, DataClass::Sampler) => "s0".to_string(),
        (Role::Destination, _) => format!("o{}.xyzw", outputs.next().expect("it has no end")),
        (Role::Source, DataClass::Float) => "v0.xyzw".to_string(),
        (Role::Source, _) => "l(0, 0, 0, 0)".to_string(),
    });
    let operands: Vec<String> = operands.collect();
    Source::new(&format!("{text}{mnemonic} {}", operands.join(", ")))
}
