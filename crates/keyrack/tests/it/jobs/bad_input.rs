//! What makes no sense: over HTTP and on the command line it is refused with the field, its value and what is allowed, and
//! nothing in the store is different afterwards.

mod limits;
mod others;
mod submissions;

use keyrack_testkit::keyspace;
use serde_json::{Value as Json, json};

use crate::{
    program::{Run, Serve, keyrack},
    world::World,
};

/// Something that makes no sense, as each door has it. One that a door cannot express is left out there.
struct Case {
    name: &'static str,
    http: Option<Request>,
    /// Its arguments, and what stderr says.
    cli: Option<(Vec<String>, Vec<&'static str>)>,
}

struct Request {
    door: Door,
    body: String,
    field: &'static str,
    says: Vec<&'static str>,
}

#[derive(Clone, Copy)]
enum Door {
    Submit,
    Limits,
    /// Of the job `waits`.
    Change,
    /// Of all jobs that wait in the queue.
    ChangeMany,
    Recurring,
}

impl Door {
    fn of_path(self) -> (&'static str, &'static str) {
        match self {
            Door::Submit => ("POST", "/api/1/queues/q/jobs"),
            Door::Limits => ("PUT", "/api/1/queues/q/limits"),
            Door::Change => ("POST", "/api/1/jobs/waits/change"),
            Door::ChangeMany => ("POST", "/api/1/queues/q/jobs/change"),
            Door::Recurring => ("POST", "/api/1/recurring"),
        }
    }
}

fn case(name: &'static str) -> Case {
    Case { name, http: None, cli: None }
}

impl Case {
    /// The body of a request, the field of the answer, and words of its detail.
    fn http(
        mut self,
        door: Door,
        body: impl Into<String>,
        field: &'static str,
        says: &[&'static str],
    ) -> Case {
        self.http = Some(Request { door, body: body.into(), field, says: says.to_vec() });
        self
    }

    /// A line of arguments behind `keyrack`, where `~` stands for a space within one, and words of what it says.
    fn cli(mut self, line: impl AsRef<str>, says: &[&'static str]) -> Case {
        let words = line.as_ref().split(' ').map(|word| word.replace('~', " "));
        self.cli = Some((words.collect(), says.to_vec()));
        self
    }
}

fn cases() -> Vec<Case> {
    [submissions::cases(), limits::cases(), others::cases()].into_iter().flatten().collect()
}

/// A store with a job that waits, and something of everything that can be changed.
fn world() -> World {
    let world = World::new();
    world.submit("1 --id waits --delay 9d --unique k --retry-delay 20s");
    world.printed("jobs limits q --concurrency 3 --tenant-weight acme=2");
    assert_eq!(world.run("recurring create digest --every 9d --queue q").code, Some(0));
    world
}

/// All that the store holds, without the audit log, which tells what was refused, and without what the server notes by the
/// clock: to which minute it has added up its counts.
fn held(world: &World) -> Vec<String> {
    let held: Vec<String> =
        keyspace().query(&mut world.server.connection()).expect("what the store holds");
    let minute = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    let without = |text: String| match text.split_once("\"folded=") {
        Some((before, after)) if text.starts_with("bee:h:minutes:") => {
            format!("{before}{}", after[minute(after)..].trim_start_matches(['"', ',']))
        }
        _ => text,
    };
    let held = held.into_iter().filter(|text| !text.starts_with("identity:audit "));
    held.map(without).map(|text| text.replace(",]", "]")).collect()
}

#[test]
fn over_http_it_is_refused_by_field_and_nothing_is_stored() {
    let world = world();
    let serve = Serve::start_with(
        &world.path(""),
        &format!("--store {} --hot off", world.server.url()),
        &[],
    );
    let before = held(&world);
    let mut wrong = Vec::new();
    for Case { name, http, .. } in cases() {
        let Some(Request { door, body, field, says }) = http else { continue };
        let (method, path) = door.of_path();
        let (head, answer) = serve.send_as(None, method, path, &body);
        let problem: Json = serde_json::from_str(&answer).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or_default();
        let is_refused = head.starts_with("HTTP/1.1 4");
        let is_named = field.is_empty() || problem["field"] == json!(field);
        if !is_refused || !is_named || says.iter().any(|words| !detail.contains(words)) {
            let status = head.lines().next().unwrap_or_default();
            wrong.push(format!(
                "{name}: {status} {answer}\n  is to name {field:?} and say {says:?}"
            ));
        }
        let after = held(&world);
        assert_eq!(after, before, "{name}: something was stored");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn on_the_command_line_it_ends_with_2_and_nothing_is_stored() {
    let world = world();
    let before = held(&world);
    let mut wrong = Vec::new();
    for Case { name, cli, .. } in cases() {
        let Some((args, says)) = cli else { continue };
        let mut command = keyrack(&world.path(""));
        command.args(args).args(["--store", &world.server.url()]);
        let run = Run::of(command);
        let is_refused = (run.code, run.stdout.as_str()) == (Some(2), "");
        let is_error = run.stderr.starts_with("error: ");
        if !is_refused || !is_error || says.iter().any(|words| !run.stderr.contains(words)) {
            let said: String = run.stderr.chars().take(600).collect();
            wrong.push(format!("{name}: {:?} {said}\n  is to say {says:?}", run.code));
        }
        assert_eq!(held(&world), before, "{name}: something was stored");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_list_with_one_bad_job_stores_none() {
    let world = world();
    let store = format!("--store {} --hot off", world.server.url());
    let serve = Serve::start_with(&world.path(""), &store, &[]);
    let before = held(&world);
    let (head, answer) = serve.post("/api/1/queues/q/jobs", r#"[{"data": [1]}, {"timeout": 0}]"#);
    assert!(head.starts_with("HTTP/1.1 422 "), "{head}");
    let problem: Json = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(problem["field"], "[1].timeout", "{problem}");
    assert_eq!(held(&world), before);
}
