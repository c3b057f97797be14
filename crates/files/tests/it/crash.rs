//! `kill -9` at any step of an upload.
//!
//! A child process uploads one file after another and says a letter before each step; its parent kills it after a random number of
//! them. `KEYRACK_SEED=…` gives the numbers of an earlier run again.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use keyrack_engine::SimulatedHost;
use keyrack_files::{Buckets, Fate, File, Files, Records, Sweep, Swept};
use keyrack_store::{Clock as _, Options, Store, SystemClock};
use keyrack_testkit::{Process, RedisServer};
use tempfile::TempDir;

const KILLS: usize = 200;
const STEPS: usize = 4;

/// A table of files that survives a crash: a folder with an empty file for each.
struct Table<'a>(&'a Path);

impl Table<'_> {
    fn save(&self, file: &File) -> std::io::Result<()> {
        fs::File::create(self.0.join(&file.key)).map(drop)
    }
}

impl Records for Table<'_> {
    fn fate<'a>(&'a self, file: &'a File) -> BoxFuture<'a, Result<Fate, String>> {
        let is_saved = self.0.join(&file.key).exists();
        Box::pin(std::future::ready(Ok(if is_saved { Fate::Keep } else { Fate::Delete })))
    }
}

/// Not a test of its own: the process that is killed.
#[tokio::test]
#[ignore = "runs as the child of another test"]
async fn child() {
    let Ok(url) = env::var("FILES_STORE") else { return };
    let folder = env::var("FILES_FOLDER").expect("a folder");
    let (folder, round) = (Path::new(&folder), env::var("FILES_ROUND").expect("a round"));
    let files = Files::new(Store::open(&url).await.expect("a store"));
    let (buckets, table) = (Buckets::folder(folder), Table(&folder.join("table")));
    for n in 0.. {
        let file = File::new("b", format!("{round}-{n}"));
        say('e');
        let upload = files.begin_upload(file.clone()).await.expect("begun");
        say('p');
        upload.put(&buckets, vec![b'x'; 1000]).await.expect("stored");
        say('s');
        let save = async {
            let saved = table.save(&file);
            say('r');
            saved
        };
        upload.save(save).await.expect("saved");
    }
}

#[expect(clippy::print_stderr, reason = "stdout belongs to the test runner")]
fn say(step: char) {
    eprint!("{step}");
    let _ = std::io::stderr().flush();
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stderr, reason = "the seed is for whoever reads a failure")]
async fn two_hundred_kills_leak_no_file_and_delete_none_that_is_on_record() {
    let seed = env::var("KEYRACK_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = seed.unwrap_or_else(|| SystemClock.now_ms());
    eprintln!("KEYRACK_SEED={random}");
    let (server, dir) = (RedisServer::start(), TempDir::new().expect("a folder"));
    let folder = dir.path();
    for name in ["b", "table"] {
        fs::create_dir(folder.join(name)).expect("a folder");
    }
    for round in 0..KILLS {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let steps = 1 + (random >> 33) as usize % (5 * STEPS);
        kill_after(steps, round, &server.url(), folder);
    }

    let later = SimulatedHost::new(SystemClock.now_ms() + 3_600_000, 0);
    let options = Options { clock: Some(Arc::new(later)), host: None };
    let store = Store::open_with(server.url().parse().expect("a URL"), options).await;
    let files = Files::new(store.expect("a store"));
    let (left, _) = files.count().await.expect("counts");
    let (buckets, table) = (Buckets::folder(folder), folder.join("table"));
    let table = Table(&table);
    let swept = Sweep::new(&files, &buckets).asking(&table).run().await.expect("swept");

    let Swept { deleted, missing, kept, .. } = swept;
    assert_eq!((deleted + missing + kept, swept.failed), (left, 0), "{swept:?}");
    assert_eq!(files.count().await.expect("counts"), (0, 0));
    let listing = |name: &str| {
        let names = fs::read_dir(folder.join(name)).expect("a listing");
        let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(listing("b"), listing("table"), "files, and those on record");
    // Had the kills hit only one kind of step, this would prove little.
    assert!(deleted > 0 && missing > 0 && kept > 0, "{swept:?}");
    assert!(listing("table").len() > KILLS / 2);
}

/// Runs the child until it has said so many letters.
fn kill_after(steps: usize, round: usize, url: &str, folder: &Path) {
    let mut command: Command = Process::command(env::current_exe().expect("this test"));
    command.args(["--exact", "crash::child", "--ignored", "--nocapture"]);
    command.env("FILES_STORE", url).env("FILES_FOLDER", folder);
    command.env("FILES_ROUND", round.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Process::spawn("the uploads", command);
    let mut letters = vec![0; steps];
    let mut said = child.child().stderr.take().expect("a pipe");
    said.read_exact(&mut letters).expect("the child goes on until it is killed");
    assert!(
        letters.iter().all(|letter| b"epsr".contains(letter)),
        "{}",
        String::from_utf8_lossy(&letters)
    );
    child.kill();
}
