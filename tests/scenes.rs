//! `render SCENE.toml`: the scenes of `tests/data/scenes` are the pictures that README shows; turntables, statistics,
//! and what is wrong with a scene.
//!
//! `BLESS=1 cargo test --all-features --test scenes` writes the pictures.

mod support;

use std::fs::File;
use std::io::BufReader;
use support::tool::{Folder, Temporary, data, fails, stdout};

/// Width, height, and four bytes a pixel of every frame.
struct Picture {
    size: [u32; 2],
    frames: Vec<Vec<u8>>,
}

fn read(path: &str) -> Picture {
    let file = BufReader::new(File::open(path).unwrap_or_else(|error| panic!("{path}: {error}")));
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let count = reader.info().animation_control().map_or(1, |control| control.num_frames);
    let size = [reader.info().width, reader.info().height];
    let mut frame = || {
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        bytes
    };
    let frames = (0..count).map(|_| frame()).collect();
    Picture { size, frames }
}

fn scene(name: &str) -> String {
    data(&format!("scenes/{name}.toml"))
}

/// The picture of a scene, as the tool writes it, and what the tool prints.
fn render(scene: &str, options: &[&str]) -> (Picture, String) {
    let name = std::path::Path::new(scene).file_stem().unwrap().to_str().unwrap();
    let file = Temporary::new(&format!("{name}-{}.png", options.join("-")), &[]);
    let printed = stdout(&[&["render", scene, "-o", file.path()], options].concat());
    (read(file.path()), printed)
}

/// The picture is the one in `docs`: within 2 of 255, but for a few pixels, for another processor may round products
/// otherwise, which moves edges.
fn is_in_docs(name: &str) {
    let path = format!("{}/docs/{name}.png", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        stdout(&["render", &scene(name), "-o", &path]);
    }
    let ([known, (drawn, _)], wrong) = ([(read(&path), String::new()), render(&scene(name), &[])], 2);
    assert_eq!(known.0.size, drawn.size, "{name}");
    let pixels = |picture: &Picture| picture.frames[0].as_chunks::<4>().0.to_vec();
    let (known, drawn) = (pixels(&known.0), pixels(&drawn));
    let is_off = |(a, b): &(&[u8; 4], &[u8; 4])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > wrong);
    let off = known.iter().zip(&drawn).filter(is_off).count();
    assert!(off * 500 <= known.len(), "{name}: {off} of {} pixels are not those of {path}", known.len());
}

#[test]
fn a_scene_of_hlsl() {
    is_in_docs("still_life");
}

#[test]
fn a_scene_of_a_3ds() {
    is_in_docs("handheld");
}

#[test]
fn a_scene_of_glsl() {
    is_in_docs("hills");
}

#[test]
fn every_kind_of_native_code_draws_the_same() {
    for name in ["still_life", "handheld", "hills"] {
        // How products round is the machine's choice unless it is said.
        let drawn = |vectors: &str| render(&scene(name), &["--mad", "separate", "--vectors", vectors]).0.frames;
        let first = drawn("cranelift");
        for vectors in shaderjit::Vectors::of_this_machine() {
            assert!(drawn(vectors.name()) == first, "{name}, {}", vectors.name());
        }
    }
}

#[test]
fn a_turntable_turns_the_camera() {
    let (turning, _) = render(&scene("handheld"), &["--turntable", "3"]);
    let (still, _) = render(&scene("handheld"), &[]);
    assert_eq!((turning.size, turning.frames.len()), (still.size, 3));
    assert_eq!(turning.frames[0], still.frames[0]);
    assert!(turning.frames[1] != turning.frames[0] && turning.frames[2] != turning.frames[1]);
}

#[test]
fn statistics_say_what_draws_have_done() {
    let (_, printed) = render(&scene("still_life"), &["--stats", "--json"]);
    let stats: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let draws = stats["frames"][0].as_array().unwrap();
    assert_eq!(draws.iter().map(|draw| &draw["name"]).collect::<Vec<_>>(), ["tiles", "torus"]);
    assert_eq!((&draws[0]["primitives"], &draws[1]["primitives"]), (&2.into(), &9216.into()));
    let number = |draw: usize, key: &str| draws[draw][key].as_f64().unwrap();
    // Four samples a pixel; the tiles fill what is below the horizon.
    assert!(number(0, "pixels") > 110_000.0 && number(0, "samples") > 3.9 * number(0, "pixels"));
    assert!(number(0, "raster") > 0.0 && number(0, "pixel") > 0.0 && number(1, "vertex") > 0.0);
    assert_eq!(number(0, "hull"), 0.0);
    let (_, printed) = render(&scene("still_life"), &["--stats", "--turntable", "2"]);
    assert!(printed.starts_with("frame 0\ndraw ") && printed.contains("\nframe 1\n"), "{printed}");
}

/// What is said of the scene of the tiles when something in it is something else.
fn wrong(from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(scene("still_life")).unwrap();
    assert!(text.contains(from), "{from}");
    let text =
        text.replacen(from, to, 1).replace("../dxbc", &data("dxbc")).replace("tiles.png", &data("scenes/tiles.png"));
    let folder = Folder::new(&format!("scene-{}", from.len() * 1000 + to.len()));
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("scene.toml");
    std::fs::write(&path, text).unwrap();
    let message = fails(&["render", path.to_str().unwrap(), "-o", "/dev/null"], 1);
    message.trim_start_matches("shaderjit: error: ").trim_end().to_string()
}

#[test]
fn what_is_wrong_with_a_scene_is_told() {
    let is = |from: &str, to: &str, message: &str| {
        let found = wrong(from, to);
        assert!(found.contains(message), "{found:?} has no {message:?}");
    };
    is("size = [480, 270]", "size = [0, 270]", "0");
    is("samples = 4", "samples = 3", "3");
    is("field = 42.0", "angle = 42.0", "unknown field `angle`");
    is("constants.m", "constants.n", "draw \"tiles\": no stage has n");
    is("\"transposed world_view_projection\"", "\"world_projection\"", "m: nothing is named \"world_projection\"");
    is("\"transposed world_view_projection\"", "[1.0, 2.0]", "m: variable m");
    is("inputs.UV", "inputs.TEX", "there is no TEX; there are POSITION0, UV0");
    is("torus:96x48", "torus:96x4800", "sizes are 1 to 1024");
    is("\"normal\"", "\"colour\"", "NORMAL: the mesh has no \"colour\"");
    is("textures.t", "textures.normals", "no stage has normals");
    is("tiles.png", "stones.png", "stones.png");
    is("aniso:wrap", "cubic:wrap", "\"cubic\" is none of");
    is("topology = \"tristrip\"", "topology = \"patch4\"", "patches");
    is("cull = \"back\"", "cull = \"both\"", "both");
    assert!(fails(&["render", &scene("nothing"), "-o", "/dev/null"], 1).contains("nothing.toml"));
    assert!(fails(&["render", &scene("still_life"), "--stats"], 2).contains("--output"));
}
