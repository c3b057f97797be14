//! Lua scripts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keyrack_engine::fuzzing::run_script(bytes));
