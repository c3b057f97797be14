//! One example for each command, printed at the end of its help.

use clap::{Arg, Command};

/// What follows the example on every page but the first.
const GLOBAL_OPTIONS: &str = "Global options, such as --store and --json: see \"keyrack --help\".";

/// A command, and a line to type.
const EXAMPLES: &[(&str, &str)] = &[
    ("serve", "keyrack serve --http 127.0.0.1:7700 --data ./keyrack-data"),
    ("demo", "keyrack demo --speed 5"),
    ("top", "keyrack top --every 2s --store redis://127.0.0.1:7701"),
    ("work", "keyrack work emails --concurrency 4 --exec 'jq -r .data[0] | xargs send-email'"),
    ("jobs", "keyrack jobs submit emails '\"alice@example.com\"'"),
    ("jobs submit", "keyrack jobs submit emails '\"alice@example.com\"' --delay 5m --tag welcome"),
    ("jobs list", "keyrack jobs list emails --in failed"),
    ("jobs show", "keyrack jobs show 0f7d4e21"),
    ("jobs logs", "keyrack jobs logs 0f7d4e21 --follow"),
    ("jobs why", "keyrack jobs why 0f7d4e21"),
    ("jobs search", "keyrack jobs search welcome --queue emails"),
    ("jobs tail", "keyrack jobs tail emails"),
    ("jobs stats", "keyrack jobs stats emails --watch=5s"),
    ("jobs times", "keyrack jobs times emails --last 24h"),
    ("jobs errors", "keyrack jobs errors emails --text timeout"),
    ("jobs errors list", "keyrack jobs errors list emails"),
    ("jobs errors show", "keyrack jobs errors show emails 3f0c91d2a7be"),
    ("jobs errors retry", "keyrack jobs errors retry emails 3f0c91d2a7be --max 10"),
    ("jobs errors mute", "keyrack jobs errors mute emails 3f0c91d2a7be --until-version 1.4.0"),
    ("jobs errors unmute", "keyrack jobs errors unmute emails 3f0c91d2a7be"),
    ("jobs scaling", "keyrack jobs scaling emails --wait-target 30s"),
    ("jobs cancel", "keyrack jobs cancel --queue emails --tag welcome"),
    ("jobs retry", "keyrack jobs retry --queue emails --yes"),
    ("jobs change", "keyrack jobs change 0f7d4e21 --priority 10 --timeout 30s"),
    ("jobs pause", "keyrack jobs pause emails"),
    ("jobs resume", "keyrack jobs resume emails"),
    ("jobs limits", "keyrack jobs limits emails --concurrency 10 --rate 300/1m"),
    ("jobs delete", "keyrack jobs delete emails"),
    ("import", "keyrack import celery --from redis://127.0.0.1:6379 --dry-run"),
    ("recurring", "keyrack recurring list"),
    ("recurring list", "keyrack recurring list"),
    ("recurring next", "keyrack recurring next --days 7"),
    (
        "recurring create",
        "keyrack recurring create newsletter --cron \"30 6 * * MON\" --zone Europe/Berlin --queue mail/newsletter",
    ),
    (
        "recurring change",
        "keyrack recurring change newsletter --cron \"0 7 * * MON\" --if-version 3",
    ),
    ("recurring show", "keyrack recurring show newsletter"),
    ("recurring delete", "keyrack recurring delete newsletter"),
    ("recurring run", "keyrack recurring run \"send the newsletter\""),
    ("recurring pause", "keyrack recurring pause \"send the newsletter\""),
    ("recurring resume", "keyrack recurring resume \"send the newsletter\""),
    ("calc", "keyrack calc import sales.csv"),
    ("calc import", "keyrack calc import sales.csv"),
    ("calc ingest", "keyrack calc ingest --list sales"),
    ("calc list", "keyrack calc list --account 1"),
    ("calc show", "keyrack calc show --account 1 shop sales berlin --interval months"),
    ("calc verify", "keyrack calc verify --account 1 shop"),
    ("calc recompute", "keyrack calc recompute --account 1 shop sales"),
    ("calc delete", "keyrack calc delete --account 1 shop sales berlin --yes"),
    ("calc settings", "keyrack calc settings --account 1 shop zone=Europe/Berlin"),
    ("calc token", "keyrack calc token create 1 shop"),
    ("calc token create", "keyrack calc token create 1 shop"),
    ("calc token delete", "keyrack calc token delete 1 shop"),
    ("calc token add-admin", "keyrack calc token add-admin a-long-secret-of-yours"),
    ("calc token remove-admin", "keyrack calc token remove-admin a-long-secret-of-yours"),
    ("token", "keyrack token create alice --role viewer"),
    ("token create", "keyrack token create alice --role viewer --expires-in 30d"),
    ("token list", "keyrack token list alice"),
    ("token revoke", "keyrack token revoke ep_ut_uid_1"),
    ("audit", "keyrack audit --actor alice --limit 10"),
    ("progress", "keyrack progress run backup -- ./backup.sh"),
    ("progress run", "keyrack progress run backup -- ./backup.sh"),
    ("progress watch", "keyrack progress watch backup nightly-1"),
    ("progress list", "keyrack progress list"),
    ("progress show", "keyrack progress show backup"),
    ("progress stats", "keyrack progress stats backup --runs"),
    ("progress rm", "keyrack progress rm backup --yes"),
    ("entitlements", "keyrack entitlements check alice pro"),
    ("entitlements show", "keyrack entitlements show alice"),
    ("entitlements check", "keyrack entitlements check alice pro"),
    ("entitlements purge", "keyrack entitlements purge alice"),
    ("entitlements link", "keyrack entitlements link alice rc-1234"),
    ("entitlements status", "keyrack entitlements status"),
    ("entitlements sweep", "keyrack entitlements sweep"),
    ("files", "keyrack files upload pictures cat.png ./cat.png -- ./save-row.sh cat.png"),
    ("files upload", "keyrack files upload pictures cat.png ./cat.png -- ./save-row.sh cat.png"),
    ("files list", "keyrack files list --due"),
    ("files sweep", "keyrack files sweep --at file:./buckets --dry-run"),
    ("files rm", "keyrack files rm pictures cat.png --hint \"not a cat\""),
    ("files keep", "keyrack files keep pictures cat.png"),
    ("journeys", "keyrack journeys create \"How are you?\" --duration 60s --word good,bad"),
    ("journeys create", "keyrack journeys create \"How are you?\" --duration 60s --word good,bad"),
    ("journeys list", "keyrack journeys list --limit 10"),
    ("journeys show", "keyrack journeys show 0f7d4e21 --second 30"),
    ("journeys rm", "keyrack journeys rm 0f7d4e21"),
    ("recommend", "keyrack recommend for 42"),
    ("recommend sync", "keyrack recommend sync sqlite:app.db --zone Europe/Berlin"),
    ("recommend rebuild", "keyrack recommend rebuild sqlite:app.db --yes"),
    ("recommend for", "keyrack recommend for 42 --limit 5"),
    ("recommend explain", "keyrack recommend explain 42 1001"),
    ("recommend eval", "keyrack recommend eval --users 200 --days 28"),
    ("recommend stats", "keyrack recommend stats"),
    ("updates", "keyrack updates follow backend --exec 'git pull && systemctl restart backend'"),
    ("updates follow", "keyrack updates follow backend --one-at-a-time --exec './deploy.sh'"),
    ("updates announce", "keyrack updates announce backend"),
    ("webhooks", "keyrack webhooks create https://hooks.example.com/keyrack --event job.failed"),
    (
        "webhooks create",
        "keyrack webhooks create https://hooks.example.com/keyrack --event job.failed --queue emails",
    ),
    ("webhooks list", "keyrack webhooks list"),
    ("webhooks change", "keyrack webhooks change wh_0a1b2c3d4e5f6071 --enabled false"),
    ("webhooks delete", "keyrack webhooks delete wh_0a1b2c3d4e5f6071"),
    ("webhooks deliveries", "keyrack webhooks deliveries wh_0a1b2c3d4e5f6071 --state failed"),
    ("webhooks test", "keyrack webhooks test wh_0a1b2c3d4e5f6071"),
    ("webhooks replay", "keyrack webhooks replay wh_0a1b2c3d4e5f6071 --failed-since 2h"),
    ("keys", "keyrack keys explain bee:ss:queue:emails"),
    ("keys list", "keyrack keys list --owner jobs"),
    ("keys doc", "keyrack keys doc jobs.bee.queue"),
    ("keys explain", "keyrack keys explain bee:ss:queue:emails"),
    ("keys lint", "keyrack keys lint --store redis://127.0.0.1:6379 --pace 1000"),
    ("keys acl", "keyrack keys acl --services jobs,progress"),
    ("keys infer", "keyrack keys infer --store redis://127.0.0.1:6379 > shop.keys.toml"),
    ("keys import", "keyrack keys import docs/redis.md > shop.keys.toml"),
    ("keys check", "keyrack keys check --keys shop.keys.toml"),
    ("keys diff", "keyrack keys diff old.keys.toml new.keys.toml"),
    ("keys export", "keyrack keys export --owner jobs > jobs.keys.toml"),
    ("keys generate", "keyrack keys generate --keys shop.keys.toml --lang python --out shop_keys"),
    ("keys memory", "keyrack keys memory --keys shop.keys.toml"),
    ("keys migrate", "keyrack keys migrate plan.toml --keys shop.keys.toml"),
    ("keys fmt", "keyrack keys fmt shop.keys.toml"),
    ("keys schema", "keyrack keys schema > keys.schema.json"),
    ("store", "keyrack store check ./keyrack-data"),
    ("store check", "keyrack store check ./keyrack-data"),
    ("store repair", "keyrack store repair ./keyrack-data"),
    ("store stats", "keyrack store stats"),
    ("store copy", "keyrack store copy embedded:keyrack-data redis://127.0.0.1:6379"),
    ("store verify", "keyrack store verify redis://127.0.0.1:6379 redis+cluster://127.0.0.1:7000"),
    ("health", "keyrack health"),
    ("config", "keyrack config show --origin"),
    ("config show", "keyrack config show --origin"),
    (
        "completions",
        "keyrack completions bash > ~/.local/share/bash-completion/completions/keyrack",
    ),
    ("manual", "keyrack manual ~/.local/share/man/man1"),
];

/// Adds the example to the help of a command and of its subcommands, and hides the global options.
///
/// A hidden copy of each option has to be there before clap adds its own.
pub(super) fn add_to_help(command: Command, parent: &str, hidden: &[Arg]) -> Command {
    let path = format!("{parent} {}", command.get_name()).trim_start().to_owned();
    let example = EXAMPLES.iter().find(|(name, _)| *name == path);
    let example = example.map(|(_, line)| format!("Example:\n\n  {line}\n\n")).unwrap_or_default();
    let page = |notes: Option<String>| {
        let notes = notes.map(|notes| format!("{notes}\n\n")).unwrap_or_default();
        format!("{notes}{example}{GLOBAL_OPTIONS}")
    };
    let short = command.get_after_help().map(ToString::to_string);
    let long = command.get_after_long_help().map(ToString::to_string);
    let command = match long {
        Some(long) => command.after_long_help(page(Some(long))),
        None => command,
    };
    let command = command.after_help(page(short)).args(hidden.iter().cloned());
    command.mut_subcommands(|inner| add_to_help(inner, &path, hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help_command;

    /// Every command, with its path.
    fn commands(command: &Command, parent: &str, found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = format!("{parent} {}", inner.get_name()).trim_start().to_owned();
            commands(inner, &path, found);
            found.push((path, inner.clone()));
        }
    }

    fn all_commands() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        commands(&help_command(), "", &mut found);
        found
    }

    #[test]
    fn every_command_has_one_example_and_every_example_a_command() {
        let mut paths: Vec<String> = all_commands().into_iter().map(|(path, _)| path).collect();
        let mut named: Vec<&str> = EXAMPLES.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        named.sort_unstable();
        assert_eq!(paths, named);
    }

    #[test]
    fn every_example_can_be_typed() {
        for (path, line) in EXAMPLES {
            assert!(line.starts_with(&format!("keyrack {}", path.split(' ').next().unwrap())));
            let line = line.split(" > ").next().expect("a line");
            let words = shell_words(line);
            let parsed = help_command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn global_options_are_on_the_first_page_only() {
        let first = help_command().render_long_help().to_string();
        assert!(first.contains("--store") && first.contains("--quiet"), "{first}");
        for (path, mut command) in all_commands() {
            for page in [command.render_help(), command.render_long_help()] {
                let page = page.to_string();
                assert!(!page.contains("--quiet") && !page.contains("--verbose"), "{path}: {page}");
                assert!(page.contains("Example:\n"), "{path}: {page}");
            }
        }
    }

    /// The words of a line, as a shell takes simple quotes.
    fn shell_words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars() {
            match quote {
                Some(open) if c == open => quote = None,
                None if c == '\'' || c == '"' => quote = Some(c),
                None if c == ' ' => words.push(std::mem::take(&mut word)),
                _ => word.push(c),
            }
        }
        words.push(word);
        words
    }
}
