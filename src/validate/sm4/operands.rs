//! Operands: what an instruction names is declared, in range, of a kind it can read or write, and has the components it
//! uses.

use super::declared::Declared;
use crate::frontend::sm4::codes::Stage;
use crate::frontend::sm4::opcode::{DataClass, Group, Role, Slot};
use crate::frontend::sm4::operand::{Component, Components, Index, Mask, Operand, RegisterFile};
use crate::frontend::sm4::{Instruction, Opcode};
use crate::validate::Findings;

/// Checks the operands of one instruction.
pub(super) fn check(instruction: &Instruction, declared: &Declared, findings: &mut Findings) {
    let opcode = instruction.opcode();
    let stage = declared.version().stage;
    if stages(opcode).is_some_and(|only| only != stage) {
        findings.error(instruction.offset, format_args!("{opcode} in {} code", stage.name()));
    }
    let operands = instruction.operands();
    let written = operands[..opcode.destinations().min(operands.len())]
        .iter()
        .fold(0, |mask, operand| mask | operand.components().written().bits());
    let mut checker = Checker { offset: instruction.offset, declared, findings };
    for (operand, slot) in operands.iter().zip(opcode.slots()) {
        match slot.role {
            Role::Destination => checker.destination(operand, slot),
            Role::Source => checker.source(operand, slot, reads(opcode, Mask::from_bits(written.into()))),
        }
    }
}

struct Checker<'a> {
    offset: usize,
    declared: &'a Declared,
    findings: &'a mut Findings,
}

/// The components of its sources that an instruction reads before they are swizzled, given those it writes; `None`
/// where each operand has rules of its own.
fn reads(opcode: Opcode, written: Mask) -> Option<Mask> {
    use Opcode::{Dp2, Dp3, Dp4, EvalSampleIndex, EvalSnapped};
    let plain = matches!(opcode.group(), Group::Float | Group::Int | Group::Uint | Group::Bit)
        && opcode.slots().iter().all(|slot| slot.class != DataClass::Double);
    match opcode {
        Dp2 => Some(Mask::from_bits(0b0011)),
        Dp3 => Some(Mask::from_bits(0b0111)),
        Dp4 => Some(Mask::ALL),
        EvalSampleIndex | EvalSnapped => None,
        _ if plain => Some(written),
        _ => None,
    }
}

/// The stage that an opcode is for; `None` for all.
fn stages(opcode: Opcode) -> Option<Stage> {
    use Opcode::*;
    match opcode {
        Emit | Cut | EmitThenCut | EmitStream | CutStream | EmitThenCutStream => Some(Stage::Geometry),
        Discard | DerivRtx | DerivRty | DerivRtxCoarse | DerivRtxFine | DerivRtyCoarse | DerivRtyFine => {
            Some(Stage::Pixel)
        }
        Lod | Sample | SampleB | SampleC | SampleClS | SampleBClS | SampleCClS => Some(Stage::Pixel),
        EvalSnapped | EvalSampleIndex | EvalCentroid => Some(Stage::Pixel),
        _ => None,
    }
}

/// What a register file is good for.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Temp,
    Array,
    Input,
    Output,
    Immediate,
    Buffer,
    ImmediateBuffer,
    View,
    Sampler,
    Stream,
    Interface,
    This,
    Null,
    /// `label`, `fb` and other names that are no data.
    Other,
}

fn kind(file: RegisterFile) -> Kind {
    use RegisterFile::*;
    match file {
        Temp => Kind::Temp,
        IndexableTemp => Kind::Array,
        Input | InputControlPoint | OutputControlPoint | PatchConstant | DomainPoint | PrimitiveId => Kind::Input,
        OutputControlPointId | ForkInstanceId | JoinInstanceId | GsInstanceId => Kind::Input,
        ThreadId | ThreadGroupId | ThreadIdInGroup | ThreadIdInGroupFlattened => Kind::Input,
        InputCoverage | InnerCoverage | CycleCounter => Kind::Input,
        Output | OutputDepth | OutputDepthGe | OutputDepthLe | OutputCoverage | OutputStencilRef => Kind::Output,
        Immediate32 | Immediate64 => Kind::Immediate,
        ConstantBuffer => Kind::Buffer,
        ImmediateConstants => Kind::ImmediateBuffer,
        Resource | UnorderedAccess | GroupShared => Kind::View,
        Sampler => Kind::Sampler,
        Stream => Kind::Stream,
        Interface => Kind::Interface,
        ThisPointer => Kind::This,
        Null => Kind::Null,
        Label | Rasterizer | FunctionBody | FunctionTable | FunctionInput | FunctionOutput => Kind::Other,
    }
}

impl Checker<'_> {
    fn error(&mut self, message: std::fmt::Arguments<'_>) {
        self.findings.error(self.offset, message);
    }

    fn destination(&mut self, operand: &Operand, slot: &Slot) {
        let file = operand.file();
        let writable = match (slot.class, kind(file)) {
            (DataClass::View, _) => matches!(file, RegisterFile::UnorderedAccess | RegisterFile::GroupShared),
            (_, Kind::Temp | Kind::Array | Kind::Output | Kind::Null) => true,
            _ => false,
        };
        match writable {
            true => self.operand(operand, Some(operand.components().written())),
            false => self.error(format_args!("{} is written", file.letters())),
        }
    }

    fn source(&mut self, operand: &Operand, slot: &Slot, reads: Option<Mask>) {
        let (file, kind) = (operand.file(), kind(operand.file()));
        let readable = match slot.class {
            DataClass::View => kind == Kind::View || file == RegisterFile::Rasterizer,
            DataClass::Sampler => kind == Kind::Sampler,
            DataClass::Label => matches!(file, RegisterFile::Label | RegisterFile::FunctionBody),
            DataClass::Stream => kind == Kind::Stream,
            DataClass::Interface => kind == Kind::Interface,
            _ => matches!(
                kind,
                Kind::Temp
                    | Kind::Array
                    | Kind::Input
                    | Kind::Immediate
                    | Kind::Buffer
                    | Kind::ImmediateBuffer
                    | Kind::This
            ),
        };
        if !readable {
            return self.error(format_args!("{} is read", file.letters()));
        }
        self.operand(operand, used(operand.components(), reads));
    }

    /// What an operand names, and what it is indexed with. `used` are components of the register, if they are known.
    fn operand(&mut self, operand: &Operand, used: Option<Mask>) {
        let (file, mut indices) = (operand.file(), [None; 3]);
        for (n, index) in operand.indices().enumerate() {
            // Indices are nested as deep as decoding allows at most.
            if let Some(relative) = index.relative {
                self.index(relative);
            }
            indices[n] = Some(index);
        }
        match (kind(file), indices) {
            (Kind::Temp, [Some(Index { immediate, relative: None }), None, _]) => {
                let temps = self.declared.temps();
                if immediate >= temps {
                    self.error(format_args!("r{immediate} is used, {temps} are declared"));
                }
            }
            (Kind::Array, [Some(Index { immediate: number, relative: None }), Some(place), None]) => {
                self.array(number, place, used);
            }
            (Kind::Input | Kind::Output, _) => self.register(operand, used),
            (Kind::Buffer, [Some(id), Some(row), None]) if !self.has_spaces() => {
                if let Some(rows) = self.bound(file, id, None) {
                    self.row(id.immediate, row, rows);
                }
            }
            (Kind::Buffer, [Some(id), Some(slot), Some(row)]) if self.has_spaces() => {
                if let Some(rows) = self.bound(file, id, Some(slot)) {
                    self.row(id.immediate, row, rows);
                }
            }
            (Kind::ImmediateBuffer, [Some(row), None, _]) => match self.declared.immediate_rows() {
                Some(rows) => {
                    if row.relative.is_none() && row.immediate >= rows {
                        let row = row.immediate;
                        self.error(format_args!("icb[{row}] is read, there are {rows} rows"));
                    }
                }
                None => self.error(format_args!("there is no immediate constant buffer")),
            },
            (Kind::View, [Some(id), None, _]) if file == RegisterFile::GroupShared || !self.has_spaces() => {
                self.bound(file, id, None);
            }
            (Kind::Sampler, [Some(id), None, _]) if !self.has_spaces() => _ = self.bound(file, id, None),
            (Kind::View | Kind::Sampler, [Some(id), Some(slot), None]) => _ = self.bound(file, id, Some(slot)),
            (Kind::Stream, [Some(Index { immediate, relative: None }), None, _]) => {
                if !self.declared.has_stream(immediate) {
                    self.error(format_args!("m{immediate} is not declared"));
                }
            }
            (Kind::Interface, [Some(Index { immediate: number, relative: None }), place, None]) => {
                self.interface(number, place);
            }
            (Kind::Immediate | Kind::This | Kind::Null | Kind::Other, _) => {}
            _ => {
                let (letters, count) = (file.letters(), operand.index_count());
                self.error(format_args!("{letters} has {count} indices, or a dynamic one it cannot have"));
            }
        }
    }

    fn has_spaces(&self) -> bool {
        self.declared.version().has_register_spaces()
    }

    /// An operand that is an index: one component.
    fn index(&mut self, operand: &Operand) {
        let component = match operand.components() {
            Components::Select(component) => Mask::from_bits(1 << component.index()),
            Components::None | Components::One => Mask::from_bits(1),
            Components::Mask(_) | Components::Swizzle(_) => {
                return self.error(format_args!("an index has more than one component"));
            }
        };
        match kind(operand.file()) {
            Kind::Temp | Kind::Array | Kind::Input | Kind::Buffer | Kind::ImmediateBuffer | Kind::This => {
                self.operand(operand, Some(component));
            }
            Kind::Immediate => {}
            _ => self.error(format_args!("{} is an index", operand.file().letters())),
        }
    }

    fn array(&mut self, number: u32, place: Index<'_>, used: Option<Mask>) {
        let Some(array) = self.declared.array(number) else {
            return self.error(format_args!("x{number} is not declared"));
        };
        if place.relative.is_none() && place.immediate >= array.size {
            let (place, size) = (place.immediate, array.size);
            self.error(format_args!("x{number}[{place}] is used, it has {size} registers"));
        }
        let has = (1u32 << array.components.min(4)) - 1;
        if let Some(missing) = used.filter(|used| u32::from(used.bits()) & !has != 0) {
            let missing = Mask::from_bits(u32::from(missing.bits()) & !has);
            self.error(format_args!("x{number} has no component {missing}"));
        }
    }

    /// An input or output: `v3`, `v[vertex][3]`, `vPrim`.
    fn register(&mut self, operand: &Operand, used: Option<Mask>) {
        let file = operand.file();
        let letters = file.letters();
        let last = operand.index_count().checked_sub(1).and_then(|last| operand.index(last));
        if last.is_some_and(|last| last.relative.is_some()) {
            if !self.declared.is_indexed(file) {
                self.error(format_args!("{letters} is indexed dynamically and has no index range"));
            }
            return;
        }
        let number = last.map_or(0, |last| last.immediate);
        let name = || if last.is_some() { format!("{letters}{number}") } else { letters.to_string() };
        let Some(register) = self.declared.register(file, number) else {
            return self.error(format_args!("{} is not declared", name()));
        };
        if let (2, Some(vertex)) = (operand.index_count(), operand.index(0))
            && vertex.relative.is_none()
            && vertex.immediate >= register.vertices
        {
            let (vertex, vertices) = (vertex.immediate, register.vertices);
            self.error(format_args!("{letters}[{vertex}][{number}] is read, there are {vertices}"));
        }
        if let Some(missing) = used.map(|used| used.bits() & !register.mask).filter(|&missing| missing != 0) {
            self.error(format_args!("{}.{} is not declared", name(), Mask::from_bits(missing.into())));
        }
    }

    /// What is bound: its rows, if it is declared. In shader model 5.1 the second index is a register of the range.
    fn bound(&mut self, file: RegisterFile, id: Index<'_>, slot: Option<Index<'_>>) -> Option<u32> {
        if id.relative.is_some() {
            // What a class instance brings along is known when it is bound.
            return None;
        }
        let (id, letters) = (id.immediate, file.letters());
        let Some(bound) = self.declared.bound(file, id) else {
            self.error(format_args!("{letters}{id} is not declared"));
            return None;
        };
        if let Some(Index { immediate: slot, relative: None }) = slot
            && !bound.slots.contains(&slot)
        {
            let (lower, upper) = bound.slots.into_inner();
            self.error(format_args!("{letters}{id} has the registers {lower} to {upper}, {slot} is used"));
        }
        Some(bound.rows)
    }

    /// A row of a constant buffer. One of 0 rows does not say how many it has.
    fn row(&mut self, id: u32, row: Index<'_>, rows: u32) {
        if row.relative.is_none() && rows != 0 && row.immediate >= rows {
            let row = row.immediate;
            self.error(format_args!("row {row} of cb{id} is read, {rows} are declared"));
        }
    }

    fn interface(&mut self, number: u32, place: Option<Index<'_>>) {
        match (self.declared.interface(number), place) {
            (None, _) => self.error(format_args!("fp{number} is not declared")),
            (Some(length), Some(Index { immediate: place, relative: None })) if place >= length => {
                self.error(format_args!("fp{number}[{place}] is called, there are {length}"));
            }
            _ => {}
        }
    }
}

/// The components of the register that a source uses when the instruction reads `reads` of its four.
fn used(components: Components, reads: Option<Mask>) -> Option<Mask> {
    match components {
        Components::Select(component) => Some(Mask::from_bits(1 << component.index())),
        Components::None | Components::One => Some(Mask::from_bits(1)),
        Components::Mask(mask) => Some(mask),
        Components::Swizzle(swizzle) => {
            let bit = |component: Component| 1 << swizzle.get(component).index();
            reads.map(|reads| Mask::from_bits(reads.components().fold(0, |mask, component| mask | bit(component))))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::validate::sm4::testing::*;

    /// A vertex shader with registers of most kinds, and this instruction.
    const REGISTERS: &str = "dcl_constantbuffer cb0[4].xyzw\n dcl_sampler s0\n dcl_resource!0x1800 t0, 0x5555\n\
                             dcl_input v0.xyz\n dcl_input v1.xyz\n dcl_input v2.xyz\n dcl_output o0.xy\n\
                             dcl_temps 2\n dcl_indexableTemp x0[4], 2\n";

    fn is_accepted(line: &str) {
        is_fine(VS_5_0, &format!("{REGISTERS}{line}\nret"));
    }

    fn is_refused(line: &str, message: &str) {
        breaks(VS_5_0, &format!("{REGISTERS}{line}\nret"), 9, &format!("error: {message}"));
    }

    #[test]
    fn temporary_registers_are_counted() {
        is_accepted("mov r0.xyzw, r1.xyzw");
        is_refused("mov r2.x, r1.x", "r2 is used, 2 are declared");
        is_refused("mov r0.x, r9.x", "r9 is used, 2 are declared");
        is_refused("mov r0.x, cb0[r7.x + 1].x", "r7 is used, 2 are declared");
        is_refused("mov x0[1].x, x1[0].x", "x1 is not declared");
        is_refused("mov x0[4].x, r0.x", "x0[4] is used, it has 4 registers");
        is_refused("mov r0.xyz, x0[r0.x + 9].xyzz", "x0 has no component z");
        is_accepted("mov r0.xy, x0[r0.x + 9].xyzz");
    }

    #[test]
    fn inputs_and_outputs_are_declared_by_component() {
        is_accepted("mov o0.xy, v0.zyxw");
        is_refused("mov o0.xy, v0.xwzy", "v0.w is not declared");
        is_refused("mov r0.x, v0.w", "v0.w is not declared");
        is_refused("dp4 r0.x, v0.xyzw, r0.xyzw", "v0.w is not declared");
        is_accepted("dp3 r0.x, v0.xyzw, r0.xyzw");
        is_refused("mov r0.x, v3.x", "v3 is not declared");
        is_refused("mov o0.z, r0.x", "o0.z is not declared");
        is_refused("mov o1.x, r0.x", "o1 is not declared");
        is_refused("mov r0.x, vPrim", "vPrim is not declared");
        is_refused("mov r0.x, v[r0.x + 0].x", "v is indexed dynamically and has no index range");
    }

    #[test]
    fn inputs_of_several_vertices_have_so_many() {
        let program = |line: &str| {
            format!("dcl_inputprimitive!0x1800\n dcl_maxout 1\n dcl_input v[3][1].xy\n dcl_temps 1\n {line}\n ret")
        };
        is_fine(GS_5_0, &program("mov r0.xy, v[2][1].xyxy"));
        is_fine(GS_5_0, &program("mov r0.xy, v[r0.x + 5][1].xyxy"));
        breaks(GS_5_0, &program("mov r0.xy, v[3][1].xyxy"), 4, "error: v[3][1] is read, there are 3");
    }

    #[test]
    fn what_is_bound_is_declared() {
        is_accepted("sample_l r0.xyzw, v0.xyzw, t0.xyzw, s0, l(0.0)");
        is_refused("sample_l r0.xyzw, v0.xyzw, t1.xyzw, s0, l(0.0)", "t1 is not declared");
        is_refused("sample_l r0.xyzw, v0.xyzw, t0.xyzw, s2, l(0.0)", "s2 is not declared");
        is_refused("mov r0.x, cb1[0].x", "cb1 is not declared");
        is_refused("mov r0.x, cb0[4].x", "row 4 of cb0 is read, 4 are declared");
        is_accepted("mov r0.x, cb0[r0.x + 4].x");
        is_refused("mov r0.x, icb[0].x", "there is no immediate constant buffer");
        let ranges = |line: &str| format!("dcl_constantbuffer cb0[2][5].xyzw, 4, 0\n dcl_temps 1\n {line}\n ret");
        is_fine(VS_5_1, &ranges("mov r0.x, cb0[5][3].x"));
        breaks(VS_5_1, &ranges("mov r0.x, cb0[6][3].x"), 2, "error: cb0 has the registers 2 to 5, 6 is used");
        let endless = |line: &str| format!("dcl_resource_raw t1[1][0], 0\n dcl_temps 1\n {line}\n ret");
        is_fine(VS_5_1, &endless("ld_raw r0.xy, l(0), t1[2].xyzw"));
        let outside = "error: t1 has the registers 1 to 4294967295, 0 is used";
        breaks(VS_5_1, &endless("ld_raw r0.xy, l(0), t1[0].xyzw"), 2, outside);
        breaks(VS_5_1, &ranges("mov r0.x, cb0[5][4].x"), 2, "error: row 4 of cb0 is read, 4 are declared");
    }

    #[test]
    fn group_memory_streams_and_interfaces_are_declared() {
        let cs = "dcl_thread_group 1, 1, 1\n dcl_tgsm_raw g0, 4\n";
        is_fine(CS_5_0, &format!("{cs} store_raw g0.x, l(0), l(1)\n ret"));
        breaks(CS_5_0, &format!("{cs} store_raw g1.x, l(0), l(1)\n ret"), 2, "error: g1 is not declared");
        let gs = "dcl_inputprimitive!0x1800\n dcl_maxout 1\n dcl_stream m0\n";
        is_fine(GS_5_0, &format!("{gs} emit_stream m0\n ret"));
        breaks(GS_5_0, &format!("{gs} emit_stream m1\n ret"), 3, "error: m1 is not declared");
    }

    #[test]
    fn registers_are_read_and_written_as_they_may_be() {
        is_refused("mov v0.x, r0.x", "v is written");
        is_refused("mov cb0[0].x, r0.x", "cb is written");
        is_refused("mov r0.x, o0.x", "o is read");
        is_refused("add r0.x, r0.x, null", "null is read");
        is_refused("mov r0.x, t0.x", "t is read");
        is_refused("sample_l r0.xyzw, v0.xyzw, r0.xyzw, s0, l(0.0)", "r is read");
        is_refused("store_raw t0.x, l(0), l(1)", "t is written");
        is_accepted("mov null, r0.x");
        is_refused("mov r0.x, cb0[r0.xyzw + 0].x", "an index has more than one component");
        is_refused("mov r0.x, cb0.x", "cb has 1 indices, or a dynamic one it cannot have");
        is_refused("mov r[r0.x + 0].x, r0.x", "r has 1 indices, or a dynamic one it cannot have");
    }

    #[test]
    fn opcodes_have_their_stages() {
        breaks(VS_5_0, "discard_nz l(1)\n ret", 0, "error: discard in vs code");
        breaks(PS_5_0, "cut\n ret", 0, "error: cut in ps code");
        is_refused("sample r0.xyzw, v0.xyzw, t0.xyzw, s0", "sample in vs code");
    }
}
