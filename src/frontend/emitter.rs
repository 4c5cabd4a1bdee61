//! Geometry shaders of every front end but a PICA200's: what they emit, appended to one kept array a stream.
//!
//! An array's size is the only bound: what is emitted behind the declared number of vertices finds no room and is
//! dropped.
//!
//! Where no branch decides what is emitted, vertices need no array and no count: their words are the function's
//! outputs, four words an element, which a batch stores where they belong. So whole vectors are stored, wherever the
//! vertices' own elements begin.

use shaderjit_ir::{FunctionBuilder, Type, Value, Variable};

use super::{ComponentType, Element, EmitterInterface, Interface, PrimitiveStage};

/// Most 32-bit words that an invocation emits (Direct3D 11.3 functional specification, 13.3), and so most vertices.
pub(crate) const MAX_WORDS: u64 = 1024;
/// Most instances (Direct3D 11: `D3D11_GS_MAX_INSTANCE_COUNT`).
pub(crate) const MAX_INSTANCES: u64 = 32;
/// Streams (Direct3D 11: `D3D11_SO_STREAM_COUNT`).
pub(crate) const STREAMS: u32 = 4;
/// Most output elements of a function that has its vertices there: values that live until its end.
const MAX_FIXED: usize = 64;

/// What a geometry shader emits to.
pub(crate) struct Emitter {
    pub interface: EmitterInterface,
    /// Most vertices, those of all streams together.
    max: u32,
    /// Vertices emitted, up to that.
    total: Variable,
    /// One an entry of the interface's streams.
    streams: Vec<Stream>,
    /// The vertices so far, if they become outputs.
    fixed: Option<Fixed>,
}

/// A component of a vertex: number of its element in the stream, its own in the element, its value. What has none is
/// zero.
pub(crate) type Emitted = (u32, u8, Option<Value>);

/// The state of a stream.
struct Stream {
    /// Vertices that it has got.
    count: Variable,
    /// 1 if the next vertex begins a strip, else 0.
    begins: Variable,
}

/// Vertices that every invocation emits.
struct Fixed {
    /// Whether each begins a strip.
    begins: Vec<bool>,
    /// Whether the next one does.
    next_begins: bool,
    /// Where each element of a vertex begins, in words, and behind them how many words a vertex has.
    offsets: Vec<usize>,
    /// The words of all vertices; none is zero.
    words: Vec<Option<Value>>,
}

impl Emitter {
    /// What emits to the streams of an interface, which have no arrays yet. `always` is how many vertices every
    /// invocation emits, if no branch decides it. The function's output is the number of vertices of each stream.
    pub fn new(
        mut emitter: EmitterInterface,
        max: u32,
        always: Option<usize>,
        b: &mut FunctionBuilder,
        interface: &mut Interface,
    ) -> Emitter {
        let elements = emitter.streams.iter().flat_map(|stream| &stream.elements);
        let offsets: Vec<usize> = [0]
            .into_iter()
            .chain(elements.scan(0, |end, element| {
                *end += element.components() as usize;
                Some(*end)
            }))
            .collect();
        let of_one = offsets[offsets.len() - 1];
        let always = always.map(|vertices| vertices.min(max as usize));
        let is_fixed = emitter.streams.len() == 1 && always.is_some_and(|vertices| vertices * of_one <= 4 * MAX_FIXED);
        let room = if is_fixed { 0 } else { max };
        let mut streams = Vec::new();
        for stream in &mut emitter.streams {
            let rows = room * stream.rows();
            stream.array = (rows > 0).then(|| b.add_kept_array(rows, 4));
            let [count, begins] = [(); 2].map(|()| b.declare_var(Type::I32));
            streams.push(Stream { count, begins });
        }
        interface.outputs = vec![Element { mask: 0xf, ty: ComponentType::U32, ..Element::scalar("vertices") }];
        interface.primitive = Some(PrimitiveStage::Emitter(emitter.clone()));
        let fixed = is_fixed.then(|| Fixed { begins: Vec::new(), next_begins: true, offsets, words: Vec::new() });
        Emitter { interface: emitter, max, total: b.declare_var(Type::I32), streams, fixed }
    }

    /// The number of each stream, and how many vertices it has got.
    pub fn counts(&self) -> impl Iterator<Item = (u32, Variable)> {
        self.interface.streams.iter().zip(&self.streams).map(|(stream, state)| (stream.number, state.count))
    }

    /// The place of a stream among those that are declared.
    pub fn stream(&self, number: u32) -> Option<usize> {
        self.interface.streams.iter().position(|stream| stream.number == number)
    }

    /// Nothing is emitted yet.
    pub fn begin(&self, b: &mut FunctionBuilder) {
        let (zero, one) = (b.i32(0), b.i32(1));
        b.def_var(self.total, zero);
        for stream in &self.streams {
            b.def_var(stream.count, zero);
            b.def_var(stream.begins, one);
        }
    }

    /// The next vertex of a stream begins a strip.
    pub fn cut(&mut self, stream: usize, b: &mut FunctionBuilder) {
        if let Some(fixed) = &mut self.fixed {
            fixed.next_begins = true;
            return;
        }
        let one = b.i32(1);
        b.def_var(self.streams[stream].begins, one);
    }

    /// Appends a vertex to a stream.
    pub fn emit(&mut self, stream: usize, components: &[Emitted], b: &mut FunctionBuilder) {
        match &mut self.fixed {
            Some(fixed) if fixed.begins.len() < self.max as usize => {
                let first = fixed.words.len();
                fixed.words.resize(first + fixed.offsets[fixed.offsets.len() - 1], None);
                for &(element, at, value) in components {
                    fixed.words[first + fixed.offsets[element as usize] + usize::from(at)] = value;
                }
                fixed.begins.push(std::mem::take(&mut fixed.next_begins));
            }
            Some(_) => {}
            None => self.append(stream, components, b),
        }
    }

    fn append(&self, number: usize, components: &[Emitted], b: &mut FunctionBuilder) {
        let (interface, &Stream { count, begins }) = (&self.interface.streams[number], &self.streams[number]);
        let Some(array) = interface.array else { return };
        let rows = interface.rows();
        let (before, rows_of_one, most, one) = (b.use_var(count), b.i32(rows), b.i32(self.max), b.i32(1));
        let first = b.imul([before, rows_of_one]);
        let after = b.iadd([before, one]);
        let (first, after) = if self.streams.len() > 1 {
            // What is over the number of all streams goes behind the end, too.
            let (emitted, end) = (b.use_var(self.total), b.i32(self.max * rows));
            let (is_over, all) = (b.ieq([emitted, most]), b.iadd([emitted, one]));
            let all = b.umin([all, most]);
            b.def_var(self.total, all);
            (b.select([is_over, end, first]), b.select([is_over, before, after]))
        } else {
            (first, b.umin([after, most]))
        };
        b.def_var(count, after);
        let mut behind = 0;
        if interface.has_strips() {
            let (flag, zero) = (b.use_var(begins), b.i32(0));
            b.array_store(array, 0, first, flag);
            b.def_var(begins, zero);
            behind = 1;
        }
        for &(element, component, value) in components {
            // The array holds what was emitted before.
            let value = value.unwrap_or_else(|| b.f32(0.0));
            let row = b.i32(behind + element);
            let index = b.iadd([first, row]);
            b.array_store(array, component, index, value);
        }
    }

    /// Sets the outputs of the function.
    pub fn finish(&mut self, b: &mut FunctionBuilder, interface: &mut Interface) {
        let Some(fixed) = self.fixed.take() else {
            for (number, count) in self.counts() {
                let count = b.use_var(count);
                b.output(0, number as u8, count);
            }
            return;
        };
        for (number, &word) in fixed.words.iter().enumerate() {
            let word = word.unwrap_or_else(|| b.i32(0));
            b.output((number / 4) as u32, (number % 4) as u8, word);
        }
        let element = |(number, words): (usize, &[_])| {
            Element::new("words", number as u32, words.len() as u32, ComponentType::U32)
        };
        interface.outputs = fixed.words.chunks(4).enumerate().map(element).collect();
        b.set_elements(interface.inputs.len() as u32, interface.outputs.len() as u32);
        self.interface.fixed = Some(fixed.begins);
        interface.primitive = Some(PrimitiveStage::Emitter(self.interface.clone()));
    }
}
