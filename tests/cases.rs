//! `shaderjit test`: the cases of the repository pass, what is wrong is told, `--bless` writes what there is, and JUnit
//! XML is what CI services read.

mod support;

use support::tool::{Folder, fails, shaderjit, stdout};

fn cases() -> String {
    format!("{}/tests/cases/cases.toml", env!("CARGO_MANIFEST_DIR"))
}

/// A file of cases, which name shaders of the test data by `DATA`.
fn write(folder: &Folder, text: &str) -> String {
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("cases.toml");
    let data = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(&path, text.replace("DATA", &data)).unwrap();
    path.to_str().unwrap().to_string()
}

const SYSVALS: &str = "shader = \"DATA/dxbc/vs_sysvals/VS.vs_5_0.fxc101.dxbc\"\n";

#[test]
fn the_repositorys_cases_pass() {
    let text = stdout(&["test", &cases()]);
    assert_eq!(text.lines().last(), Some("4 passed, 0 failed"), "{text}");
    assert!(text.starts_with("ok    vertices are moved by the world matrix\n"), "{text}");
    let text = stdout(&["test", &cases(), "--filter", "3DS"]);
    assert_eq!(text, "ok    a 3DS shader takes its matrix by rows\n1 passed, 0 failed\n");
}

#[test]
fn what_is_wrong_is_told() {
    let folder = Folder::new("wrong-cases");
    let file = write(
        &folder,
        &format!(
            "{SYSVALS}
            [[case]]\nname = 'right'\ncount = 2\nexpect.OUT0 = [[0, 0, 0, -1], [1, 0, 1000, 4294967294]]
            [[case]]\nname = 'off'\ncount = 2\nexpect.TEXCOORD = [[0.0, 0.0], [2.5, 0.0]]
            [[case]]\nname = 'near'\ncount = 2\ntolerance.absolute = 1.0\nexpect.TEXCOORD = [[0.0, 0.0], [2.5, 0.0]]
            [[case]]\nname = 'rows'\nexpect.TEXCOORD = [[0.0, 0.0], [2.0, 0.0]]
            [[case]]\nname = 'unknown'\nexpect.COLOR = [0.0]
            [[case]]\nname = 'nothing'
            [[case]]\nname = 'input'\ninputs.POSITION = [1.0]\nexpect.OUT = [0, 0, 0, 0]"
        ),
    );
    let output = shaderjit(&["test", &file]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], ["ok    right", "FAIL  off: TEXCOORD[1].x is 2, 2.5 is expected", "ok    near"]);
    assert_eq!(lines[3], "FAIL  rows: TEXCOORD has 1 rows, 2 are expected");
    assert!(lines[4].starts_with("FAIL  unknown: there is no output COLOR; there are SV_Position0, OUT0"), "{text}");
    assert!(lines[5].starts_with("FAIL  nothing: it expects nothing"), "{text}");
    assert!(lines[6].starts_with("FAIL  input: there is no input POSITION"), "{text}");
    assert_eq!(lines[7], "2 passed, 5 failed");

    let json = shaderjit(&["test", &file, "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&json[1]["name"], &json[1]["passed"]), (&"off".into(), &false.into()));

    let bad = write(&folder, "shadr = 'x'");
    assert!(fails(&["test", &bad], 1).contains("unknown field `shadr`"));
    assert!(fails(&["test", "/nonexistent.toml"], 1).contains("/nonexistent.toml"));
    fails(&["test"], 2);
}

#[test]
fn blessing_writes_what_there_is_and_leaves_the_rest_alone() {
    let folder = Folder::new("blessed-cases");
    let text = "# Numbers.\n[[case]]\nname = 'all'   # of them\ncount = 1\n\n[[case]]\nname = 'one'\ncount = 2\nexpect.TEXCOORD = [[9.0, 9.0]]\n";
    let file = write(&folder, &format!("{SYSVALS}{text}"));
    assert_eq!(shaderjit(&["test", &file]).status.code(), Some(1));
    assert_eq!(stdout(&["test", &file, "--bless"]), "ok    all\nok    one\n2 passed, 0 failed\n");
    let blessed = std::fs::read_to_string(&file).unwrap();
    assert!(blessed.contains("# Numbers.") && blessed.contains("'all'   # of them"), "{blessed}");
    assert!(blessed.contains("expect.TEXCOORD = [[0.0, 0.0], [2.0, 0.0]]"), "{blessed}");
    assert!(blessed.contains("OUT0 = [[0, 0, 0, 4294967295]]"), "{blessed}");
    assert_eq!(stdout(&["test", &file]), "ok    all\nok    one\n2 passed, 0 failed\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), blessed);
}

#[test]
fn results_are_junit_xml() {
    let folder = Folder::new("junit-cases");
    let file = write(
        &folder,
        &format!(
            "{SYSVALS}[[case]]\nname = 'a<b'\nexpect.OUT = [0, 0, 0, -1]\n[[case]]\nname = 'c'\nexpect.OUT = [1, 0, 0, -1]"
        ),
    );
    let junit = folder.0.join("junit.xml");
    assert_eq!(shaderjit(&["test", &file, "--junit", junit.to_str().unwrap()]).status.code(), Some(1));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"2\"") && xml.contains("failures=\"1\"") && xml.contains("name=\"a&lt;b\""), "{xml}");
    assert!(xml.contains("message=\"OUT[0].x is 0, 1 is expected\""), "{xml}");
}
