//! Fails on purpose: whoever does not find this within a moment finds nothing.
//!
//! Each comparison is a branch of its own, so that only a fuzzer that sees branches gets to the end in time.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if bytes.first() == Some(&b'b')
        && bytes.get(1) == Some(&b'i')
        && bytes.get(2) == Some(&b'r')
        && bytes.get(3) == Some(&b'd')
    {
        panic!("the canary was found");
    }
});
