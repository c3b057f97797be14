//! The manifests for containers, and workflows: nothing is made of them, so they are checked instead.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::setup::node_packages;
use crate::shell::{run, workspace};

/// The schemas of Kubernetes and of KEDA's own kinds, as npm has them.
const MANIFEST: &str = r#"{
  "private": true,
  "dependencies": { "@kubernetes-models/keda": "^0.4.2", "kubernetes-models": "^4.5.1", "yaml": "^2.8.0" }
}
"#;

/// Checks all manifests of `packaging`, and all workflows.
pub(super) fn check() -> Result<()> {
    let folder = node_packages("manifests", MANIFEST)?;
    let program = folder.join("manifests.mjs");
    fs::write(&program, include_str!("manifests.mjs"))
        .with_context(|| format!("could not write \"{}\"", program.display()))?;
    run(Command::new("node").arg(&program).args(files()?).current_dir(&folder))
}

fn files() -> Result<Vec<PathBuf>> {
    let packaging = workspace().join("packaging").canonicalize()?;
    let mut files = vec![packaging.join("container/compose.yaml")];
    let workflows = workspace().join(".github/workflows").canonicalize()?;
    for folder in [packaging.join("kubernetes"), workflows] {
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    files.sort_unstable();
    Ok(files)
}
