//! Random programs: whatever they do, they end with a reply.

use super::{ToyEngine, run};
use crate::reply::Reply;
use crate::script::generate::Generator;
use crate::script::{Limits, Scripts};

/// How many programs are run; `SCRIPT_PROGRAMS` overrides it.
const PROGRAMS: u64 = 2_000;

/// Bytes that follow from a seed.
fn bytes_of(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let length = 16 + seed % 200;
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        })
        .collect()
}

/// Says which seed it was when a program makes the test panic.
struct Failing(u64);

impl Drop for Failing {
    #[expect(clippy::print_stderr, reason = "shown with the failed test")]
    fn drop(&mut self) {
        eprintln!("again with SCRIPT_SEED={} SCRIPT_PROGRAMS=1", self.0);
    }
}

#[test]
fn random_programs_end_with_a_reply() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SCRIPT_SEED").unwrap_or(1);
    let programs = number("SCRIPT_PROGRAMS").unwrap_or(PROGRAMS);
    let limits = Limits { memory: 8 << 20, instructions: 1000 };
    let mut scripts = Scripts::new(limits);
    let mut compiled = 0;
    for seed in first..first + programs {
        let program = Generator::new(&bytes_of(seed)).program();
        compiled += u64::from(scripts.load(program.as_bytes()).is_ok());
        let failing = Failing(seed);
        run(&mut scripts, &program, &mut ToyEngine::impatient(50));
        std::mem::forget(failing);
        if seed % 500 == 0 {
            scripts.flush();
            assert_eq!(run(&mut scripts, "return 1", &mut ToyEngine::default()), Reply::Int(1));
        }
    }
    assert!(compiled * 10 > programs * 9, "only {compiled} of {programs} programs compile");
}
