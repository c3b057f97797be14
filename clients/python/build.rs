//! Python loads the module and brings the symbols of its API along; some linkers have to be told.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
