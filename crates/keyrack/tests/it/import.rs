//! `keyrack import`: databases that the libraries themselves have written, and many jobs with an import that is killed.

use std::{collections::HashMap, fs, path::Path};

use keyrack_jobs::bee::keys::{self, Jid, QueueName};
use keyrack_testkit::{Process, RedisServer, wait_until};
use serde_json::{Value as Json, json};

use crate::{program::Run, world::World};

/// A Redis as one of `keysets/make` left it. Each line of a recording is a command; each character of its words is a byte.
fn recorded(library: &str) -> RedisServer {
    let server = RedisServer::start();
    let mut connection = server.connection();
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../keysets/dumps");
    let dump = fs::read_to_string(dumps.join(format!("{library}.jsonl"))).expect("a recording");
    for line in dump.lines() {
        let words: Vec<String> = serde_json::from_str(line).expect("a command");
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(word.chars().map(|letter| letter as u8).collect::<Vec<u8>>());
        }
        command.exec(&mut connection).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    server
}

fn import(world: &World, line: &str, from: &RedisServer) -> Json {
    world.json(&format!("import {line} --from {}", from.url()))
}

fn size(server: &RedisServer) -> u64 {
    redis::cmd("DBSIZE").query(&mut server.connection()).expect("a number")
}

fn stats(world: &World, queue: &str) -> (u64, u64) {
    let stats = world.json(&format!("jobs stats {queue}"));
    let stats = if stats.is_array() { stats[0].clone() } else { stats };
    (stats["queued"].as_u64().expect("a number"), stats["delayed"].as_u64().expect("a number"))
}

/// What each recording has, and what is left there. What was delayed when they were made is due by now.
fn expected(library: &str) -> (Json, Json) {
    match library {
        "celery" => {
            (json!([{"from": "shop.add", "queue": "add", "waiting": 4, "delayed": 0}]), json!([]))
        }
        "rq" => (
            json!([{"from": "math.sqrt", "queue": "math.sqrt", "waiting": 5, "delayed": 0}]),
            json!([{"reason": "it waits for other jobs", "jobs": 1},
                   {"reason": "other jobs wait for it", "jobs": 1}]),
        ),
        _ => (
            json!([{"from": "emails", "queue": "emails", "waiting": 5, "delayed": 0}]),
            json!([{"reason": "it is a schedule; write it as a recurring job (docs/jobs.md)", "jobs": 1},
                   {"reason": "it is part of a flow", "jobs": 1},
                   {"reason": "it was made by a schedule, which makes the next one", "jobs": 1}]),
        ),
    }
}

#[test]
fn jobs_of_real_libraries_are_moved_once() {
    for library in ["celery", "rq", "bullmq"] {
        let (from, world) = (recorded(library), World::new());
        let (moved, not_moved) = expected(library);
        let told = |is_dry: bool, moved: &Json, before: u64| json!({"dry_run": is_dry, "moved": moved, "moved_before": before, "not_moved": not_moved});
        let line = format!("{library} --map shop.add=add");
        let (keys, queue) = (size(&from), moved[0]["queue"].as_str().expect("a queue").to_owned());
        assert_eq!(import(&world, &format!("{line} --dry-run"), &from), told(true, &moved, 0));
        assert_eq!((size(&from), size(&world.server)), (keys, 0), "a dry run changed something");

        assert_eq!(import(&world, &format!("{line} --keep"), &from), told(false, &moved, 0));
        assert_eq!(size(&from), keys, "an import that keeps has changed something");
        let n_jobs = [&moved[0]["waiting"], &moved[0]["delayed"]].map(|n| n.as_u64().unwrap());
        assert_eq!(stats(&world, &queue), (n_jobs[0], n_jobs[1]), "{library}");

        let n = n_jobs[0] + n_jobs[1];
        assert_eq!(import(&world, &line, &from), told(false, &json!([]), n), "{library}");
        assert_eq!(import(&world, &line, &from), told(false, &json!([]), 0), "{library}");
        assert_eq!(stats(&world, &queue), (n_jobs[0], n_jobs[1]), "{library}");
        assert!(size(&from) < keys, "{library}: nothing was removed");
    }
}

/// What a worker gets. Jobs that are moved together may change places.
fn data_seen(world: &World, queue: &str) -> Vec<Json> {
    let mut command = world.keyrack(&format!("work {queue} --drain --concurrency 1"));
    command.args(["--exec", "cat >> seen; echo >> seen"]);
    let run = Run::of(command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let seen = fs::read_to_string(world.path("seen")).expect("what was seen");
    let jobs = serde_json::Deserializer::from_str(&seen).into_iter::<Json>();
    let mut seen: Vec<Json> = jobs.map(|job| job.expect("a job")["data"].clone()).collect();
    seen.sort_by_key(Json::to_string);
    seen
}

#[test]
fn moved_jobs_have_their_arguments_and_their_options() {
    let (from, world) = (recorded("celery"), World::new());
    import(&world, "celery", &from);
    let seen = data_seen(&world, "shop.add");
    assert_eq!(json!(seen), json!([[1, 1], [1, 1], [1, 2], [2, 2]]));

    let (from, world) = (recorded("rq"), World::new());
    import(&world, "rq", &from);
    assert_eq!(json!(data_seen(&world, "math.sqrt")), json!([[0], [1], [2], [3], [5]]));

    let (from, world) = (recorded("bullmq"), World::new());
    import(&world, "bullmq --map emails=mail", &from);
    let listed = world.json("jobs search retry --queue mail");
    let jid = listed["jobs"][0]["jid"].as_str().or(listed[0]["jid"].as_str());
    let job = world.job(jid.unwrap_or_else(|| panic!("{listed}")));
    assert_eq!((&job["data"], &job["tags"]), (&json!([{"a": 3}]), &json!(["retry"])));
    assert_eq!(
        (&job["options"]["retries"], &job["options"]["retryDelay"]),
        (&json!(1), &json!(3_600_000))
    );
    assert_eq!(
        json!(data_seen(&world, "mail")),
        json!([[{"a": 1}], [{"a": 3}], [{"n": 100}], [{"n": 101}], [{"n": 102}]])
    );
}

/// So many jobs in the places where BullMQ keeps them, every tenth delayed and every tenth with a priority.
fn make_up(from: &RedisServer, n_jobs: u32) {
    let mut connection = from.connection();
    redis::cmd("HSET")
        .arg("bull:many:meta")
        .arg("x")
        .arg(1)
        .exec(&mut connection)
        .expect("written");
    for chunk in (0..n_jobs).collect::<Vec<_>>().chunks(5_000) {
        let mut pipeline = redis::Pipeline::new();
        for n in chunk {
            let data = format!("{{\"n\":{n}}}");
            let hash = pipeline.cmd("HSET").arg(format!("bull:many:{n}")).arg("name").arg("send");
            hash.arg("data").arg(data).arg("opts").arg("{\"attempts\":3}").arg("timestamp").arg(1);
            match n % 10 {
                0 => {
                    // In the year 2033.
                    let score = 2_000_000_000_000.0 * 4096.0 + f64::from(n % 4096);
                    pipeline.cmd("ZADD").arg("bull:many:delayed").arg(score).arg(n)
                }
                1 => {
                    hash.arg("priority").arg(5);
                    let score = 5.0 * 4_294_967_296.0 + f64::from(*n);
                    pipeline.cmd("ZADD").arg("bull:many:prioritized").arg(score).arg(n)
                }
                _ => pipeline.cmd("LPUSH").arg("bull:many:wait").arg(n),
            };
        }
        pipeline.exec(&mut connection).expect("written");
    }
}

/// The data of jobs by their ids, or nothing for those that are not there.
fn data(server: &RedisServer, jids: &[Jid]) -> Vec<Option<String>> {
    let mut data = Vec::new();
    for chunk in jids.chunks(5_000) {
        let mut pipeline = redis::Pipeline::new();
        for jid in chunk {
            let key = keys::job(jid, &jid.group());
            pipeline.cmd("HGET").arg(key.name()).arg("data");
        }
        let found: Vec<Option<String>> = pipeline.query(&mut server.connection()).expect("read");
        data.extend(found);
    }
    data
}

/// `KEYRACK_IMPORT_JOBS` makes it another number.
#[test]
fn an_import_that_is_killed_goes_on_without_a_lost_or_second_job() {
    let n_jobs: u32 = std::env::var("KEYRACK_IMPORT_JOBS")
        .map_or(100_000, |number| number.parse().expect("a number"));
    let (from, world) = (RedisServer::start(), World::new());
    make_up(&from, n_jobs);
    let line = format!("import bullmq --from {}", from.url());
    let stored = || size(&world.server);
    for part in [4, 2] {
        let mut process = Process::spawn("keyrack import", world.keyrack(&line));
        wait_until("some jobs to be moved", || {
            assert!(process.exit_status().is_none(), "it ended before it was killed");
            stored() > u64::from(n_jobs / part)
        });
        process.kill();
    }
    let told = world.json(&line);
    assert!(told["not_moved"].as_array().expect("a list").is_empty(), "{told}");

    let delayed = u64::from(n_jobs.div_ceil(10));
    assert_eq!(stats(&world, "many"), (u64::from(n_jobs) - delayed, delayed));
    let queue = QueueName::new("many").expect("a queue");
    let jids: Vec<Jid> =
        (0..n_jobs).map(|n| Jid::derived(&queue, &format!("bullmq bull:many:{n}"))).collect();
    let found: HashMap<usize, String> = data(&world.server, &jids)
        .into_iter()
        .enumerate()
        .filter_map(|(n, data)| Some((n, data?)))
        .collect();
    assert_eq!(found.len(), jids.len(), "jobs were lost");
    assert!(found.iter().all(|(n, data)| *data == format!("[{{\"n\":{n}}}]")));
    // Nothing is left but what tells that there was a queue.
    assert_eq!(size(&from), 1);
}

#[test]
fn what_is_not_allowed_is_said() {
    let world = World::new();
    for (line, error) in [
        ("import bullmq --map x", "write OLD=NEW"),
        ("import rq --prefix x", "RQ's keys always begin"),
        ("import sidekiq", "sidekiq"),
        ("import rq --dry-run --keep", "--keep"),
    ] {
        let run = world.run(line);
        assert!(run.code == Some(2) && run.stderr.contains(error), "{line}: {run:?}");
    }
    let run = world.run("import celery --from redis://127.0.0.1:1");
    assert_eq!(run.code, Some(6), "{run:?}");
}
