//! What a run consists of: steps made from a seed, independent of any reply, so that a failing run can be shrunk.

use super::{
    forms::{DATA, IN_MULTI, LISTENING, SCRIPTS, WAITING},
    grammar::{Args, Random, generate, spoil},
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

/// The steps of a run.
pub(crate) fn steps(seed: u64, n: usize) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut steps = Vec::with_capacity(n);
    while steps.len() < n {
        add(&mut steps, &mut random);
    }
    steps
}

fn add(steps: &mut Vec<Step>, random: &mut Random) {
    match random.below(100) {
        0..82 => {
            let client = usize::from(random.once_in(4));
            let mut args = command(random.pick(DATA), random);
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
                steps.push(Step::Run { client, args: command(form, random) });
            }
        }
        85..89 => {
            let client = 2 + random.below(2);
            steps.push(Step::Wait { client, args: command(random.pick(WAITING), random) });
        }
        89..93 => {
            let client = 4 + random.below(2);
            steps.push(Step::Listen { client, args: command(random.pick(LISTENING), random) });
        }
        93..96 => {
            let form = random.pick(&["SCAN", "SSCAN $t", "HSCAN $h", "ZSCAN $z"]);
            let options = generate("( MATCH $glob )? ( COUNT $p )?", random);
            steps.push(Step::Scan { client: 0, args: generate(form, random), options });
        }
        96..98 => {
            let key = generate("$t", random).remove(0);
            let count = random.once_in(2).then(|| generate("$n", random).remove(0));
            steps.push(Step::Pop { key, count });
        }
        _ => steps.push(Step::Expire { key: generate("$k", random).remove(0) }),
    }
}

/// A command from a form, with `$script` filled in.
fn command(form: &str, random: &mut Random) -> Args {
    let script = random.pick(SCRIPTS);
    let mut args = generate(&form.replace("$script", "@script"), random);
    for arg in &mut args {
        if arg == b"@script" {
            *arg = script.as_bytes().to_vec();
        }
    }
    args
}

/// The step as a person would type it.
pub(crate) fn show(step: &Step) -> String {
    let words = |args: &Args| {
        args.iter().map(|arg| format!("\"{}\"", arg.escape_ascii())).collect::<Vec<_>>().join(" ")
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
