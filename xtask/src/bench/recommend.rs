//! Recommendations: how long a request takes, whether that grows with the number of users, what a load and a user cost, whether
//! anything private ever shows, and how good the lists are.
//!
//! `crates/recommender/examples/lists` does what is measured here.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

mod apps;
mod movielens;

use super::{
    machine, page,
    report::{Bound, Limit, Section, Table, tenths, whole},
    server::{Role, Server},
};
use crate::shell;

/// How much is measured.
struct Extent {
    /// Users of a small app and of a large one.
    users: [u64; 2],
    /// Posts that are written, of which some are private or breaks.
    posts: u64,
    requests: u64,
    privacy_requests: u64,
    /// How large the apps are by which lists are judged, in percent of their usual size.
    percent: u64,
}

/// A tenth of the challenges is private and a twelfth of the posts are breaks, so that a little over 200,000 posts are live.
const WHOLE: Extent = Extent {
    users: [1_000, 100_000],
    posts: 245_000,
    requests: 5_000,
    privacy_requests: 100_000,
    percent: 100,
};

/// For whoever wants to see it run rather than the figures.
const SHORT: Extent =
    Extent { users: [500, 2_000], posts: 4_000, requests: 100, privacy_requests: 500, percent: 30 };

/// What a request of 100 posts may take on the embedded engine.
const P99_MS_MAX: f64 = 5.0;

/// Rows that a load must do in a second on the embedded engine, the model included.
const ROWS_PER_S_MIN: f64 = 100_000.0;

/// What is measured, and whether it goes into the page.
#[derive(Debug, Default, PartialEq)]
struct Choice {
    /// Only how fast lists are, which needs a machine that does nothing else.
    is_speed_only: bool,
    /// Only how good they are, which does not depend on the machine.
    is_quality_only: bool,
    is_short: bool,
    write: bool,
    /// The only app whose lists are judged.
    app: Option<String>,
}

impl Choice {
    fn read(arguments: &[&str]) -> Result<Choice> {
        let mut choice = Choice::default();
        for argument in arguments {
            match *argument {
                "--speed" => choice.is_speed_only = true,
                "--quality" => choice.is_quality_only = true,
                "--short" => choice.is_short = true,
                "--write" => choice.write = true,
                other => match other.strip_prefix("--app=") {
                    Some(app) => choice.app = Some(app.to_owned()),
                    None => bail!("{USAGE}"),
                },
            }
        }
        let is_twice = choice.is_speed_only && choice.is_quality_only;
        let has_odd_app = choice.app.is_some() && (!choice.is_quality_only || choice.write);
        if is_twice || has_odd_app || (choice.is_short && choice.write) {
            bail!("{USAGE}");
        }
        Ok(choice)
    }
}

const USAGE: &str = "usage: cargo xtask bench recommend [--speed | --quality] [--write], or with --short instead of --write; \
                     with --quality and without --write also --app=NAME";

/// Measures, prints, and fails when a limit was missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let choice = Choice::read(arguments)?;
    let extent = if choice.is_short { SHORT } else { WHOLE };
    let program = build(choice.is_short)?;
    let mut missed = Ok(());
    if !choice.is_quality_only {
        let apps = measure_apps(&program, &extent)?;
        let sections = [requests(&apps, &extent), loads(&apps), privacy(&program, &extent)?];
        let about = format!(
            "How fast lists are: `cargo xtask bench recommend --speed --write`.\n\n{}",
            machine::with_redis()?
        );
        missed = page::conclude("Recommendations", &about, &sections, choice.write);
    }
    if !choice.is_speed_only {
        let sections = apps::quality(&program, extent.percent, choice.app.as_deref())?;
        page::conclude("Quality of recommendations", &apps::about()?, &sections, choice.write)?;
    }
    missed
}

/// Few figures of a program that is not optimised are worth anything, so only the short run has one.
fn build(is_short: bool) -> Result<PathBuf> {
    let (flags, folder) = if is_short { ("", "debug") } else { (" --release", "release") };
    let line = format!("build{flags} --package keyrack-recommender --example lists");
    shell::run(&mut shell::cargo(&line))?;
    Ok(shell::target().join(folder).join("examples/lists"))
}

/// What was measured on an app of one size on one store.
struct Measured {
    store: &'static str,
    users: u64,
    rows: f64,
    load_s: f64,
    bytes: f64,
    live_posts: f64,
    p50_ms: f64,
    p99_ms: f64,
    requests_per_s: f64,
}

/// Each app on each store, the small one first.
fn measure_apps(program: &Path, extent: &Extent) -> Result<Vec<[Measured; 2]>> {
    let mut all = Vec::new();
    for store in ["embedded", "redis"] {
        let measure = |users: u64| {
            let redis = Server::redis_as(Role::Anywhere, &[])?;
            let url = match store {
                "embedded" => "embedded:memory".to_owned(),
                _ => format!("redis://127.0.0.1:{}", redis.port()),
            };
            measure_app(program, store, &url, users, extent)
                .with_context(|| format!("could not measure {store} with {users} users"))
        };
        all.push([measure(extent.users[0])?, measure(extent.users[1])?]);
    }
    Ok(all)
}

fn measure_app(
    program: &Path,
    store: &'static str,
    url: &str,
    users: u64,
    extent: &Extent,
) -> Result<Measured> {
    let mut command = std::process::Command::new(program);
    command.args(["world", url]);
    command.args([users, extent.posts, extent.requests].map(|number| number.to_string()));
    let text = shell::output(&mut command)?;
    let number = |name: &str| number(&text, name);
    Ok(Measured {
        store,
        users,
        rows: number("rows")?,
        load_s: number("load_s")?,
        bytes: number("bytes")?,
        live_posts: number("live_posts")?,
        p50_ms: number("p50_ms")?,
        p99_ms: number("p99_ms")?,
        requests_per_s: number("requests_per_s")?,
    })
}

fn requests(apps: &[[Measured; 2]], extent: &Extent) -> Section {
    let headings = ["store", "users", "p50 ms", "p99 ms", "requests/s"];
    let (mut table, mut limits) = (Table::new(&headings), Vec::new());
    for [small, large] in apps {
        for app in [small, large] {
            table.add(vec![
                app.store.to_owned(),
                whole(app.users as f64),
                format!("{:.2}", app.p50_ms),
                format!("{:.2}", app.p99_ms),
                whole(app.requests_per_s),
            ]);
        }
        if large.store == "embedded" {
            limits.push(Limit {
                what: "embedded: 99 % of requests within, in ms".to_owned(),
                measured: large.p99_ms,
                bound: Bound::AtMost(P99_MS_MAX),
            });
        }
        limits.push(Limit {
            what: format!("{}: a request among many users against one among few", large.store),
            measured: large.p50_ms / small.p50_ms,
            bound: Bound::AtMost(1.5),
        });
    }
    let live = apps.first().map_or(0.0, |[_, large]| large.live_posts);
    let words = format!(
        "Requests of 100 posts each out of {} live ones, for {} random users: one after the other for the times, eight at once for \
         the requests a second. Redis shares the machine with whoever asks it.",
        whole(live),
        whole(extent.requests as f64)
    );
    Section { title: "Requests", words, table, limits }
}

fn loads(apps: &[[Measured; 2]]) -> Section {
    let headings = ["store", "rows", "seconds", "rows/s", "bytes a user"];
    let (mut table, mut limits) = (Table::new(&headings), Vec::new());
    for [small, large] in apps {
        if large.store == "embedded" {
            limits.push(Limit {
                what: "embedded: rows a second".to_owned(),
                measured: large.rows / large.load_s,
                bound: Bound::AtLeast(ROWS_PER_S_MIN),
            });
        }
        let bytes = (large.bytes - small.bytes) / (large.users - small.users) as f64;
        table.add(vec![
            large.store.to_owned(),
            whole(large.rows),
            tenths(large.load_s),
            whole(large.rows / large.load_s),
            whole(bytes),
        ]);
    }
    let words = "A first load of the large app, with its progress bar and the model of its challenges: ten reactions and two memberships of each user, and all posts. \
                 What a user takes is the memory by which the large app exceeds the small one, for each user more."
        .to_owned();
    Section { title: "Loads and memory", words, table, limits }
}

fn privacy(program: &Path, extent: &Extent) -> Result<Section> {
    let mut command = std::process::Command::new(program);
    let text = shell::output(command.args(["privacy", &extent.privacy_requests.to_string()]))?;
    let (requests, listed, bad) =
        (number(&text, "requests")?, number(&text, "listed")?, number(&text, "bad")?);
    let mut table = Table::new(&["requests", "posts listed", "private or breaks"]);
    table.add(vec![whole(requests), whole(listed), whole(bad)]);
    let limits = vec![Limit {
        what: "private posts and breaks on all lists".to_owned(),
        measured: bad,
        bound: Bound::AtMost(0.0),
    }];
    let words = "Random users, lengths and seeds, in an app in which one challenge in four is private and one post in thirteen a break; \
                 users react to all of them."
        .to_owned();
    Ok(Section { title: "Privacy", words, table, limits })
}

/// The number behind a name.
fn number(text: &str, name: &str) -> Result<f64> {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let found = found.with_context(|| format!("no \"{name}\" in \"{text}\""))?;
    found.trim().parse().with_context(|| format!("\"{found}\" is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_names() {
        assert_eq!(number("rows 2\nrows_low 1.5\n", "rows_low").unwrap(), 1.5);
        assert!(number("rows 2\n", "row").is_err());
    }

    #[test]
    fn arguments_that_make_no_sense_are_answered_with_the_usage() {
        for arguments in [
            &["--fast"][..],
            &["--speed", "--quality"],
            &["--short", "--write"],
            &["--app=club"],
            &["--quality", "--app=club", "--write"],
        ] {
            assert!(Choice::read(arguments).unwrap_err().to_string().starts_with("usage: "));
        }
        let quality = Choice { is_quality_only: true, write: true, ..Choice::default() };
        assert_eq!(Choice::read(&["--quality", "--write"]).unwrap(), quality);
        let only = Choice::read(&["--quality", "--app=club"]).unwrap();
        assert_eq!(only.app.as_deref(), Some("club"));
    }
}
