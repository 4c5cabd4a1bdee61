//! Two shaders on the same inputs: the outputs that both have, compared by semantic.

use serde::Serialize;
use shaderjit::printable::Printable;
use shaderjit::{ComponentType, Element, OutputView, Outputs};

/// What two shaders were found to do.
#[derive(Default, Serialize)]
pub struct Comparison {
    /// `equal`, `close` or `different`.
    pub result: &'static str,
    pub vertices: u64,
    /// Outputs that both have.
    pub outputs: Vec<String>,
    pub only_first: Vec<String>,
    pub only_second: Vec<String>,
    /// The largest distance that was let pass, in units of the last place.
    pub max_ulp: u64,
    pub difference: Option<Found>,
    /// What [rows](crate::alone::rows_of) are called.
    #[serde(skip)]
    rows: [&'static str; 2],
}

/// The first difference beyond the tolerance.
#[derive(Serialize)]
pub struct Found {
    pub instance: u32,
    pub vertex: usize,
    pub output: String,
    pub component: char,
    pub values: [String; 2],
    pub bits: [String; 2],
    /// Units of the last place between floats; absent for integers and NaNs.
    pub ulp: Option<u64>,
    /// The inputs of that vertex, one entry an element.
    pub inputs: Vec<String>,
}

impl Comparison {
    /// Nothing compared yet.
    pub fn new(rows: [&'static str; 2], first: &[Element], second: &[Element]) -> Comparison {
        let is_in = |elements: &[Element], element: &Element| elements.iter().any(|other| same(element, other));
        let names = |of: &[Element], other: &[Element], both: bool| {
            of.iter().filter(|element| is_in(other, element) == both).map(Element::name).collect()
        };
        Comparison {
            result: "equal",
            rows,
            outputs: names(first, second, true),
            only_first: names(first, second, false),
            only_second: names(second, first, false),
            ..Comparison::default()
        }
    }

    /// Compares the outputs of one instance; whether to go on.
    pub fn add(&mut self, instance: u32, [first, second]: [&Outputs; 2], tolerance: u64) -> bool {
        let count = first.count();
        for vertex in 0..count {
            for element in first.elements() {
                let Some(other) = second.elements().iter().position(|other| same(element, other)) else { continue };
                let view = |outputs: &Outputs, element: &Element| {
                    let number = outputs.elements().iter().position(|other| same(element, other));
                    let view: Option<OutputView<'_>> = number.and_then(|number| outputs.element(number));
                    view.and_then(|view| view.bits(vertex)).expect("the run stored every element")
                };
                let ty = element.ty;
                let (left, right) = (view(first, element), view(second, &second.elements()[other]));
                let components = element.components().min(second.elements()[other].components()) as usize;
                for component in 0..components {
                    let bits = [left[component], right[component]];
                    match distance(ty, bits) {
                        Some(0) => {}
                        Some(ulp) if ulp <= tolerance => {
                            self.result = "close";
                            self.max_ulp = self.max_ulp.max(ulp);
                        }
                        ulp => {
                            self.result = "different";
                            self.difference = Some(Found {
                                instance,
                                vertex,
                                output: element.name(),
                                component: ['x', 'y', 'z', 'w'][component],
                                values: bits.map(|bits| ty.text(bits)),
                                bits: bits.map(|bits| format!("{bits:08x}")),
                                ulp,
                                inputs: Vec::new(),
                            });
                            self.vertices += vertex as u64;
                            return false;
                        }
                    }
                }
            }
        }
        self.vertices += count as u64;
        true
    }

    pub fn text(&self) -> String {
        let (count, outputs, [row, rows]) = (self.vertices, self.outputs.len(), self.rows);
        let mut out = match (&self.difference, self.result) {
            (Some(found), _) => found.text(row),
            (None, "close") => {
                format!("close: within {} ulp in {count} {rows} of {outputs} output elements\n", self.max_ulp)
            }
            (None, _) => format!("equal: {count} {rows} of {outputs} output elements\n"),
        };
        for (which, names) in [("first", &self.only_first), ("second", &self.only_second)] {
            if !names.is_empty() {
                out += &format!("only the {which} shader has {}\n", Printable(names.join(", ")));
            }
        }
        out
    }
}

impl Found {
    fn text(&self, row: &str) -> String {
        let Found { instance, vertex, output, component, values: [a, b], bits: [x, y], ulp, inputs } = self;
        let ulp = ulp.map_or(String::new(), |ulp| format!(", {ulp} ulp apart"));
        let output = Printable(output);
        let mut out = format!(
            "different: instance {instance} {row} {vertex} {output}.{component}: {a} [{x}] and {b} [{y}]{ulp}\n"
        );
        for input in inputs {
            out += &format!("  {}\n", Printable(input));
        }
        out
    }
}

/// Whether two elements are one to whoever reads them.
fn same(one: &Element, other: &Element) -> bool {
    one.semantic.eq_ignore_ascii_case(&other.semantic) && one.index == other.index
}

/// Units of the last place between two floats, 0 for equal bits and for NaNs. `None` for what has no distance.
pub fn distance(ty: ComponentType, [left, right]: [u32; 2]) -> Option<u64> {
    if left == right {
        return Some(0);
    }
    if ty != ComponentType::F32 {
        return None;
    }
    match (f32::from_bits(left).is_nan(), f32::from_bits(right).is_nan()) {
        (true, true) => return Some(0),
        (false, false) => {}
        _ => return None,
    }
    // Floats in order are integers in order, from -0 down and from 0 up.
    let place = |bits: u32| {
        let magnitude = i64::from(bits & 0x7fff_ffff);
        if bits >> 31 == 1 { -magnitude } else { magnitude }
    };
    Some(place(left).abs_diff(place(right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_as_far_apart_as_there_are_floats_between() {
        let ulp = |a: f32, b: f32| distance(ComponentType::F32, [a.to_bits(), b.to_bits()]);
        assert_eq!(ulp(1.0, 1.0 + f32::EPSILON), Some(1));
        assert_eq!(ulp(1.0, 1.0 - f32::EPSILON), Some(2));
        assert_eq!((ulp(0.0, -0.0), ulp(f32::from_bits(1), -f32::from_bits(1))), (Some(0), Some(2)));
        assert_eq!((ulp(f32::MAX, f32::INFINITY), ulp(f32::NAN, -f32::NAN)), (Some(1), Some(0)));
        assert_eq!((ulp(f32::NAN, 1.0), distance(ComponentType::U32, [1, 2])), (None, None));
    }
}
