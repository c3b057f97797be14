//! The sources of everything that talks to a server, and the commands in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One file, without the tests at its end.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Crates that are a server themselves, or operate some as an administrator does.
const OTHERS: &[&str] = &["campaign", "engine", "testkit"];

/// Every Rust file and script of the crates that talk to a server.
pub(super) fn all() -> Vec<Source> {
    let crates =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies among the others");
    let mut sources = Vec::new();
    for folder in entries(crates) {
        if !OTHERS.iter().any(|other| folder.ends_with(other)) {
            collect(&folder.join("src"), &mut sources);
        }
    }
    sources
}

fn collect(path: &Path, sources: &mut Vec<Source>) {
    if path.is_dir() {
        if !path.ends_with("tests") {
            entries(path).iter().for_each(|entry| collect(entry, sources));
        }
    } else if !path.ends_with("tests.rs")
        && path.extension().is_some_and(|extension| extension == "rs" || extension == "lua")
    {
        let text = fs::read_to_string(path).expect("a readable source");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        sources.push(Source { path: path.to_owned(), text });
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    entries.sort();
    entries
}

impl Source {
    /// Words in capitals between quotes, and the `redis` crate's methods that send a command of their name.
    pub(super) fn commands(&self) -> BTreeSet<String> {
        let mut commands = BTreeSet::new();
        for quote in ['"', '\''] {
            let words = self.text.split(quote).filter(|word| is_command(word));
            commands.extend(words.map(str::to_lowercase));
        }
        for method in ["subscribe", "unsubscribe", "ssubscribe", "sunsubscribe", "psubscribe"] {
            if self.text.contains(&format!(".{method}(")) {
                commands.insert(method.to_owned());
            }
        }
        if self.text.contains(".atomic()") {
            commands.extend(["multi", "exec"].map(str::to_owned));
        }
        commands
    }
}

fn is_command(word: &str) -> bool {
    (3..=20).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}
