//! The program with its licences, completions and service file, for systems without a package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::{built, copy, stage, version, write};
use crate::shell::{output, run, workspace};

const SHELLS: [(&str, &str); 3] =
    [("bash", "keyrack"), ("zsh", "_keyrack"), ("fish", "keyrack.fish")];

pub(super) fn make() -> Result<PathBuf> {
    let stage = stage("tarball")?;
    let name = format!("keyrack-{}-{}-linux", version(), std::env::consts::ARCH);
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
    tar.args(["--owner=0", "--group=0", "-czf"]).arg(&file).arg("-C").arg(&stage).arg(&name);
    run(&mut tar)?;
    try_it(&stage, &file, &name)?;
    Ok(file)
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
