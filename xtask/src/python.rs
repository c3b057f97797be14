//! The Python package: builds its native module, installs both into an environment, runs its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::setup::{npm_package, python_package};
use crate::shell::{cargo, run, target, workspace};
use crate::step::step;

/// For those who work on the package: nothing else is built.
pub(crate) const ALONE: &str = "build -p keyrack-python --quiet";

/// Builds the package as told, and tests it.
pub(crate) fn test(build: &str) -> Result<()> {
    let folder = python_package();
    step("python: build", || run(&mut cargo(build)))?;
    step("python: install", || install(&folder, &target().join("debug")))?;
    let run_in_package = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(folder.join("bin").join(program));
        command.args(arguments).current_dir(package()).env("PYTHONDONTWRITEBYTECODE", "1");
        run(&mut command)
    };
    step("python: types", || {
        let cache = folder.join("mypy");
        let cache = cache.to_string_lossy();
        let checked = ["python/keyrack", "tests/types"];
        run_in_package("mypy", &[&["--strict", "--cache-dir", &*cache][..], &checked].concat())?;
        let mut pyright = Command::new(npm_package().join("node_modules/.bin/pyright"));
        pyright.arg("--pythonpath").arg(folder.join("bin/python")).current_dir(package());
        run(&mut pyright)
    })?;
    step("python: tests", || run_in_package("pytest", &["-q"]))
}

fn package() -> PathBuf {
    workspace().join("clients/python")
}

/// Copies the package and its native module into an environment, as a wheel would bring them.
///
/// maturin would compile the module with features of its own, and with it half of its dependencies.
pub(crate) fn install(environment: &Path, built: &Path) -> Result<()> {
    let to = site_packages(environment)?.join("keyrack");
    if to.exists() {
        fs::remove_dir_all(&to).with_context(|| format!("could not empty \"{}\"", to.display()))?;
    }
    copy_package(&built.join("lib_keyrack.so"), &to)
}

/// Copies what programs import, and the native module, into a folder.
pub(crate) fn copy_package(module: &Path, to: &Path) -> Result<()> {
    copy(&package().join("python/keyrack"), to)?;
    fs::copy(module, to.join("_keyrack.abi3.so"))
        .with_context(|| format!("could not copy \"{}\"", module.display()))?;
    Ok(())
}

/// The folder for packages of an environment.
fn site_packages(environment: &Path) -> Result<PathBuf> {
    let lib = environment.join("lib");
    let entries = fs::read_dir(&lib).with_context(|| format!("no folder \"{}\"", lib.display()))?;
    let found = entries.flatten().map(|entry| entry.path().join("site-packages"));
    match found.into_iter().find(|folder| folder.is_dir()) {
        Some(folder) => Ok(folder),
        None => bail!("\"{}\" has no site-packages", lib.display()),
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("could not make \"{}\"", to.display()))?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_file() {
            fs::copy(&path, to.join(name))?;
        } else if name != "__pycache__" {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}
