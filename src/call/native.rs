//! Waves on native code.

use super::interpret::interpret;
use super::outputs::Place;
use super::vertex_buffer::VertexBufferView;
use super::wave::{Block, Bound, Driver, Groups, Wave, WaveRunner};
use super::work::{Work, recycle};
use crate::error::{CallError, JitError};
use crate::jit::{self, Batch, InputStream, OutputBuffer, OutputElement, Progress, Scratch};
use crate::native::Native;
use shaderjit_ir::Array;
use std::mem;

/// How many vertices, from the first one of a wave in which a guard failed, run in exact form: what makes a guard fail
/// seldom comes alone. A multiple of any number of lanes.
const EXACT_VERTICES: u32 = 64;

/// What a thread keeps for native code from call to call.
#[derive(Default)]
pub(super) struct NativeMemory {
    streams: Vec<InputStream<'static>>,
    places: Vec<OutputElement>,
    scratch: Scratch,
}

/// Native code with everything bound but inputs and outputs.
pub(super) struct NativeRunner<'c, 'a> {
    bound: Bound<'c, 'a>,
    native: &'c Native,
    waves: jit::WaveRunner<'c>,
    streams: &'c mut Vec<InputStream<'static>>,
    places: &'c mut Vec<OutputElement>,
}

impl<'c, 'a> NativeRunner<'c, 'a> {
    /// On the code for what is bound.
    pub fn new(bound: Bound<'c, 'a>, native: &'c Native, memory: &'c mut NativeMemory) -> NativeRunner<'c, 'a> {
        let NativeMemory { streams, places, scratch } = memory;
        NativeRunner { bound, native, waves: jit::WaveRunner::new(native.code(), scratch), streams, places }
    }

    /// So many vertices with the uniforms of the call, but without streams.
    fn batch(&self, first_vertex: u32, count: u32) -> Batch<'c> {
        let Bound { call, resources, textures, fuel } = self.bound;
        Batch {
            inputs: &[],
            uniforms: call.spaces.native(),
            resources,
            textures,
            count,
            first_vertex,
            instance: call.instance,
            fuel,
        }
    }

    /// Runs a batch, and its exact form from where a guard fails.
    fn run_guarded(&mut self, batch: &Batch<'_>, output: &mut OutputBuffer<'_>) -> Result<(), CallError> {
        let native = self.native;
        let mut next = 0;
        self.waves.switch(native.code());
        while let Progress::GuardFailed { vertex } = self.waves.run_range(batch, next..batch.count, output)? {
            next = vertex.saturating_add(EXACT_VERTICES).min(batch.count);
            self.waves.switch(native.exact_code()?);
            let Progress::Done = self.waves.run_range(batch, vertex..next, output)? else {
                unreachable!("the exact form has no guards")
            };
            self.waves.switch(native.code());
        }
        Ok(())
    }
}

impl WaveRunner for NativeRunner<'_, '_> {
    fn lanes(&self) -> usize {
        self.waves.lanes()
    }

    fn set_input(&mut self, element: usize, lane: usize, bits: [u32; 4]) {
        self.waves.set_input(element, lane, bits);
    }

    fn run(&mut self, wave: &Wave<'_>) -> Result<(), CallError> {
        let native = self.native;
        let batch = Batch { uniforms: wave.spaces.native(), ..self.batch(wave.first, wave.count as u32) };
        self.waves.switch(native.code());
        if let Progress::GuardFailed { .. } = self.waves.run(&batch, wave.spaces_changed)? {
            self.waves.switch(native.exact_code()?);
            let Progress::Done = self.waves.run(&batch, true)? else { unreachable!("the exact form has no guards") };
        }
        Ok(())
    }

    fn run_groups(&mut self, threads: u32, groups: &mut dyn Groups) -> Result<(), CallError> {
        let batch = self.batch(0, threads);
        let number = groups.number_space().map(|space| (space, groups.spaces([0; 3]).native()[space].clone()));
        let mut runner = self.waves.groups(&batch, number)?;
        while let Some(number) = groups.next() {
            runner.add(number)?;
        }
        runner.run()
    }

    fn output(&self, element: usize, lane: usize) -> [u32; 4] {
        self.waves.output(element, lane)
    }

    fn read_array(&self, array: Array, first: u32, count: u32, lane: usize, rows: &mut Vec<[u32; 4]>) {
        self.waves.read_array(array, first, count, lane, rows);
    }

    fn run_block(&mut self, block: &Block<'_>, bytes: &mut [u8]) -> Result<(), CallError> {
        let Block { attributes, count, first_vertex, layout, first_row, spaces, .. } = *block;
        let mut streams: Vec<InputStream<'_>> = mem::take(self.streams);
        streams.extend(attributes.iter().map(|&VertexBufferView { bytes, stride, .. }| InputStream { bytes, stride }));
        let mut places = mem::take(self.places);
        places.clear();
        places.extend(layout.places().iter().map(|place| match *place {
            Some(Place { offset, stride }) => OutputElement { offset: offset + first_row * stride, stride },
            None => OutputElement { offset: 0, stride: 0 },
        }));
        let batch = Batch { inputs: &streams, uniforms: spaces.native(), ..self.batch(first_vertex, count) };
        let result = self.run_guarded(&batch, &mut OutputBuffer { bytes, elements: &places });
        (*self.streams, *self.places) = (recycle(streams), places);
        match result {
            // A guard failed, and the form without guards is too large.
            Err(CallError::Compile(JitError::Limit { .. })) => {
                interpret(self.bound, Again { block, bytes }, &mut Work::default())
            }
            result => result,
        }
    }
}

/// A block once more.
struct Again<'b> {
    block: &'b Block<'b>,
    bytes: &'b mut [u8],
}

impl<'a> Driver<'a> for Again<'_> {
    fn drive(self, waves: &mut impl WaveRunner, _: &mut Work<'a>) -> Result<(), CallError> {
        waves.run_block(self.block, self.bytes)
    }
}
