//! The cases of `clients/conformance`, which all clients run, over HTTP.

use std::{collections::HashMap, time::Duration};

use serde_json::{Value as Json, json};

use crate::site::{Answer, Event, Site};

const CASES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/conformance/cases.json"));
const SOON: Duration = Duration::from_secs(20);

/// What became of a step, or the class and the text of its error.
type Outcome<T = ()> = Result<T, (&'static str, String)>;

#[tokio::test]
async fn every_case_of_the_clients_holds_over_http() {
    let cases: Vec<Json> = serde_json::from_str(CASES).expect("the cases");
    let site = Site::start().await;
    let token = site.token("alice").await;
    for (n, case) in cases.iter().enumerate() {
        // A worker that speaks HTTP compares nothing.
        if case["needs"] == "skipDuplicates" {
            continue;
        }
        let mut runner = Runner {
            site: &site,
            token: &token,
            queue: format!("case-{n}"),
            ids: HashMap::new(),
            started: Vec::new(),
            progress: HashMap::new(),
        };
        for step in case["steps"].as_array().expect("steps") {
            let outcome = runner.step(step).await;
            let class = outcome.as_ref().err().map(|(class, _)| *class);
            assert_eq!(class, step["error"].as_str(), "{}: {step}: {outcome:?}", case["name"]);
            if let (Some(part), Err((_, message))) = (step["message"].as_str(), &outcome) {
                assert!(message.contains(part), "{}: {message}", case["name"]);
            }
        }
    }
}

struct Runner<'a> {
    site: &'a Site,
    token: &'a str,
    queue: String,
    ids: HashMap<String, String>,
    started: Vec<String>,
    progress: HashMap<String, Vec<Json>>,
}

impl Runner<'_> {
    async fn step(&mut self, step: &Json) -> Outcome {
        let named = |verb: &str| step.get(verb).map(|name| self.path(name));
        if step.get("submit").is_some() {
            return self.submit(step).await;
        }
        if let Some(lists) = step.get("submitMany") {
            let jobs: Vec<Json> = lists
                .as_array()
                .expect("jobs")
                .iter()
                .map(|data| json!({ "data": data }))
                .collect();
            let many = told(&self.site.post(&self.jobs(), json!(jobs)).await)?;
            let names = step["as"].as_array().expect("names");
            for (name, job) in names.iter().zip(many["jobs"].as_array().expect("jobs")) {
                self.ids.insert(text(name), text(&job["jid"]));
            }
        } else if let Some(options) = step.get("work") {
            self.work(options).await;
        } else if let Some(path) = named("expect") {
            self.compare(&told(&self.site.get(&path).await)?, step);
        } else if let Some(path) = named("cancel") {
            let canceled = told(&self.site.delete(&path).await)?;
            assert_eq!(canceled["canceled"], self.all(&step["canceled"]), "{step}");
        } else if let Some(path) = named("retry") {
            told(&self.site.post(&format!("{path}/retry"), json!({})).await)?;
        } else if let Some(path) = named("wait") {
            return self.wait(&path, step["timeout"].as_f64().expect("a time") / 1000.0).await;
        } else if let Some(names) = step.get("order") {
            assert_eq!(json!(self.started), self.all(names));
        } else if let Some(limits) = step.get("limits") {
            let path = format!("/api/1/queues/{}/limits", self.queue);
            let set = format!("{path}?create=true");
            told(&self.site.send("PUT", &set, &[], &limits.to_string()).await)?;
            let stored = told(&self.site.get(&path).await)?;
            for (name, wanted) in limits.as_object().expect("limits") {
                assert_eq!(&stored[name], wanted, "{step}");
            }
        } else if let Some(limit) = step.get("take") {
            return self.take(limit, step).await;
        } else if let Some(path) = named("logs") {
            let page = told(&self.site.get(&format!("{path}/logs")).await)?;
            let lines = page["lines"].as_array().expect("lines").iter();
            let lines = lines.map(|line| json!([line["level"], line["text"], line["attempt"]]));
            assert_eq!(lines.collect::<Json>(), step["lines"], "{step}");
        } else if let Some(name) = step.get("progress") {
            assert_eq!(json!(self.progress.get(&self.id(name))), step["values"]);
        } else {
            panic!("no such step: {step}");
        }
        Ok(())
    }

    fn jobs(&self) -> String {
        format!("/api/1/queues/{}/jobs", self.queue)
    }

    /// The id of a named job; a name that nobody has is an id.
    fn id(&self, name: &Json) -> String {
        let name = text(name);
        let name = name.trim_start_matches('$');
        self.ids.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn all(&self, names: &Json) -> Json {
        names.as_array().expect("names").iter().map(|name| self.id(name)).collect()
    }

    fn path(&self, name: &Json) -> String {
        format!("/api/1/jobs/{}", self.id(name))
    }

    fn with_ids(&self, value: &mut Json) {
        match value {
            Json::String(text) if text.starts_with('$') => *value = self.id(&json!(text)).into(),
            Json::Array(items) => items.iter_mut().for_each(|item| self.with_ids(item)),
            _ => {}
        }
    }

    async fn submit(&mut self, step: &Json) -> Outcome {
        let asked = &step["submit"];
        let mut body = asked["options"].as_object().cloned().unwrap_or_default();
        let key = body.remove("key").map(|key| text(&key));
        body.values_mut().for_each(|value| self.with_ids(value));
        body.insert("data".to_owned(), asked["data"].clone());
        let headers: Vec<_> = key.iter().map(|key| ("Idempotency-Key", key.as_str())).collect();
        let sent = Json::Object(body).to_string();
        let job = told(&self.site.send("POST", &self.jobs(), &headers, &sent).await)?;
        let id = text(&job["jid"]);
        if let Some(same) = step.get("same") {
            assert_eq!(id, self.id(same));
        }
        if let Some(wanted) = step.get("outcome") {
            assert_eq!(&job["outcome"], wanted, "{step}");
        }
        self.ids.insert(text(&step["as"]), id);
        Ok(())
    }

    /// Works until all named jobs have ended.
    async fn work(&mut self, options: &Json) {
        let path = format!("/api/1/jobs/events?queue={}", self.queue);
        let mut events = self.site.stream(&path, &[]).await;
        let max = options["concurrency"].as_u64().unwrap_or(100);
        let except = options["except"].as_array().into_iter().flatten();
        let except: Vec<String> = except.map(|name| self.id(name)).collect();
        while !self.has_ended(&except).await {
            let claim = json!({"worker": "w", "max": max, "wait_s": 20});
            let path = format!("/api/1/queues/{}/claim", self.queue);
            let claimed = self.site.post(&path, claim).await.ok();
            for job in claimed["jobs"].as_array().expect("jobs") {
                self.run(job, &mut events).await;
            }
        }
    }

    async fn has_ended(&self, except: &[String]) -> bool {
        for id in self.ids.values().filter(|id| !except.contains(id)) {
            let job = self.site.get(&format!("/api/1/jobs/{id}/outcome")).await.ok();
            if job["ended"] != true {
                return false;
            }
        }
        true
    }

    async fn run(&mut self, job: &Json, events: &mut crate::site::Events) {
        let (id, attempt) = (text(&job["jid"]), job["attempt"].as_u64().expect("a number"));
        let path = format!("/api/1/jobs/{id}");
        if attempt == 1 {
            self.started.push(id.clone());
        }
        let instruction = &job["data"][0];
        let message = instruction["message"].clone();
        let result = match instruction["do"].as_str().expect("an instruction") {
            "return" => instruction["value"].clone(),
            "log" => {
                let level_and_text = |line: &Json| json!({"level": line[0], "text": line[1]});
                let lines = instruction["lines"].as_array().expect("lines").iter();
                let lines: Json = lines.map(level_and_text).collect();
                let logged = json!({"attempt": attempt, "lines": lines});
                let answer = self.site.post(&format!("{path}/logs"), logged).await;
                assert_eq!(answer.status, 204, "{answer:?}");
                if Some(attempt) <= instruction["times"].as_u64() {
                    return self.fail(&path, json!({"attempt": attempt, "message": message})).await;
                }
                attempt.into()
            }
            "fail" if Some(attempt) <= instruction["times"].as_u64() => {
                return self.fail(&path, json!({"attempt": attempt, "message": message})).await;
            }
            "fatal" => {
                let failed = json!({"attempt": attempt, "message": message, "retry": false});
                return self.fail(&path, failed).await;
            }
            "retry" if attempt == 1 => {
                let delay = instruction["delay"].clone();
                let failed = json!({"attempt": attempt, "message": "again", "retryDelay": delay});
                return self.fail(&path, failed).await;
            }
            "snooze" if attempt == 1 => {
                let delay = instruction["delay"].clone();
                let snoozed = json!({"worker": "w", "attempt": attempt, "delay": delay});
                told(&self.site.post(&format!("{path}/snooze"), snoozed).await).expect("snoozed");
                return;
            }
            "fail" | "retry" | "snooze" => attempt.into(),
            "cancel" => {
                self.site.delete(&path).await.ok();
                return;
            }
            "report" => {
                for (n, value) in
                    instruction["values"].as_array().expect("values").iter().enumerate()
                {
                    let message = &instruction["messages"][n];
                    let told = json!({ "progress": value, "message": message });
                    let answer = self.site.post(&format!("{path}/progress"), told).await;
                    assert_eq!(answer.status, 204, "{answer:?}");
                    let heard = next_progress(events).await;
                    assert_eq!(text(&heard.data["jid"]), id);
                    let reported = self.progress.entry(id.clone()).or_default();
                    reported.push(heard.data["progress"].clone());
                }
                Json::Null
            }
            other => panic!("no such instruction: {other}"),
        };
        let done = json!({"worker": "w", "attempt": attempt, "result": result});
        self.site.post(&format!("{path}/complete"), done).await.ok();
    }

    async fn fail(&self, path: &str, mut failed: Json) {
        failed["worker"] = "w".into();
        self.site.post(&format!("{path}/fail"), failed).await.ok();
    }

    async fn wait(&self, path: &str, seconds: f64) -> Outcome {
        let seconds = seconds.min(SOON.as_secs_f64());
        let outcome = told(&self.site.get(&format!("{path}/outcome?wait_s={seconds}")).await)?;
        let reason = outcome["job"]["failedReason"].as_str().unwrap_or_default().to_owned();
        match (outcome["ended"].as_bool(), outcome["job"]["status"].as_str()) {
            (Some(false), _) => Err(("timeout", "not ended".to_owned())),
            (_, Some("completed")) => Ok(()),
            (_, Some("canceled")) => Err(("canceled", reason)),
            _ => Err(("failed", reason)),
        }
    }

    async fn take(&self, limit: &Json, step: &Json) -> Outcome {
        let period = limit["period"].as_f64().expect("a time") / 1000.0;
        let (subject, max) = (&limit["subject"], &limit["max"]);
        let asked = json!({"subject": subject, "max": max, "period_seconds": period});
        let path = format!("/api/1/limits/{}/take", text(&limit["name"]));
        let answer = self.site.post_as(self.token, &path, asked).await;
        // That there is nothing left is an answer too.
        let taken = if answer.status == 429 { answer.json() } else { told(&answer)? };
        assert_eq!(taken["allowed"], step["allowed"], "{step}");
        assert_eq!(taken["remaining"], step["remaining"], "{step}");
        Ok(())
    }

    fn compare(&self, job: &Json, step: &Json) {
        for (name, wanted) in step.as_object().expect("a step") {
            match name.as_str() {
                "expect" | "error" => {}
                "reason" => assert!(text(&job["failedReason"]).contains(&text(wanted)), "{job}"),
                "reported" => {
                    let mut progress = job["progress"].clone();
                    if let Some(progress) = progress.as_object_mut() {
                        progress.remove("at");
                    }
                    assert_eq!(&progress, wanted, "{step}");
                }
                "parent" => assert_eq!(job["parent"], json!(self.id(wanted)), "{step}"),
                _ => assert_eq!(&job[name], wanted, "{name} of {step}"),
            }
        }
    }
}

async fn next_progress(events: &mut crate::site::Events) -> Event {
    loop {
        let event = events.next().await;
        if event.kind == "progress" {
            return event;
        }
    }
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// The body, or the class of the problem in the word of all clients, and its field and text.
fn told(answer: &Answer) -> Outcome<Json> {
    if answer.status < 300 {
        return Ok(answer.json());
    }
    let body = answer.json();
    let class = match (answer.status, body["type"].as_str()) {
        (_, Some("idempotency_key_reused")) | (409, _) => "conflict",
        (404, _) => "not_found",
        (400 | 422, _) => "invalid",
        _ => "internal",
    };
    Err((
        class,
        format!("{}: {}", body["field"].as_str().unwrap_or_default(), text(&body["message"])),
    ))
}
