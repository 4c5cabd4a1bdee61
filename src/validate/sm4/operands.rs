//! Operands: what an instruction names is declared, in range, of a kind it can read or write, and has the components it uses.

use super::declarations::Declared;
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

/// The components of its sources that an instruction reads before they are swizzled, given those it writes; `None` where each
/// operand has rules of its own.
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
                    self.row("cb", id.immediate, row, rows);
                }
            }
            (Kind::Buffer, [Some(id), Some(slot), Some(row)]) if self.has_spaces() => {
                if let Some(rows) = self.bound(file, id, Some(slot)) {
                    self.row("CB", id.immediate, row, rows);
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
        let name = if last.is_some() { format!("{letters}{number}") } else { letters.to_string() };
        let Some(register) = self.declared.register(file, number) else {
            return self.error(format_args!("{name} is not declared"));
        };
        if let (2, Some(vertex)) = (operand.index_count(), operand.index(0))
            && vertex.relative.is_none()
            && vertex.immediate >= register.vertices
        {
            let (vertex, vertices) = (vertex.immediate, register.vertices);
            self.error(format_args!("{letters}[{vertex}][{number}] is read, there are {vertices}"));
        }
        if let Some(missing) = used.map(|used| used.bits() & !register.mask).filter(|&missing| missing != 0) {
            self.error(format_args!("{name}.{} is not declared", Mask::from_bits(missing.into())));
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
            && !(bound.lower..=bound.upper).contains(&slot)
        {
            let (lower, upper) = (bound.lower, bound.upper);
            self.error(format_args!("{letters}{id} has the registers {lower} to {upper}, {slot} is used"));
        }
        Some(bound.rows)
    }

    /// A row of a constant buffer. One of 0 rows does not say how many it has.
    fn row(&mut self, letters: &str, id: u32, row: Index<'_>, rows: u32) {
        if row.relative.is_none() && rows != 0 && row.immediate >= rows {
            let row = row.immediate;
            self.error(format_args!("{letters}{id}[{row}] is read, {rows} rows are declared"));
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
