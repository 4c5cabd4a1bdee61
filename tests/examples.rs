//! The examples run, and stay as short as they are said to be.

#[path = "../examples/blur.rs"]
mod blur;
#[path = "../examples/edges.rs"]
mod edges;
#[path = "../examples/emulator.rs"]
mod emulator;
#[path = "../examples/shade.rs"]
mod shade;
#[path = "../examples/unit_test.rs"]
mod unit_test;

/// Most lines of an example.
const MAX_LINES: usize = 80;

macro_rules! examples {
    ($( $name:ident $test:ident; )*) => {
        $(
            #[test]
            fn $test() {
                $name::main().expect("the example ends well");
            }
        )*

        #[test]
        fn every_example_is_run_and_short() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
            let entries = std::fs::read_dir(folder).expect("there are examples");
            let paths = entries.map(|entry| entry.expect("it can be read").path());
            // Those in C and C++ are run by `.ci/capi`.
            for path in paths.filter(|path| path.is_file()) {
                let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
                assert!([$( stringify!($name), )*].contains(&name.as_str()), "{name} is not run");
                let lines = std::fs::read_to_string(&path).expect("it is text").lines().count();
                assert!(lines <= MAX_LINES, "{name} has {lines} lines");
            }
        }
    };
}
examples! {
    blur the_blur_is_even;
    edges the_square_has_an_outline;
    emulator the_emulator_draws;
    shade the_torus_is_shaded;
    unit_test the_unit_test_holds;
}
