//! The cases of `clients/conformance`, which all clients run, as Rust programs meet them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use keyrack_jobs::{
    Error,
    bee::{
        EventKind, Failure, Hive, Limits, Progress, Status, StreamItem, SubmissionBody,
        SubmitOutcome,
        keys::{Jid, QueueName},
        logs::{LOG_LINES_MAX, LogLevel},
        worker::{Context, Duplicates, Settings, Worker},
    },
};
use keyrack_store::{Class, ServiceError as _};
use keyrack_testkit::on_every_store;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

const CASES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/conformance/cases.json"));
const SOON: Duration = Duration::from_secs(20);
/// The last progress that is published.
const ALL_WAS_SENT: &str = "all was sent";

#[tokio::test(flavor = "multi_thread")]
async fn every_case_of_the_clients_holds_in_rust() {
    let cases: Vec<Value> = serde_json::from_str(CASES).expect("the cases");
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        for (n, case) in cases.iter().enumerate() {
            // Limits are of another service.
            if case["needs"] == "limits" {
                continue;
            }
            let queue = QueueName::new(format!("case-{n}")).expect("a queue");
            let mut runner =
                Runner { hive: hive.clone(), queue, ids: HashMap::new(), seen: Seen::default() };
            for step in case["steps"].as_array().expect("steps") {
                let outcome = runner.step(step).await;
                let wanted = step.get("error").and_then(Value::as_str);
                let class = outcome.as_ref().err().map(|(class, _)| *class);
                assert_eq!(class, wanted, "{}: {step}: {outcome:?}", case["name"]);
                if let (Some(part), Err((_, message))) = (step["message"].as_str(), &outcome) {
                    assert!(message.contains(part), "{}: {message}", case["name"]);
                }
            }
        }
    })
    .await;
}

type Outcome = Result<(), (&'static str, String)>;

/// What handlers and listeners saw.
#[derive(Clone, Default)]
struct Seen {
    started: Arc<Mutex<Vec<String>>>,
    progress: Arc<Mutex<Vec<(String, Value)>>>,
}

struct Runner {
    hive: Hive,
    queue: QueueName,
    ids: HashMap<String, String>,
    seen: Seen,
}

impl Runner {
    async fn step(&mut self, step: &Value) -> Outcome {
        let verb = step.as_object().expect("a step").keys();
        let verbs: Vec<&str> = verb.map(String::as_str).collect();
        let is = |name: &str| verbs.contains(&name);
        if is("submit") {
            return self.submit(step).await;
        }
        if is("submitMany") {
            let names = step["as"].as_array().expect("names");
            for (name, data) in names.iter().zip(step["submitMany"].as_array().expect("jobs")) {
                self.submit(&json!({"submit": {"data": data}, "as": name})).await?;
            }
            return Ok(());
        }
        if is("work") {
            return self.work(&step["work"]).await;
        }
        if is("expect") {
            return self.expect(step).await;
        }
        if is("cancel") {
            let canceled = self.hive.cancel(&self.jid(&step["cancel"])).await.map_err(told)?;
            let wanted = step["canceled"].as_array().expect("names");
            let wanted: Vec<String> =
                wanted.iter().map(|name| self.jid(name).to_string()).collect();
            assert_eq!(canceled, wanted, "{step}");
        } else if is("retry") {
            self.hive.retry(&self.jid(&step["retry"])).await.map_err(told)?;
        } else if is("limits") {
            let limits: Limits = serde_json::from_value(step["limits"].clone())
                .map_err(|error| ("invalid", error.to_string()))?;
            self.hive.set_limits(&self.queue, &limits).await.map_err(told)?;
            assert_eq!(self.hive.limits(&self.queue).await.map_err(told)?, limits);
        } else if is("wait") {
            return self.wait(step).await;
        } else if is("order") {
            let started = self.seen.started.lock().expect("a lock").clone();
            let wanted = step["order"].as_array().expect("names");
            let wanted: Vec<String> =
                wanted.iter().map(|name| self.jid(name).to_string()).collect();
            assert_eq!(started, wanted, "{step}");
        } else if is("logs") {
            return self.logs(step).await;
        } else if is("progress") {
            let id = self.jid(&step["progress"]).to_string();
            let seen = self.seen.progress.lock().expect("a lock").clone();
            let seen = seen.into_iter().filter(|(jid, _)| *jid == id).map(|(_, value)| value);
            assert_eq!(Value::Array(seen.collect()), step["values"]);
        } else {
            panic!("no such step: {step}");
        }
        Ok(())
    }

    /// The id of a named job; a name that nobody has is an id.
    fn jid(&self, name: &Value) -> Jid {
        let name = name.as_str().expect("a name").trim_start_matches('$');
        Jid::new(self.ids.get(name).map_or(name, String::as_str)).expect("an id")
    }

    async fn submit(&mut self, step: &Value) -> Outcome {
        let asked = &step["submit"];
        let mut options = asked["options"].as_object().cloned().unwrap_or_default();
        let key = options.remove("key");
        for value in options.values_mut() {
            self.name_ids(value);
        }
        options.insert("data".to_owned(), asked["data"].clone());
        let body: SubmissionBody = serde_json::from_value(Value::Object(options))
            .map_err(|error| ("invalid", error.to_string()))?;
        let mut job = body.to_queue(self.queue.clone()).map_err(told)?;
        if let Some(key) = &key {
            job = job.id(Jid::derived(&self.queue, key.as_str().expect("a key")));
        }
        let (id, outcome) = match self.hive.submit_unique(job.clone()).await {
            Err(Error::Exists { jid }) if key.is_some() => {
                let stored =
                    self.hive.job(&Jid::new(jid.as_str()).expect("an id")).await.map_err(told)?;
                if !job.made(&stored) {
                    return Err(("conflict", "another job has this key".to_owned()));
                }
                (jid, SubmitOutcome::Existing)
            }
            submitted => {
                let stored = submitted.map_err(told)?;
                (stored.jid.to_string(), stored.outcome)
            }
        };
        if let Some(wanted) = step.get("outcome") {
            assert_eq!(outcome.as_str(), wanted, "{step}");
        }
        if let Some(same) = step.get("same") {
            assert_eq!(id, self.jid(same).to_string());
        }
        self.ids.insert(step["as"].as_str().expect("a name").to_owned(), id);
        Ok(())
    }

    fn name_ids(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with('$') => {
                *value = json!(self.jid(&json!(text)).as_str())
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.name_ids(item)),
            _ => {}
        }
    }

    async fn work(&mut self, options: &Value) -> Outcome {
        let mut events = self.hive.events(std::slice::from_ref(&self.queue)).await.map_err(told)?;
        let progress = self.seen.progress.clone();
        let listening = tokio::spawn(async move {
            while let Some(heard) = events.next().await {
                if let StreamItem::Event(event) = heard
                    && event.kind == EventKind::Progress
                {
                    let value = event.progress.unwrap_or_default();
                    if value == ALL_WAS_SENT {
                        break;
                    }
                    progress.lock().expect("a lock").push((event.jid, value));
                }
            }
        });
        let settings = Settings {
            concurrency: options["concurrency"].as_u64().unwrap_or(100) as usize,
            duplicates: if options["skipDuplicates"] == true {
                Duplicates::ByData
            } else {
                Duplicates::Run
            },
            ..Settings::default()
        };
        let seen = self.seen.clone();
        let worker = Worker::new(&self.hive)
            .on(self.queue.clone(), settings, move |context| handle(seen.clone(), context));
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
        let except = options["except"].as_array().into_iter().flatten();
        let except: Vec<String> = except.map(|name| self.jid(name).to_string()).collect();
        for id in self.ids.values().filter(|id| !except.contains(id)) {
            let jid = Jid::new(id.as_str()).expect("an id");
            self.hive.outcome(&jid, SOON).await.map_err(told)?.expect("a job that ends");
        }
        let _ = stop.send(());
        running.await.expect("the worker did not panic").map_err(told)?;
        // What was published before has been heard when this has.
        let id = self.ids.values().next().expect("a job");
        let job = self.hive.job(&Jid::new(id.as_str()).expect("an id")).await.map_err(told)?;
        let last = Progress::of(&job, json!(ALL_WAS_SENT), None, self.hive.now_ms());
        self.hive.publish_progress(&job, &last.map_err(told)?).await.map_err(told)?;
        tokio::time::timeout(SOON, listening).await.expect("heard in time").expect("no panic");
        Ok(())
    }

    async fn logs(&self, step: &Value) -> Outcome {
        let jid = self.jid(&step["logs"]);
        self.hive.job(&jid).await.map_err(told)?;
        let page = self.hive.log(&jid, 0, LOG_LINES_MAX).await.map_err(told)?;
        let lines: Vec<Value> = page
            .lines
            .iter()
            .map(|line| json!([line.level.as_str(), line.text, line.attempt]))
            .collect();
        assert_eq!(json!(lines), step["lines"], "{step}");
        Ok(())
    }

    async fn wait(&self, step: &Value) -> Outcome {
        let patience = Duration::from_millis(step["timeout"].as_u64().expect("a time"));
        let ended = self.hive.outcome(&self.jid(&step["wait"]), patience).await.map_err(told)?;
        let Some(job) = ended else { return Err(("timeout", "not ended".to_owned())) };
        match job.status() {
            Status::Completed => Ok(()),
            Status::Canceled => Err(("canceled", "canceled".to_owned())),
            _ => Err(("failed", job.failed_reason().unwrap_or_default().to_owned())),
        }
    }

    async fn expect(&self, step: &Value) -> Outcome {
        let job = self.hive.job(&self.jid(&step["expect"])).await.map_err(told)?;
        let stored: Map<String, Value> =
            serde_json::from_str(&serde_json::to_string(&job).expect("JSON")).expect("an object");
        for (name, wanted) in step.as_object().expect("a step") {
            match name.as_str() {
                "expect" | "error" => {}
                "reported" => {
                    let mut progress = stored["progress"].clone();
                    if let Some(progress) = progress.as_object_mut() {
                        progress.remove("at");
                    }
                    assert_eq!(&progress, wanted, "{step}");
                }
                "reason" => {
                    let reason = stored["failedReason"].as_str().unwrap_or_default();
                    assert!(reason.contains(wanted.as_str().expect("a text")), "{reason}");
                }
                "parent" | "duplicate" => {
                    assert_eq!(stored[name], json!(self.jid(wanted).as_str()), "{step}");
                }
                _ => assert_eq!(&stored[name], wanted, "{name} of {step}: {stored:?}"),
            }
        }
        Ok(())
    }
}

async fn handle(seen: Seen, context: Context) -> Result<Value, Failure> {
    let (job, args) = (context.job(), context.job().args());
    let (instruction, attempt) = (&args[0], job.attempts());
    if attempt == 1 {
        seen.started.lock().expect("a lock").push(job.jid().to_owned());
    }
    let message = instruction["message"].as_str().unwrap_or_default();
    match instruction["do"].as_str() {
        Some("return") => Ok(instruction["value"].clone()),
        Some("log") => {
            for line in instruction["lines"].as_array().into_iter().flatten() {
                let level: LogLevel =
                    line[0].as_str().unwrap_or_default().parse().map_err(Failure::fatal)?;
                context.log(level, line[1].as_str().unwrap_or_default());
            }
            if attempt <= instruction["times"].as_u64().unwrap_or(0) {
                return Err(Failure::new(message));
            }
            Ok(json!(attempt))
        }
        Some("fail") if attempt <= instruction["times"].as_u64().unwrap_or(0) => {
            Err(Failure::new(message))
        }
        Some("fatal") => Err(Failure::fatal(message)),
        Some("retry") if attempt == 1 => {
            Err(Failure { retry_delay: instruction["delay"].as_f64(), ..Failure::new("again") })
        }
        Some("snooze") if attempt == 1 => {
            Err(Failure { snooze_ms: instruction["delay"].as_f64(), ..Failure::new("later") })
        }
        Some("fail" | "retry" | "snooze") => Ok(json!(attempt)),
        Some("cancel") => {
            context.hive().cancel(&Jid::new(job.jid())?).await?;
            Err(Failure::fatal("canceled by its handler"))
        }
        Some("report") => {
            let values = instruction["values"].as_array().into_iter().flatten();
            for (n, value) in values.enumerate() {
                match instruction["messages"][n].as_str() {
                    Some(message) => context.progress_with(value, message).await?,
                    None => context.progress(value).await?,
                }
            }
            Ok(Value::Null)
        }
        _ => Err(Failure::fatal(format!("no such instruction: {instruction}"))),
    }
}

/// The class of an error, in the word of all clients, and its text.
fn told(error: Error) -> (&'static str, String) {
    let class = match error.info().class {
        Class::Invalid => "invalid",
        Class::NotFound => "not_found",
        Class::Conflict => "conflict",
        Class::Unauthenticated | Class::Denied => "denied",
        Class::Limited | Class::Busy | Class::Unavailable => "unavailable",
        Class::Internal => "internal",
    };
    (class, error.to_string())
}
