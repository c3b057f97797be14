//! Events over HTTP: a server of its own, and one request with many lines.

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result};

use super::{
    super::server::{Role, Server, pinned},
    Place,
};
use crate::shell;

/// Events a second through `POST /api/1/calculations/events`.
pub(super) fn rate(keyrack: &Path, place: Place, events: u64) -> Result<f64> {
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
    let lines = folder.path().join("events.ndjson");
    fs::write(&lines, (0..events).map(line).collect::<String>())?;

    let server = Server::start("keyrack", keyrack, |command, port, _| {
        command.args(["serve", "--quiet", "--resp", "off", "--store", &store]);
        command.args(["--http", &format!("127.0.0.1:{port}")]);
    })?;
    let mut send = pinned("curl", Role::Load);
    send.args(["-s", "-f", "-H", &format!("Access-Token: {token}"), "--data-binary"]);
    send.arg(format!("@{}", lines.display()));
    send.arg(format!("http://127.0.0.1:{}/api/1/calculations/events", server.port()));
    let started = Instant::now();
    let told = shell::output(&mut send)?;
    let seconds = started.elapsed().as_secs_f64();
    let expected = format!("\"stored\":{events},\"refused\":0");
    anyhow::ensure!(told.contains(&expected), "not all events were stored: {told}");
    Ok(events as f64 / seconds)
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
