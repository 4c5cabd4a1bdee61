#![allow(missing_docs)]
fn main() {
    let t = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let mut f = shaderjit_ir::parse::parse(&t).unwrap();
    shaderjit_ir::verify::verify(&f).unwrap();
    shaderjit_ir::pass::lockstep(&mut f).unwrap();
    if let Err(e) = shaderjit_ir::verify::verify(&f) {
        println!("{e}");
    }
    if std::env::args().nth(2).is_some() {
        println!("{f}");
    }
}
