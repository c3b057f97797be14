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
use keyrack_files::{Buckets, File, Files, Records, Sweep, SweepAction, Swept};
use keyrack_store::{Clock as _, Options, Store, SystemClock};
use keyrack_testkit::{Process, RedisServer, S3Server};
use tempfile::TempDir;

use crate::s3;

const KILLS: usize = 200;
const STEPS: usize = 4;
const BUCKET: &str = "uploads";

/// A table of files that survives a crash: a folder with an empty file for each.
struct Table<'a>(&'a Path);

impl Table<'_> {
    fn save(&self, file: &File) -> std::io::Result<()> {
        fs::File::create(self.0.join(&file.key)).map(drop)
    }
}

impl Records for Table<'_> {
    fn fate<'a>(&'a self, file: &'a File) -> BoxFuture<'a, Result<SweepAction, String>> {
        let is_saved = self.0.join(&file.key).exists();
        Box::pin(std::future::ready(Ok(if is_saved {
            SweepAction::Keep
        } else {
            SweepAction::Delete
        })))
    }
}

/// Where the files are.
enum Place {
    Folder(TempDir),
    S3(S3Server),
}

impl Place {
    fn url(&self) -> String {
        match self {
            Place::Folder(dir) => format!("file:{}", dir.path().display()),
            Place::S3(server) => format!("s3:{}", server.url()),
        }
    }

    fn buckets(&self) -> Buckets {
        match self {
            Place::Folder(dir) => Buckets::folder(dir.path()),
            Place::S3(server) => s3::buckets(server),
        }
    }

    /// The names of all files that are there.
    fn stored(&self) -> Vec<String> {
        match self {
            Place::Folder(dir) => listing(&dir.path().join(BUCKET)),
            Place::S3(server) => server.keys(BUCKET),
        }
    }
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a listing");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<_> =
        entries.map(|entry| name(entry).into_string().expect("a name")).collect();
    names.sort();
    names
}

/// Not a test of its own: the process that is killed.
#[tokio::test]
#[ignore = "runs as the child of another test"]
async fn child() {
    let Ok(url) = env::var("FILES_STORE") else { return };
    let var = |name: &str| env::var(name).expect("a variable");
    let (place, table, round) = (var("FILES_PLACE"), var("FILES_TABLE"), var("FILES_ROUND"));
    let files = Files::new(Store::open(&url).await.expect("a store"));
    let (buckets, table) = (Buckets::open(&place).expect("buckets"), Table(Path::new(&table)));
    for n in 0.. {
        let file = File::new(BUCKET, format!("{round}-{n}"));
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
async fn two_hundred_kills_leak_no_file_and_delete_none_that_is_on_record() {
    let dir = TempDir::new().expect("a folder");
    fs::create_dir(dir.path().join(BUCKET)).expect("a bucket");
    let swept = check(&Place::Folder(dir)).await;
    // Had the kills hit only one kind of step, this would prove little.
    assert!(swept.deleted > 0 && swept.missing > 0 && swept.kept > 0, "{swept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_kills_leak_no_file_on_s3_and_delete_none_that_is_on_record() {
    let server = S3Server::start();
    server.create_bucket(BUCKET);
    let swept = check(&Place::S3(server)).await;
    // S3 calls a file deleted that never was, so that none is missing.
    assert!(swept.deleted > 0 && swept.kept > 0, "{swept:?}");
}

#[expect(clippy::print_stderr, reason = "the seed is for whoever reads a failure")]
async fn check(place: &Place) -> Swept {
    let seed = env::var("KEYRACK_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = seed.unwrap_or_else(|| SystemClock.now_ms());
    eprintln!("KEYRACK_SEED={random}");
    let (server, table) = (RedisServer::start(), TempDir::new().expect("a folder"));
    for round in 0..KILLS {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let steps = 1 + (random >> 33) as usize % (5 * STEPS);
        kill_after(steps, round, &server.url(), place, table.path());
    }

    let later = SimulatedHost::new(SystemClock.now_ms() + 3_600_000, 0);
    let options = Options { clock: Some(Arc::new(later)), ..Options::default() };
    let store = Store::open_with(server.url().parse().expect("a URL"), options).await;
    let files = Files::new(store.expect("a store"));
    let (left, _) = files.count().await.expect("counts");
    let (buckets, records) = (place.buckets(), Table(table.path()));
    let swept = Sweep::new(&files, &buckets).asking(&records).run().await.expect("swept");

    let Swept { deleted, missing, kept, .. } = swept;
    assert_eq!((deleted + missing + kept, swept.failed), (left, 0), "{swept:?}");
    assert_eq!(files.count().await.expect("counts"), (0, 0));
    let on_record = listing(table.path());
    assert_eq!(place.stored(), on_record, "files, and those on record");
    assert!(on_record.len() > KILLS / 2);
    swept
}

/// Runs the child until it has said so many letters.
fn kill_after(steps: usize, round: usize, url: &str, place: &Place, table: &Path) {
    let mut command: Command = Process::command(env::current_exe().expect("this test"));
    command.args(["--exact", "crash::child", "--ignored", "--nocapture"]);
    command.env("FILES_STORE", url).env("FILES_PLACE", place.url()).env("FILES_TABLE", table);
    command.env("FILES_ROUND", round.to_string());
    command.env("AWS_ACCESS_KEY_ID", s3::KEY).env("AWS_SECRET_ACCESS_KEY", s3::KEY);
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
