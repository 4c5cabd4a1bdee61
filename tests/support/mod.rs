//! What tests share. Each test binary has the modules it needs, some of them unused in it.
#![allow(dead_code)]

pub mod assembler;
pub mod components;
pub mod emissions;
pub mod groups;
pub mod interfaces;
pub mod opcodes;
pub mod program;
pub mod run;
pub mod sections;
pub mod textures;
#[cfg(feature = "cli")]
pub mod tool;
pub mod ways;

use shaderjit::frontend::sm4;
