//! Geometry shaders whose invocations all emit the same vertices in number: their words are the outputs of a batch,
//! which stores them one behind the other where they belong. Primitives that lie in order are read where they lie.

use super::primitives::Stream;
use super::read::{PrimitiveIds, Primitives};
use super::table::VertexTable;
use crate::call::bindings::{Call, zero};
use crate::call::engine::with_memory;
use crate::call::outputs::{OutputLayout, Place};
use crate::call::vertex_buffer::VertexBufferView;
use crate::call::wave::{Block, Driver, WaveRunner};
use crate::call::work::Work;
use crate::error::CallError;
use crate::frontend::{Element, EmitterInterface};
use crate::jit::Layout;
use crate::options::default_format;
use std::borrow::Cow;
use std::iter::repeat_n;

impl<'a> Call<'a> {
    /// Runs a geometry shader on `count` primitives. `begins` says of each vertex of an invocation whether it begins a
    /// strip.
    pub(super) fn fixed_primitives(
        &self,
        emitter: &EmitterInterface,
        begins: &[bool],
        primitives: &Primitives<'_>,
        count: usize,
        stream: &mut Stream,
    ) -> Result<(), CallError> {
        let (instances, vertices) = (emitter.instances as usize, begins.len());
        let invocations = count.saturating_mul(instances);
        if invocations == 0 || vertices == 0 {
            return Ok(());
        }
        stream.vertices.grow(invocations.saturating_mul(vertices))?;
        let inputs = Inputs::new(self, emitter, primitives, invocations);
        let elements = &self.shader.interface().inputs;
        let attributes: Vec<VertexBufferView<'_>> =
            elements.iter().enumerate().map(|(number, element)| inputs.view(number, element)).collect();
        // The words of an invocation's vertices lie one behind the other, four of them in an element.
        let stride = vertices * stream.vertices.stride();
        let words = 0..self.shader.interface().outputs.len();
        let layout = words.fold(OutputLayout::none(self.shader), |layout, element| {
            layout.with(element, Place { offset: 16 * element, stride })
        });
        let native = self.shader.native_for(&Layout {
            inputs: attributes.iter().map(|attribute| attribute.format).collect(),
            outputs: self.shader.interface().outputs.iter().map(|element| element.components() as u8).collect(),
        })?;
        let block = Block {
            attributes: &attributes,
            count: invocations as u32,
            first_vertex: 0,
            layout: &layout,
            first_row: 0,
            spaces: &self.spaces,
            quads: None,
        };
        let bytes = stream.vertices.bytes_mut();
        with_memory(|memory, work| {
            self.with_fuel(|fuel| self.drive(native.as_deref(), fuel, OneBlock { block, bytes }, memory, work))
        })?;
        connect(emitter, begins, primitives, invocations, stream);
        Ok(())
    }
}

/// The primitives that the vertices of all invocations make: the same in each.
fn connect(
    emitter: &EmitterInterface,
    begins: &[bool],
    primitives: &Primitives<'_>,
    invocations: usize,
    stream: &mut Stream,
) {
    let declared = &emitter.streams[0];
    let mut pattern = Vec::new();
    let mut strip: Vec<u32> = Vec::new();
    for (vertex, &begins) in (0..).zip(begins) {
        if begins || !declared.has_strips() {
            declared.topology.assemble(strip.drain(..), None, &mut pattern);
        }
        strip.push(vertex);
    }
    declared.topology.assemble(strip, None, &mut pattern);
    let of_one = pattern.len() / stream.topology.vertices();
    if of_one == 0 {
        return;
    }
    append_series(&mut stream.indices, &pattern, begins.len() as u32, invocations);
    append_ids(
        &mut stream.ids,
        primitives,
        of_one * emitter.instances as usize,
        invocations / emitter.instances as usize,
    );
}

/// Appends a pattern of numbers so many times, each time by `step` more.
fn append_series(numbers: &mut Vec<u32>, pattern: &[u32], step: u32, times: usize) {
    /// So many times are a block, to which a compiler adds with whole vectors.
    const BLOCK: usize = 16;
    let after = |number: usize| move |value: &u32| value.wrapping_add(step.wrapping_mul(number as u32));
    let block: Vec<u32> = (0..times.min(BLOCK)).flat_map(|number| pattern.iter().map(after(number))).collect();
    numbers.reserve(pattern.len() * times);
    for first in (0..times).step_by(BLOCK) {
        let len = pattern.len() * (times - first).min(BLOCK);
        numbers.extend(block[..len].iter().map(after(first)));
    }
}

/// Appends the numbers of the first `count` primitives, each so many times.
fn append_ids(ids: &mut Vec<u32>, primitives: &Primitives<'_>, times: usize, count: usize) {
    match primitives.ids {
        PrimitiveIds::From(first) => append_series(ids, &vec![first; times], 1, count),
        PrimitiveIds::Each(each) => ids.extend(each[..count].iter().flat_map(|&id| repeat_n(id, times))),
    }
}

/// What the invocations read: rows of vertices, those of one primitive behind those of the other.
struct Inputs<'i> {
    rows: Cow<'i, [u8]>,
    /// Bytes of a row.
    stride: usize,
    /// Where in a row each element of a vertex is, if it is there.
    offsets: Vec<Option<usize>>,
    /// Vertices of a primitive.
    vertices: usize,
    /// Numbers of primitives and instances, an entry an invocation.
    ids: Vec<[u8; 4]>,
    instance_ids: Vec<[u8; 4]>,
    reads: &'i [bool],
}

impl<'i> Inputs<'i> {
    fn new(
        call: &'i Call<'_>,
        emitter: &EmitterInterface,
        primitives: &Primitives<'i>,
        invocations: usize,
    ) -> Inputs<'i> {
        let (inputs, instances) = (emitter.inputs, emitter.instances as usize);
        let Primitives { vertices: table, indices, .. } = *primitives;
        let (vertices, signature) = (inputs.vertices as usize, call.shader.interface().signature_inputs());
        let links = table.links(signature);
        let mut offsets: Vec<Option<usize>> = links.iter().map(|link| Some(table.offsets()[(*link)?])).collect();
        let mut stride = table.stride();
        // Of elements that have less than is read, the rest is zero: such rows are made anew.
        let has_less = |(link, element): (&Option<usize>, &Element)| {
            link.is_some_and(|link| table.elements()[link].components() < element.components())
        };
        // Without an early end, so that whole vectors are compared.
        let in_order =
            instances == 1 && indices.iter().zip(0..).fold(0, |differs, (&index, row)| differs | (index ^ row)) == 0;
        let all = || indices.chunks_exact(vertices).flat_map(|primitive| (0..instances).flat_map(move |_| primitive));
        let rows = if links.iter().zip(signature).any(has_less) {
            let mut own = VertexTable::new(signature.to_vec());
            for &index in all() {
                let word = |link: &Option<usize>| link.map_or([0; 4], |link| table.get(index as usize, link));
                own.push_row(links.iter().map(word));
            }
            (offsets, stride) = (own.offsets().iter().copied().map(Some).collect(), own.stride());
            Cow::Owned(own.into_bytes())
        } else if in_order {
            Cow::Borrowed(table.bytes())
        } else {
            let mut rows = Vec::with_capacity(invocations * vertices * stride);
            all().for_each(|&index| rows.extend_from_slice(&table.bytes()[index as usize * stride..][..stride]));
            Cow::Owned(rows)
        };
        let reads = &call.shader.prepared().facts.reads_input;
        let (mut ids, mut instance_ids) = (Vec::new(), Vec::new());
        if reads[inputs.primitive_id() as usize] {
            append_ids(&mut ids, primitives, instances, invocations / instances);
        }
        if reads[inputs.instance_id() as usize] {
            append_series(&mut instance_ids, &(0..emitter.instances).collect::<Vec<_>>(), 0, invocations / instances);
        }
        let [ids, instance_ids] = [ids, instance_ids].map(|ids| ids.into_iter().map(u32::to_le_bytes).collect());
        Inputs { rows, stride, offsets, vertices, ids, instance_ids, reads }
    }

    /// What an input element reads.
    fn view(&self, number: usize, element: &Element) -> VertexBufferView<'_> {
        if !self.reads[number] {
            return zero(element);
        }
        let elements = self.offsets.len();
        let numbers = elements * self.vertices;
        if number >= numbers {
            let numbers = if number == numbers { &self.ids } else { &self.instance_ids };
            return VertexBufferView::u32x1(numbers.as_flattened(), 4);
        }
        let Some(offset) = self.offsets[number % elements] else { return zero(element) };
        let bytes = &self.rows[number / elements * self.stride + offset..];
        VertexBufferView::new(default_format(element), bytes, self.vertices * self.stride)
    }
}

/// All invocations.
struct OneBlock<'b> {
    block: Block<'b>,
    bytes: &'b mut [u8],
}

impl<'a> Driver<'a> for OneBlock<'_> {
    fn drive(self, waves: &mut impl WaveRunner, _: &mut Work<'a>) -> Result<(), CallError> {
        waves.run_block(&self.block, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_go_on_from_block_to_block() {
        for times in [0, 1, 15, 16, 17, 40] {
            let mut numbers = vec![7];
            append_series(&mut numbers, &[0, 1, 2, 2, 1, 3], 4, times);
            let wanted = (0..times as u32).flat_map(|time| [0, 1, 2, 2, 1, 3].map(|vertex| vertex + 4 * time));
            assert!(numbers.iter().copied().eq([7].into_iter().chain(wanted)), "{times}: {numbers:?}");
        }
    }

    #[test]
    fn primitives_have_their_numbers_in_each_instance() {
        let table = VertexTable::default();
        let ids = |ids| {
            let mut numbers = Vec::new();
            append_ids(&mut numbers, &Primitives { vertices: &table, indices: &[], ids }, 2, 3);
            numbers
        };
        assert_eq!(ids(PrimitiveIds::From(u32::MAX)), [u32::MAX, u32::MAX, 0, 0, 1, 1]);
        assert_eq!(ids(PrimitiveIds::Each(&[9, 4, 6, 5])), [9, 9, 4, 4, 6, 6]);
    }
}
