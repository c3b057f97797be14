//! Node loads the module and brings the symbols of its API along; some linkers have to be told.

fn main() {
    napi_build::setup();
}
