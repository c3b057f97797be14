//! INFO: what is going on, as `field:value` lines in sections.

mod process;
mod sections;

use self::sections::SECTIONS;
use super::is;
use crate::{
    ctx::Ctx,
    reply::{Error, Reply},
    table::{Command, Flags, Group, Keys},
};

pub(super) static COMMANDS: &[Command] =
    &[Command::new("info", -1, Flags::LOADING.or(Flags::STALE), Keys::None, info).doc(
        Group::Server,
        "1.0.0",
        "Tells how the engine is doing",
    )];

fn info(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let asked = &args[1..];
    let asks_for = |name: &str| asked.iter().any(|arg| is(arg, name));
    let all = asked.is_empty() || ["default", "all", "everything"].into_iter().any(asks_for);
    let mut text = String::new();
    for (name, write) in SECTIONS {
        if all || asks_for(name) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            text.push_str(&format!("# {name}\r\n"));
            write(&mut Lines(&mut text), ctx);
        }
    }
    Ok(Reply::Verbatim(text))
}

/// Takes the lines of a section.
struct Lines<'a>(&'a mut String);

impl Lines<'_> {
    fn add(&mut self, field: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!("{field}:{value}\r\n"));
    }

    /// A number of bytes, plain and for people.
    fn bytes(&mut self, field: &str, n: usize) {
        self.add(field, n);
        self.add(&format!("{field}_human"), human(n));
    }
}

/// Bytes with a unit: `1.50M`.
fn human(n: usize) -> String {
    let n_float = n as f64;
    match n {
        0..1024 => format!("{n}B"),
        1024..0x10_0000 => format!("{:.2}K", n_float / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.2}M", n_float / f64::from(1 << 20)),
        _ => format!("{:.2}G", n_float / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::human;
    use crate::{reply::Reply, test_engine::TestEngine};

    fn text(rig: &mut TestEngine, command: &str) -> String {
        match rig.run(command) {
            Reply::Verbatim(text) => text,
            other => panic!("{command} gave {other:?}"),
        }
    }

    #[test]
    fn sections_are_told_when_asked_for() {
        let mut rig = TestEngine::new();
        let titles = |text: String| -> Vec<String> {
            text.lines().filter_map(|line| line.strip_prefix("# ").map(str::to_owned)).collect()
        };
        let default = titles(text(&mut rig, "info"));
        assert_eq!(default, titles(text(&mut rig, "info DEFAULT")));
        assert_eq!(default.first().map(String::as_str), Some("Server"));
        assert_eq!(default.last().map(String::as_str), Some("Keyspace"));
        assert_eq!(titles(text(&mut rig, "info keyspace cpu")), ["CPU", "Keyspace"]);
        assert_eq!(text(&mut rig, "info nothing"), "");
    }

    #[test]
    fn keyspace_counts_keys_by_database() {
        let mut rig = TestEngine::new();
        rig.check(
            "rpush l a => :1
             select 3 => +OK
             rpush l a => :1
             rpush m a => :1",
        );
        rig.state.dbs[3].set_expires_at(b"m", rig.clock.now_ms() + 1500);
        let keyspace =
            "# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=0\r\ndb3:keys=2,expires=1,avg_ttl=0\r\n";
        assert_eq!(text(&mut rig, "info keyspace"), keyspace);
    }

    #[test]
    fn stats_count_what_happened() {
        let mut rig = TestEngine::new();
        rig.check(
            "rpush l a => :1
             llen l => :1
             llen m => :0",
        );
        let stats = text(&mut rig, "info stats");
        for line in ["total_commands_processed:4", "keyspace_hits:1", "keyspace_misses:1"] {
            assert!(stats.lines().any(|found| found == line), "{line} is not in {stats}");
        }
        rig.run("config resetstat");
        assert!(text(&mut rig, "info stats").contains("keyspace_hits:0\r\n"));
    }

    #[test]
    fn bytes_have_a_unit_for_people() {
        assert_eq!(human(1023), "1023B");
        assert_eq!(human(1536), "1.50K");
        assert_eq!(human(3 << 20), "3.00M");
        assert_eq!(human(5 << 30), "5.00G");
    }
}
