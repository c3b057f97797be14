//! A real MariaDB, spoken to as MySQL, gives the same keys as SQLite.

use std::{path::PathBuf, process::Command};

use keyrack_recommender::{Names, Source as _, Sql};
use keyrack_testkit::{Port, Process, simulated_store, wait_until};

use crate::{
    database::{give_to, output, program, run_as},
    load::fill,
    world::{LOADED, NOON, dump, ms, sync},
};

/// A MariaDB of its own for one test.
struct MariaDb {
    _process: Process,
    _folder: tempfile::TempDir,
    port: Port,
}

impl MariaDb {
    fn start() -> MariaDb {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        give_to("mysql", folder.path());
        let mut install = run_as("mysql", &mariadb_program("mariadb-install-db"));
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        install.args(["--skip-test-db", "--skip-name-resolve"]);
        output(install.arg(format!("--datadir={}", data.display())).current_dir("/"));
        let port = Port::lease();
        let socket = data.join("socket");
        let mut server = run_as("mysql", &mariadb_program("mariadbd"));
        server.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve"]);
        server.args(["--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0"]);
        server.arg(format!("--datadir={}", data.display()));
        server.arg(format!("--socket={}", socket.display()));
        server.arg(format!("--port={}", port.number())).current_dir("/");
        let process = Process::spawn("mariadbd", server);
        wait_until("MariaDB to answer", || {
            let mut ask = Command::new(mariadb_program("mariadb"));
            ask.args(["--no-defaults", "-e", "CREATE DATABASE IF NOT EXISTS app"]);
            ask.arg(format!("--socket={}", socket.display()));
            ask.output().is_ok_and(|output| output.status.success())
        });
        MariaDb { _process: process, _folder: folder, port }
    }

    fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/app", self.port.number())
    }
}

/// A program of MariaDB; servers are not in everybody's path.
fn mariadb_program(name: &str) -> PathBuf {
    program(name, &["/usr/sbin", "/usr/bin"].map(PathBuf::from), "mariadb-server")
}

#[tokio::test]
async fn mariadb_gives_the_same_keys_as_sqlite() {
    let mariadb = MariaDb::start();
    fill(&mariadb.url(), "BOOLEAN").await;
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let mut source = Sql::open(&mariadb.url(), Names::default()).await.expect("a database");
    sync(&store, &mut source).await;
    assert_eq!(dump(&store).await, LOADED);
    let posts = source.posts(&[103, 100, 999]).await.expect("posts");
    let ids: Vec<_> = posts.iter().filter_map(|row| row[0].as_deref()).collect();
    assert_eq!(ids, ["100", "103"]);
}
