//! `cargo xtask docs`: files that are generated from the code and committed.
//!
//! Committed, so that a change to a declaration shows in review as a change to its page; checked,
//! so that the two cannot drift apart.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use keyrack_keys::Layout;
use keyrack_store::{AclProjects, AclUser, acl_user};

use crate::shell::{cargo, output, run, workspace};

/// A generated file: its path in the workspace and what belongs in it.
struct Generated {
    path: &'static str,
    content: fn() -> Result<String>,
}

const FILES: &[Generated] = &[
    Generated {
        path: "docs/keys.md",
        content: || Ok(keyrack_keys::docs(keyrack_contract::registry())),
    },
    Generated { path: "docs/openapi.json", content: openapi },
    Generated { path: "crates/testkit/src/stores/users.acl", content: || Ok(users()) },
];

/// The users as whom the tests of all services run, on a server and on a cluster.
fn users() -> String {
    let line = |layout| {
        let user = AclUser {
            name: "keyrack",
            password: Some("keyrack"),
            layout,
            projects: AclProjects::All,
        };
        acl_user(&user, keyrack_contract::registry()) + "\n"
    };
    line(Layout::Documented) + &line(Layout::Cluster)
}

/// The description of the API, from a program of its own: with the server linked into this one, every command would wait
/// for the server to be compiled.
fn openapi() -> Result<String> {
    output(&mut cargo("run --quiet --package keyrack-server --example openapi"))
}

/// Writes every generated file that is not up to date.
pub(crate) fn write() -> Result<()> {
    write_in(workspace(), FILES)
}

/// Lets the tests take the pictures that the documents show. No two are the same, so nothing checks whether they are current.
pub(crate) fn pictures() -> Result<()> {
    let mut test = cargo("test --package keyrack-cli --test it picture::");
    run(test.env("KEYRACK_PICTURES", "1"))
}

/// Fails when a generated file is not what the code says, and changes nothing.
pub(crate) fn check() -> Result<()> {
    check_in(workspace(), FILES)
}

fn write_in(root: &Path, files: &[Generated]) -> Result<()> {
    for (file, content) in stale(root, files)? {
        let path = root.join(file.path);
        let folder = path.parent().expect("a generated file lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .with_context(|| format!("could not write \"{}\"", file.path))?;
        println!("wrote {}", file.path);
    }
    Ok(())
}

fn check_in(root: &Path, files: &[Generated]) -> Result<()> {
    let stale: Vec<&str> = stale(root, files)?.iter().map(|(file, _)| file.path).collect();
    if !stale.is_empty() {
        bail!("out of date: {}; run `cargo xtask docs` and commit the result", stale.join(", "));
    }
    Ok(())
}

/// The files that are not up to date, and what belongs in them.
fn stale<'a>(root: &Path, files: &'a [Generated]) -> Result<Vec<(&'a Generated, String)>> {
    let mut stale = Vec::new();
    for file in files {
        let content = (file.content)()?;
        if fs::read_to_string(root.join(file.path)).ok().as_ref() != Some(&content) {
            stale.push((file, content));
        }
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Generated = Generated { path: "docs/page.md", content: || Ok("text\n".to_owned()) };

    #[test]
    fn check_fails_until_the_file_is_written_and_after_an_edit() {
        let root = tempfile::tempdir().unwrap();
        let error = check_in(root.path(), &[FILE]).unwrap_err().to_string();
        assert!(error.starts_with("out of date: docs/page.md;"), "{error}");

        write_in(root.path(), &[FILE]).unwrap();
        check_in(root.path(), &[FILE]).unwrap();

        fs::write(root.path().join(FILE.path), "edited by hand\n").unwrap();
        check_in(root.path(), &[FILE]).unwrap_err();
    }

    /// Words of a document that are paths of files: with a slash or in backticks, and with an ending that code has here.
    fn paths(text: &str) -> Vec<&str> {
        let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let words = text.split(|c| !is_path(c));
        let is_file = |word: &&str| {
            let ends = [".rs", ".lua", ".html"];
            ends.iter().any(|end| word.len() > end.len() && word.ends_with(end))
        };
        // A part in capitals stands for any name.
        let is_example = |word: &&str| {
            let is_capital =
                |part: &str| part.len() > 1 && part.bytes().all(|b| b.is_ascii_uppercase());
            word.split(['/', '.']).any(is_capital)
        };
        words.filter(is_file).filter(|word| !is_example(word)).collect()
    }

    /// Paths may leave out the folders that their paragraph is about, and `src`.
    fn is_end_of(path: &str, file: &str) -> bool {
        let with_source = path.replacen('/', "/src/", 1);
        [path, &with_source].iter().any(|end| {
            file.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    }

    #[test]
    fn every_file_that_the_architecture_names_exists() {
        let text = fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
        let mut git = std::process::Command::new("git");
        let files = output(git.arg("ls-files").current_dir(workspace())).unwrap();
        let paths = paths(&text);
        assert!(paths.len() > 200, "only {} paths were found", paths.len());
        let is_missing = |path: &&str| !files.lines().any(|file| is_end_of(path, file));
        let missing: Vec<&str> = paths.into_iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "ARCHITECTURE.md names files that do not exist: {missing:?}");
    }
}
