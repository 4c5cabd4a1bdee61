//! Outputs against expected values, within a tolerance: what a test of a shader asks.

use super::outputs::{OutputView, Outputs};
use std::fmt;

/// How far a component may be from what is expected: near enough by either bound is near enough. Default: the same
/// value. NaNs are near each other, infinities near themselves alone.
///
/// ```
/// use shaderjit::Tolerance;
///
/// assert!(Tolerance::ulp(1).allows(1.0, 1.0 + f32::EPSILON));
/// assert!(!Tolerance::default().allows(1.0, 1.0 + f32::EPSILON));
/// assert!(Tolerance::absolute(1e-3).allows(0.0, -0.0005));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    ulp: u32,
    absolute: f32,
}

impl Tolerance {
    /// So many units of the last place: floats that lie between, and one more.
    pub fn ulp(ulp: u32) -> Tolerance {
        Tolerance { ulp, absolute: 0.0 }
    }

    /// A distance.
    pub fn absolute(absolute: f32) -> Tolerance {
        Tolerance { ulp: 0, absolute }
    }

    /// Units of the last place, or a distance for what is near zero.
    pub fn either(ulp: u32, absolute: f32) -> Tolerance {
        Tolerance { ulp, absolute }
    }

    /// Whether two values are near enough.
    pub fn allows(self, one: f32, other: f32) -> bool {
        if one.is_nan() || other.is_nan() {
            return one.is_nan() && other.is_nan();
        }
        if one.is_infinite() || other.is_infinite() {
            return one == other;
        }
        ulp_apart(one, other) <= u64::from(self.ulp) || (one - other).abs() <= self.absolute
    }
}

/// Floats from one to the other. -0 and 0 are one.
fn ulp_apart(one: f32, other: f32) -> u64 {
    // Floats in order are integers in order, from -0 down and from 0 up.
    let place = |value: f32| {
        let magnitude = i64::from(value.abs().to_bits());
        if value.is_sign_negative() { -magnitude } else { magnitude }
    };
    place(one).abs_diff(place(other))
}

/// A component that is too far from what is expected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Far {
    /// The output's semantic and index: `TEXCOORD[1]`.
    pub output: String,
    /// Vertex, counted from the start of the range.
    pub vertex: usize,
    /// Component of the element.
    pub component: usize,
    /// Its value.
    pub actual: f32,
    /// The value it should have.
    pub expected: f32,
}

impl fmt::Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Far { output, vertex, component, actual, expected } = self;
        let component = ["x", "y", "z", "w"][*component];
        write!(f, "vertex {vertex} {output}.{component} is {actual} and should be {expected}")?;
        if actual.is_finite() && expected.is_finite() {
            write!(f, ": {} ulp or {:e} apart", ulp_apart(*actual, *expected), (actual - expected).abs())?;
        }
        Ok(())
    }
}

impl OutputView<'_> {
    /// The first component that is too far from what is expected of its vertex, if any. `expected` has a row for each
    /// vertex and a value for each component that counts.
    ///
    /// # Panics
    /// If there are more or fewer rows than vertices, or more values than the element has components.
    pub fn first_far<const N: usize>(&self, expected: &[[f32; N]], tolerance: Tolerance) -> Option<Far> {
        let element = self.element();
        assert_eq!(expected.len(), self.iter().count(), "rows for the vertices of {}", element.label());
        assert!(N <= element.components() as usize, "{N} values for the components of {}", element.label());
        expected.iter().zip(self.iter()).enumerate().find_map(|(vertex, (row, bits))| {
            let pairs = row.iter().zip(bits.map(f32::from_bits)).enumerate();
            let (component, (&expected, actual)) =
                { pairs }.find(|(_, (expected, actual))| !tolerance.allows(**expected, *actual))?;
            Some(Far { output: element.label(), vertex, component, actual, expected })
        })
    }
}

impl Outputs {
    /// Asserts that an output is near what is expected of every vertex: `expected` has a row for each vertex and a
    /// value for each component that counts.
    ///
    /// ```should_panic
    /// use shaderjit::{CompileOptions, Config, Engine, Shader, Tolerance};
    ///
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc"));
    /// let code = Engine::new(Config::default()).unwrap().compile(&Shader::parse(bytes).unwrap(), &CompileOptions::default());
    /// let outputs = code.unwrap().call().unbound_as_zero(true).run(0..1).unwrap();
    /// outputs.assert_close("SV_Position", 0, &[[1.0, 0.0, 0.0, 0.0]], Tolerance::ulp(2));
    /// ```
    ///
    /// # Panics
    /// If a component is too far, and says which; if there is no such output; if there are more or fewer rows than
    /// vertices, or more values than components.
    #[track_caller]
    pub fn assert_close<const N: usize>(
        &self,
        semantic: &str,
        index: u32,
        expected: &[[f32; N]],
        tolerance: Tolerance,
    ) {
        let Some(view) = self.output(semantic, index) else {
            let names: Vec<String> = self.elements().iter().map(|element| element.label()).collect();
            panic!("there is no output {semantic}[{index}]; there are {}", names.join(", "));
        };
        if let Some(far) = view.first_far(expected, tolerance) {
            panic!("{far}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_have_their_edges() {
        let next = f32::from_bits(1.0f32.to_bits() + 3);
        assert!(Tolerance::ulp(3).allows(1.0, next) && !Tolerance::ulp(2).allows(next, 1.0));
        assert!(Tolerance::default().allows(0.0, -0.0) && Tolerance::default().allows(f32::NAN, -f32::NAN));
        assert!(!Tolerance::ulp(u32::MAX).allows(f32::MAX, f32::INFINITY));
        assert!(!Tolerance::absolute(f32::MAX).allows(f32::NAN, 0.0));
        assert!(Tolerance::ulp(2).allows(f32::from_bits(1), -f32::from_bits(1)));
        assert!(Tolerance::either(1, 0.5).allows(1.0, 1.5) && !Tolerance::either(1, 0.5).allows(1.0, 1.6));
    }
}
