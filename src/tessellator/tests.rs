//! Against recorded domain locations, and what holds for all factors.

use super::*;
use std::collections::HashMap;
use std::path::Path;

/// Every kind of tessellator.
fn all() -> impl Iterator<Item = Tessellator> {
    let domains = [Domain::Isoline, Domain::Tri, Domain::Quad];
    let partitionings =
        [Partitioning::Integer, Partitioning::Pow2, Partitioning::FractionalOdd, Partitioning::FractionalEven];
    let outputs = [Output::Point, Output::Line, Output::TriangleCw, Output::TriangleCcw];
    domains.into_iter().flat_map(move |domain| {
        partitionings.into_iter().flat_map(move |partitioning| {
            outputs.into_iter().filter_map(move |output| Tessellator::new(domain, partitioning, output))
        })
    })
}

/// The tessellator that a case of `tess_dom_*` names: `int_cw`, `odd_big`.
fn named(domain: Domain, command: &str) -> Tessellator {
    let hull = command.split_whitespace().find_map(|word| word.strip_prefix("H_")).expect("a hull shader");
    let (partitioning, output) = hull.split_once('.').expect("a profile").0.split_once('_').expect("two words");
    let partitioning = match partitioning {
        "int" => Partitioning::Integer,
        "pow2" => Partitioning::Pow2,
        "odd" => Partitioning::FractionalOdd,
        _ => Partitioning::FractionalEven,
    };
    let output = match output {
        "point" => Output::Point,
        "line" => Output::Line,
        "cw" => Output::TriangleCw,
        _ => Output::TriangleCcw,
    };
    Tessellator::new(domain, partitioning, output).expect("the domain has it")
}

/// Every patch of a file of 32 bytes each: four edge factors, two of the inside.
fn patches(bytes: &[u8]) -> impl Iterator<Item = Factors> {
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    bytes.chunks_exact(32).map(move |patch| {
        let words: Vec<f32> = patch.chunks_exact(4).map(float).collect();
        Factors { edges: [words[0], words[1], words[2], words[3]], inside: [words[4], words[5]] }
    })
}

#[test]
fn points_and_connections_are_the_recorded_ones() {
    let mut cases = 0;
    for (domain, name) in [(Domain::Isoline, "iso"), (Domain::Tri, "tri"), (Domain::Quad, "quad")] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dxbc").join(format!("tess_dom_{name}"));
        for file in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "cmd") {
                continue;
            }
            let case = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").strip_prefix("run.").unwrap();
            let tessellator = named(domain, &std::fs::read_to_string(&path).expect("text"));
            let factors = std::fs::read(folder.join(format!("in.{case}.0.bin"))).expect("the factors");
            let result = folder.join(format!("run.{case}.gs_5_0.fxc101.dxvk.txt"));
            let recorded = recorded(&std::fs::read_to_string(result).expect("the result"));
            let mut computed = Vec::new();
            let mut patch = Tessellation::default();
            for (number, factors) in patches(&factors).enumerate() {
                tessellator.tessellate(&factors, &mut patch);
                let words = if domain == Domain::Tri { 3 } else { 2 };
                // A line's points are two vertices, a triangle's one.
                let together = if tessellator.output() == Output::Line { 1 } else { tessellator.output().vertices() };
                computed.extend(patch.indices.chunks(together).map(|primitive| {
                    let points = primitive.iter().flat_map(|&point| &patch.points[usize::from(point)][..words]);
                    (number as u32, points.map(|place| place.to_bits()).collect::<Vec<u32>>())
                }));
            }
            for (number, (computed, recorded)) in computed.iter().zip(&recorded).enumerate() {
                assert_eq!(computed, recorded, "primitive {number} of {name} {case}");
            }
            assert_eq!(computed.len(), recorded.len(), "{name} {case}");
            cases += 1;
        }
    }
    assert_eq!(cases, 29);
}

/// The primitives of a recorded run: the number of the patch, and the words of the points.
fn recorded(text: &str) -> Vec<(u32, Vec<u32>)> {
    let mut primitives: Vec<(u32, Vec<u32>)> = Vec::new();
    for line in text.lines().skip(1) {
        let (name, words) = line.split_once('[').expect("hex words");
        let words = words.trim_end_matches(']').split_whitespace();
        let mut words = words.map(|word| u32::from_str_radix(word, 16).expect("a word"));
        let mut name = name.split_whitespace();
        let number: usize = name.next().and_then(|number| number.parse().ok()).expect("a number");
        primitives.resize(primitives.len().max(number + 1), (0, Vec::new()));
        match name.next() {
            Some("PID0") => primitives[number].0 = words.next_back().expect("a word"),
            _ => primitives[number].1.extend(words),
        }
    }
    primitives
}

/// Random numbers that are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// A factor: mostly small, sometimes whole, just beside a whole number, or out of range.
    fn factor(&mut self) -> f32 {
        let (kind, fine) = (self.next() % 16, self.next() as f32 / (1u32 << 31) as f32);
        match kind {
            0 => (self.next() % 66) as f32,
            1 => 1.0 + fine * 66.0,
            2 => ((self.next() % 64) as f32 + 1.0).next_up(),
            3 => ((self.next() % 64) as f32 + 1.0).next_down(),
            4 => 1.0 + (self.next() % 4) as f32 / 131_072.0,
            _ => fine * 12.0 + 0.01,
        }
    }
}

/// How many segments an edge has.
fn segments(partitioning: Partitioning, factor: f32) -> usize {
    let rounded = |least, most| (factor.clamp(least, most) * 65536.0).round_ties_even() / 65536.0;
    (match partitioning {
        Partitioning::Integer | Partitioning::Pow2 => factor.clamp(1.0, 64.0).ceil(),
        Partitioning::FractionalEven => 2.0 * (rounded(2.0, 64.0) / 2.0).ceil(),
        Partitioning::FractionalOdd => 2.0 * ((rounded(1.0, 63.0) - 1.0) / 2.0).ceil() + 1.0,
    }) as usize
}

/// The coordinate along each edge of its points, both ends among them. Points of edges come first, one edge after the
/// other.
fn edges(tessellator: &Tessellator, patch: &Tessellation, factors: &Factors) -> Vec<Vec<f32>> {
    let edges = tessellator.domain.edges();
    let counts = factors.edges[..edges].iter().map(|&factor| segments(tessellator.partitioning, factor));
    let ends: Vec<usize> = counts
        .scan(0, |end, count| {
            *end += count;
            Some(*end)
        })
        .collect();
    let outline = ends[edges - 1];
    (0..edges)
        .map(|edge| {
            let start = if edge == 0 { 0 } else { ends[edge - 1] };
            // One without an inside begins at another corner.
            let turn = usize::from(tessellator.domain == Domain::Quad && patch.points.len() == 4);
            let points = (start..=ends[edge]).map(|point| patch.points[(point + outline - turn) % outline]);
            let mut places: Vec<f32> = points
                .map(|[u, v, w]| {
                    let (place, across) = match (tessellator.domain, edge) {
                        (_, 0) => (v, u),
                        (_, 1) => (u, v),
                        (Domain::Tri, _) => (u, w),
                        (_, 2) => (v, 1.0 - u),
                        _ => (u, 1.0 - v),
                    };
                    assert_eq!(across, 0.0, "edge {edge}");
                    place
                })
                .collect();
            places.sort_by(f32::total_cmp);
            places
        })
        .collect()
}

/// Twice the area in units of 2^-32, by winding.
fn area(triangle: [[i64; 2]; 3]) -> i64 {
    let [a, b, c] = triangle;
    (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
}

/// 10 000 sets of factors for each kind in release builds and under `cargo test`, which optimises too.
#[test]
fn triangles_cover_the_domain_once() {
    const SETS: usize = 10_000;
    let mut patch = Tessellation::default();
    for tessellator in all() {
        let mut random = Random(1);
        // The places of an edge's points by its factor: neighbours with the same one must agree.
        let mut shared: HashMap<u32, Vec<f32>> = HashMap::new();
        for _ in 0..SETS {
            let factors =
                Factors { edges: [(); 4].map(|()| random.factor()), inside: [(); 2].map(|()| random.factor()) };
            tessellator.tessellate(&factors, &mut patch);
            let culled = factors.edges[..tessellator.domain.edges()].iter().any(|&factor| factor <= 0.0);
            assert_eq!(patch.points.is_empty(), culled);
            if culled {
                continue;
            }
            assert!(patch.points.iter().flatten().all(|place| (0.0..=1.0).contains(place)), "{factors:?}");
            assert!(patch.indices.iter().all(|&index| usize::from(index) < patch.points.len()));
            if tessellator.domain == Domain::Isoline {
                let lines = factors.edges[0].clamp(1.0, 64.0).ceil() as usize;
                assert_eq!(patch.points.len() % lines, 0);
                let on_a_line = patch.points.len() / lines;
                assert!(patch.points.iter().all(|point| point[1] < 1.0));
                if tessellator.output == Output::Line {
                    assert_eq!(patch.indices.len(), 2 * lines * (on_a_line - 1));
                }
                continue;
            }
            for (places, factor) in edges(&tessellator, &patch, &factors).into_iter().zip(factors.edges) {
                assert_eq!((places[0], places[places.len() - 1]), (0.0, 1.0));
                assert!(places.iter().eq(places.iter().rev().map(|place| 1.0 - place).collect::<Vec<_>>().iter()));
                assert_eq!(shared.entry(factor.to_bits()).or_insert(places.clone()), &places);
            }
            if tessellator.output == Output::Point {
                assert!(patch.indices.iter().copied().eq(0..patch.points.len() as u16));
                continue;
            }
            covers(&tessellator, &patch, &factors);
        }
    }
}

/// That triangles have one winding, areas add up, and each inner edge is of two triangles in opposite directions.
fn covers(tessellator: &Tessellator, patch: &Tessellation, factors: &Factors) {
    let fixed = |index: u16| {
        let [u, v, _] = patch.points[usize::from(index)];
        [u, v].map(|place| (place * 65536.0) as i64)
    };
    let mut total = 0;
    let mut open: HashMap<(u16, u16), i32> = HashMap::new();
    for triangle in patch.indices.chunks_exact(3) {
        let [a, b, c] = [triangle[0], triangle[1], triangle[2]];
        let area = area([a, b, c].map(fixed));
        total += area;
        for (from, to) in [(a, b), (b, c), (c, a)] {
            assert!(from != to, "{factors:?} {tessellator:?}");
            *open.entry((from.min(to), from.max(to))).or_default() += if from < to { 1 } else { -1 };
        }
    }
    let whole = 1i64 << 32;
    let expected = if tessellator.domain == Domain::Quad { 2 * whole } else { whole };
    let clockwise = tessellator.output == Output::TriangleCw;
    assert_eq!(total, if clockwise { expected } else { -expected }, "{factors:?} {tessellator:?}");
    let borders: usize = open.values().filter(|&&count| count != 0).count();
    let outline: usize = edges(tessellator, patch, factors).iter().map(|places| places.len() - 1).sum();
    assert_eq!(borders, outline, "{factors:?} {tessellator:?}");
}
