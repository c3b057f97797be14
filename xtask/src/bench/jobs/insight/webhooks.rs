//! Jobs of a server with webhooks, beside those of one without.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use anyhow::{Context, Result};
use serde_json::json;

use super::super::super::compare::median;
use super::super::super::http::Connection;
use super::super::super::report::{Section, Table, tenths, whole};
use super::super::super::serve::released;
use super::super::super::server::{Role, Server};
use super::super::driver::TICKS_PER_SECOND;
use super::super::http::{MANNERS, submit, wait_until_ready, work_off};
use super::Load;
use super::pairs::{ratio, rounds};

/// The share of the jobs that takes part: each of them is an event.
const ONE_IN: u32 = 5;

/// What the webhook of a server is told of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// There is none.
    Nothing,
    /// Failures, which there are none of.
    Failures,
    /// Every job.
    Everything,
}

const TOLD: [Told; 3] = [Told::Nothing, Told::Failures, Told::Everything];

impl Told {
    fn name(self) -> &'static str {
        match self {
            Told::Nothing => "none",
            Told::Failures => "job.failed, and no job fails",
            Told::Everything => "job.completed",
        }
    }

    fn event(self) -> Option<&'static str> {
        match self {
            Told::Nothing => None,
            Told::Failures => Some("job.failed"),
            Told::Everything => Some("job.completed"),
        }
    }
}

/// What a turn took, for each job.
struct Turn {
    rate: f64,
    redis_us: f64,
    server_us: f64,
}

/// Measures workers over HTTP.
pub(super) fn run(load: &Load) -> Result<Section> {
    let program = released("--package keyrack-cli", "keyrack")?;
    let (jobs, receiver) = ((load.jobs / ONE_IN).max(1), receive()?);
    let turns = rounds(load.rounds, TOLD, |round, told| {
        let turn = take_turn(&program, jobs, told.event(), receiver)?;
        let rate = whole(turn.rate);
        println!("round {round}: webhook on {:30} {rate:>8} jobs/s", told.name());
        Ok(turn)
    })?;
    let mut table = Table::new(&[
        "webhook on",
        "jobs/s",
        "times the rate without",
        "Redis CPU, µs a job",
        "times",
        "keyrack CPU, µs a job",
        "times",
    ]);
    for (told, on) in TOLD.iter().zip(&turns) {
        let middle =
            |figure: fn(&Turn) -> f64| median(&on.iter().map(figure).collect::<Vec<f64>>());
        let times = |figure: fn(&Turn) -> f64| match told {
            Told::Nothing => "–".to_owned(),
            _ => ratio(on, &turns[0], figure).to_string(),
        };
        table.add(vec![
            told.name().to_owned(),
            whole(middle(|turn| turn.rate)),
            times(|turn| turn.rate),
            tenths(middle(|turn| turn.redis_us)),
            times(|turn| turn.redis_us),
            tenths(middle(|turn| turn.server_us)),
            times(|turn| turn.server_us),
        ]);
    }
    let words = format!(
        "{} no-op jobs on a redis-server, worked off over HTTP by 4 connections that settle 100 jobs and claim the next 100 in \
         one request, {} rounds. The receiver answers every event with 200. What is measured ends with the last job: events \
         that have not been sent by then are not in it. Server, store, workers and receiver share the cores.",
        whole(f64::from(jobs)),
        load.rounds,
    );
    Ok(Section { title: "Webhooks", words, table, limits: Vec::new() })
}

fn take_turn(program: &Path, jobs: u32, event: Option<&str>, receiver: u16) -> Result<Turn> {
    let redis = Server::redis_as(Role::Anywhere, &[])?;
    let store = format!("redis://127.0.0.1:{}", redis.port());
    let server = Server::start_as(Role::Anywhere, "keyrack", program, |command, port, _| {
        command.args(["serve", "--quiet", "--store", &store]);
        command.args(["--http", &format!("127.0.0.1:{port}")]);
        command.args(["--webhooks-allow-private", "127.0.0.0/8"]);
    })?;
    wait_until_ready(server.port())?;
    if let Some(event) = event {
        let draft = json!({ "url": format!("http://127.0.0.1:{receiver}/"), "events": [event] });
        Connection::open(server.port())?.post("/api/1/webhooks", &draft.to_string())?;
    }
    submit(server.port(), jobs)?;
    let seconds_of = |server: &Server| -> Result<f64> {
        let ticks = server.cpu_ticks().context("no processor time of a server")?;
        Ok(ticks as f64 / TICKS_PER_SECOND)
    };
    let before = (seconds_of(&redis)?, seconds_of(&server)?);
    let seconds = work_off(server.port(), MANNERS[0], jobs)?;
    let us_per_job = |now: f64, before: f64| (now - before) * 1e6 / f64::from(jobs);
    Ok(Turn {
        rate: f64::from(jobs) / seconds,
        redis_us: us_per_job(seconds_of(&redis)?, before.0),
        server_us: us_per_job(seconds_of(&server)?, before.1),
    })
}

/// Starts a receiver that takes everything; returns its port. It ends with this program.
fn receive() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A sender that is gone needs no answer.
            thread::spawn(move || answer_all(stream));
        }
    });
    Ok(port)
}

fn answer_all(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let mut length = 0;
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        std::io::copy(&mut (&mut stream).take(length), &mut std::io::sink())?;
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}
