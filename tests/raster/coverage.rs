//! Which samples triangles and points cover: the top-left rule, exactly.

use super::{Kind, Numbers, Point, SIZE, at, counters, counting, covered, draw};
use shaderjit::sample_positions;

/// Whether a triangle covers a point: whether it has the point in its inside after that is moved by next to nothing to
/// the right, and by next to nothing of that downwards. So points on left and top edges are inside, others are not.
fn is_inside([a, b, c]: [Point; 3], point: Point) -> bool {
    let edge = |from: Point, to: Point| {
        let [dx, dy] = [0, 1].map(|n| i128::from(to[n] - from[n]));
        let [x, y] = [0, 1].map(|n| (i128::from(point[n] - from[n]) << 60) + (1 << (30 * (1 - n))));
        dx * y - dy * x
    };
    let sides = [edge(a, b), edge(b, c), edge(c, a)];
    sides.iter().all(|&side| side > 0) || sides.iter().all(|&side| side < 0)
}

fn sample_at([x, y]: [u32; 2], [right, down]: [i8; 2]) -> Point {
    let place = |pixel: u32, sixteenths: i8| pixel as i32 * 256 + 128 + i32::from(sixteenths) * 16;
    [place(x, right), place(y, down)]
}

#[test]
fn triangles_cover_what_the_top_left_rule_says() {
    let mut numbers = Numbers(1);
    for round in 0..60 {
        let samples = [1, 2, 4, 8, 16][round % 5];
        let mut targets = counters(samples);
        // Small ones and large ones; of every third round, with corners on the centres of pixels and between them.
        let spread = [40 * 256, 200 * 256, 4 * 256, 1000 * 256][round % 4];
        let step = if round % 3 == 0 { 128 } else { 1 };
        let corner = [0, 1].map(|_| numbers.below(SIZE * 256));
        let mut point = || [0, 1].map(|n| (corner[n] + numbers.below(spread as u32) - spread / 2) / step * step);
        let triangle = [point(), point(), point()];
        draw(&counting(), &Kind::Triangles, &triangle.map(|point| at(point, 0.5)), &mut targets);
        for pixel in (0..SIZE).flat_map(|y| (0..SIZE).map(move |x| [x, y])) {
            for (sample, &position) in sample_positions(samples).iter().enumerate() {
                let expected = u8::from(is_inside(triangle, sample_at(pixel, position)));
                let found = targets.stencil(0, pixel, sample as u32);
                assert_eq!(found, Some(expected), "round {round}: {triangle:?}, {pixel:?}, sample {sample}");
            }
        }
    }
}

/// A grid whose corners are moved about, each cell divided in one of two ways.
fn mesh(numbers: &mut Numbers, cell: i32) -> Vec<[Point; 3]> {
    let count = SIZE as i32 * 256 / cell + 2;
    let points: Vec<Vec<Point>> = (0..=count)
        .map(|y| {
            let moved = |at: i32, by: i32| (at - 1) * cell + by - cell / 5;
            (0..=count)
                .map(|x| [moved(x, numbers.below(cell as u32 * 2 / 5)), moved(y, numbers.below(cell as u32 * 2 / 5))])
                .collect()
        })
        .collect();
    let mut triangles = Vec::new();
    for (y, x) in (0..count as usize).flat_map(|y| (0..count as usize).map(move |x| (y, x))) {
        let [a, b, c, d] = [points[y][x], points[y][x + 1], points[y + 1][x], points[y + 1][x + 1]];
        triangles.extend(if numbers.below(2) == 0 { [[a, b, c], [c, b, d]] } else { [[a, b, d], [a, d, c]] });
    }
    triangles
}

#[test]
fn shared_edges_leave_no_gap_and_cover_nothing_twice() {
    let mut numbers = Numbers(2);
    for (round, cell) in [256, 300, 512, 1000, 2560, 8000, 32768, 700, 257, 1536].into_iter().enumerate() {
        let mut targets = counters([1, 4, 1, 8, 16, 2, 1, 1, 4, 1][round]);
        let triangles = mesh(&mut numbers, cell);
        let positions: Vec<[f32; 4]> = triangles.as_flattened().iter().map(|&point| at(point, 0.5)).collect();
        draw(&counting(), &Kind::Triangles, &positions, &mut targets);
        assert!(targets.stencils().iter().all(|&count| count == 1), "cells of {cell} steps");
    }
}

#[test]
fn what_has_no_area_covers_nothing() {
    let mut targets = counters(1);
    let flat = [[256, 256], [2560, 2560], [5120, 5120]].map(|point| at(point, 0.5));
    let twice = [[256, 256], [2560, 512], [256, 256]].map(|point| at(point, 0.5));
    draw(&counting(), &Kind::Triangles, &[flat, twice].concat(), &mut targets);
    assert_eq!(covered(&targets), Vec::<[u32; 2]>::new());
}

#[test]
fn a_point_is_a_square_of_one_pixel() {
    for (point, pixels) in [
        ([640, 640], vec![[2, 2]]),
        // Its left and upper edges are on centres.
        ([512, 512], vec![[1, 1]]),
        ([513, 512], vec![[2, 1]]),
        ([0, 640], vec![]),
        ([1, 640], vec![[0, 2]]),
    ] {
        let mut targets = counters(1);
        draw(&counting(), &Kind::Points, &[at(point, 0.5)], &mut targets);
        assert_eq!(covered(&targets), pixels, "{point:?}");
    }
    // Of 16 samples, those of four pixels.
    let mut targets = counters(16);
    draw(&counting(), &Kind::Points, &[at([512, 512], 0.5)], &mut targets);
    for pixel in [[1, 1], [2, 1], [1, 2], [2, 2], [3, 3]] {
        for (sample, &position) in sample_positions(16).iter().enumerate() {
            let [x, y] = sample_at(pixel, position);
            let is_inside = (384..640).contains(&x) && (384..640).contains(&y);
            assert_eq!(targets.stencil(0, pixel, sample as u32), Some(u8::from(is_inside)));
        }
    }
}
