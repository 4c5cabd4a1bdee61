//! Components of registers in text: what goes in, and what must come out.
//!
//! A row `{x, y, z, w}` is a register; components left out are zero. A component is an integer, a float (with a point
//! or an exponent), `inf`, `nan`, or 32 bits in hexadecimal. With an `l` behind it, a float is a double and takes two
//! components: `{0.5l, -infl}`. Of what must come out, `nan` is any NaN, and `a|b` is either: where the rules leave a
//! choice, all that they allow is written.

use shaderjit_ir::parse::literal_bits;
use shaderjit_ir::types::Type;

/// What a component must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// These bits.
    Bits(u32),
    /// The float, or one within the bound that the text states.
    Float(f32),
    /// Any NaN.
    Nan,
    /// The low half of any double that is a NaN; the component behind it has the high half.
    DoubleNan,
    /// The high half of any double that is a NaN.
    DoubleNanHigh,
}

/// How far a float may be from what is written. Infinities, NaNs, zeros and what is written in hexadecimal have no
/// neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Not at all.
    Exact,
    /// So many units in the last place.
    Ulps(f64),
    /// By this part of the value.
    Relative(f64),
    /// By this much.
    Absolute(f64),
}

impl Bound {
    /// `2 ulp`, `2^-21 relative`, `0.0008 absolute`.
    pub fn parse(text: &str) -> Option<Bound> {
        let (value, kind) = text.split_once(' ')?;
        let value: f64 = match value.strip_prefix("2^") {
            Some(exponent) => 2f64.powi(exponent.parse().ok()?),
            None => value.parse().ok()?,
        };
        Some(match kind {
            "ulp" => Bound::Ulps(value),
            "relative" => Bound::Relative(value),
            "absolute" => Bound::Absolute(value),
            _ => return None,
        })
    }

    fn allows(self, expected: f32, found: u32) -> bool {
        let (exact, actual) = (f64::from(expected), f64::from(f32::from_bits(found)));
        let distance = match self {
            _ if expected.to_bits() == found => return true,
            Bound::Exact => return false,
            _ if expected == 0.0 => return false,
            Bound::Absolute(distance) => distance,
            Bound::Relative(part) => part * exact.abs(),
            Bound::Ulps(count) => count * f64::from(expected.abs().next_up() - expected.abs()),
        };
        expected.is_finite() && (exact - actual).abs() <= distance
    }
}

impl Pattern {
    /// Whether component `at` of a register matches.
    pub fn matches(self, bound: Bound, row: &[u32; 4], at: usize) -> bool {
        let is_double_nan = |low: usize| f64::from_bits(u64::from(row[low + 1]) << 32 | u64::from(row[low])).is_nan();
        match self {
            Pattern::Bits(bits) => bits == row[at],
            Pattern::Float(float) => bound.allows(float, row[at]),
            Pattern::Nan => f32::from_bits(row[at]).is_nan(),
            Pattern::DoubleNan => is_double_nan(at),
            Pattern::DoubleNanHigh => is_double_nan(at - 1),
        }
    }
}

/// The rows of a text: what each component may be.
pub fn patterns(text: &str) -> Result<Vec<[Vec<Pattern>; 4]>, String> {
    rows(text)?.into_iter().map(|row| patterns_of(&row)).collect()
}

/// The rows of a text: the bits of each component.
pub fn words(text: &str) -> Result<Vec<[u32; 4]>, String> {
    let word = |patterns: Vec<Pattern>| match patterns[..] {
        [Pattern::Bits(bits)] => Ok(bits),
        [Pattern::Float(float)] => Ok(float.to_bits()),
        [Pattern::Nan] => Ok(f32::NAN.to_bits()),
        [Pattern::DoubleNan] => Ok(0),
        [Pattern::DoubleNanHigh] => Ok((f64::NAN.to_bits() >> 32) as u32),
        _ => Err("one value goes in".to_string()),
    };
    let row = |row: Vec<&str>| -> Result<[u32; 4], String> {
        let mut words = [0; 4];
        for (word_of, patterns) in words.iter_mut().zip(patterns_of(&row)?) {
            *word_of = word(patterns)?;
        }
        Ok(words)
    };
    rows(text)?.into_iter().map(row).collect()
}

/// The components of each `{…}`.
fn rows(text: &str) -> Result<Vec<Vec<&str>>, String> {
    let mut rows = Vec::new();
    for row in text.split('}').map(|row| row.trim_start_matches([',', ' ']).trim()).filter(|row| !row.is_empty()) {
        let components = row.strip_prefix('{').ok_or_else(|| format!("`{row}` where a row is expected"))?;
        rows.push(components.split(',').map(str::trim).filter(|component| !component.is_empty()).collect());
    }
    Ok(rows)
}

fn patterns_of(components: &[&str]) -> Result<[Vec<Pattern>; 4], String> {
    let mut row = Vec::with_capacity(4);
    for &text in components {
        let mut alternatives: [Vec<Pattern>; 2] = [Vec::new(), Vec::new()];
        for text in text.split('|') {
            let patterns = component(text).ok_or_else(|| format!("`{text}` is not a component"))?;
            alternatives.iter_mut().zip(patterns).for_each(|(list, pattern)| list.push(pattern));
        }
        row.extend(alternatives.into_iter().filter(|list| !list.is_empty()));
    }
    row.resize_with(row.len().max(4), || vec![Pattern::Bits(0)]);
    row.try_into().map_err(|row: Vec<_>| format!("a row of {} components", row.len()))
}

/// The one or two components of a value.
fn component(text: &str) -> Option<Vec<Pattern>> {
    let (sign, magnitude) = text.strip_prefix('-').map_or((0, text), |magnitude| (1, magnitude));
    let float = |infinity: f32| vec![Pattern::Bits(infinity.to_bits() | sign << 31)];
    Some(match magnitude {
        "nan" => vec![Pattern::Nan],
        "nanl" => vec![Pattern::DoubleNan, Pattern::DoubleNanHigh],
        "inf" => float(f32::INFINITY),
        "infl" => double(f64::INFINITY.to_bits() | u64::from(sign) << 63),
        _ if magnitude.starts_with("0x") => vec![Pattern::Bits(literal_bits(Type::I32, text)? as u32)],
        _ if magnitude.ends_with('l') => double(literal_bits(Type::F64, text.strip_suffix('l')?)?),
        _ if magnitude.contains(['.', 'e']) => {
            vec![Pattern::Float(f32::from_bits(literal_bits(Type::F32, text)? as u32))]
        }
        _ => vec![Pattern::Bits(literal_bits(Type::I32, text)? as u32)],
    })
}

fn double(bits: u64) -> Vec<Pattern> {
    vec![Pattern::Bits(bits as u32), Pattern::Bits((bits >> 32) as u32)]
}
