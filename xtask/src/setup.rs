//! `cargo xtask setup`: installs what the tests need and this machine lacks.
//!
//! System programs come from apt, which needs root; client libraries of other languages go into
//! `target/clients` and touch nothing else. A second run finds everything there and takes no time.

mod apt;
mod clients;

pub(crate) use clients::{
    Peers, node_packages, npm_package, peer_versions, peers, python_package, tqdm,
};

use anyhow::Result;

use crate::step::step;

/// Programs the tests run, and the Debian package that has each.
const PROGRAMS: &[(&str, &str)] = &[
    ("redis-server", "redis-server"),
    ("redis-cli", "redis-tools"),
    ("redis-benchmark", "redis-tools"),
    ("curl", "curl"),
    ("openssl", "openssl"),
    ("faketime", "faketime"),
    ("python3", "python3"),
    ("go", "golang-go"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
    ("pg_ctlcluster", "postgresql"),
    ("mariadb-install-db", "mariadb-server"),
];

/// Installs what is missing.
pub(crate) fn run() -> Result<()> {
    programs(PROGRAMS)?;
    step("set-up: python client", clients::python)?;
    run_python()?;
    step("set-up: go client", clients::go)?;
    step("set-up: node clients", clients::node)?;
    run_npm()?;
    step("set-up: axe", clients::axe)?;
    step("set-up: API clients", clients::api)?;
    step("set-up: S3 server", clients::s3_server)
}

/// Installs programs that are missing; each is named with the Debian package that has it.
pub(crate) fn programs(programs: &[(&str, &str)]) -> Result<()> {
    step("set-up: programs", || apt::provide(programs))
}

/// Installs what the tests of the Python package need.
pub(crate) fn run_python() -> Result<()> {
    step("set-up: python package", clients::python_package_tools)
}

/// Installs what the tests of the Node package need.
pub(crate) fn run_npm() -> Result<()> {
    step("set-up: node package", clients::npm_package_tools)
}
