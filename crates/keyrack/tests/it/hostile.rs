//! Names that were chosen to do something to the terminal of whoever looks at them.

use std::collections::BTreeSet;

use crate::{
    program::{Run, keyrack},
    world::World,
};

/// Clears the screen, sets colours in two ways, and shows the rest back to front.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{202e}y";

/// Commands with hostile names in place of `H`, in an order in which they find something.
const COMMANDS: &[&str] = &[
    "jobs submit H --id H --tag H --tenant H \"H\"",
    "jobs submit H --after H",
    "jobs list H",
    "jobs show H",
    "jobs why H",
    "jobs logs H",
    "jobs search H",
    "jobs stats",
    "jobs stats H",
    "jobs times H",
    "jobs scaling H",
    "jobs errors H --text H",
    "jobs errors list H",
    "jobs errors show H H",
    "jobs errors retry H H",
    "jobs errors mute H H --for 1h --until-version H",
    "jobs errors unmute H H",
    "jobs limits H --concurrency 3",
    "jobs pause H",
    "jobs resume H",
    "jobs retry H",
    "jobs change H --priority 3 --host H --move-to H --args [\"H\"]",
    "jobs cancel H --yes",
    "work H --drain --exec false",
    "token create H --name H",
    "token list",
    "token revoke H",
    "audit",
    "jobs delete H",
    "files rm H H --hint H --yes",
    "files list",
    "files sweep --dry-run --at file:.",
    "files keep H H",
    "files upload H H H --hint H --at file:.",
    "progress run H --uid H --user H -- true",
    "progress list --user H",
    "progress show H --user H",
    "progress show H H --user H",
    "progress stats H --user H",
    "progress rm H --user H --yes",
    "calc list",
    "calc list --account H",
    "calc show --account H H H H",
    "calc verify --account H",
    "calc recompute --account H H",
    "calc delete --account H H H --yes",
    "calc settings --account H H",
    "calc token create --account H H",
    "calc token delete --account H H",
    "calc import H",
    "entitlements show H",
    "entitlements check H H",
    "entitlements link H H",
    "entitlements purge H",
    "entitlements status",
    "entitlements sweep",
    "journeys create H --duration 10s --press",
    "journeys list",
    "journeys show H",
    "journeys rm H --yes",
    "recommend for H",
    "recommend explain H H",
    "recommend stats",
    "recurring create H --every 1h --queue H --kwargs {}",
    "recurring create H --every H --hot",
    "recurring change H --cron H --zone H --if-version 1",
    "import bullmq --queue H --prefix H --map H=H",
    "import celery --queue H",
    "webhooks create http://example.com/H --event job.failed --name H --queue H",
    "webhooks create http://example.com --event H",
    "webhooks change H --name H",
    "webhooks list",
    "webhooks test H",
    "webhooks deliveries H",
    "webhooks replay H H",
    "webhooks delete H",
    "recurring list",
    "recurring next",
    "recurring show H",
    "recurring run H",
    "recurring pause H",
    "recurring resume H",
    "recurring delete H",
    "updates announce H",
    "keys explain H",
    "keys list",
    "keys lint",
    "keys infer",
    "keys check --keys H",
    "keys diff H H",
    "keys fmt H",
    "keys import H",
    "keys generate --keys H --lang python",
    "keys memory",
    "keys migrate H --keys H",
    "health H",
    "store stats",
    "store copy H H",
    "store verify embedded:memory H",
    "config show",
];

/// Commands that are not tried, and why.
const NOT_TRIED: &[(&str, &str)] = &[
    ("serve", "runs until it is stopped; what it says goes through the same printer"),
    ("demo", "makes up its own names"),
    ("top", "draws; what it draws goes through `one_line`"),
    ("completions", "is about no data"),
    ("manual", "is about no data"),
    ("help", "is about no data"),
    ("jobs tail", "runs until it is stopped"),
    ("progress watch", "draws; what it draws goes through `one_line`"),
    ("calc ingest", "runs until it is stopped"),
    ("recommend sync", "needs an app's tables"),
    ("recommend rebuild", "needs an app's tables"),
    ("recommend eval", "makes up its own names"),
    ("updates follow", "runs until it is stopped"),
    ("keys doc", "is about no data"),
    ("keys acl", "is about no data"),
    ("keys export", "is about no data"),
    ("keys schema", "is about no data"),
    ("store check", "is about files"),
    ("store repair", "is about files"),
];

fn is_shown_as_it_is(letter: char) -> bool {
    letter == '\n' || !(letter.is_control() || letter == '\u{202e}')
}

#[test]
fn no_command_lets_names_reach_the_terminal_as_they_are() {
    let world = World::new();
    redis::cmd("SET").arg(HOSTILE).arg(HOSTILE).exec(&mut world.server.connection()).expect("set");
    let mut shown = 0;
    for line in COMMANDS {
        for more in [None, Some("--json")] {
            let mut command = world.keyrack("");
            let words = line.split(' ').map(|word| word.replace('H', HOSTILE));
            // Everything after "--" is a command of its own.
            let (own, others): (Vec<_>, Vec<_>) = {
                let words: Vec<String> = words.collect();
                let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
                (words[..at].to_vec(), words[at..].to_vec())
            };
            command.args(own).args(more).args(others);
            let run = Run::of(command);
            for output in [&run.stdout, &run.stderr] {
                assert!(output.chars().all(is_shown_as_it_is), "{line} {more:?}: {run:?}");
                shown += output.matches("\\u202e").count();
            }
        }
    }
    assert!(shown > 40, "only {shown} names were printed at all");
}

/// The commands that help lists under some words.
fn listed(words: &[&str]) -> Vec<String> {
    let dir = tempfile::TempDir::new().expect("a folder");
    let mut command = keyrack(dir.path());
    command.args(words).arg("-h");
    let help = Run::of(command).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_command_is_tried_with_hostile_names() {
    let known = |name: &str| {
        COMMANDS.iter().any(|line| *line == name || line.starts_with(&format!("{name} ")))
            || NOT_TRIED.iter().any(|(known, _)| *known == name)
    };
    let mut missing = BTreeSet::new();
    for name in listed(&[]) {
        let below = listed(&[&name]);
        if below.is_empty() && !known(&name) {
            missing.insert(name.clone());
        }
        for sub in below.iter().filter(|sub| *sub != "help") {
            let name = format!("{name} {sub}");
            if !known(&name) {
                missing.insert(name);
            }
        }
    }
    assert!(missing.is_empty(), "try these too, or say why not: {missing:?}");
}
