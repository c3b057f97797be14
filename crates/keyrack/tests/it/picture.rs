//! The picture of the dashboard that the README shows: the demo as newcomers see it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use keyrack_testkit::Browser;
use tempfile::TempDir;

use crate::program::Serve;

/// A larger picture would be most of what opening the README takes.
const BYTES_MAX: u64 = 200 * 1024;

/// Lines without ups and downs say nothing.
const IS_LIVELY: &str = "[...document.querySelectorAll('.services polyline')].filter((line) => \
    new Set(Array.from(line.points, ({ y }) => y)).size > 4).length > 1";

#[tokio::test(flavor = "multi_thread")]
async fn demo_gives_a_lively_picture_that_fits_into_the_readme() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start_with(dir.path(), "--demo --speed 5 --store embedded:memory", &[]);
    let browser = Browser::start().await;
    browser.resize(1280, 900).await;
    browser.prefer("light").await;
    browser.open(&format!("http://{}/", serve.http())).await;
    browser.wait_until(IS_LIVELY).await;
    let path = place();
    browser.snapshot(&path).await;
    let bytes = fs::metadata(&path).expect("a picture").len();
    assert!((1..=BYTES_MAX).contains(&bytes), "{bytes} bytes");
    let complaints = browser.console().await;
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Where the picture goes: among the documents only if `cargo xtask docs --pictures` asks for it, since no two are the same.
fn place() -> PathBuf {
    if env::var_os("KEYRACK_PICTURES").is_some() {
        return Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dashboard.png");
    }
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../pictures/dashboard.png")
}
