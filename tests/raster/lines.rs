//! Lines: the diamond rule, and rectangles with several samples.

use super::{Kind, Numbers, Point, SIZE, at, counters, counting, covered, draw};
use shaderjit::raster::{FillMode, Pipeline, RasterizerState, Targets};

fn line(ends: [Point; 2]) -> Vec<[u32; 2]> {
    let mut targets = counters(1);
    draw(&counting(), &Kind::Lines, &ends.map(|end| at(end, 0.5)), &mut targets);
    covered(&targets)
}

/// A position in pixels and 256ths.
fn pixel(x: f32, y: f32) -> Point {
    [(x * 256.0) as i32, (y * 256.0) as i32]
}

#[test]
fn a_line_covers_the_pixels_whose_diamonds_it_leaves() {
    for (from, to, pixels) in [
        // The last diamond is not left.
        (pixel(1.5, 2.5), pixel(4.5, 2.5), vec![[1, 2], [2, 2], [3, 2]]),
        (pixel(4.5, 2.5), pixel(1.5, 2.5), vec![[2, 2], [3, 2], [4, 2]]),
        (pixel(2.5, 1.5), pixel(2.5, 4.5), vec![[2, 1], [2, 2], [2, 3]]),
        // It ends behind the last diamond, and begins in front of the first.
        (pixel(1.0, 2.5), pixel(4.0, 2.5), vec![[1, 2], [2, 2], [3, 2]]),
        // It begins behind the centre, in the diamond and beside it.
        (pixel(1.75, 2.5), pixel(3.0, 2.5), vec![[1, 2], [2, 2]]),
        (pixel(1.875, 2.25), pixel(3.0, 2.25), vec![[2, 2]]),
        // Within one diamond.
        (pixel(1.4, 2.5), pixel(1.6, 2.5), vec![]),
        // Through corners where four pixels meet: the pixel above has the corner of its diamond.
        (pixel(1.0, 3.0), pixel(4.0, 3.0), vec![[1, 2], [2, 2], [3, 2]]),
        // And the pixel on the left, of lines that go down.
        (pixel(3.0, 1.0), pixel(3.0, 4.0), vec![[2, 1], [2, 2], [2, 3]]),
        (pixel(0.5, 0.5), pixel(3.5, 3.5), vec![[0, 0], [1, 1], [2, 2]]),
        (pixel(0.5, 0.5), pixel(4.5, 2.5), vec![[0, 0], [1, 0], [2, 1], [3, 1]]),
    ] {
        assert_eq!(line([from, to]), pixels, "{from:?} {to:?}");
    }
}

#[test]
fn a_line_in_two_parts_covers_the_same_pixels_and_each_once() {
    let mut numbers = Numbers(3);
    for round in 0..400 {
        let start = [0, 1].map(|_| numbers.below(SIZE * 256));
        let step = [0, 1].map(|_| numbers.below(1000) - 500);
        let (parts, of) = (1 + numbers.below(10), 12);
        let after = |steps: i32| [start[0] + steps * step[0], start[1] + steps * step[1]];
        let whole = line([start, after(of)]);
        let mut targets = counters(1);
        let positions = [start, after(parts), after(parts), after(of)].map(|end| at(end, 0.5));
        draw(&counting(), &Kind::Lines, &positions, &mut targets);
        assert_eq!(covered(&targets), whole, "round {round}: {start:?} {step:?}");
        assert!(targets.stencils().iter().all(|&count| count <= 1), "round {round}: {start:?} {step:?}");
        // One pixel in each column, or in each row.
        let along = usize::from(step[0].abs() < step[1].abs());
        let mut places: Vec<u32> = whole.iter().map(|pixel| pixel[along]).collect();
        places.sort_unstable();
        assert!(places.is_sorted_by(|a, b| a < b), "round {round}");
    }
}

#[test]
fn with_samples_a_line_is_a_rectangle() {
    let mut pipeline = counting();
    pipeline.rasterizer.multisample = true;
    let mut targets = counters(1);
    // 1.4 pixels high about the middle between two rows: both have their centres in it.
    draw(&pipeline, &Kind::Lines, &[pixel(2.0, 4.0), pixel(6.0, 4.0)].map(|end| at(end, 0.5)), &mut targets);
    let row = |y: u32| (2..6).map(move |x| [x, y]);
    assert_eq!(covered(&targets), row(3).chain(row(4)).collect::<Vec<_>>());
    assert!(targets.stencils().iter().all(|&count| count <= 1));
}

fn wireframe(positions: &[[f32; 4]]) -> Targets {
    let mut pipeline: Pipeline = counting();
    pipeline.rasterizer = RasterizerState { fill: FillMode::Wireframe, ..pipeline.rasterizer };
    let mut targets = counters(1);
    draw(&pipeline, &Kind::Triangles, positions, &mut targets);
    targets
}

#[test]
fn wireframes_are_the_edges_that_clipping_leaves() {
    let corners = [pixel(2.5, 2.5), pixel(8.5, 2.5), pixel(2.5, 8.5)];
    let targets = wireframe(&corners.map(|corner| at(corner, 0.5)));
    assert_eq!(covered(&targets).len(), 3 * 6);
    // Half of it is in front of the near plane. The cut at 5.5 is no edge.
    let near = [at(corners[0], 0.5), at(corners[1], -0.5), at(corners[2], 0.5)];
    let targets = wireframe(&near);
    assert!(covered(&targets).iter().all(|&[x, _]| x <= 5));
    assert!(!covered(&targets).contains(&[5, 4]), "the cut is not drawn");
    assert!(covered(&targets).contains(&[2, 5]) && covered(&targets).contains(&[4, 2]));
}
