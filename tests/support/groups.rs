//! Sections of compute shaders: `dispatch X Y Z == …` runs thread groups, and says what is then in memory.

use super::components::words;
use super::program::bytes;
use super::sections::{Section, Slot};
use super::textures;
use shaderjit::error::CallError;
use shaderjit::{AtomicBuffer, CompiledShader, ImageLayout, MemoryView, TexelFormat};

/// Memory before the groups run.
#[derive(Clone)]
pub struct Memory {
    slot: Slot,
    kind: Kind,
    bytes: Vec<u8>,
    counter: Option<u32>,
}

#[derive(Clone, Copy)]
enum Kind {
    Raw,
    Structured(u32),
    Typed(TexelFormat),
    Image(ImageLayout),
}

impl Memory {
    /// `raw BYTES`, `struct:STRIDE[:counter:N] BYTES`, `FORMAT BYTES`, `tex2d:FORMAT:WxH BYTES`.
    pub fn parse(slot: Slot, kind: &str, bytes: Vec<u8>) -> Result<Memory, String> {
        let fields: Vec<&str> = kind.split(':').collect();
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("{text:?} is no number"));
        let (kind, counter) = match fields[..] {
            ["raw"] => (Kind::Raw, None),
            ["struct", stride] => (Kind::Structured(number(stride)?), None),
            ["struct", stride, "counter", start] => (Kind::Structured(number(stride)?), Some(number(start)?)),
            [name] => (Kind::Typed(TexelFormat::from_name(name).ok_or_else(|| format!("no format {name}"))?), None),
            _ => (Kind::Image(textures::layout(kind).ok_or_else(|| format!("{kind} is no memory"))?), None),
        };
        Ok(Memory { slot, kind, bytes, counter })
    }
}

/// Thread groups, and what is expected then.
#[derive(Clone)]
pub struct GroupRun {
    text: String,
    grid: [u32; 3],
    expected: Expected,
}

#[derive(Clone)]
enum Expected {
    /// Rows of words, or the counter, of a slot.
    Memory(Vec<(u32, Contents)>),
    OutOfFuel,
    Parted,
}

#[derive(Clone)]
enum Contents {
    Bytes(Vec<u8>),
    Counter(u32),
}

impl GroupRun {
    /// `dispatch 2 1 1 == u0 {1, 2} {3} u1 counter 5`, `… == out_of_fuel`, `… == parted_at_barrier`.
    pub fn parse(grid: &str, expected: &str, text: &str) -> Result<GroupRun, String> {
        let numbers: Result<Vec<u32>, _> = grid.split_whitespace().map(str::parse).collect();
        let grid = numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or("a grid is three numbers")?;
        let expected = match expected.trim() {
            "out_of_fuel" => Expected::OutOfFuel,
            "parted_at_barrier" => Expected::Parted,
            memory => {
                let slots = memory.strip_prefix('u').ok_or("memory begins with its slot")?.split(" u");
                Expected::Memory(slots.map(contents).collect::<Result<_, _>>()?)
            }
        };
        Ok(GroupRun { text: text.to_string(), grid, expected })
    }
}

/// `0 {1, 2} {3}`, `0 counter 5`.
fn contents(text: &str) -> Result<(u32, Contents), String> {
    let (slot, rest) = text.trim().split_once(' ').ok_or("memory is `u0 {…}` or `u0 counter N`")?;
    let slot = slot.parse().map_err(|_| format!("{slot:?} is no slot"))?;
    match rest.strip_prefix("counter ") {
        Some(count) => {
            Ok((slot, Contents::Counter(count.trim().parse().map_err(|_| format!("{count:?} is no number"))?)))
        }
        None => Ok((slot, Contents::Bytes(bytes(words(rest)?.as_flattened())))),
    }
}

impl Section {
    /// Runs the groups in every way.
    pub fn check_groups(&self) -> Result<(), String> {
        self.check_every_way(&self.groups, |run| &run.text, |run, code| self.check_group_run(run, code))
    }

    fn check_group_run(&self, run: &GroupRun, code: &CompiledShader) -> Result<(), String> {
        let buffers: Vec<AtomicBuffer> =
            self.memory.iter().map(|memory| AtomicBuffer::from_bytes(&memory.bytes)).collect();
        let start = |memory: &Memory| AtomicBuffer::from_bytes(&memory.counter.unwrap_or(0).to_le_bytes());
        let counters: Vec<AtomicBuffer> = self.memory.iter().map(start).collect();
        let mut call = self.bind(code, &[]).map_err(|error| error.to_string())?;
        for ((memory, buffer), counter) in self.memory.iter().zip(&buffers).zip(&counters) {
            let view = match memory.kind {
                Kind::Raw => MemoryView::raw(buffer),
                Kind::Structured(stride) => MemoryView::structured(buffer, stride),
                Kind::Typed(format) => MemoryView::typed(buffer, format),
                Kind::Image(layout) => MemoryView::image(buffer, layout),
            };
            let view = if memory.counter.is_some() { view.counter(counter) } else { view };
            let (slot, space) = memory.slot;
            call.unordered_access_in_space(slot, space, view).map_err(|error| error.to_string())?;
        }
        let expected = match (&run.expected, call.dispatch(run.grid)) {
            (Expected::Memory(expected), Ok(())) => expected,
            (Expected::OutOfFuel, Err(CallError::OutOfFuel { .. })) => return Ok(()),
            (Expected::Parted, Err(CallError::PartedAtBarrier { .. })) => return Ok(()),
            (_, Ok(())) => return Err("an end".to_string()),
            (_, Err(error)) => return Err(error.to_string()),
        };
        for (slot, contents) in expected {
            let at = self.memory.iter().position(|memory| memory.slot == (*slot, 0));
            let at = at.ok_or_else(|| format!("u{slot} is not bound"))?;
            match contents {
                Contents::Counter(count) if counters[at].word(0) != Some(*count) => {
                    return Err(format!("u{slot} counter {:?}", counters[at].word(0)));
                }
                Contents::Counter(_) => {}
                Contents::Bytes(wanted) => {
                    // Rows are whole, memory may end before.
                    let found = buffers[at].to_bytes();
                    let end = found.len().min(wanted.len());
                    if found.len() > wanted.len() || found[..] != wanted[..end] || wanted[end..].iter().any(|&b| b > 0)
                    {
                        return Err(format!("u{slot} {found:02x?}"));
                    }
                }
            }
        }
        Ok(())
    }
}
