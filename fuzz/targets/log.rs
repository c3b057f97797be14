//! Log files and manifests, whatever has become of them on disk.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keyrack_engine::fuzzing::load_log(bytes));
