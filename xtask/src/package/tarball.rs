//! The program with its licences, completions and service file, for systems without a package.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Made, built, copy, stage, version, write};
use crate::shell::{output, run, workspace};

const SHELLS: [(&str, &str); 3] =
    [("bash", "keyrack"), ("zsh", "_keyrack"), ("fish", "keyrack.fish")];

pub(super) fn make() -> Result<Made> {
    let stage = stage("tarball")?;
    let name = name(&host()?);
    let folder = stage.join(&name);
    copy(&built("keyrack"), &folder.join("keyrack"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&workspace().join(file), &folder.join(file))?;
    }
    copy(&workspace().join("packaging/keyrack.service"), &folder.join("keyrack.service"))?;
    for (shell, file) in SHELLS {
        write(&folder.join("completions").join(file), completions(shell)?)?;
    }
    manual(&folder.join("man"))?;
    let file = stage.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    // The tar of macOS is another one.
    let root =
        if cfg!(target_os = "macos") { ["--uid=0", "--gid=0"] } else { ["--owner=0", "--group=0"] };
    tar.args(root).arg("-czf").arg(&file).arg("-C").arg(&stage).arg(&name);
    run(&mut tar)?;
    try_it(&stage, &file, &name)?;
    Ok(file.into())
}

/// What it is called for a system, without its ending. `cargo binstall` knows it from `crates/keyrack/Cargo.toml`.
fn name(target: &str) -> String {
    format!("keyrack-v{}-{target}", version())
}

/// The system that the compiler builds for, such as `x86_64-unknown-linux-gnu`.
fn host() -> Result<String> {
    let printed = output(Command::new("rustc").arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}

/// The completion script for a shell, as the program itself prints it.
pub(super) fn completions(shell: &str) -> Result<String> {
    output(Command::new(built("keyrack")).args(["completions", shell]))
}

/// Writes the man pages into a new folder, packed as `man` likes them.
pub(super) fn manual(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    run(Command::new(built("keyrack")).arg("manual").arg(folder))?;
    let pages = fs::read_dir(folder)?.map(|page| Ok(page?.path())).collect::<Result<Vec<_>>>()?;
    ensure!(pages.len() > 50, "only {} commands have a man page", pages.len());
    run(Command::new("gzip").args(["-9", "-n"]).args(pages))
}

/// Unpacks it elsewhere and runs a job there.
fn try_it(stage: &Path, file: &Path, name: &str) -> Result<()> {
    let place = tempfile::tempdir_in(stage)?;
    run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(place.path()))?;
    run_a_job(|arguments| {
        let mut program = Command::new(place.path().join(name).join("keyrack"));
        program.args(arguments).current_dir(place.path());
        program
    })
}

/// Submits a job to a new store in the present folder and works it off, with the installed program.
pub(super) fn run_a_job(program: impl Fn(&[&str]) -> Command) -> Result<()> {
    submit_a_job(&program)?;
    run(&mut program(&["work", "mail", "--drain", "--exec", "cat"]))?;
    let stats = output(&mut program(&["jobs", "stats", "mail", "--json"]))?;
    ensure!(stats.contains(r#""completed":1"#), "the job did not complete: {stats}");
    Ok(())
}

/// Submits a job to a new store, with the installed program, which has to be this version.
pub(super) fn submit_a_job(program: impl Fn(&[&str]) -> Command) -> Result<()> {
    let printed = output(&mut program(&["--version"]))?;
    ensure!(printed.trim() == format!("keyrack {}", version()), "it says that it is {printed}");
    run(&mut program(&["jobs", "submit", "mail", r#"{"to":"ada@example.com"}"#]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKFLOW: &str = include_str!("../../../.github/workflows/release.yml");
    const MANIFEST: &str = include_str!("../../../crates/keyrack/Cargo.toml");
    const WORKSPACE: &str = include_str!("../../../Cargo.toml");

    /// A field of `[package.metadata.binstall]`, filled in as `cargo binstall` does it.
    fn binstall(field: &str, target: &str) -> String {
        let table = MANIFEST.split("[package.metadata.binstall]\n").nth(1).expect("the table");
        let table = table.split("\n[").next().expect("its lines");
        let start = format!("{field} = ");
        let line = table.lines().find_map(|line| line.strip_prefix(&start)).expect(field);
        line.trim_matches('"')
            .replace("{ version }", version())
            .replace("{ target }", target)
            .replace("{ bin }", "keyrack")
            .replace("{ binary-ext }", "")
    }

    fn targets() -> Vec<&'static str> {
        let after = WORKFLOW.lines().filter_map(|line| line.split("target: ").nth(1));
        let names = after.map(|rest| rest.trim_end_matches([' ', '}']));
        names.filter(|name| !name.contains('$')).collect()
    }

    #[test]
    fn cargo_binstall_looks_for_what_the_release_workflow_makes() {
        assert_eq!(targets().len(), 4, "{:?}", targets());
        for target in targets() {
            let name = name(target);
            let url = format!("{{ repo }}/releases/download/v{}/{name}.tar.gz", version());
            assert_eq!(binstall("pkg-url", target), url);
            assert_eq!(binstall("bin-dir", target), format!("{name}/keyrack"));
            assert_eq!(binstall("pkg-fmt", target), "tgz");
        }
        for line in [
            "- run: cargo xtask package tarball",
            "path: target/package/tarball/keyrack-v*.tar.gz*",
            "file=\"$(ls keyrack-v*-${{ matrix.target }}.tar.gz)\"",
        ] {
            assert!(WORKFLOW.contains(line), "the workflow has no \"{line}\"");
        }
    }

    #[test]
    fn a_repository_is_set_for_cargo_binstall_or_the_workflow_asks_for_it() {
        let is_set = WORKSPACE.lines().any(|line| line.starts_with("repository = \"https://"));
        let is_inherited = MANIFEST.lines().any(|line| line == "repository.workspace = true");
        assert_eq!(is_set, is_inherited, "both manifests name the repository, or none does");
        assert!(
            WORKFLOW.contains(r#"grep -qxF "repository = \"$SERVER/$REPOSITORY\"" Cargo.toml"#)
        );
    }
}
