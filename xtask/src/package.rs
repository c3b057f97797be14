//! `cargo xtask package`: what people install, made on this machine and tried in a clean place.
//!
//! All packages ship the same program, built once with the profile `dist`. Each is put together in
//! a folder under `target/package`, installed where nothing of this project is, and has to run a
//! job there.

mod deb;
mod demo;
mod elf;
mod image;
mod manifests;
mod npm;
mod tarball;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{cargo, run, target};
use crate::step::{step, summary};

/// The limit that people who install a package can rely on.
const MEGABYTES_MAX: u64 = 25;

/// How long a newcomer waits at most, from the start of the installation to the first completed job.
const FIRST_JOB_WITHIN: Duration = Duration::from_secs(30);

/// A package that was made and tried.
struct Made {
    file: PathBuf,
    /// How long it took a clean place to install it and to complete a first job, where that was measured.
    first_job: Option<Duration>,
}

impl From<PathBuf> for Made {
    fn from(file: PathBuf) -> Made {
        Made { file, first_job: None }
    }
}

/// Makes and tries the named packages, or all of them.
pub(crate) fn package(names: &[&str]) -> Result<()> {
    type Make = fn() -> Result<Made>;
    let all: [(&str, Make); 5] = [
        ("tarball", tarball::make),
        ("wheel", wheel::make),
        ("npm", npm::make),
        ("deb", deb::make),
        ("image", image::make),
    ];
    if names == ["manifests"] {
        return step("package: manifests", manifests::check);
    }
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|(known, _)| known != *name)) {
        let known = all.map(|(name, _)| name).join(", ");
        bail!("no package \"{unknown}\": there are {known}, and manifests to check");
    }
    step("package: build", || if names == ["tarball"] { build_program() } else { build() })?;
    if names.is_empty() {
        step("package: manifests", manifests::check)?;
    }
    let mut made = Vec::new();
    for (name, make) in all {
        if names.is_empty() || names.contains(&name) {
            let Made { file, first_job } = step(&format!("package: {name}"), make)?;
            let bytes = fs::metadata(&file)?.len();
            ensure!(
                bytes <= MEGABYTES_MAX << 20,
                "\"{}\" has {bytes} bytes, more than {MEGABYTES_MAX} MiB",
                file.display()
            );
            let first_job = first_job.map_or(Ok(String::new()), in_time)?;
            let megabytes = bytes as f64 / 1e6;
            made.push(format!("{megabytes:>8.1} MB  {}{first_job}\n", file.display()));
        }
    }
    println!("{}made and tried:\n{}", summary(), made.concat());
    Ok(())
}

/// The first job has to be in time.
fn in_time(took: Duration) -> Result<String> {
    let seconds = took.as_secs_f64();
    ensure!(
        took <= FIRST_JOB_WITHIN,
        "from the start of the installation to the first completed job it took {seconds:.1} s, more than {} s",
        FIRST_JOB_WITHIN.as_secs()
    );
    Ok(format!("  (installed, and the first job done, within {seconds:.1} s)"))
}

/// Builds what a tarball has.
fn build_program() -> Result<()> {
    run(&mut cargo("build --locked --profile dist -p keyrack-cli"))
}

/// Builds what packages have: the program and the native modules.
pub(crate) fn build() -> Result<()> {
    run(&mut cargo(
        "build --locked --profile dist -p keyrack-cli -p keyrack-python -p keyrack-node",
    ))
}

/// The version of everything, as the workspace's manifest has it.
fn version() -> &'static str {
    const MANIFEST: &str = include_str!("../../Cargo.toml");
    let package = MANIFEST.split("[workspace.package]\n").nth(1).unwrap_or_default();
    let line = package.lines().find_map(|line| line.strip_prefix("version = "));
    line.expect("the workspace has a version").trim_matches('"')
}

/// Something that was built for packages: the program, or the native module.
pub(crate) fn built(file: &str) -> PathBuf {
    target().join("dist").join(file)
}

/// An empty folder in which a package is put together.
fn stage(name: &str) -> Result<PathBuf> {
    let folder = target().join("package").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("could not empty \"{}\"", folder.display()))?;
    }
    fs::create_dir_all(&folder)
        .with_context(|| format!("could not create \"{}\"", folder.display()))?;
    // Commands that run elsewhere get it as an argument.
    folder.canonicalize().with_context(|| format!("no folder \"{}\"", folder.display()))
}

/// Writes a file of a package, with the folders it lies in.
fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    make_folder_of(path)?;
    fs::write(path, content).with_context(|| format!("could not write \"{}\"", path.display()))
}

/// Copies a file into a package, with its permissions.
fn copy(from: &Path, to: &Path) -> Result<()> {
    make_folder_of(to)?;
    fs::copy(from, to).with_context(|| format!("could not copy \"{}\"", from.display()))?;
    Ok(())
}

fn make_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("could not create \"{}\"", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_three_numbers() {
        let numbers: Vec<_> = version().split('.').map(str::parse::<u32>).collect();
        assert!(numbers.len() == 3 && numbers.iter().all(Result::is_ok), "{}", version());
    }

    #[test]
    fn first_job_that_takes_half_a_minute_fails_the_package() {
        assert!(in_time(Duration::from_secs(30)).is_ok());
        let error = in_time(Duration::from_millis(30_100)).unwrap_err().to_string();
        assert!(error.contains("it took 30.1 s, more than 30 s"), "{error}");
    }

    #[test]
    fn unknown_package_is_refused_before_anything_is_built() {
        let error = package(&["rpm"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "no package \"rpm\": there are tarball, wheel, npm, deb, image, and manifests to check"
        );
    }
}
