//! Compiles the arithmetic that Rust has no type for.

fn main() {
    println!("cargo:rerun-if-changed=src/longdouble.c");
    cc::Build::new().file("src/longdouble.c").std("c11").compile("keyrack_longdouble");
}
