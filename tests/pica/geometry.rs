//! Random geometry shaders against a machine that does what the documents say, one invocation after the other:
//! triangles and everything that is left behind, on both engines, in both forms of control flow.

use crate::assembler::{Destination, Program, Source};
use crate::random::Random;
use shaderjit::FlowForm;
use shaderjit::frontend::pica::opcode::{Field, Opcode};
use shaderjit::pica::{EmittedTriangles, GeometryInput, GeometryState, StateRow};
use shaderjit::{
    Backend, CompileOptions, CompiledShader, Config, Engine, Indices, Lanes, PicaUniforms, Shader, Stage,
    VertexBufferView, error::CallError,
};

type Row = [f32; 4];

/// A register as instructions name it: v0 is 0, r0 is 0x10, c0 is 0x20; as a destination o0 is 0, r0 is 0x10.
const TEMPORARIES: u32 = 0x10;
const UNIFORMS: u32 = 0x20;

/// A program as a tree.
#[derive(Clone, Debug)]
enum Statement {
    Arithmetic {
        opcode: Opcode,
        to: u32,
        mask: [bool; 4],
        sources: [Operand; 2],
    },
    /// MOV from a uniform relative to `a0.x`.
    Relative {
        to: u32,
        base: u32,
    },
    /// MOVA to `a0.x`.
    Address(Operand),
    /// `cmp.x = a.x < b.x`, `cmp.y = a.y >= b.y`.
    Compare([Operand; 2]),
    /// If `cmp.x`.
    If(Vec<Statement>),
    /// If `b15`.
    IfRan(Vec<Statement>),
    /// LOOP with `i0`.
    Loop(Vec<Statement>),
    SetEmit {
        buffer: u32,
        ends: bool,
        inverted: bool,
    },
    Emit,
}

#[derive(Clone, Copy, Debug)]
struct Operand {
    register: u32,
    swizzle: [u32; 4],
    negate: bool,
}

impl Operand {
    fn source(self) -> Source {
        Source { register: self.register, swizzle: self.swizzle, negate: self.negate }
    }
}

// ---- making programs

struct Maker {
    random: Random,
    has_loop: bool,
}

impl Maker {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound)
    }

    fn operand(&mut self, wide: bool) -> Operand {
        let register = match self.below(if wide { 3 } else { 2 }) {
            0 => self.below(2),
            1 => TEMPORARIES + self.below(3),
            _ => UNIFORMS + self.below(4),
        };
        Operand { register, swizzle: std::array::from_fn(|_| self.below(4)), negate: self.below(4) == 0 }
    }

    /// Mostly whole registers, so that some programs depend on nothing that was left behind.
    fn mask(&mut self) -> [bool; 4] {
        if self.below(3) > 0 { [true; 4] } else { std::array::from_fn(|_| self.below(2) == 0) }
    }

    fn destination(&mut self) -> u32 {
        if self.below(3) == 0 { TEMPORARIES + self.below(3) } else { self.below(3) }
    }

    fn statements(&mut self, count: u32, depth: u32) -> Vec<Statement> {
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Statement {
        match self.below(if depth == 0 { 12 } else { 16 }) {
            0..5 => {
                let opcode = [Opcode::Mov, Opcode::Add, Opcode::Mul][self.below(3) as usize];
                let (to, mask) = (self.destination(), self.mask());
                Statement::Arithmetic { opcode, to, mask, sources: [self.operand(true), self.operand(false)] }
            }
            5 => Statement::Relative { to: self.destination(), base: self.below(8) },
            6 => Statement::Address(self.operand(true)),
            7 => Statement::Compare([self.operand(true), self.operand(false)]),
            8 | 9 => {
                let [ends, inverted] = [0; 2].map(|_| self.below(3) == 0);
                Statement::SetEmit { buffer: self.below(13) / 4, ends, inverted }
            }
            10 | 11 => Statement::Emit,
            12 | 13 => Statement::If(self.block(depth)),
            14 => Statement::IfRan(self.block(depth)),
            _ if self.has_loop => Statement::If(self.block(depth)),
            _ => {
                self.has_loop = true;
                Statement::Loop(self.block(depth))
            }
        }
    }

    fn block(&mut self, depth: u32) -> Vec<Statement> {
        let count = 1 + self.below(5);
        self.statements(count, depth - 1)
    }

    /// A program that looks at nothing that was left behind: triangles of whole registers, one of them under a
    /// condition.
    fn tidy_program(&mut self) -> Vec<Statement> {
        let mut statements = self.tidy_triangle();
        statements.push(Statement::Compare([self.input(), self.input()]));
        statements.push(Statement::If(self.tidy_triangle()));
        statements.extend(self.tidy_triangle());
        statements
    }

    fn input(&mut self) -> Operand {
        Operand { register: self.below(2), ..self.operand(true) }
    }

    fn tidy_triangle(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        for buffer in 0..3 {
            statements.push(Statement::SetEmit { buffer, ends: buffer == 2, inverted: self.below(2) == 0 });
            for to in 0..3 {
                let sources = [self.input(), self.input()];
                statements.push(Statement::Arithmetic { opcode: Opcode::Mov, to, mask: [true; 4], sources });
            }
            statements.push(Statement::Emit);
        }
        statements
    }
}

fn assemble(program: &mut Program, statements: &[Statement]) {
    for statement in statements {
        match statement {
            Statement::Arithmetic { opcode, to, mask, sources } => {
                let count = if *opcode == Opcode::Mov { 1 } else { 2 };
                let sources: Vec<Source> = sources[..count].iter().map(|source| source.source()).collect();
                program.op(*opcode, Destination { register: *to, mask: *mask }, &sources);
            }
            Statement::Relative { to, base } => {
                program.op(Opcode::Mov, Destination::new(*to), &[Source::new(UNIFORMS + base)]);
                let index = Opcode::Mov.picture().place(Field::Index, 1).expect("it has the field");
                *program.words.last_mut().expect("there is one") |= index;
            }
            Statement::Address(source) => program.op(Opcode::Mova, Destination::component(0, 0), &[source.source()]),
            Statement::Compare([a, b]) => {
                program.op(Opcode::Cmp, Destination::new(0), &[a.source(), b.source()]);
                let place = |field, value| Opcode::Cmp.picture().place(field, value).expect("it has the field");
                *program.words.last_mut().expect("there is one") |=
                    place(Field::CompareX, 2) | place(Field::CompareY, 5);
            }
            Statement::If(body) => scope(program, Opcode::Ifc, body),
            Statement::IfRan(body) => scope(program, Opcode::Ifu, body),
            Statement::Loop(body) => scope(program, Opcode::Loop, body),
            &Statement::SetEmit { buffer, ends, inverted } => program.word(
                Opcode::Setemit,
                &[(Field::Vertex, buffer), (Field::Primitive, ends.into()), (Field::Winding, inverted.into())],
            ),
            Statement::Emit => program.word(Opcode::Emit, &[]),
        }
    }
}

/// A body, with a NOP behind so that no two scopes of a kind end on one word.
fn scope(program: &mut Program, opcode: Opcode, body: &[Statement]) {
    let at = program.words.len();
    program.word(Opcode::Nop, &[]);
    assemble(program, body);
    if opcode == Opcode::Loop {
        program.word(Opcode::Nop, &[]);
    }
    let end = program.words.len() as u32;
    program.word(Opcode::Nop, &[]);
    let fields: &[(Field, u32)] = match opcode {
        Opcode::Ifc => &[(Field::Target, end), (Field::ReferenceX, 1), (Field::Combine, 2)],
        Opcode::Ifu => &[(Field::Target, end), (Field::Bool, 15)],
        // The last word of the body.
        _ => &[(Field::Target, end - 1), (Field::Int, 0)],
    };
    let behind = program.words.split_off(at + 1);
    program.words.pop();
    program.word(opcode, fields);
    program.words.extend(behind);
}

// ---- the machine

#[derive(Clone)]
struct Machine {
    temporaries: [Row; 16],
    banks: [[Row; 16]; 2],
    bank: usize,
    buffers: [[Row; 16]; 3],
    a0x: i32,
    a_l: i32,
    flags: [bool; 2],
    latch: (u32, bool, bool),
    ran: bool,
}

struct Triangle {
    invocation: u32,
    inverted: bool,
    vertices: [[Row; 16]; 3],
}

struct World<'a> {
    uniforms: &'a PicaUniforms,
    emitted: [u8; 16],
    inputs: [Row; 2],
    invocation: u32,
    triangles: Vec<Triangle>,
}

impl Machine {
    fn new() -> Machine {
        Machine {
            temporaries: [[0.0; 4]; 16],
            banks: [[[0.0; 4]; 16]; 2],
            bank: 0,
            buffers: [[[0.0; 4]; 16]; 3],
            a0x: 0,
            a_l: 0,
            flags: [false; 2],
            latch: (0, false, false),
            ran: false,
        }
    }

    fn read(&self, operand: Operand, world: &World<'_>) -> Row {
        let row = match operand.register {
            n @ 0..0x10 => world.inputs[n as usize],
            n @ 0x10..0x20 => self.temporaries[(n - TEMPORARIES) as usize],
            n => world.uniforms.floats[(n - UNIFORMS) as usize],
        };
        let value = operand.swizzle.map(|component| row[component as usize]);
        if operand.negate { value.map(|x| -x) } else { value }
    }

    fn write(&mut self, to: u32, mask: [bool; 4], value: Row) {
        let row = match to {
            0..0x10 => &mut self.banks[self.bank][to as usize],
            _ => &mut self.temporaries[(to - TEMPORARIES) as usize],
        };
        for component in (0..4).filter(|&component| mask[component]) {
            row[component] = value[component];
        }
    }

    fn run(&mut self, statements: &[Statement], world: &mut World<'_>) {
        for statement in statements {
            match statement {
                Statement::Arithmetic { opcode, to, mask, sources: [a, b] } => {
                    let (a, b) = (self.read(*a, world), self.read(*b, world));
                    let value = std::array::from_fn(|c| match opcode {
                        Opcode::Mov => a[c],
                        Opcode::Add => a[c] + b[c],
                        _ => a[c] * b[c],
                    });
                    self.write(*to, *mask, value);
                }
                Statement::Relative { to, base } => {
                    let offset = if (-128..128).contains(&self.a0x) { self.a0x } else { 0 };
                    let index = (*base as i32 + offset) as usize & 0x7f;
                    let value = world.uniforms.floats.get(index).copied().unwrap_or([1.0; 4]);
                    self.write(*to, [true; 4], value);
                }
                Statement::Address(source) => self.a0x = self.read(*source, world)[0] as i32,
                Statement::Compare([a, b]) => {
                    let (a, b) = (self.read(*a, world), self.read(*b, world));
                    self.flags = [a[0] < b[0], a[1] >= b[1]];
                }
                Statement::If(body) if self.flags[0] => self.run(body, world),
                Statement::IfRan(body) if self.ran => self.run(body, world),
                Statement::If(_) | Statement::IfRan(_) => {}
                Statement::Loop(body) => {
                    let [count, first, step, _] = world.uniforms.ints[0];
                    self.a_l = first.into();
                    for _ in 0..=count {
                        self.run(body, world);
                        self.a_l += i32::from(step);
                    }
                }
                &Statement::SetEmit { buffer, ends, inverted } => self.latch = (buffer, ends, inverted),
                Statement::Emit => self.emit(world),
            }
        }
    }

    fn emit(&mut self, world: &mut World<'_>) {
        let (buffer, ends, inverted) = self.latch;
        if let Some(buffer) = self.buffers.get_mut(buffer as usize) {
            for (register, mask) in world.emitted.into_iter().enumerate() {
                for component in (0..4).filter(|component| mask >> component & 1 != 0) {
                    buffer[register][component] = self.banks[self.bank][register][component];
                }
            }
        }
        self.bank ^= 1;
        if ends {
            let vertices = self.buffers;
            world.triangles.push(Triangle { invocation: world.invocation, inverted, vertices });
        }
    }

    /// Whether what was left behind is the same.
    fn assert_left(&self, state: &GeometryState, what: &str) {
        let rows = |row: Row| row.map(f32::to_bits);
        for n in 0..16u8 {
            let at = usize::from(n);
            assert_same(
                state.row(StateRow::Temporary(n)).unwrap(),
                rows(self.temporaries[at]),
                &format!("{what}: r{n}"),
            );
            assert_same(
                state.row(StateRow::Output(n)).unwrap(),
                rows(self.banks[self.bank][at]),
                &format!("{what}: o{n}"),
            );
            let other = rows(self.banks[1 - self.bank][at]);
            assert_same(
                state.row(StateRow::OtherOutput(n)).unwrap(),
                other,
                &format!("{what}: o{n} of the other bank"),
            );
            for buffer in 0..3u8 {
                let expected = rows(self.buffers[usize::from(buffer)][at]);
                let what = format!("{what}: o{n} of vertex {buffer}");
                assert_same(state.row(StateRow::Vertex { buffer, register: n }).unwrap(), expected, &what);
            }
        }
        let [a0x, a0y, a_l, _] = state.row(StateRow::Address).unwrap();
        assert_eq!([a0x as i32, a0y as i32, a_l as i32], [self.a0x, 0, self.a_l], "{what}: address registers");
        assert_eq!(state.row(StateRow::Flags).unwrap()[..2], self.flags.map(u32::from), "{what}: flags");
        let (buffer, ends, inverted) = self.latch;
        let latch = [buffer, ends.into(), inverted.into()];
        assert_eq!(state.row(StateRow::Latch).unwrap()[..3], latch, "{what}: what SETEMIT set");
        assert_eq!(state.ran(), self.ran, "{what}: b15");
    }
}

fn assert_same(ours: [u32; 4], expected: [u32; 4], what: &str) {
    let [ours, expected] = [ours, expected].map(|row| row.map(f32::from_bits));
    let same = ours.iter().zip(&expected).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
    assert!(same, "{what}: {ours:?} is not {expected:?}");
}

// ---- both

fn engine() -> Engine {
    Engine::new(Config::default()).expect("this machine has native code")
}

/// Vertices of v0 and v1: small whole numbers, so that nothing overflows in a few operations.
fn vertices(random: &mut Random, count: u32) -> Vec<u8> {
    let words = (0..count * 8).map(|_| random.below(9) as f32 - 4.0);
    words.flat_map(f32::to_le_bytes).collect()
}

fn run(
    code: &CompiledShader,
    bytes: &[u8],
    uniforms: &PicaUniforms,
    state: &mut GeometryState,
) -> Result<EmittedTriangles, CallError> {
    let mut call = code.call();
    call.unbound_as_zero(true).pica_uniforms(uniforms);
    for register in 0..2 {
        let bytes = bytes.get(16 * register..).unwrap_or_default();
        call.input_element(register, VertexBufferView::f32x4(bytes, 32)).expect("v0 and v1");
    }
    call.run_geometry(0..(bytes.len() / 32) as u32, state)
}

fn assert_triangles(emitted: &EmittedTriangles, expected: &[Triangle], components: [u8; 16], what: &str) {
    assert_eq!(emitted.len(), expected.len(), "{what}: number of triangles");
    for (number, (ours, theirs)) in emitted.iter().zip(expected).enumerate() {
        let what = format!("{what}: triangle {number}");
        assert_eq!((ours.invocation, ours.inverted), (theirs.invocation, theirs.inverted), "{what}");
        for vertex in 0..3 {
            for (&register, row) in emitted.registers().iter().zip(ours.vertex(vertex)) {
                let at = usize::from(register);
                let expected = std::array::from_fn(|component| match components[at] >> component & 1 {
                    0 => 0,
                    _ => theirs.vertices[vertex][at][component].to_bits(),
                });
                assert_same(row, expected, &format!("{what}: vertex {vertex} o{register}"));
            }
        }
    }
}

/// Checks one program; whether its invocations ran side by side.
fn check(engine: &Engine, number: u64) -> bool {
    let mut maker = Maker { random: Random(0x9e37_79b9 + number), has_loop: false };
    let statements = match number % 4 {
        0 => maker.tidy_program(),
        _ => {
            let count = 2 + maker.below(14);
            maker.statements(count, 2)
        }
    };
    let emitted: [u8; 16] = match maker.below(3) {
        0 => std::array::from_fn(|register| [0b0111, 0, 0b1010][register.min(2)] * u8::from(register < 3)),
        _ => std::array::from_fn(|register| 0xf * u8::from(register < 3)),
    };
    let mut program = Program::default();
    assemble(&mut program, &statements);
    program.word(Opcode::End, &[]);
    let shader = Shader::from_pica_geometry(&program.words, &program.descriptors, 0, emitted);

    let mut uniforms = PicaUniforms::default();
    for value in uniforms.floats.iter_mut().flatten() {
        *value = maker.below(7) as f32 - 3.0;
    }
    uniforms.ints[0] = [2, 5, 3, 0];
    let batches: Vec<Vec<u8>> = [1, 9, 46].map(|count| vertices(&mut maker.random, count)).into();

    let mut machine = Machine::new();
    let mut expected = Vec::new();
    for bytes in &batches {
        let mut world = World { uniforms: &uniforms, emitted, inputs: [[0.0; 4]; 2], invocation: 0, triangles: vec![] };
        for (invocation, vertex) in bytes.as_chunks::<32>().0.iter().enumerate() {
            let floats = vertex.as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect::<Vec<f32>>();
            world.inputs = [0, 4].map(|first| std::array::from_fn(|component| floats[first + component]));
            world.invocation = invocation as u32;
            machine.run(&statements, &mut world);
            machine.ran = true;
        }
        expected.push((world.triangles, machine.clone()));
    }

    let mut side_by_side = false;
    // The other form is as large for any program: it takes its time to compile.
    let forms: &[FlowForm] = if number % 24 == 1 { &[FlowForm::Graph, FlowForm::Dispatch] } else { &[FlowForm::Graph] };
    let backends = [(Backend::Interpreter, Lanes::Four), (Backend::Jit, Lanes::Four), (Backend::Jit, Lanes::Eight)];
    for (form, (backend, lanes)) in forms.iter().flat_map(|&form| backends.map(|backend| (form, backend))) {
        let what = format!("program {number}, {form:?} {backend:?} {lanes:?}");
        let options = CompileOptions::default().flow(form).backend(backend).lanes(lanes);
        let code = engine.compile(&shader, &options).unwrap_or_else(|error| panic!("{what}: {error}"));
        let interface = code.interface();
        assert!(interface.is_geometry());
        if form == FlowForm::Graph {
            side_by_side =
                !(interface.signature_inputs().len()..interface.inputs.len()).any(|element| code.reads_input(element));
        }
        let mut state = GeometryState::default();
        for (bytes, (triangles, machine)) in batches.iter().zip(&expected) {
            let emitted_triangles =
                run(&code, bytes, &uniforms, &mut state).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_triangles(&emitted_triangles, triangles, emitted, &format!("{what} {statements:?}"));
            machine.assert_left(&state, &format!("{what} {statements:?}"));
        }
    }
    side_by_side
}

#[test]
fn random_programs_emit_and_leave_what_the_documents_say() {
    let engine = engine();
    let programs = 48;
    let side_by_side = (0..programs).filter(|&number| check(&engine, number)).count();
    println!("{side_by_side} of {programs} programs ran side by side");
    assert!((12..programs as usize).contains(&side_by_side), "{side_by_side}");
}

/// A program that keeps `v1` in `r0` and, if `v0.x` is negative, emits a triangle in each of 256 rounds, in each of so
/// many rounds.
fn many_triangles(rounds: u8) -> (Shader, PicaUniforms) {
    let operand = |register| Operand { register, swizzle: [0, 1, 2, 3], negate: false };
    let emit = vec![Statement::SetEmit { buffer: 0, ends: true, inverted: false }, Statement::Emit];
    let keep = Statement::Arithmetic {
        opcode: Opcode::Mov,
        to: TEMPORARIES,
        mask: [true; 4],
        sources: [operand(1), operand(1)],
    };
    let statements = [
        keep,
        // r9 is zero.
        Statement::Compare([operand(0), operand(TEMPORARIES + 9)]),
        Statement::If(vec![Statement::Loop(vec![Statement::Loop(emit)])]),
    ];
    let mut program = Program::default();
    assemble(&mut program, &statements);
    program.word(Opcode::End, &[]);
    // The inner loop has another uniform.
    let inner = program.words.iter().rposition(|&word| word >> 26 == 0x29).expect("there are two loops");
    program.words[inner] |= 1 << 22;
    let ints = [[rounds - 1, 0, 0, 0], [255, 0, 0, 0], [0; 4], [0; 4]];
    let uniforms = PicaUniforms { ints, ..PicaUniforms::default() };
    let emitted = std::array::from_fn(|register| 0xf * u8::from(register == 0));
    (Shader::from_pica_geometry(&program.words, &program.descriptors, 0, emitted), uniforms)
}

#[test]
fn too_many_triangles_are_an_error_and_what_came_before_stays() {
    let engine = engine();
    for (rounds, fits) in [(1, true), (4, true), (5, false), (255, false)] {
        let (shader, uniforms) = many_triangles(rounds);
        for backend in [Backend::Interpreter, Backend::Jit] {
            let code = engine.compile(&shader, &CompileOptions::default().backend(backend)).expect("it compiles");
            let mut state = GeometryState::default();
            let vertices = signs(&[-1.0, -2.0]);
            let result = run(&code, &vertices, &uniforms, &mut state);
            match result {
                Ok(triangles) => assert!(fits && triangles.len() == 2 * 256 * usize::from(rounds)),
                Err(error) => {
                    assert!(!fits);
                    assert_eq!(error, CallError::TooManyTriangles { limit: 1024, invocation: 0 });
                }
            }
        }
    }
}

/// Vertices of v0 with such an x, numbered in v1.
fn signs(signs: &[f32]) -> Vec<u8> {
    let rows = signs.iter().enumerate().flat_map(|(n, &x)| [x, 0.0, 0.0, 0.0, n as f32, 1.0, 2.0, 3.0]);
    rows.flat_map(f32::to_le_bytes).collect()
}

#[test]
fn an_error_leaves_what_the_invocations_before_have_left() {
    let engine = engine();
    let (shader, uniforms) = many_triangles(5);
    for (backend, lanes) in
        [(Backend::Interpreter, Lanes::Four), (Backend::Jit, Lanes::Four), (Backend::Jit, Lanes::Eight)]
    {
        let options = CompileOptions::default().backend(backend).lanes(lanes);
        let code = engine.compile(&shader, &options).expect("it compiles");
        for good in [0, 1, 4, 6, 9] {
            let mut vertices = vec![1.0; good];
            let mut before = GeometryState::default();
            run(&code, &signs(&vertices), &uniforms, &mut before).expect("nothing is emitted");
            assert_eq!(before.row(StateRow::Temporary(0)).unwrap()[0], (good.max(1) as f32 - 1.0).to_bits());
            vertices.extend([-1.0, 1.0, 1.0]);
            let mut state = GeometryState::default();
            let error = run(&code, &signs(&vertices), &uniforms, &mut state).expect_err("one emits too many");
            assert_eq!(error, CallError::TooManyTriangles { limit: 1024, invocation: good as u32 });
            assert_eq!(state, before, "{backend:?} {lanes:?} {good}");
        }
    }
}

#[test]
fn calls_that_make_no_sense_are_errors() {
    let engine = engine();
    let (shader, uniforms) = many_triangles(1);
    let geometry = engine.compile(&shader, &CompileOptions::default()).expect("it compiles");
    let no_vertices = CallError::WrongStage { kind: "vertices", stage: Stage::Geometry };
    assert_eq!(geometry.call().run(0..1).unwrap_err(), no_vertices);
    assert_eq!(geometry.call().interpret(0..1).unwrap_err(), no_vertices);
    assert_eq!(geometry.call().run_indexed(Indices::U16(&[0]), 0).unwrap_err(), no_vertices);
    assert_eq!(no_vertices.to_string(), "a geometry shader does not run vertices");
    assert!(matches!(
        geometry.call().input_element(16, VertexBufferView::f32x4(&[], 0)),
        Err(CallError::UnknownBinding { .. })
    ));
    let mut program = Program::default();
    program.op(Opcode::Mov, Destination::new(0), &[Source::new(0)]);
    let vertex = engine.compile(&program.finish(), &CompileOptions::default()).expect("it compiles");
    let no_primitives = CallError::WrongStage { kind: "primitives", stage: Stage::Vertex };
    let state = &mut GeometryState::default();
    assert_eq!(vertex.call().run_geometry(0..1, state).unwrap_err(), no_primitives);
    assert_eq!(vertex.call().interpret_geometry(0..1, state).unwrap_err(), no_primitives);

    // In uniforms there are no vertices: v0 is zero and nothing is emitted.
    let mut call = geometry.call();
    call.pica_uniforms(&uniforms);
    let rows = [[1.0; 4]; 3];
    let windows = |counts| GeometryInput::Uniforms { first: 95, rows: &rows, counts };
    let mut state = GeometryState::default();
    assert_eq!(call.run_geometry(windows(&[2, 1]), &mut state).map(|triangles| triangles.len()), Ok(0));
    assert!(matches!(call.run_geometry(windows(&[2, 2]), &mut state), Err(CallError::ShortBuffer { .. })));
    assert!(call.run_geometry(windows(&[]), &mut state).is_ok_and(|triangles| triangles.is_empty()));
}
