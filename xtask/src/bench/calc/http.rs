//! Events over HTTP: a server of its own, and one request with many lines, or many requests with one event each.

use std::{fs, path::Path, thread, time::Instant};

use anyhow::{Context, Result};

use super::{
    super::http::Connection,
    super::server::{Role, Server, pinned},
    Place,
    import::moment,
};
use crate::shell;

/// All that can be calculated, over every interval.
pub(super) const EVERYTHING: &str = "\"interval\":[\"seconds\",\"minutes\",\"hours\",\"days\",\"weeks\",\"months\",\"years\"],\
    \"calculation\":[\"sum\",\"count\",\"average\",\"standard_deviation\",\"linear_regression\",\"min\",\"max\",\"median\",\
    \"percentile_90\",\"percentile_95\",\"percentile_99\",\"distinct_count\",\"rate\"]";

/// A server, what it stores in, and the token of a project.
struct Site {
    server: Server,
    token: String,
    folder: tempfile::TempDir,
    _redis: Server,
}

impl Site {
    fn start(keyrack: &Path, place: Place) -> Result<Site> {
        let folder = tempfile::tempdir().context("could not create a temporary folder")?;
        let redis = Server::redis_as(Role::Anywhere, &[])?;
        let store = match place {
            Place::Embedded => format!("embedded:{}", folder.path().join("data").display()),
            Place::Redis => format!("redis://127.0.0.1:{}", redis.port()),
        };
        fs::create_dir_all(folder.path().join("data"))?;
        let mut create = pinned(keyrack, Role::Anywhere);
        create.args(["calc", "token", "create", "7", "2", "--store", &store]);
        let token = shell::output(&mut create)?.trim().to_owned();
        let server = Server::start("keyrack", keyrack, |command, port, _| {
            command.args(["serve", "--quiet", "--resp", "off", "--store", &store]);
            command.args(["--http", &format!("127.0.0.1:{port}")]);
        })?;
        Ok(Site { server, token, folder, _redis: redis })
    }
}

/// Events a second through `POST /api/1/calculations/events`.
pub(super) fn rate(keyrack: &Path, place: Place, events: u64) -> Result<f64> {
    let site = Site::start(keyrack, place)?;
    let lines = site.folder.path().join("events.ndjson");
    fs::write(&lines, (0..events).map(line).collect::<String>())?;
    let mut send = pinned("curl", Role::Load);
    send.args(["-s", "-f", "-H", &format!("Access-Token: {}", site.token), "--data-binary"]);
    send.arg(format!("@{}", lines.display()));
    send.arg(format!("http://127.0.0.1:{}/api/1/calculations/events", site.server.port()));
    let started = Instant::now();
    let told = shell::output(&mut send)?;
    let seconds = started.elapsed().as_secs_f64();
    let expected = format!("\"stored\":{events},\"refused\":0");
    anyhow::ensure!(told.contains(&expected), "not all events were stored: {told}");
    Ok(events as f64 / seconds)
}

/// Events a second of one key with everything calculated, one in each `POST /api/1.0/event`, by so many clients at once.
pub(super) fn singles(keyrack: &Path, place: Place, events: u64, clients: u64) -> Result<f64> {
    let site = Site::start(keyrack, place)?;
    let (port, token) = (site.server.port(), site.token.as_str());
    let started = Instant::now();
    let done: Result<Vec<()>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn(move || {
                    let numbers = (client..events).step_by(clients as usize);
                    post_each(port, token, numbers)
                })
            })
            .collect();
        let joined = clients.into_iter().map(|client| client.join());
        joined.map(|ended| ended.expect("a client does not panic")).collect()
    });
    done?;
    Ok(events as f64 / started.elapsed().as_secs_f64())
}

/// Sends one event after the other over one connection.
fn post_each(port: u16, token: &str, numbers: impl Iterator<Item = u64>) -> Result<()> {
    let mut connection = Connection::open(port)?;
    for n in numbers {
        let body = format!(
            "{{\"access_token\":\"{token}\",\"dimension\":\"bench\",\"key\":\"one\",\"value\":\"{}.5\",\"created_at\":\"{}\",{EVERYTHING}}}",
            n % 97,
            moment(n)
        );
        connection.post("/api/1.0/event", &body)?;
    }
    Ok(())
}

/// One event for one of ten keys, ten minutes after the one before.
fn line(n: u64) -> String {
    let (minutes, day) = (n * 10, n / 144);
    let (year, month, day) = (2000 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
    format!(
        "{{\"dimension\":\"bench\",\"key\":\"k{}\",\"value\":\"{}.{}\",\
         \"created_at\":\"{year}-{month:02}-{day:02} {:02}:{:02}:00 +0000\",\
         \"interval\":[\"hours\",\"days\",\"months\"],\
         \"calculation\":[\"sum\",\"count\",\"average\",\"standard_deviation\",\"linear_regression\"]}}\n",
        n % 10,
        n % 97,
        n % 10,
        minutes / 60 % 24,
        minutes % 60,
    )
}
