//! Prints the description of the API, which `cargo xtask docs` keeps in `docs/openapi.json`.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

fn main() {
    print!("{}", keyrack_api::openapi());
}
