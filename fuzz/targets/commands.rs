//! Commands of every kind, one after another.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keyrack_engine::fuzzing::run_commands(bytes));
