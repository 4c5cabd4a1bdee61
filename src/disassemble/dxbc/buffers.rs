//! Buffer definitions: constant buffers and the element layouts of structured buffers, member by member.

use std::fmt::Write;

use super::line;
use crate::container::dxbc::{ConstantBuffer, ConstantBufferType, ResourceDefinitions, Type, TypeClass, Variable};

/// Where `// Offset:` begins in a line: a name that reaches this far pushes it on.
const OFFSET_COLUMN: usize = 40;

pub(super) fn definitions(out: &mut String, definitions: &ResourceDefinitions<'_>) {
    if definitions.constant_buffers.is_empty() {
        return;
    }
    line!(out, "Buffer Definitions: ");
    line!(out);
    for buffer in &definitions.constant_buffers {
        let ConstantBuffer { name, kind, variables, .. } = buffer;
        match *kind {
            ConstantBufferType::RESOURCE_BIND_INFO => line!(out, "Resource bind info for {name}"),
            kind => line!(out, "{kind} {name}"),
        }
        line!(out, "{{");
        line!(out);
        let mut listing = Members { out, definitions };
        for (number, variable) in variables.iter().enumerate() {
            listing.variable(variable, number == 0);
        }
        line!(out);
        line!(out, "}}");
        line!(out);
    }
    line!(out);
}

struct Members<'o, 'd, 'a> {
    out: &'o mut String,
    definitions: &'d ResourceDefinitions<'a>,
}

impl Members<'_, '_, '_> {
    fn variable(&mut self, variable: &Variable<'_>, first: bool) {
        let ty = self.definitions.type_of(variable.ty);
        self.declaration(ty, &variable.name, variable.offset, 1, first);
        let unused = if variable.is_used() { "" } else { " [unused]" };
        self.text(format_args!(" Size: {:>5}{unused}\n", variable.size));
        if let Some(default) = variable.default_dwords() {
            for (number, word) in default.enumerate() {
                match number {
                    0 => self.text(format_args!("//      = ")),
                    number if number % 4 == 0 => self.text(format_args!("\n//        ")),
                    _ => {}
                }
                self.text(format_args!("{word:#010x} "));
            }
            self.text(format_args!("\n"));
        }
    }

    /// A variable or member up to its offset, at a depth of indentation. A struct's members come first, each a line.
    ///
    /// The recursion is as deep as types nest, which the container stage bounds.
    fn declaration(&mut self, ty: &Type<'_>, name: &impl std::fmt::Display, offset: u32, depth: usize, first: bool) {
        let indent = format!("// {:width$}", "", width = 4 * depth - 2);
        // One element stands for no array too: so prints an array of constant buffers, each of which is one.
        let array = match ty.elements {
            0 | 1 => String::new(),
            elements => format!("[{elements}]"),
        };
        let declared = if ty.class == TypeClass::STRUCT {
            if !first {
                self.text(format_args!("{indent}\n"));
            }
            self.text(format_args!("{indent}{ty}\n{indent}{{\n{indent}    \n"));
            for (number, member) in ty.members.iter().enumerate() {
                let ty = self.definitions.type_of(member.ty);
                self.declaration(ty, &member.name, offset.wrapping_add(member.offset), depth + 1, number == 0);
                self.text(format_args!("\n"));
            }
            self.text(format_args!("//\n"));
            format!("{indent}}} {name}{array};")
        } else {
            format!("{indent}{ty} {name}{array};")
        };
        self.text(format_args!("{declared:<OFFSET_COLUMN$}// Offset: {offset:>4}"));
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a String takes any text");
    }
}
