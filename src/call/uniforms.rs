//! Uniform spaces as a call binds them.

use crate::compiled::CompiledShader;
use crate::frontend::{Interface, RepeatedRows, UniformKind};
use crate::jit::UniformRows;
use smallvec::{SmallVec, smallvec};

/// The uniform spaces of a call. One entry a space of the interface.
#[derive(Clone)]
pub(super) struct BoundSpaces {
    /// Bytes that were bound, where that is known, else as many as anybody reads; `None` if nothing was.
    sizes: SmallVec<[Option<usize>; 4]>,
    /// In the form that native code reads. The interpreter reads the bound ones of them.
    rows: Vec<UniformRows>,
    /// Memory for rows that the container adds to.
    completed: Vec<[u32; 4]>,
}

impl BoundSpaces {
    /// Nothing is bound: what the container fixes, and zero.
    pub fn new(shader: &CompiledShader) -> BoundSpaces {
        let rows = shader.prepared().unbound.clone();
        BoundSpaces { sizes: smallvec![None; rows.len()], rows, completed: Vec::new() }
    }

    /// Binds the space at `index`.
    pub fn bind(&mut self, shader: &CompiledShader, index: usize, rows: impl Iterator<Item = [u32; 4]>) {
        self.sizes[index] = Some(usize::MAX);
        let (interface, readable) = (shader.interface(), &shader.prepared().static_rows);
        set(&mut self.rows[index], interface, readable, index, rows, &mut self.completed);
    }

    /// Says how many bytes the rows of a bound space were made of.
    pub fn set_bytes(&mut self, index: usize, bytes: usize) {
        self.sizes[index] = Some(bytes);
    }

    /// Bytes that were bound; `None` if nothing was.
    pub fn bytes(&self, index: usize) -> Option<usize> {
        self.sizes[index]
    }

    pub fn is_bound(&self, index: usize) -> bool {
        self.sizes[index].is_some()
    }

    /// Whether the space holds these rows. Those not bound are zero.
    pub fn holds(&self, index: usize, rows: &[[u32; 4]]) -> bool {
        let bound = self.rows[index].rows().iter().copied().chain(std::iter::repeat([0; 4]));
        bound.zip(rows).all(|(bound, &row)| bound == row)
    }

    /// A row of a space; zero if it is not bound.
    pub fn row(&self, index: usize, row: usize) -> [u32; 4] {
        self.rows[index].rows().get(row).copied().unwrap_or_default()
    }

    /// Sets some rows of a space, on top of what is bound and what the container fixes.
    pub fn set_rows(&mut self, interface: &Interface, index: usize, first: usize, new: &[[u32; 4]]) {
        self.rows[index].set_rows(first, new);
        if let Some(RepeatedRows { space, at, rows }) = interface.repeated
            && space == interface.uniforms[index].space
        {
            let twice = &new[..new.len().min((rows as usize).saturating_sub(first))];
            self.rows[index].set_rows(first + at as usize, twice);
        }
    }

    /// For the interpreter.
    pub fn rows(&self) -> impl Iterator<Item = &[[u32; 4]]> {
        self.rows.iter().map(UniformRows::rows)
    }

    /// For native code.
    pub fn native(&self) -> &[UniformRows] {
        &self.rows
    }
}

/// What the uniform spaces of an interface hold before anything is bound. Native code reads so many rows of each space
/// without a check.
pub(crate) fn unbound(interface: &Interface, readable: &[u32]) -> Vec<UniformRows> {
    let space = |index| {
        let mut rows = UniformRows::empty();
        set(&mut rows, interface, readable, index, [].into_iter(), &mut Vec::new());
        rows
    };
    (0..interface.uniforms.len()).map(space).collect()
}

/// Binds new rows to the space at `index`, with what the interface adds to them.
fn set(
    rows: &mut UniformRows,
    interface: &Interface,
    readable: &[u32],
    index: usize,
    new: impl Iterator<Item = [u32; 4]>,
    completed: &mut Vec<[u32; 4]>,
) {
    let space = interface.uniforms[index].space;
    // Also for a shader that has no native code yet: it may have some when the call runs.
    let readable = readable[space.as_u32() as usize];
    if !interface.completes(space) {
        return rows.bind(new, readable);
    }
    completed.clear();
    completed.extend(new);
    interface.complete(space, completed);
    rows.bind(completed.iter().copied(), readable);
}

/// The rows of a buffer, little-endian. What is missing of the last one is zero.
pub(super) fn rows(bytes: &[u8]) -> impl Iterator<Item = [u32; 4]> {
    let words = |bytes: &[u8; 16]| {
        let words = bytes.as_chunks().0;
        std::array::from_fn(|word| u32::from_le_bytes(words[word]))
    };
    let (whole, rest) = bytes.as_chunks::<16>();
    let last = (!rest.is_empty()).then(|| {
        let mut padded = [0; 16];
        padded[..rest.len()].copy_from_slice(rest);
        words(&padded)
    });
    whole.iter().map(words).chain(last)
}

/// How errors name a space.
pub(crate) fn name(kind: UniformKind) -> String {
    match kind {
        UniformKind::ConstantBuffer { slot, space: 0 } => format!("constant buffer cb{slot}"),
        UniformKind::ConstantBuffer { slot, space } => format!("constant buffer cb{slot} of space {space}"),
        UniformKind::Block { set, binding, index: 0 } => format!("uniform block of set {set}, binding {binding}"),
        UniformKind::Block { set, binding, index } => {
            format!("uniform block {index} of set {set}, binding {binding}")
        }
        UniformKind::PushConstants => "block of push constants".to_string(),
        UniformKind::PicaFloat => "file of float uniforms c0..c95".to_string(),
        UniformKind::PicaInt => "file of integer uniforms i0..i3".to_string(),
        UniformKind::PicaBool => "file of bool uniforms b0..b15".to_string(),
        UniformKind::Table => "table of constants".to_string(),
        UniformKind::Group => "number of the thread group".to_string(),
        UniformKind::Patch => "patch".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, Config, Engine, Shader};

    /// Bones at `c4` to `c6` plus an index.
    const SKINNING: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pica/t25_skinning.shbin"));

    #[test]
    fn rows_that_stand_twice_change_twice() {
        let engine = Engine::new(Config::default()).unwrap();
        let shader = engine.compile(&Shader::parse(SKINNING).unwrap(), &CompileOptions::default()).unwrap();
        let interface = shader.interface();
        let repeated = RepeatedRows { space: interface.uniforms[0].space, at: 128, rows: 6 };
        assert_eq!((interface.uniforms[0].kind, interface.repeated), (UniformKind::PicaFloat, Some(repeated)));
        let mut spaces = BoundSpaces::new(&shader);
        spaces.bind(&shader, 0, (0..96).map(|row| [row; 4]));
        let new = [[1000; 4], [1001; 4], [1002; 4], [1003; 4]];
        spaces.set_rows(interface, 0, 4, &new);
        let rows = spaces.rows().next().unwrap();
        assert_eq!(rows.len(), 134);
        assert_eq!((rows[3], rows[96], rows[127]), ([3; 4], [1.0f32.to_bits(); 4], [1.0f32.to_bits(); 4]));
        assert_eq!((&rows[4..8], &rows[128..]), (&new[..], &[[0; 4], [1; 4], [2; 4], [3; 4], new[0], new[1]][..]));
        let readable = shader.prepared().static_rows[repeated.space.as_u32() as usize];
        assert_eq!(spaces.native()[0], UniformRows::from_rows(rows, readable));
    }
}
