//! What clients send, whole and in pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keyrack_engine::fuzzing::parse_commands(bytes));
