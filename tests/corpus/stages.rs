//! Geometry and tessellation through the command line, with the options of the runs that executors made: what is
//! printed are their results, and the same on every engine of one width. Domain locations, orders, integers and moves
//! are equal to the bit.

use crate::groups::{Rule, difference, printed};
use crate::{data, names};

/// The options of a run with the containers of another model and compiler, where those are there.
fn with_containers(options: &[String], profile: &str, compiler: &str, files: &[String]) -> Vec<String> {
    let model = &profile[3..];
    let replaced = options.iter().map(|option| {
        let Some((entry, rest)) = option.split_once('.').filter(|_| option.ends_with(".dxbc")) else {
            return option.clone();
        };
        // Not every stage was compiled for each model.
        let name = format!("{entry}.{}_{model}.{compiler}.dxbc", &rest[..2]);
        if files.contains(&name) { name } else { option.clone() }
    });
    replaced.collect()
}

#[test]
fn command_lines_of_runs_print_the_streams_that_executors_recorded() {
    let (mut results, root) = (0, data().join("dxbc"));
    let cases = names(&root).into_iter().filter(|case| case.starts_with("gs_") || case.starts_with("tess_"));
    for case in cases {
        let folder = root.join(&case);
        let files = names(&folder);
        for command in files.iter().filter(|name| name.ends_with(".cmd")) {
            let run = command.trim_end_matches("cmd");
            let text = std::fs::read_to_string(folder.join(command)).unwrap();
            let own: Vec<String> = text.split_whitespace().skip(1).map(str::to_string).collect();
            for result in files.iter().filter(|name| name.starts_with(run) && name.ends_with(".txt")) {
                let kind: Vec<&str> = result[run.len()..].split('.').collect();
                // Where the driver is wrong, what the rules give for every compiler's container.
                let compilers = match kind[..] {
                    [_, "expected", _] => vec!["fxc101", "fxc101Od"],
                    [_, compiler, "dxvk", _] => vec![compiler],
                    _ => continue,
                };
                let wanted = std::fs::read_to_string(folder.join(result)).unwrap();
                for compiler in compilers {
                    let options = with_containers(&own, kind[0], compiler, &files);
                    let options: Vec<&str> = options.iter().map(String::as_str).collect();
                    for lanes in ["4", "8", "16"] {
                        let [native, interpreted] = ["jit", "interp"]
                            .map(|engine| printed(&folder, &options, &["--lanes", lanes, "--engine", engine]));
                        assert!(native == interpreted, "{case} {result}: engines differ with {lanes} lanes");
                        let pairs = printed(&folder, &options, &["--lanes", lanes, "--vectors", "cranelift"]);
                        assert!(lanes == "16" || pairs == native, "{case} {result}: pairs with {lanes} lanes");
                        let differs = difference(&native, &wanted, Rule::CLOSE);
                        assert!(differs.is_none(), "{case} {result} {compiler}, {lanes} lanes: {}", differs.unwrap());
                    }
                }
                results += 1;
            }
        }
    }
    assert_eq!(results, 114);
}
