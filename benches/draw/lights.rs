//! A PICA200 program with four lights, diffuse and specular: a loop over relative uniforms around a procedure with LG2
//! and EX2.

use super::{Draw, Stream, Uniforms, VERTICES, data};
use shaderjit::Shader;
use shaderjit::VertexFormat;
use shaderjit::container::Shbin;
use shaderjit::container::shbin;
use shaderjit::frontend::pica::opcode::{Field, Opcode};

/// Rows of the uniforms: a matrix, ambient light, constants, and four each of directions, halfway vectors, colours,
/// highlights.
const MATRIX: u32 = 0;
const AMBIENT: u32 = 4;
/// 0, the least base of a power, its exponent.
const CONSTANTS: u32 = 5;
const DIRECTIONS: u32 = 8;
const HALFWAYS: u32 = 12;
const COLOURS: u32 = 16;
const HIGHLIGHTS: u32 = 20;

const LIGHTS: u32 = 4;
const EXPONENT: f32 = 16.0;
const LEAST: f32 = 1e-3;

/// First of r0 to r15, and of c0 to c95, among sources.
const R: u32 = 0x10;
const C: u32 = 0x20;

const XYZW: u32 = 0x1b;

impl Draw {
    /// Four lights.
    pub fn pica_lights() -> Draw {
        let vertices = vertices();
        let uniforms = uniforms();
        let reference = vertices.iter().flat_map(|vertex| shade(vertex, &uniforms)).collect();
        let floats = uniforms.iter().flatten().flat_map(|value| value.to_le_bytes());
        // i0: four rounds, from 0 by 1.
        let ints = [LIGHTS as u8 - 1, 0, 1, 0];
        Draw {
            name: "lights",
            shader: Shader::parse(&program()).expect("what was written can be read"),
            vertices: vertices.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect(),
            stride: 32,
            streams: [0, 1].map(stream).into(),
            uniforms: Uniforms::Pica(floats.chain(ints).chain([0; 16]).collect()),
            outputs: vec![0, 1],
            reference,
        }
    }
}

fn stream(register: usize) -> Stream {
    Stream { semantic: format!("v{register}"), format: VertexFormat::F32x4, offset: 16 * register }
}

/// Words and descriptors being written.
#[derive(Default)]
struct Assembler {
    words: Vec<u32>,
    descriptors: Vec<u32>,
}

impl Assembler {
    fn word(&mut self, opcode: Opcode, fields: &[(Field, u32)]) {
        let place = |&(field, value)| opcode.picture().place(field, value).expect("the instruction has the field");
        self.words.push(fields.iter().map(place).fold(opcode.picture().fixed(), |word, bits| word | bits));
    }

    /// An instruction of two sources, each with its selector; `mask` has x at the top. `index` is that of the wide
    /// source.
    fn op(&mut self, opcode: Opcode, (to, mask): (u32, u32), sources: &[(u32, u32)], index: u32) {
        let descriptor = (0..).zip(sources).fold(mask, |bits, (n, (_, selector))| bits | selector << (5 + 9 * n));
        let known = self.descriptors.iter().position(|&known| known == descriptor);
        let number = known.unwrap_or(self.descriptors.len());
        if known.is_none() {
            self.descriptors.push(descriptor);
        }
        let places = [Field::Source1, Field::Source2, Field::Source3];
        let mut fields: Vec<(Field, u32)> =
            places.into_iter().zip(sources).map(|(field, &(register, _))| (field, register)).collect();
        fields.extend([(Field::Descriptor, number as u32), (Field::Destination, to), (Field::Index, index)]);
        self.word(opcode, &fields);
    }
}

/// The program in a SHBIN.
fn program() -> Vec<u8> {
    let mut a = Assembler::default();
    let (all, x) = (0b1111, 0b1000);
    let plain = |register: u32| (register, XYZW);
    let component = |register: u32, component: u32| (register, 0x55 * component);
    // r0: the normal made as long as 1.
    a.op(Opcode::Dp3, (R + 1, all), &[plain(1), plain(1)], 0);
    a.op(Opcode::Rsq, (R + 1, all), &[plain(R + 1)], 0);
    a.op(Opcode::Mul, (R, all), &[plain(1), plain(R + 1)], 0);
    a.op(Opcode::Mov, (R + 5, all), &[plain(C + AMBIENT)], 0);
    let loop_at = a.words.len();
    let (call, light) = (loop_at as u32 + 1, loop_at as u32 + 9);
    // The words from `light` on, and a NOP, for a call that ends a body is lost.
    a.word(Opcode::Loop, &[(Field::Target, call + 1), (Field::Int, 0)]);
    a.word(Opcode::Call, &[(Field::Target, light), (Field::Count, 9)]);
    a.word(Opcode::Nop, &[]);
    for row in 0..4 {
        a.op(Opcode::Dp4, (0, x >> row), &[plain(C + MATRIX + row), plain(0)], 0);
    }
    a.op(Opcode::Mov, (1, all), &[plain(R + 5)], 0);
    a.word(Opcode::End, &[]);
    assert_eq!(a.words.len() as u32, light);
    let a_l = 3;
    a.op(Opcode::Dp3, (R + 2, all), &[plain(C + DIRECTIONS), plain(R)], a_l);
    a.op(Opcode::Max, (R + 2, all), &[component(C + CONSTANTS, 0), plain(R + 2)], 0);
    a.op(Opcode::Dp3, (R + 3, all), &[plain(C + HALFWAYS), plain(R)], a_l);
    a.op(Opcode::Max, (R + 3, all), &[component(C + CONSTANTS, 1), plain(R + 3)], 0);
    a.op(Opcode::Lg2, (R + 3, all), &[plain(R + 3)], 0);
    a.op(Opcode::Mul, (R + 3, all), &[component(C + CONSTANTS, 2), plain(R + 3)], 0);
    a.op(Opcode::Ex2, (R + 3, all), &[plain(R + 3)], 0);
    a.op(Opcode::Mad, (R + 5, all), &[plain(R + 2), plain(C + COLOURS), plain(R + 5)], a_l);
    a.op(Opcode::Mad, (R + 5, all), &[plain(R + 3), plain(C + HIGHLIGHTS), plain(R + 5)], a_l);

    let template = data("pica/t01_transform.shbin");
    let template = Shbin::parse(&template).expect("the corpus is well-formed");
    let mut dvlp = template.dvlp().expect("the corpus is well-formed");
    let mut dvle = template.dvle(0).expect("the corpus is well-formed").expect("it has an executable");
    dvlp.descriptor_tails = vec![0; a.descriptors.len()];
    (dvlp.code, dvlp.descriptors) = (a.words, a.descriptors);
    (dvle.main, dvle.end, dvle.input_mask, dvle.output_mask) = (0, light, 0b11, 0b11);
    dvle.constants.clear();
    dvle.labels.clear();
    dvle.outputs.clear();
    dvle.uniforms.clear();
    shbin::write(&dvlp, &[dvle]).expect("every count is small")
}

/// A position and a normal each.
fn vertices() -> Vec<[f32; 8]> {
    let wave = |number: u32, step: f32| (number as f32 * step).sin();
    let vertex = |number| {
        let normal = [wave(number, 0.37), wave(number, 0.91), 1.0 + 0.5 * wave(number, 1.7)];
        [wave(number, 0.11), wave(number, 0.23), wave(number, 0.31), 1.0, normal[0], normal[1], normal[2], 0.0]
    };
    (0..VERTICES).map(vertex).collect()
}

fn uniforms() -> [[f32; 4]; 96] {
    let mut rows = [[0.0; 4]; 96];
    for (row, values) in
        [[1.5, 0.25, 0.0, 0.5], [-0.25, 1.25, 0.0, -1.0], [0.0, 0.0, -1.1, -0.2], [0.0, 0.0, -1.0, 3.0]]
            .into_iter()
            .enumerate()
    {
        rows[MATRIX as usize + row] = values;
    }
    rows[AMBIENT as usize] = [0.1, 0.1, 0.15, 1.0];
    rows[CONSTANTS as usize] = [0.0, LEAST, EXPONENT, 0.0];
    for light in 0..LIGHTS {
        let (sin, cos) = (light as f32 * 1.3).sin_cos();
        rows[(DIRECTIONS + light) as usize] = [0.6 * cos, 0.6 * sin, 0.8, 0.0];
        rows[(HALFWAYS + light) as usize] = [0.28 * cos, 0.28 * sin, 0.96, 0.0];
        rows[(COLOURS + light) as usize] = [0.4 - 0.05 * light as f32, 0.2, 0.1 + 0.1 * light as f32, 0.0];
        rows[(HIGHLIGHTS + light) as usize] = [0.3, 0.3, 0.3, 0.0];
    }
    rows
}

/// What the program should compute, in 64 bits.
fn shade(vertex: &[f32; 8], uniforms: &[[f32; 4]; 96]) -> [f32; 8] {
    let row = |number: u32| uniforms[number as usize].map(f64::from);
    let vertex = vertex.map(f64::from);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (position, normal) = (&vertex[..4], &vertex[4..7]);
    let length = dot(normal, normal).sqrt();
    let normal: Vec<f64> = normal.iter().map(|component| component / length).collect();
    let mut colour = row(AMBIENT);
    for light in 0..LIGHTS {
        let diffuse = dot(&row(DIRECTIONS + light)[..3], &normal).max(0.0);
        let specular = dot(&row(HALFWAYS + light)[..3], &normal).max(LEAST.into()).powf(EXPONENT.into());
        let (own, highlight) = (row(COLOURS + light), row(HIGHLIGHTS + light));
        colour = std::array::from_fn(|c| colour[c] + diffuse * own[c] + specular * highlight[c]);
    }
    let outputs = [0, 1, 2, 3].map(|number| dot(&row(MATRIX + number), position));
    std::array::from_fn(|c| if c < 4 { outputs[c] } else { colour[c - 4] } as f32)
}
