//! Lua programs that are made to misuse everything a script can reach.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keyrack_engine::fuzzing::run_program(bytes));
