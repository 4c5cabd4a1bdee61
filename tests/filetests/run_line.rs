//! The lines of `run` tests: what a function sees and what must come out.
//! `README.md` beside this file has their grammar.

use shaderjit::VertexFormat;
use shaderjit::error::CallError;
use shaderjit::jit::{
    Batch, CodegenOptions, InputStream, Layout, OutputBuffer, OutputElement, Scratch, Target, UniformRows,
    compile_program, plan,
};
use shaderjit_ir::batch::{BatchInterpreter, BatchProgram, Machine, Pass};
use shaderjit_ir::fuel::Stop;
use shaderjit_ir::function::Function;
use shaderjit_ir::interp::{Bindings, InterpOptions, Interpreter};
use shaderjit_ir::memory::is_memory_op;
use shaderjit_ir::op::TypeRule;
use shaderjit_ir::parse::literal_bits;
use shaderjit_ir::pass::{self, ExpandOptions};
use shaderjit_ir::texture::{Access, Rows, Textures};
use shaderjit_ir::types::Type;
use shaderjit_ir::verify::{Verified, verify};
use shaderjit_ir::vm::{self, Bytecode, Shared};
use shaderjit_ir::{Op, Resource};
use std::fmt::Write;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is expected where a guard fails in some lane.
const GUARD_FAILED: &str = "guard_failed";

/// Textures that show what they are asked, and the bytes of resources that are memory: their words behind one that
/// takes what is dropped.
#[derive(Debug)]
struct Echo(Vec<Vec<AtomicU32>>);

impl Echo {
    fn new(line: &RunLine) -> Echo {
        let words = |bytes: &Vec<u8>| {
            let words = bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word));
            std::iter::once(0).chain(words).map(AtomicU32::new).collect()
        };
        Echo(line.resources.iter().map(words).collect())
    }

    /// One lane of an op on memory. Texels are words, of which the first coordinate is the number.
    fn memory(&self, access: &Access, address: [u32; 4], value: [u32; 4]) -> [u32; 4] {
        let words = &self.0[access.texture.as_u32() as usize][1..];
        if access.op == Op::MemorySize {
            return [4 * words.len() as u32, 0, 0, 0];
        }
        let is_texel = matches!(access.op.operands()[0], TypeRule::Row);
        let byte = u64::from(address[0] & !3) + u64::from(access.offset & !3);
        let index = if is_texel { address[0].into() } else { byte / 4 };
        let Some(word) = usize::try_from(index).ok().and_then(|index| words.get(index)) else { return [0; 4] };
        let old = word.load(Ordering::Relaxed);
        if access.op.writes_buffers() {
            let new = access.function.map_or(value[0], |function| function.apply(old, value[0], value[1]));
            word.store(new, Ordering::Relaxed);
        }
        [old, 0, 0, u32::from(is_texel)]
    }
}

impl Textures for Echo {
    fn words(&self, resource: Resource) -> Option<&[AtomicU32]> {
        self.0.get(resource.as_u32() as usize).map(Vec::as_slice)
    }

    fn access(&self, access: &Access, lanes: usize, rows: &mut Rows) {
        if is_memory_op(access.op) {
            let mask = access.op.is_masked().then(|| access.op.operands().len() - 1);
            for lane in 0..lanes {
                let runs = mask.is_none_or(|mask| rows.0[mask][0][lane] != 0);
                let answer = if runs { self.memory(access, rows.get(0, lane), rows.get(1, lane)) } else { [0; 4] };
                rows.set(lane, answer);
            }
            return;
        }
        let [x, y, z] = access.offsets.map(|offset| offset as u32);
        let added = [x, y, z, access.component.into()];
        for lane in 0..lanes {
            let operand = if access.op.operands().is_empty() { [0; 4] } else { rows.get(0, lane) };
            rows.set(lane, std::array::from_fn(|word| operand[word].wrapping_add(added[word])));
        }
    }
}

/// Lanes of a list.
const LANES: usize = 4;
type Row = [[u32; LANES]; 4];

/// Everything that runs functions. Each gives the output elements of the four lanes.
pub const ENGINES: &[(&str, Engine)] = &[
    ("interpreter", interpret),
    ("interpreter in lockstep", interpret_in_lockstep),
    ("fast interpreter", interpret_fast),
    ("batch interpreter", interpret_program),
    ("native code", run_natively),
];

/// Runs a valid function on all lanes of a line; text of the error otherwise.
type Engine = fn(&Function, &RunLine) -> Result<Vec<Row>, String>;

/// What a run must give.
enum Expected {
    /// Components, `None` standing for any NaN.
    Outputs(Vec<[[Option<u32>; LANES]; 4]>),
    Error(String),
}

/// One line.
pub struct RunLine {
    inputs: Vec<Row>,
    uniforms: Vec<Vec<[u32; 4]>>,
    resources: Vec<Vec<u8>>,
    vertex_id: u32,
    instance_id: u32,
    options: InterpOptions<'static>,
    /// 1 if no component is a list.
    lanes: usize,
    expected: Expected,
}

impl RunLine {
    /// Reads a line for `func`.
    pub fn parse(text: &str, func: &Function) -> Result<RunLine, String> {
        let mut reader = Reader { tokens: tokens(text), next: 0, lanes: 1 };
        let mut line = RunLine {
            inputs: Vec::new(),
            uniforms: Vec::new(),
            resources: Vec::new(),
            vertex_id: 0,
            instance_id: 0,
            options: InterpOptions { fuel: 10_000.into(), fused: true },
            lanes: 1,
            expected: Expected::Outputs(Vec::new()),
        };
        loop {
            match reader.take()? {
                "inputs" => line.inputs = reader.list(|reader| reader.row(bits_of))?,
                "uniforms" => line.uniforms = reader.list(|reader| reader.list(Reader::uniform_row))?,
                "resources" => line.resources = reader.list(Reader::bytes)?,
                "vertex_id" => line.vertex_id = reader.number()?,
                "instance_id" => line.instance_id = reader.number()?,
                "fuel" => line.options.fuel.wave = reader.number()?,
                "unfused" => line.options.fused = false,
                "==" => break,
                token => {
                    let words = "inputs, uniforms, resources, vertex_id, instance_id, fuel, unfused or ==";
                    return Err(format!("`{token}` where {words} is expected"));
                }
            }
        }
        line.expected = match reader.take()? {
            "outputs" => Expected::Outputs(reader.list(|reader| reader.row(pattern_of))?),
            "out_of_fuel" => Expected::Error(Stop::Wave.to_string()),
            GUARD_FAILED => Expected::Error(GUARD_FAILED.to_string()),
            token => return Err(format!("`{token}` where outputs, out_of_fuel or {GUARD_FAILED} is expected")),
        };
        if reader.next != reader.tokens.len() {
            return Err(format!("`{}` after the end of the line", reader.tokens[reader.next]));
        }
        line.lanes = reader.lanes;
        let spaces = func.spaces.values().rposition(|space| space.table.is_none()).map_or(0, |last| last + 1);
        let resources = func.resources.len();
        if line.inputs.len() != func.inputs as usize
            || line.uniforms.len() < spaces
            || line.resources.len() != resources
        {
            let inputs = func.inputs;
            return Err(format!("the function has {inputs} inputs, {spaces} uniform spaces and {resources} resources"));
        }
        line.uniforms.resize(func.spaces.len(), Vec::new());
        Ok(line)
    }

    fn resources(&self) -> Vec<&[u8]> {
        self.resources.iter().map(Vec::as_slice).collect()
    }

    /// The output elements, if they are not those expected.
    pub fn compare(&self, found: &Result<Vec<Row>, String>) -> Result<(), String> {
        let is_same = match (&self.expected, found) {
            (Expected::Error(expected), Err(error)) => expected == error,
            (Expected::Outputs(expected), Ok(found)) => {
                expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| self.is_same_row(e, f))
            }
            _ => false,
        };
        if is_same { Ok(()) } else { Err(found.as_ref().map_or_else(String::clone, |rows| self.show(rows))) }
    }

    fn is_same_row(&self, expected: &[[Option<u32>; LANES]; 4], found: &Row) -> bool {
        let is_same = |(expected, found): (&Option<u32>, &u32)| match expected {
            Some(bits) => bits == found,
            None => f32::from_bits(*found).is_nan(),
        };
        expected.iter().zip(found).all(|(e, f)| e[..self.lanes].iter().zip(f).all(is_same))
    }

    fn show(&self, rows: &[Row]) -> String {
        let mut text = String::from("outputs [");
        for (index, row) in rows.iter().enumerate() {
            let components = row.map(|lanes| {
                let words =
                    lanes[..self.lanes].iter().map(|word| format!("{word:#010x}")).collect::<Vec<_>>().join(" ");
                if self.lanes == 1 { words } else { format!("({words})") }
            });
            let _ = write!(text, "{}{{{}}}", if index == 0 { "" } else { ", " }, components.join(", "));
        }
        text + "]"
    }
}

// ---- engines

/// The reference: functions in lockstep form on all lanes at once, others lane by lane.
fn interpret(func: &Function, line: &RunLine) -> Result<Vec<Row>, String> {
    let textures = Echo::new(line);
    if func.lockstep {
        return interpret_lanes(func, line, &textures, std::array::from_fn(|lane| lane));
    }
    let mut outputs = vec![[[0; LANES]; 4]; func.outputs as usize];
    for lane in 0..line.lanes {
        let one = interpret_lanes(func, line, &textures, [lane])?;
        for (output, one) in outputs.iter_mut().flatten().zip(one.iter().flatten()) {
            output[lane] = one[0];
        }
    }
    Ok(outputs)
}

/// All lanes at once, after the lockstep pass.
fn interpret_in_lockstep(func: &Function, line: &RunLine) -> Result<Vec<Row>, String> {
    interpret_lanes(&in_lockstep(func)?, line, &Echo::new(line), std::array::from_fn(|lane| lane))
}

fn in_lockstep(func: &Function) -> Result<Function, String> {
    let mut func = func.clone();
    if !func.lockstep {
        pass::lockstep(&mut func).map_err(|error| error.to_string())?;
        verify(&func).map_err(|errors| format!("after lockstep:\n{errors}\n{func}"))?;
    }
    Ok(func)
}

/// Four waves of the same lanes at once, as bytecode; one of what writes memory. Batch programs are none.
fn interpret_fast(func: &Function, line: &RunLine) -> Result<Vec<Row>, String> {
    if func.insts.values().any(|inst| inst.op.is_of_batch(inst.ty)) {
        return interpret(func, line);
    }
    let mut func = in_lockstep(func)?;
    pass::expand(&mut func, &ExpandOptions { fused: line.options.fused });
    let code = Bytecode::new(&func).map_err(|error| error.to_string())?;
    let mut machine = vm::Machine::new(&code, LANES);
    let run = |bindings: &Bindings<'_, { vm::LANES }>| {
        let uniforms: Vec<&[[u32; 4]]> = Shared::rows(&func, bindings.uniforms.iter().copied()).collect();
        let shared = Shared { uniforms: &uniforms, resources: bindings.resources, textures: bindings.textures };
        machine.set_inputs(bindings);
        machine.bind::<false>(&shared, bindings.instance_id);
        let waves = if func.writes_memory() { 1 } else { vm::LANES / LANES };
        machine.run::<false>(&shared, waves, line.options.fuel)
    };
    with_bindings(line, &Echo::new(line), std::array::from_fn(|lane| lane % LANES), run)
        .map_err(|stop| stop.to_string())?;
    if !machine.guards_hold(0) {
        return Err(GUARD_FAILED.to_string());
    }
    let lanes = |lanes: &[u32; vm::LANES]| std::array::from_fn(|lane| lanes[lane]);
    Ok((0..func.outputs as usize)
        .map(|element| std::array::from_fn(|component| lanes(machine.output(element, component))))
        .collect())
}

/// The batch program of a function with rows of four words in and out, after the lockstep pass and expansion; the
/// function itself if it is one already.
fn program(func: &Function, line: &RunLine) -> Result<(BatchProgram, Layout), String> {
    let layout = Layout {
        inputs: vec![VertexFormat::U32x4; func.inputs as usize].into(),
        outputs: vec![4; func.outputs as usize].into(),
    };
    if func.insts.values().any(|inst| inst.op.is_of_batch(inst.ty) || inst.op == Op::Barrier) {
        return Ok((
            BatchProgram::of(func.clone(), Machine::of_128_bits(1)).map_err(|errors| errors.to_string())?,
            layout,
        ));
    }
    let mut func = in_lockstep(func)?;
    pass::expand(&mut func, &ExpandOptions { fused: line.options.fused });
    let func = Verified::new(func).map_err(|errors| errors.to_string())?;
    Ok((plan(&func, &layout, &CodegenOptions::default(), Pass::LAST).map_err(|error| error.to_string())?, layout))
}

/// All lanes at once, as a batch program.
fn interpret_program(func: &Function, line: &RunLine) -> Result<Vec<Row>, String> {
    let (program, _) = program(func, line)?;
    let mut interpreter = BatchInterpreter::new(&program);
    let run = |bindings: &Bindings<'_, LANES>| interpreter.run(bindings, &line.options).map(<[_]>::to_vec);
    let outputs = with_bindings(line, &Echo::new(line), std::array::from_fn(|lane| lane), run)
        .map_err(|error| error.to_string())?;
    if interpreter.guards_hold(0) { Ok(outputs) } else { Err(GUARD_FAILED.to_string()) }
}

/// All lanes as one batch, as native code.
fn run_natively(func: &Function, line: &RunLine) -> Result<Vec<Row>, String> {
    let (func, layout) = program(func, line)?;
    let target = Target::host().map_err(|error| error.to_string())?;
    let code = compile_program(&func, &layout, &target).map_err(|error| error.to_string())?;
    let bytes = |row: &Row| -> Vec<u8> {
        (0..LANES).flat_map(|lane| row.map(|component| component[lane])).flat_map(u32::to_le_bytes).collect()
    };
    let inputs: Vec<Vec<u8>> = line.inputs.iter().map(bytes).collect();
    let streams: Vec<InputStream<'_>> = inputs.iter().map(|bytes| InputStream { bytes, stride: 16 }).collect();
    let spaces = func.spaces.keys().zip(&line.uniforms);
    let uniforms: Vec<UniformRows> =
        spaces.map(|(space, rows)| UniformRows::from_rows(rows, code.uniform_rows(space))).collect();
    let elements: Vec<OutputElement> =
        (0..layout.outputs.len()).map(|element| OutputElement { offset: 16 * LANES * element, stride: 16 }).collect();
    let mut out = vec![0; 16 * LANES * elements.len()];
    let batch = Batch {
        inputs: &streams,
        uniforms: &uniforms,
        resources: &line.resources(),
        textures: &Echo::new(line),
        count: line.lanes as u32,
        first_vertex: line.vertex_id,
        instance: line.instance_id,
        fuel: line.options.fuel,
    };
    let run = code.run(&batch, &mut OutputBuffer { bytes: &mut out, elements: &elements }, &mut Scratch::default());
    run.map_err(|error| match error {
        CallError::OutOfFuel { .. } => Stop::Wave.to_string(),
        CallError::GuardFailed { .. } => GUARD_FAILED.to_string(),
        error => error.to_string(),
    })?;
    let word = |at: usize| u32::from_le_bytes(out.as_chunks().0[at]);
    Ok((0..elements.len())
        .map(|element| {
            std::array::from_fn(|component| std::array::from_fn(|lane| word(4 * (LANES * element + lane) + component)))
        })
        .collect())
}

/// Runs the lanes of these numbers.
fn interpret_lanes<const L: usize>(
    func: &Function,
    line: &RunLine,
    textures: &Echo,
    lanes: [usize; L],
) -> Result<Vec<[[u32; L]; 4]>, String> {
    let mut interpreter = Interpreter::new(func);
    let run = |bindings: &Bindings<'_, L>| interpreter.run(bindings, &line.options).map(<[_]>::to_vec);
    let outputs = with_bindings(line, textures, lanes, run).map_err(|error| error.to_string())?;
    if interpreter.guards_hold() { Ok(outputs) } else { Err(GUARD_FAILED.to_string()) }
}

/// What lanes of these numbers see.
fn with_bindings<const L: usize, T>(
    line: &RunLine,
    textures: &Echo,
    lanes: [usize; L],
    run: impl FnOnce(&Bindings<'_, L>) -> T,
) -> T {
    let inputs: Vec<[[u32; L]; 4]> =
        line.inputs.iter().map(|row| row.map(|component| lanes.map(|lane| component[lane]))).collect();
    let uniforms: Vec<&[[u32; 4]]> = line.uniforms.iter().map(Vec::as_slice).collect();
    run(&Bindings {
        inputs: &inputs,
        vertex_id: lanes.map(|lane| line.vertex_id.wrapping_add(lane as u32)),
        instance_id: line.instance_id,
        uniforms: &uniforms,
        resources: &line.resources(),
        textures,
    })
}

// ---- reading

/// Words, and each of `[]{}(),` alone.
fn tokens(text: &str) -> Vec<&str> {
    let is_mark = |c: char| "[]{}(),".contains(c);
    let mut tokens = Vec::new();
    for mut word in text.split_whitespace() {
        while !word.is_empty() {
            let end = if word.starts_with(is_mark) { 1 } else { word.find(is_mark).unwrap_or(word.len()) };
            tokens.push(&word[..end]);
            word = &word[end..];
        }
    }
    tokens
}

fn pattern_of(token: &str) -> Result<Option<u32>, String> {
    let ty = match token {
        "nan" => return Ok(None),
        "inf" => return Ok(Some(f32::INFINITY.to_bits())),
        "-inf" => return Ok(Some(f32::NEG_INFINITY.to_bits())),
        hex if hex.starts_with("0x") => Type::I32,
        float if float.contains(['.', 'e']) => Type::F32,
        _ => Type::I32,
    };
    let bits = literal_bits(ty, token).ok_or_else(|| {
        format!("`{token}` is not a component: expected a number, inf, nan or 32 bits in hexadecimal")
    })?;
    Ok(Some(bits as u32))
}

fn bits_of(token: &str) -> Result<u32, String> {
    Ok(pattern_of(token)?.unwrap_or(f32::NAN.to_bits()))
}

struct Reader<'t> {
    tokens: Vec<&'t str>,
    next: usize,
    lanes: usize,
}

impl<'t> Reader<'t> {
    fn take(&mut self) -> Result<&'t str, String> {
        let token = self.tokens.get(self.next).ok_or("the line ends too early")?;
        self.next += 1;
        Ok(token)
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_next = self.tokens.get(self.next) == Some(&token);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.take()? {
            found if found == token => Ok(()),
            found => Err(format!("`{found}` where `{token}` is expected")),
        }
    }

    fn number(&mut self) -> Result<u32, String> {
        bits_of(self.take()?)
    }

    /// `[a, b, c]`.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.eat("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `{x, y, z, w}`, each component one word or one a lane.
    fn row<T: Copy>(&mut self, word: impl Fn(&str) -> Result<T, String>) -> Result<[[T; LANES]; 4], String> {
        let mut row = [[word("0")?; LANES]; 4];
        self.expect("{")?;
        for (index, lanes) in row.iter_mut().enumerate() {
            if self.eat("}") {
                return Ok(row);
            }
            if index > 0 {
                self.expect(",")?;
            }
            if self.eat("(") {
                for lane in lanes {
                    *lane = word(self.take()?)?;
                }
                self.expect(")")?;
                self.lanes = LANES;
            } else {
                *lanes = [word(self.take()?)?; LANES];
            }
        }
        self.expect("}")?;
        Ok(row)
    }

    /// `0011aaBB`, or `-` for none.
    fn bytes(&mut self) -> Result<Vec<u8>, String> {
        let token = self.take()?;
        let digits = token.strip_prefix('-').unwrap_or(token);
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes = pairs.iter().map(byte).collect::<Option<_>>().filter(|_| rest.is_empty());
        bytes.ok_or_else(|| format!("`{token}` is not bytes in hexadecimal"))
    }

    fn uniform_row(&mut self) -> Result<[u32; 4], String> {
        let lanes = self.lanes;
        let row = self.row(bits_of)?;
        if lanes == self.lanes { Ok(row.map(|lanes| lanes[0])) } else { Err("uniforms have no lanes".to_string()) }
    }
}
