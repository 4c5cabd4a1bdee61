use super::*;
use crate::Shader;
use crate::container::shbin::{self, Dvle, Dvlp, OutputSemantic, RegisterRange};

/// `mov o0, v0` · `call 3` of one word · `end` · `nop`.
const CODE: [u32; 4] = [0x4c00_0000, 0x9000_0c01, 0x8800_0000, 0x8400_0000];

fn dvlp() -> Dvlp<'static> {
    Dvlp {
        offset: 0,
        version: 0,
        code: CODE.to_vec(),
        code_offset: 0,
        descriptors: vec![0x0d86_c36f],
        descriptors_offset: 0,
        descriptor_tails: vec![],
        unknown: [0, 0],
        symbols: b"",
    }
}

fn dvle() -> Dvle<'static> {
    Dvle {
        offset: 0,
        version: 0x1002,
        kind: ShaderKind::Vertex,
        flags: 0,
        main: 0,
        end: 3,
        input_mask: 1,
        output_mask: 1,
        geometry: None,
        constants: vec![],
        labels: vec![],
        outputs: vec![],
        uniforms: vec![],
        symbols: b"",
    }
}

fn label(position: u32, words: Option<u32>, name: &'static str) -> Label<'static> {
    Label { id: 0, flags: 1, position, words, symbol: u32::MAX, name: Name::new(name.as_bytes()) }
}

fn uniform(name: &'static str, file: RegisterFile, first: u8, last: u8) -> Uniform<'static> {
    let registers = RegisterRange { file, first, last };
    Uniform { symbol: u32::MAX, name: Name::new(name.as_bytes()), registers }
}

fn output(semantic: OutputSemantic, register: u8, mask: u8) -> OutputMapping {
    OutputMapping { semantic, register, mask, unknown: 0 }
}

fn listing(dvle: Dvle<'_>, options: ListingOptions) -> String {
    let bytes = shbin::write(&dvlp(), &[dvle]).unwrap();
    Shader::parse(&bytes).unwrap().disassemble(0, options).unwrap()
}

#[test]
fn tables_become_directives() {
    let constants = vec![
        Constant::Bool { register: 2, value: true },
        Constant::Int { register: 1, value: [1, 2, 3, 255] },
        Constant::Float { register: 5, bits: [0x3f_0000, 0xbf_8000, 0x7f_0000, 0x80_0000] },
        Constant::Float { register: 95, bits: [0, 1, 0, 0x7f_0001] },
    ];
    let outputs = vec![
        output(OutputSemantic::POSITION, 0, 15),
        output(OutputSemantic::TEXCOORD_0, 1, 0b0011),
        output(OutputSemantic::TEXCOORD_1, 1, 0b1100),
        output(OutputSemantic::COLOR, 2, 15),
        output(OutputSemantic(7), 3, 15),
    ];
    let uniforms = vec![
        uniform("pos", RegisterFile::Input, 0, 0),
        uniform("color", RegisterFile::Input, 1, 2),
        uniform("mvp", RegisterFile::Float, 2, 5),
        uniform("n", RegisterFile::Int, 1, 1),
        uniform("on", RegisterFile::Bool, 2, 2),
        uniform("pos", RegisterFile::Bool, 3, 3),
        uniform("r0", RegisterFile::Bool, 4, 4),
        uniform("\u{1b}", RegisterFile::Bool, 5, 6),
    ];
    let text = listing(Dvle { constants, outputs, uniforms, ..dvle() }, ListingOptions::default());
    let expected = "\
; DVLE 0 of 1: vertex shader
.entry main
.in pos v0
.in color[2] v1-v2
.fvec mvp[4] ; c2-c5
.ivec n ; i1
.bool on ; b2
; b3: \"pos\"
; b4: \"r0\"
; b5-b6: \"\\u{1b}\"
.out position position o0
.out - texcoord0 o1.xy
.out - texcoord1 o1.zw
.out out_color color o2
.out - 7 o3
.setb on true
.seti n(1, 2, 3, 255)
.setf mvp[3](1.0, -1.5, inf, -0.0)
.setf c95(0.0, 3.3087225e-24, 0.0, NaN)

.proc main ; entry point
    000  mov position, pos
    001  call proc_003
    002  end
.end
.proc proc_003
    003  nop
.end
";
    assert_eq!(text, expected);
}

#[test]
fn offsets_and_words_are_shown_on_request() {
    let constants = vec![Constant::Float { register: 0, bits: [0x3f_0000, 0, 0, 0xff] }];
    let options = ListingOptions { offsets: true, raw: true };
    let text = listing(Dvle { constants, ..dvle() }, options);
    let expected = "\
; DVLE 0 of 1: vertex shader
.entry main
.setf c0(1.0, 0.0, 0.0, 8.437242e-22)
; 003f0000 00000000 00000000 000000ff

            .proc main ; entry point
0x00000034:     000  mov o0, v0
                     ; 4c000000, descriptor 0: 0d86c36f
0x00000038:     001  call proc_003
                     ; 90000c01
0x0000003c:     002  end
                     ; 88000000
            .end
            .proc proc_003
0x00000040:     003  nop
                     ; 84000000
            .end
";
    assert_eq!(text, expected);
}

#[test]
fn labels_come_from_the_table() {
    let labels = vec![
        label(0, None, "start"),
        label(0, None, "again"),
        label(2, None, "start"),
        label(3, Some(1), "leaf"),
        label(2, Some(2), "tail"),
        label(1, Some(2), "crossing"),
        label(0x2000_0000, None, "outside"),
        label(4, Some(9), "behind"),
    ];
    let text = listing(Dvle { labels, ..dvle() }, ListingOptions::default());
    let expected = "\
; DVLE 0 of 1: vertex shader
.entry start
; 002: \"start\"

.proc start ; entry point
.proc again ; entry point
    000  mov o0, v0
.proc crossing
    001  call leaf
.proc tail
    002  end
.end ; start
.end ; again
.end ; crossing
.proc leaf
    003  nop
.end
.end
; behind is behind the program
; outside is behind the program
";
    assert_eq!(text, expected);
}

#[test]
fn geometry_shaders_say_how_they_get_their_vertices() {
    let first = |mode| {
        let geometry = Some(Geometry { mode, fixed_start: 7, variable_vertices: 8, fixed_vertices: 9 });
        let dvle = Dvle { kind: ShaderKind::Geometry, flags: 1, geometry, ..dvle() };
        listing(dvle, ListingOptions::default()).lines().take(4).collect::<Vec<_>>().join("\n")
    };
    let head =
        "; DVLE 0 of 1: geometry shader\n; the output maps of vertex and geometry shader are merged\n.entry main\n";
    assert_eq!(first(GeometryMode::POINT), format!("{head}.gsh point"));
    assert_eq!(first(GeometryMode::VARIABLE), format!("{head}.gsh variable 8"));
    assert_eq!(first(GeometryMode::FIXED), format!("{head}.gsh fixed c7 9"));
    assert_eq!(first(GeometryMode(3)), format!("{head}.gsh unknown(0x3)"));
}

#[test]
fn an_entry_point_may_lie_anywhere() {
    let text = listing(Dvle { main: 0xfff, end: 0, ..dvle() }, ListingOptions::default());
    assert!(text.contains(".entry main\n") && text.ends_with("; main is behind the program\n"), "{text}");
    // The name is taken.
    let uniforms = vec![uniform("main", RegisterFile::Float, 0, 0)];
    let text = listing(Dvle { main: 2, uniforms, ..dvle() }, ListingOptions::default());
    assert!(text.contains(".entry label_002\n") && text.contains("\nlabel_002: ; entry point\n"), "{text}");
}

#[test]
fn words_and_objects_are_listed_alike() {
    let shader = Shader::from_pica_words(&CODE, &[0x0d86_c36f], 2);
    let options = ListingOptions { offsets: true, raw: false };
    let expected = "\
.entry main

0x00000000:     000  mov o0, v0
0x00000004:     001  call proc_003
            main: ; entry point
0x00000008:     002  end
            .proc proc_003
0x0000000c:     003  nop
            .end
";
    assert_eq!(shader.disassemble(0, options).unwrap(), expected);

    let object = shbin::Object {
        version: 0,
        kind: ShaderKind::Vertex,
        flags: 1,
        input_mask: 1,
        output_mask: 1,
        unknown: u32::MAX,
        constants: vec![],
        labels: vec![label(0, Some(3), "begin")],
        code: CODE.to_vec(),
        code_offset: 0,
        descriptors: vec![],
        descriptor_tails: vec![],
        lines: vec![],
        operands: vec![],
        outputs: vec![],
        uniforms: vec![uniform("pos", RegisterFile::Input, 0, 0)],
        symbols: b"",
    };
    let text = Shader::parse(&object.write().unwrap()).unwrap().disassemble(0, ListingOptions::default()).unwrap();
    let expected = "\
; DVOJ: vertex shader
; the output maps of vertex and geometry shader are merged
.entry begin
.in pos v0

.proc begin ; entry point
    000  mov o0, pos ; descriptor 0 is not in the table
    001  call proc_003
    002  end
.end
.proc proc_003
    003  nop
.end
";
    assert_eq!(text, expected);
}

/// A file in which thousands of records share the longest name there is.
#[test]
fn long_names_do_not_make_long_listings() {
    let symbols = [[b'x'; 4096].as_slice(), &[0]].concat();
    let name = Name::new(&symbols[..4096]);
    let label = |position| Label { symbol: 0, name, ..label(position, None, "") };
    let labels = (0..4).flat_map(|at| std::iter::repeat_n(label(at), 1000)).collect();
    let uniforms = vec![Uniform { symbol: 0, name, ..uniform("", RegisterFile::Input, 0, 15) }; 1000];
    let bytes = shbin::write(&dvlp(), &[Dvle { symbols: &symbols, labels, uniforms, ..dvle() }]).unwrap();
    let text = Shader::parse(&bytes).unwrap().disassemble(0, ListingOptions::default()).unwrap();
    assert!(text.len() < 2 * bytes.len(), "{} bytes of text for {}", text.len(), bytes.len());
}

#[test]
fn no_change_of_a_file_can_make_a_listing_panic() {
    let file = |name| std::fs::read(format!("{}/tests/data/pica/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let files = ["t44_loop_call_if.shbin", "t31_geo_point.shbin", "t30_constants.shbin"].map(file);
    arbtest::arbtest(|u| {
        let mut bytes = u.choose(&files)?.clone();
        for _ in 0..u.int_in_range(1..=8)? {
            let at = u.choose_index(bytes.len())?;
            bytes[at] = u.arbitrary()?;
        }
        let Ok(shader) = Shader::parse(&bytes) else { return Ok(()) };
        for entry in 0..shader.entry_count().min(3) {
            let _ = shader.disassemble(entry, ListingOptions { offsets: true, raw: true });
        }
        Ok(())
    })
    .budget_ms(500);
}
