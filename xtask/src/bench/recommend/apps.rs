//! How good lists are on made-up apps and on a public data set, beside those of programs that people would use.
//!
//! `lists export` writes an app and our lists, `baselines.py` tunes the other programs and writes theirs, and `lists judge` judges all of
//! them by the same truth.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{
    super::{
        machine,
        report::{Bound, Limit, Section, Table},
    },
    movielens,
};
use crate::shell;

/// The made-up apps, and what distinguishes them.
const APPS: [(&str, &str); 4] = [
    ("club", "300 users and 40 challenges, dense; users look at what is new, and authors matter"),
    ("sparse", "3,000 users in 25 communities and 500 challenges; few users react often"),
    ("drift", "1,500 users whose interests move, and 400 challenges of one or two weeks"),
    (
        "languages",
        "1,500 users of four languages and 240 challenges; users look at what is popular",
    ),
];

/// The seed of all apps by which lists are judged. Constants were chosen with seeds 11 to 14, and this one was first tried when they were fixed.
const SEED: &str = "101";

/// What `lists judge` prints for each kind of list: value and bounds of six figures, and one more.
const FIGURES: usize = 19;

/// The packages that make the lists of other programs and read the public data set.
const PACKAGES: [&str; 4] = ["implicit==0.7.3", "numpy", "scipy", "pyarrow"];

/// What all sections have in common.
pub(super) fn about() -> Result<String> {
    Ok(format!(
        "How good lists are: `cargo xtask bench recommend --quality --write`. Each section is an app: four are made up, so that their \
         truth is known, and the last is a public data set, which has rules of its own. \
         Weights are learned night by night, and lists of ten are judged by the week that follows. \"likes in ten\" is how many of ten \
         posts a user would like, by the truth of the app; users without any like stand apart as new users.\n\n\
         ALS and BPR are those of implicit; they and EASE are tuned on the week before the judged one. \"free\" lists may have more than \
         two posts of a challenge, which lists of keyrack never have; popular, newest and random are free too, and \"popular limited\" is \
         not. New users get popular posts from ALS, BPR and EASE. Bounds are from 1,000 \
         bootstrap draws over users. A ratio compares with the best of the lists that are not called free.\n\n\
         Constants of keyrack were chosen on apps of these shapes and the shape \"plain\" made with seeds 11 to 14. The made-up apps here are \
         made with seed {SEED}, which was first tried when the constants were fixed. None was chosen on the public data set.\n\n{}",
        machine::describe()?
    ))
}

/// A section for each app, or for the only one that is wanted. The recorded app cannot be made smaller, so that it takes part in a
/// smaller run only if it is wanted.
pub(super) fn quality(program: &Path, percent: u64, only: Option<&str>) -> Result<Vec<Section>> {
    let python = python()?;
    let is_wanted = |app: &str| only.is_none_or(|only| only == app);
    let mut sections = Vec::new();
    for (app, about) in APPS.into_iter().filter(|(app, _)| is_wanted(app)) {
        let text = judged(program, &python, app, percent)?;
        sections.push(section(app, &format!("The app \"{app}\": {about}."), &text)?);
    }
    if is_wanted(movielens::APP) && (only.is_some() || percent == 100) {
        let shape = format!("recorded:{}", movielens::prepare(&python)?.display());
        let text = judged(program, &python, &shape, percent)?;
        sections.push(section(movielens::APP, movielens::ABOUT, &text)?);
    }
    if sections.is_empty() {
        bail!("there is no app \"{}\"", only.unwrap_or_default());
    }
    Ok(sections)
}

/// Makes all lists of an app, and returns their figures as `lists judge` prints them.
fn judged(program: &Path, python: &Path, shape: &str, percent: u64) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let lists = |verb: &str| {
        let mut command = Command::new(program);
        command.args([verb, shape, &percent.to_string(), SEED]).arg(folder.path());
        shell::output(&mut command)
    };
    lists("export")?;
    let mut others = Command::new(python);
    // One thread each: what they find must not depend on the machine.
    others.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bench/recommend/baselines.py");
    shell::run(others.arg(script).arg(folder.path()))?;
    lists("judge")
}

/// A Python with the other programs, installed once.
fn python() -> Result<PathBuf> {
    let folder = shell::target().join("recommend-venv");
    let python = folder.join("bin/python");
    if !python.exists() {
        shell::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    let mut install = Command::new(&python);
    shell::run(install.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))
        .context("could not install the programs to compare with")?;
    Ok(python)
}

/// The figures of one kind of list.
struct Lists {
    name: String,
    figures: Vec<f64>,
}

impl Lists {
    fn read(line: &str) -> Result<Lists> {
        let mut cells = line.split('\t');
        let name = cells.next().unwrap_or_default().to_owned();
        let figures: Vec<f64> = cells
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("\"{line}\" has no figures"))?;
        if figures.len() != FIGURES {
            bail!("\"{line}\" has {} figures", figures.len());
        }
        Ok(Lists { name, figures })
    }

    /// Whether the rule of at most two posts of a challenge does not hold for it.
    fn is_free(&self) -> bool {
        self.name.ends_with(" free")
    }

    /// A figure with its bounds.
    fn interval(&self, at: usize) -> String {
        let [value, low, high] = [0, 1, 2].map(|part| self.figures[3 * at + part]);
        format!("{value:.3} ({low:.3} to {high:.3})")
    }
}

fn section(app: &str, words: &str, text: &str) -> Result<Section> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("lists "));
    let lists: Vec<Lists> = lines.map(Lists::read).collect::<Result<_>>()?;
    let headings = ["lists", "NDCG@10", "likes in ten", "likes of new users", "coverage"];
    let mut table = Table::new(&headings);
    for one in &lists {
        table.add(vec![
            one.name.clone(),
            one.interval(0),
            one.interval(1),
            one.interval(2),
            format!("{:.3}", one.figures[18]),
        ]);
    }
    let ours = lists.first().context("no lists")?;
    let others = || lists[1..].iter().filter(|other| !other.is_free());
    let best = |at: usize| {
        others().max_by(|a, b| a.figures[at].total_cmp(&b.figures[at])).context("no other lists")
    };
    let named = |name: &str| {
        let found = lists.iter().find(|one| one.name == name);
        found.with_context(|| format!("no lists are called \"{name}\""))
    };
    // New users are compared by the same rule: at most two posts of a challenge.
    let (popular, limited) = (named("popular")?, named("popular limited")?);
    let mut limits = Vec::new();
    // The upper bound of the ratio is at least 1: nobody is surely better.
    for (what, at, other) in [
        ("NDCG@10", 0, best(0)?),
        ("likes in ten", 1, best(3)?),
        ("likes of new users", 2, limited),
    ] {
        let ratio = &other.figures[9 + 3 * at..12 + 3 * at];
        limits.push(Limit {
            what: format!("{what} against {}", other.name),
            measured: ratio[0],
            bound: Bound::None,
        });
        limits.push(Limit {
            what: "the same at most, with 95 % confidence".to_owned(),
            measured: ratio[2],
            bound: Bound::AtLeast(1.0),
        });
    }
    limits.push(Limit {
        what: "likes of new users against popular, which is free".to_owned(),
        measured: popular.figures[15],
        bound: Bound::None,
    });
    limits.push(Limit {
        what: "coverage less that of popular".to_owned(),
        measured: ours.figures[18] - popular.figures[18],
        bound: Bound::AtLeast(0.0),
    });
    Ok(Section { title: title(app), words: words.to_owned(), table, limits })
}

fn title(app: &str) -> &'static str {
    match app {
        "club" => "Quality: a club",
        "sparse" => "Quality: a sparse app",
        "drift" => "Quality: an app that changes",
        movielens::APP => "Quality: a public data set",
        _ => "Quality: four languages",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_name_and_their_figures() {
        let line = format!("ease free\t{}", ["0.5"; FIGURES].join("\t"));
        let lists = Lists::read(&line).unwrap();
        assert!(lists.is_free() && lists.figures == [0.5; FIGURES]);
        assert_eq!(lists.interval(1), "0.500 (0.500 to 0.500)");
        assert!(Lists::read("newest\t0.5").is_err());
    }

    #[test]
    fn the_best_other_lists_are_those_to_beat() {
        let line = |name: &str, figure: f64| {
            format!("lists {name}\t{}\n", vec![figure.to_string(); FIGURES].join("\t"))
        };
        let text = line("keyrack", 1.0)
            + &line("als", 0.9)
            + &line("bpr free", 2.0)
            + &line("popular", 0.1)
            + &line("popular limited", 0.1);
        let section = section("club", "small", &text).unwrap();
        assert_eq!(section.limits[0].what, "NDCG@10 against als");
        assert!(section.limits.iter().any(|limit| limit.what.starts_with("coverage")));
    }
}
