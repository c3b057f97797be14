//! Recommendations: how long a request takes, whether that grows with the number of users, what a load and a user cost, whether
//! anything private ever shows, and how good the lists are.
//!
//! `crates/recommender/examples/lists` does what is measured here.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

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
    /// Users, challenges, days and seed of the app by which lists are judged.
    eval: [u64; 4],
}

/// A tenth of the challenges is private and a twelfth of the posts are breaks, so that a little over 200,000 posts are live.
const WHOLE: Extent = Extent {
    users: [1_000, 100_000],
    posts: 245_000,
    requests: 5_000,
    privacy_requests: 100_000,
    eval: [1_000, 150, 28, 1],
};

/// For whoever wants to see it run rather than the figures.
const SHORT: Extent = Extent {
    users: [500, 2_000],
    posts: 4_000,
    requests: 100,
    privacy_requests: 500,
    eval: [200, 60, 24, 1],
};

/// What a request of 100 posts may take on the embedded engine.
const P99_MS_MAX: f64 = 5.0;

/// Measures, prints, and fails when a limit was missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let (write, extent) = match arguments {
        [] => (false, WHOLE),
        ["--write"] => (true, WHOLE),
        ["--short"] => (false, SHORT),
        _ => bail!("usage: cargo xtask bench recommend [--write | --short]"),
    };
    let program = build(matches!(arguments, ["--short"]))?;
    let apps = measure_apps(&program, &extent)?;
    let sections = [
        requests(&apps, &extent),
        loads(&apps),
        privacy(&program, &extent)?,
        quality(&program, &extent)?,
    ];
    let about = format!(
        "How fast and how good lists are: `cargo xtask bench recommend --write`.\n\n{}",
        machine::with_redis()?
    );
    page::conclude("Recommendations", &about, &sections, write)
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
    let mut table = Table::new(&headings);
    for [small, large] in apps {
        let bytes = (large.bytes - small.bytes) / (large.users - small.users) as f64;
        table.add(vec![
            large.store.to_owned(),
            whole(large.rows),
            tenths(large.load_s),
            whole(large.rows / large.load_s),
            whole(bytes),
        ]);
    }
    let words = "A first load of the large app, with its progress bar: ten reactions and two memberships of each user, and all posts. \
                 What a user takes is the memory by which the large app exceeds the small one, for each user more."
        .to_owned();
    Section { title: "Loads and memory", words, table, limits: Vec::new() }
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

/// What is told of each kind of list, in the order in which it is printed.
const FIGURES: [&str; 10] = [
    "NDCG@10",
    "from",
    "to",
    "precision",
    "recall",
    "MAP",
    "hits",
    "coverage",
    "diversity",
    "novelty",
];

fn quality(program: &Path, extent: &Extent) -> Result<Section> {
    let mut command = std::process::Command::new(program);
    command.arg("eval").args(extent.eval.map(|number| number.to_string()));
    let text = shell::output(&mut command)?;
    let lists = lists(&text)?;
    let headings: Vec<&str> = std::iter::once("lists").chain(FIGURES).collect();
    let mut table = Table::new(&headings);
    for (name, figures) in &lists {
        let cells = figures.iter().map(|figure| format!("{figure:.3}"));
        table.add(std::iter::once(name.clone()).chain(cells).collect());
    }
    let limit = |what: &str, measured, bound| Limit { what: what.to_owned(), measured, bound };
    let mut limits = vec![
        limit("NDCG@10 against the best simple list", number(&text, "ratio")?, Bound::AtLeast(1.5)),
        limit(
            "the same at least, with 95 % confidence",
            number(&text, "ratio_low")?,
            Bound::AtLeast(1.0),
        ),
        limit("the same at most", number(&text, "ratio_high")?, Bound::None),
    ];
    for figure in ["coverage", "diversity"] {
        let at = FIGURES.iter().position(|name| *name == figure).context("a known figure")?;
        let of = |name: &str| {
            let found = lists.iter().find(|(list, _)| list == name);
            found.map(|(_, figures)| figures[at]).with_context(|| format!("no list \"{name}\""))
        };
        let what = format!("{figure} less that of the newest");
        limits.push(limit(&what, of("keyrack")? - of("newest")?, Bound::AtLeast(0.0)));
    }
    let [users, challenges, days, seed] = extent.eval;
    let words = format!(
        "A made-up app of {} users, {challenges} challenges and {days} days with the seed {seed}, whose truth is known: weights are learned in one \
         week, and lists of ten are judged by what {} users reacted to in the next; {} did not react. Recall is a share of ten at most. \
         The bounds are from 1,000 bootstrap draws over users.",
        whole(users as f64),
        whole(number(&text, "users")?),
        whole(number(&text, "left_out")?)
    );
    Ok(Section { title: "Quality", words, table, limits })
}

/// The kinds of lists with their figures.
fn lists(text: &str) -> Result<Vec<(String, Vec<f64>)>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("lists "));
    let list = |line: &str| {
        let mut cells = line.split('\t');
        let name = cells.next().unwrap_or_default().to_owned();
        let figures: Result<Vec<f64>, _> = cells.map(str::parse).collect();
        let figures = figures.with_context(|| format!("\"{line}\" has no figures"))?;
        if figures.len() != FIGURES.len() {
            bail!("\"{line}\" has {} figures", figures.len());
        }
        Ok((name, figures))
    };
    lines.map(list).collect()
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
    fn lists_have_a_name_and_ten_figures() {
        let figures = ["0.5"; 10].join("\t");
        let found = lists(&format!("lists most popular\t{figures}\nusers 7\n")).unwrap();
        assert_eq!(found, [("most popular".to_owned(), vec![0.5; 10])]);
        assert!(lists("lists newest\t0.5").is_err());
        assert_eq!(number("ratio 2\nratio_low 1.5\n", "ratio_low").unwrap(), 1.5);
    }

    #[test]
    fn unknown_argument_is_answered_with_the_usage() {
        assert!(run(&["--fast"]).unwrap_err().to_string().starts_with("usage: "));
    }
}
