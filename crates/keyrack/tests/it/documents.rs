//! Every command of README and guides is typed by some test, or says that it is not; and what guides say about metrics is true.

use std::{collections::BTreeSet, fs, path::Path};

use tempfile::TempDir;

use crate::{
    guide::{lines_to_type, type_lines},
    program::Serve,
};

/// Pages with a test of their own, which looks at what their commands print.
const LOOKED_AT: [&str; 13] = [
    "README.md",
    "docs/calculations.md",
    "docs/demo.md",
    "docs/entitlements.md",
    "docs/files.md",
    "docs/jobs-http.md",
    "docs/jobs.md",
    "docs/journeys.md",
    "docs/operating.md",
    "docs/progress.md",
    "docs/recommender.md",
    "docs/updates.md",
    "docs/webhooks.md",
];

/// What no test types: each begins with a mark beside its language.
const NOT_TYPED: [&str; 11] = [
    "README.md: cargo run --release",
    "README.md: cargo xtask test",
    "docs/demo.md: keyrack demo",
    "docs/demo.md: keyrack top",
    "docs/install.md: cargo xtask package            # all of them, under target/package",
    "docs/install.md: sudo apt install ./keyrack_0.1.0_amd64.deb",
    "docs/install.md: docker run -p 7700:7700 -v keyrack:/var/lib/keyrack keyrack:0.1.0",
    "docs/recommender.md: keyrack recommend sync sqlite:app.db",
    "docs/recommender.md: keyrack recommend sync sqlite:shop.db --map shop.toml",
    "docs/reliability.md: cargo xtask campaign --minutes 60 --write     # repeats the run below and updates its table",
    "docs/security.md: redis-cli --tls -h keyrack.example.com -p 7701        # --cacert FILE for a certificate of your own",
];

fn pages() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = fs::read_dir(root.join("docs")).expect("the guides").map(|file| {
        let name = file.expect("a file").file_name().into_string().expect("a name");
        format!("docs/{name}")
    });
    let mut pages: Vec<String> = files.filter(|name| name.ends_with(".md")).collect();
    pages.push("README.md".to_owned());
    pages.sort_unstable();
    pages
}

fn text(page: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(page)).expect("the page")
}

/// The blocks of a page: what stands beside the fence, and the first line.
fn blocks(text: &str) -> Vec<(String, String)> {
    let (mut blocks, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let code: Vec<&str> =
            lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
        blocks.push((info.to_owned(), code.first().copied().unwrap_or_default().to_owned()));
    }
    blocks
}

#[test]
fn pages_without_a_test_of_their_own_can_be_typed_as_they_are_printed() {
    let others = pages().into_iter().filter(|page| !LOOKED_AT.contains(&page.as_str()));
    for page in others {
        let lines = lines_to_type(&page);
        if !lines.is_empty() {
            type_lines(&lines);
        }
    }
}

#[test]
fn commands_that_no_test_types_say_so_and_are_few() {
    let mut found = Vec::new();
    for page in pages() {
        for (info, first) in blocks(&text(&page)) {
            match info.as_str() {
                "sh no-test" => found.push(format!("{page}: {first}")),
                "bash" | "shell" | "console" => panic!("{page}: call it \"sh\": {first}"),
                info if info.starts_with("sh") && info != "sh" => {
                    panic!("{page}: there is no mark \"{info}\"")
                }
                _ => {}
            }
        }
    }
    assert_eq!(found, NOT_TYPED);
}

#[test]
fn readme_begins_with_two_commands_and_a_quick_start_in_four_languages() {
    let text = text("README.md");
    let first: Vec<String> = blocks(&text).into_iter().take(6).map(|(info, _)| info).collect();
    assert_eq!(first, ["sh no-test", "sh no-test", "rust", "python", "ts", "sh"]);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).take(2).collect();
    assert_eq!(headings, ["# keyrack", "## Quick start"]);
    let screen: Vec<&str> = text.lines().take(20).collect();
    for command in ["cargo run --release", "cargo xtask test"] {
        assert!(screen.contains(&command), "\"{command}\" is in the first screen");
    }
}

/// The names of metrics in a text, without what kinds of metrics add to them.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let names = words.filter(|word| word.starts_with("keyrack_") || word.starts_with("process_"));
    let plain = |name: &str| {
        let ends = ["_bucket", "_sum", "_count", "_total"];
        let end = ends.iter().find_map(|end| name.strip_suffix(end));
        end.unwrap_or(name).to_owned()
    };
    names.map(plain).collect()
}

/// What a server with something in every service tells.
fn told() -> BTreeSet<String> {
    let dir = TempDir::new().expect("a folder");
    let serve =
        Serve::start_with(dir.path(), "--demo --lint-watch 1000000 --metrics-queues 2", &[]);
    let told = keyrack_testkit::wait_for("queues to be counted", || {
        let (_, body) = serve.get("/metrics");
        // Requests are counted once they are answered.
        let is_whole = [
            "keyrack_jobs_held{",
            "keyrack_jobs_others_age_seconds",
            "keyrack_http_requests_total{",
            "keyrack_lint_family_keys{",
        ];
        is_whole.iter().all(|metric| body.contains(metric)).then_some(body)
    });
    let samples = told.lines().filter(|line| !line.starts_with('#'));
    metrics(&samples.collect::<Vec<_>>().join("\n").replace("keyrack_demo", ""))
}

#[test]
fn operators_are_told_of_every_metric_and_of_no_other() {
    let guide = text("docs/operating.md");
    let table = guide.split("## Metrics").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = table.expect("the table").lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: String =
        rows.filter_map(|row| row.split('`').next()).map(|name| format!("{name} ")).collect();
    let (told, listed) = (told(), metrics(&listed));
    assert_eq!(listed, told);
    let used = metrics(&guide);
    let dashboard = text("docs/grafana.json");
    serde_json::from_str::<serde_json::Value>(&dashboard).expect("JSON");
    for name in used.union(&metrics(&dashboard)) {
        assert!(told.contains(name), "there is no metric \"{name}\"");
    }
    let shown = metrics(&dashboard);
    assert!(shown.len() > 15, "the dashboard shows {} metrics", shown.len());
}
