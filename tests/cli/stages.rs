//! The other stages and whole draws: geometry shaders, thread groups, pixels that write, pictures.

use crate::support::tool::{Folder, Temporary, data, fails, shaderjit, stdout};

/// Every reference of geometry shaders, on both engines.
#[test]
fn geometry_shaders_write_records_of_triangles() {
    let uniforms = |name: &str| data(&format!("pica/{name}.d1.uni.bin"));
    for name in ["t31_geo_point", "t33_geo_fixed", "t34_geo_output_banks", "t35_geo_b15_state"] {
        let (file, uniforms) = (data(&format!("pica/{name}.shbin")), uniforms(name));
        let input = data("pica/inputs/normal256.bin");
        let reference = std::fs::read(data(&format!("pica/{name}.d1.normal256.ref.gsout"))).unwrap();
        for engine in ["jit", "interp"] {
            let args = ["run", "--gs", &file, "--engine", engine, "--input", &input, "--uniforms", &uniforms];
            let output = shaderjit(&[&args[..], &["--format", "raw"]].concat());
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(output.stdout == reference, "{name} on {engine}");
        }
    }
    let (file, input, uniforms) =
        (data("pica/t31_geo_point.shbin"), data("pica/inputs/normal256.bin"), uniforms("t31_geo_point"));
    let args = ["run", "--gs", &file, "--input", &input, "--uniforms", &uniforms, "--count", "2"];
    let table = stdout(&args);
    assert_eq!(table.lines().count(), 4 * 3 * 2);
    assert!(table.lines().next().is_some_and(|line| line.contains("inverted")));
    let csv = stdout(&[&args[..], &["--format", "csv"]].concat());
    assert!(csv.starts_with("triangle,invocation,inverted,vertex,o0.x,o0.y,o0.z,o0.w,o1.x,"));
    assert_eq!(csv.lines().count(), 1 + 4 * 3);
    let json: serde_json::Value = serde_json::from_str(&stdout(&[&args[..], &["--format", "json"]].concat())).unwrap();
    assert_eq!((json["registers"][1].as_u64(), json["triangles"].as_array().map(Vec::len)), (Some(1), Some(4)));

    assert!(stdout(&["diff", &file, "--entry", "1", "--count", "50"]).contains("no difference in 100 triangles"));
    assert!(
        fails(&["run", "--gs", &data("pica/t01_transform.shbin"), "--count", "1"], 1).contains("no geometry shader")
    );
    fails(&["run", &file, "--attributes", "3"], 2);
}

/// Thread groups: memory is printed and written, both engines are compared and timed.
#[test]
fn compute_shaders_run_are_compared_and_timed() {
    let container = data("dxbc/cs_nested_sync/CS.cs_5_0.fxc101.dxbc");
    let folder = Folder::new("groups");
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("u0.bin").display().to_string();
    let options = [container.as_str(), "--dispatch", "3,1,1", "--uav", "0=struct:4,zero:384"];
    let out = format!("0={path}");
    let text = stdout(&[&["run", "--cs", "--uav-out", &out], &options[..]].concat());
    assert_eq!(text.lines().count(), 96);
    assert!(text.lines().all(|line| line.starts_with("u0[") && line.ends_with(']')), "{text}");
    let bytes = std::fs::read(&path).unwrap();
    let words: Vec<String> =
        bytes.as_chunks().0.iter().map(|&word| format!("[{:08x}]", u32::from_le_bytes(word))).collect();
    assert!(text.lines().zip(&words).all(|(line, word)| line.ends_with(word.as_str())));

    let text = stdout(&[&["diff"], &options[..]].concat());
    assert_eq!(text, "no difference in memory behind 96 threads, which end: done\n");
    let text = stdout(&[&["bench", "--millis", "1"], &options[..]].concat());
    assert!(text.starts_with("threads    96") && text.contains(" ns/thread, "), "{text}");

    let message = fails(&["run", "--cs", &container], 2);
    assert!(message.contains("--dispatch"), "{message}");
    let message = fails(&["run", "--cs", "--dispatch", "1,1", &container], 2);
    assert!(message.contains("X,Y,Z"), "{message}");
    let bad = ["run", "--cs", "--dispatch", "1,1,1", "--uav", "0=struct:8,zero:8", &container];
    assert!(fails(&bad, 1).contains("view u0 is a buffer of structures of 4 bytes to the shader"));
}

/// Pixels that write: their memory is printed behind their outputs, compared and written to files.
#[test]
fn memory_that_pixels_write_is_printed_and_compared() {
    let container = data("dxbc/ps_uav/PS.ps_5_0.fxc101.dxbc");
    let folder = Folder::new("pixels_that_write");
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("u1.bin").display().to_string();
    let (input, out) = (format!("zero:{}", 21 * 32), format!("1={path}"));
    let uavs = ["--uav", "1=buf:r32u,zero:64", "--uav", "2=raw,zero:256", "--uav", "3=tex2d:r32u:8x8,zero:256"];
    let options = [&[container.as_str(), "--input", &input][..], &uavs].concat();
    for engine in ["jit", "interp"] {
        let text = stdout(&[&["run", "--engine", engine, "--uav-out", &out], &options[..]].concat());
        let counts = text.lines().find(|line| line.starts_with("u1[0]"));
        assert!(counts.is_some_and(|line| line.ends_with("[00000015]")), "{text}");
        assert_eq!(std::fs::read(&path).unwrap()[..4], [21, 0, 0, 0]);
    }
    let text = stdout(&[&["diff"], &options[..]].concat());
    assert_eq!(text, "no difference in 21 pixels and the memory that they write\n");
    assert!(stdout(&[&["bench", "--millis", "1"], &options[..]].concat()).contains(" ns/pixel"));
    let message = fails(&["run", &container, "--input", &input], 1);
    assert!(message.contains("u1"), "{message}");
}

#[test]
fn draws_are_pictures_or_lines() {
    let file = |name: &str| data(&format!("dxbc/pipe_two/{name}"));
    let (vertex, pixel) = (file("VS.vs_5_0.fxc101.dxbc"), file("PS.ps_5_0.fxc101.dxbc"));
    let (input, indices, constants) =
        (file("in.r0.0.bin"), format!("{}:u32", file("in.r0.1.bin")), format!("0={}", file("in.r0.2.bin")));
    let scene = ["--vs", &vertex, "--ps", &pixel, "--in", &input, "--ib", &indices, "--cb", &constants];
    let options = [&scene[..], &["--rt", "40x30", "--depth", "less", "--cull", "back", "--samples", "4"]].concat();

    let picture = Temporary::new("picture", b"");
    assert_eq!(stdout(&[&["render"], &options[..], &["-o", picture.path()]].concat()), "");
    let file = std::io::BufReader::new(std::fs::File::open(picture.path()).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!((reader.info().width, reader.info().height, pixels.len()), (40, 30, 40 * 30 * 4));
    // Something is drawn in the middle, and nothing in the corner.
    let alpha = |x: usize, y: usize| pixels[4 * (40 * y + x) + 3];
    assert_eq!((alpha(20, 15), alpha(0, 0)), (255, 0));

    let lines = stdout(&[&["run"], &options[..]].concat());
    assert_eq!(lines.lines().filter(|line| line.starts_with("rt0(")).count(), 40 * 30);
    assert_eq!(lines.lines().filter(|line| line.starts_with("depth(")).count(), 40 * 30);
    for threads in ["1", "3"] {
        assert_eq!(stdout(&[&["run", "--threads", threads], &options[..]].concat()), lines);
    }
    fails(&[&["run", &vertex], &options[..]].concat(), 2);
    fails(&[&["run"], &scene[..]].concat(), 2);
    fails(&["run"], 2);
    fails(&["render", "--rt", "4x4"], 2);
    let message = fails(&["run", "--vs", &vertex, "--ps", &vertex, "--count", "3", "--rt", "4x4"], 1);
    assert!(message.contains("no pixel shader"), "{message}");
}
