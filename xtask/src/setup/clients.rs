//! Client libraries of other languages, as real programs use them, under `target/clients`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::apt;
use crate::shell::{command, run, succeeds, workspace};

const PYTHON_PACKAGE: &str = "redis==8.*";

/// What tests and packs our own Python package, and what it works with if it is there.
const PACKAGE_TOOLS: &str = "django-tasks==0.12.0 gunicorn==27.0.1 mypy==2.4.1 opentelemetry-sdk==1.45.2 \
                             pydantic==2.14.3 pytest==9.2.0 tqdm==4.* wheel==0.48.*";

/// The newest majors that still run on the Node of Debian 12.
const NODE_MANIFEST: &str = r#"{
  "private": true,
  "dependencies": { "ioredis": "^5.9.0", "redis": "^5.9.0" }
}
"#;

/// What compiles our own Node package, and what it is tested with; and a checker of Python's types.
const NPM_MANIFEST: &str = r#"{
  "private": true,
  "dependencies": {
    "@types/express": "^5.0.0",
    "@types/node": "^20.19.0",
    "express": "^5.1.0",
    "fastify": "^5.6.0",
    "pyright": "^1.1.400",
    "typescript": "^5.9.0",
    "zod": "^4.1.0"
  }
}
"#;

/// axe looks through pages for what shuts people out.
const AXE_MANIFEST: &str = r#"{
  "private": true,
  "dependencies": { "axe-core": "^4.11.0" }
}
"#;

/// The progress bar that most Python programs use.
const TQDM_PACKAGE: &str = "tqdm==4.*";

/// moto plays Amazon S3; flask is what its server needs beside.
const S3_PACKAGES: &str = "moto[s3]==5.* flask flask-cors";

/// schemathesis thinks up requests for the API; the other makes a client from its description.
const API_PACKAGES: &str = "schemathesis==4.* openapi-python-client==0.26.*";

/// Job systems of Python to be compared with, in environments of their own because they need different clients of
/// Redis. The versions are exact, so that a number can be measured again.
const PEERS: [(&str, &str); 3] = [
    ("celery", "celery[redis]==5.7.0 rq==2.12.0"),
    ("arq", "arq==0.28.0"),
    ("taskiq", "dramatiq[redis]==2.2.1 taskiq==0.13.0 taskiq-redis==1.2.4"),
];

/// What makes a TypeScript client from the description of the API, and compiles it.
const TYPESCRIPT_MANIFEST: &str = r#"{
  "private": true,
  "dependencies": { "openapi-fetch": "^0.14.0", "openapi-typescript": "^7.9.0", "typescript": "^5.9.0" }
}
"#;

/// A virtual environment with redis-py.
pub(super) fn python() -> Result<()> {
    python_packages("python", PYTHON_PACKAGE)
}

/// A virtual environment for our own Python package.
pub(super) fn python_package_tools() -> Result<()> {
    python_packages("keyrack", PACKAGE_TOOLS)
}

/// Where that environment is.
pub(crate) fn python_package() -> PathBuf {
    folder("keyrack")
}

/// The Python of a virtual environment with a progress bar to compare with.
pub(crate) fn tqdm() -> Result<PathBuf> {
    python_packages("tqdm", TQDM_PACKAGE)?;
    Ok(folder("tqdm").join("bin/python"))
}

/// The environments of other job systems of Python.
pub(crate) struct Peers(());

impl Peers {
    /// The one in which a job system runs, ours included.
    pub(crate) fn environment(&self, system: &str) -> PathBuf {
        let has = |packages: &str| packages.split(' ').any(|package| package.starts_with(system));
        let found = PEERS.iter().find(|(_, packages)| has(packages));
        folder(&format!("peers-{}", found.map_or("arq", |(name, _)| name)))
    }
}

/// Installs the job systems of Python that ours is compared with.
pub(crate) fn peers() -> Result<Peers> {
    for (name, packages) in PEERS {
        python_packages(&format!("peers-{name}"), packages)?;
    }
    Ok(Peers(()))
}

/// What is installed by [`peers`].
pub(crate) fn peer_versions() -> String {
    PEERS.map(|(_, packages)| packages.replace(' ', ", ")).join(", ")
}

/// A virtual environment with a server that speaks S3.
pub(super) fn s3_server() -> Result<()> {
    python_packages("s3", S3_PACKAGES)
}

/// What others use to try the API and to make clients for it.
pub(super) fn api() -> Result<()> {
    python_packages("api", API_PACKAGES)?;
    node_packages("typescript", TYPESCRIPT_MANIFEST).map(drop)
}

/// The folder of this name as a virtual environment with these packages.
fn python_packages(name: &str, packages: &'static str) -> Result<()> {
    let folder = folder(name);
    let python = folder.join("bin/python");
    let stamp = Stamp { path: folder.join("installed"), content: packages };
    if stamp.is_there() && succeeds(&mut command(&python, "-c pass")) {
        return Ok(());
    }
    let create = || {
        let mut create = command("python3", "-m venv --clear");
        create.arg(&folder);
        create
    };
    // Debian ships Python without the part that makes environments.
    if !succeeds(&mut create()) {
        apt::install(&["python3-venv"])?;
        run(&mut create())?;
    }
    let install = "-m pip install --quiet --disable-pip-version-check";
    run(command(&python, install).args(packages.split(' ')))?;
    stamp.leave()
}

/// go-redis, from Debian: Go itself would ask a module proxy, which not every machine reaches.
pub(super) fn go() -> Result<()> {
    if Path::new("/usr/share/gocode/src/gopkg.in/redis.v5").is_dir() {
        return Ok(());
    }
    apt::install(&["golang-gopkg-redis.v5-dev"])
}

/// ioredis and node-redis.
pub(super) fn node() -> Result<()> {
    node_packages("node", NODE_MANIFEST).map(drop)
}

/// What our own Node package is compiled and tested with.
pub(super) fn npm_package_tools() -> Result<()> {
    node_packages("npm", NPM_MANIFEST).map(drop)
}

/// Where that is.
pub(crate) fn npm_package() -> PathBuf {
    folder("npm")
}

/// What the tests of pages put into them to find barriers.
pub(super) fn axe() -> Result<()> {
    node_packages("axe", AXE_MANIFEST).map(drop)
}

/// The folder of this name with the packages of a `package.json` installed in it.
pub(crate) fn node_packages(name: &str, manifest: &'static str) -> Result<PathBuf> {
    let folder = folder(name);
    let stamp = Stamp { path: folder.join("node_modules/installed"), content: manifest };
    if stamp.is_there() {
        return Ok(folder);
    }
    let path = folder.join("package.json");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, manifest))
        .with_context(|| format!("could not write \"{}\"", path.display()))?;
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&folder);
    run(&mut install)?;
    stamp.leave()?;
    Ok(folder)
}

fn folder(name: &str) -> PathBuf {
    workspace().join("target/clients").join(name)
}

/// A file written when an installation is complete, so that half of one is not taken for whole.
struct Stamp {
    path: PathBuf,
    content: &'static str,
}

impl Stamp {
    fn is_there(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|content| content == self.content)
    }

    fn leave(&self) -> Result<()> {
        fs::write(&self.path, self.content)
            .with_context(|| format!("could not write \"{}\"", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_of_other_requirements_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("installed");
        let old = Stamp { path: path.clone(), content: "redis==7.*" };
        let new = Stamp { path, content: "redis==8.*" };
        assert!(!new.is_there());
        old.leave().unwrap();
        assert!(old.is_there() && !new.is_there());
        new.leave().unwrap();
        assert!(new.is_there());
    }
}
