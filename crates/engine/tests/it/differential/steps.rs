//! What a run consists of: steps made from a seed, independent of any reply, so that a failing run can be shrunk.

use super::{
    forms::{DATA, IN_MULTI, LISTENING, SCRIPTS, WAITING},
    grammar::{Args, Random, Size, generate, generate_sized, spoil},
};

/// Clients 0 and 1 run commands, 2 and 3 may wait, 4 and 5 listen.
pub(crate) const N_CLIENTS: usize = 6;

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// A command whose replies are compared.
    Run { client: usize, args: Args },
    /// A command that may wait for data.
    Wait { client: usize, args: Args },
    /// A command of a listening client, and everything it has been sent.
    Listen { client: usize, args: Args },
    /// A scan to its end.
    Scan { client: usize, args: Args, options: Args },
    /// SPOP, replayed on the other side as SREM of what was popped.
    Pop { key: Vec<u8>, count: Option<Vec<u8>> },
    /// Makes a key expire now and waits until it has, on both sides.
    Expire { key: Vec<u8> },
}

/// The steps of a run; in a large one there are commands with many arguments and with long ones.
pub(crate) fn steps(seed: u64, n: usize, is_large: bool) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut steps = Vec::with_capacity(n);
    while steps.len() < n {
        let size = match if is_large { random.below(10) } else { 0 } {
            0..5 => Size::Usual,
            5..8 => Size::Many,
            _ => Size::Long,
        };
        add(&mut steps, size, &mut random);
    }
    steps
}

fn add(steps: &mut Vec<Step>, size: Size, random: &mut Random) {
    match random.below(100) {
        0..82 => {
            let client = usize::from(random.once_in(4));
            let mut args = command(random.pick(DATA), size, random);
            // A spoiled timeout would make a client wait that must not.
            if random.once_in(25) && !args[0].starts_with(b"B") {
                spoil(&mut args, random);
            }
            steps.push(Step::Run { client, args });
        }
        82..85 => {
            let client = random.below(2);
            let inside: [&str; 4] = std::array::from_fn(|_| random.pick(IN_MULTI));
            for form in ["WATCH $k", "MULTI"].into_iter().chain(inside).chain(["EXEC|EXEC|DISCARD"])
            {
                steps.push(Step::Run { client, args: command(form, size, random) });
            }
        }
        85..89 => {
            let client = 2 + random.below(2);
            steps.push(Step::Wait {
                client,
                args: command(random.pick(WAITING), Size::Usual, random),
            });
        }
        89..93 => {
            let client = 4 + random.below(2);
            steps.push(Step::Listen {
                client,
                args: command(random.pick(LISTENING), Size::Usual, random),
            });
        }
        93..96 => {
            let form = random.pick(&["SCAN", "SSCAN $t", "HSCAN $h", "ZSCAN $z"]);
            let options = generate("( MATCH $glob )? ( COUNT $p )?", random);
            steps.push(Step::Scan { client: 0, args: generate(form, random), options });
        }
        96..98 => {
            let key = generate("$t", random).remove(0);
            let count = random.once_in(2).then(|| generate_sized("$n", size, random).remove(0));
            steps.push(Step::Pop { key, count });
        }
        _ => steps.push(Step::Expire { key: generate("$k", random).remove(0) }),
    }
}

/// A command from a form, with `$script` filled in.
fn command(form: &str, size: Size, random: &mut Random) -> Args {
    let script = random.pick(SCRIPTS);
    let mut args = generate_sized(&form.replace("$script", "@script"), size, random);
    for arg in &mut args {
        if arg == b"@script" {
            *arg = script.as_bytes().to_vec();
        }
    }
    args
}

/// Arguments that are shown, and bytes of each.
const SHOWN_MAX: usize = 20;
const LEN_SHOWN_MAX: usize = 100;

/// The step as a person would type it.
pub(crate) fn show(step: &Step) -> String {
    let words = |args: &Args| {
        let shown = args.iter().take(SHOWN_MAX).map(|arg| match arg.len() {
            0..=LEN_SHOWN_MAX => format!("\"{}\"", arg.escape_ascii()),
            len => format!("\"{}…\" ({len} bytes)", arg[..LEN_SHOWN_MAX].escape_ascii()),
        });
        let rest = args.len().checked_sub(SHOWN_MAX + 1).map(|n| format!("and {} more", n + 1));
        shown.chain(rest).collect::<Vec<_>>().join(" ")
    };
    match step {
        Step::Run { client, args } => format!("{client}> {}", words(args)),
        Step::Wait { client, args } => format!("{client}> {} (may wait)", words(args)),
        Step::Listen { client, args } => format!("{client}> {} (listens)", words(args)),
        Step::Scan { client, args, options } => {
            format!("{client}> {} {} (to the end)", words(args), words(options))
        }
        Step::Pop { key, count } => {
            let count = count.iter().cloned().collect();
            format!("0> SPOP \"{}\" {}", key.escape_ascii(), words(&count))
        }
        Step::Expire { key } => format!("0> (expire \"{}\" now)", key.escape_ascii()),
    }
}
