//! A real PostgreSQL gives the same keys as SQLite.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use keyrack_recommender::{Names, Sql};
use keyrack_testkit::{Port, Process, simulated_store, wait_until};

use crate::{
    database::{give_to, output, program, run_as},
    load::fill,
    world::{LOADED, NOON, dump, ms, sync},
};

/// A PostgreSQL of its own for one test.
struct Postgres {
    _process: Process,
    _folder: tempfile::TempDir,
    port: Port,
}

impl Postgres {
    fn start() -> Postgres {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        give_to("postgres", folder.path());
        let runner = |program: &Path| run_as("postgres", program);
        let mut initdb = runner(&postgres_program("initdb"));
        initdb.args(["--auth=trust", "--username=app", "--no-sync", "-D"]).arg(&data);
        output(initdb.current_dir("/"));
        let port = Port::lease();
        let number = port.number();
        let mut server = runner(&postgres_program("postgres"));
        server.arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        server.args(["-p", &number.to_string(), "-k"]).arg(&data).current_dir("/");
        let process = Process::spawn("postgres", server);
        wait_until("PostgreSQL to answer", || {
            let mut ready = Command::new(postgres_program("pg_isready"));
            ready.args(["-q", "-h", "127.0.0.1", "-p", &number.to_string()]);
            ready.status().is_ok_and(|status| status.success())
        });
        Postgres { _process: process, _folder: folder, port }
    }

    fn url(&self) -> String {
        format!("postgres://app@127.0.0.1:{}/postgres", self.port.number())
    }
}

/// A program of PostgreSQL, which Debian keeps out of the path.
fn postgres_program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    program(name, &folders, "postgresql")
}

#[tokio::test]
async fn postgresql_gives_the_same_keys_as_sqlite() {
    let postgres = Postgres::start();
    fill(&postgres.url(), "BOOLEAN").await;
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let mut source = Sql::open(&postgres.url(), Names::default()).await.expect("a database");
    sync(&store, &mut source).await;
    assert_eq!(dump(&store).await, LOADED);
}
