//! Plays a recording with our verbs and notes what differs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keyrack_jobs::bee::{
    Hive,
    keys::{self, Group, Hostname, QueueName},
};
use keyrack_keys::Part;
use keyrack_store::{Event, Subscription};
use serde_json::Value as Json;

use super::{
    compare::{Comparison, Difference},
    keyspace::{self, Keyspace},
    recording::{Call, Checkpoint, Message, Scenario, Step, What},
    verbs::{Reply, Verbs},
    world::World,
};

/// A message of our own on a channel of our own: whatever was published before it has arrived when it does.
const MARKER: &str = "marker";

struct Player<'s> {
    scenario: &'s Scenario,
    world: World,
    hives: HashMap<String, Hive>,
    verbs: Verbs,
    messages: Subscription,
    /// Names as they stand in our keys, of those that stand there differently.
    coded: BTreeMap<String, String>,
    differences: Vec<Difference>,
}

/// Plays a whole scenario, on the server or else on an embedded engine.
pub(super) async fn replay(scenario: &Scenario, server: Option<&str>) -> Vec<Difference> {
    loop {
        let world = World::empty(server, scenario.begins_at()).await;
        let mut player = Player::new(scenario, world).await;
        player.play(&scenario.steps).await;
        if let Some(differences) = player.finish() {
            return differences;
        }
    }
}

/// Takes over what the original had stored at a checkpoint, and plays the rest.
pub(super) async fn adopt(
    scenario: &Scenario,
    from: &Checkpoint,
    server: Option<&str>,
) -> Vec<Difference> {
    let (before, after) = scenario.steps.split_at(from.after_step);
    let last_call = before.iter().rev().find_map(|step| match &step.what {
        What::Call(call) => Some(call.now),
        _ => None,
    });
    loop {
        let world = World::empty(server, last_call.unwrap_or(scenario.begins_at())).await;
        let mut player = Player::new(scenario, world).await;
        let left = player.with_our_names(&from.keys);
        keyspace::load(&player.world.store, &left).await;
        player.play(after).await;
        if let Some(differences) = player.finish() {
            return differences;
        }
    }
}

impl<'s> Player<'s> {
    async fn new(scenario: &'s Scenario, world: World) -> Player<'s> {
        let names = Names::of(scenario);
        let messages = world.store.subscribe(&names.channels()).await.expect("a subscription");
        // The original keeps failed jobs no longer than others.
        for key in names.settings() {
            let mut command = redis::cmd("HSET");
            command.arg(&*world.store.place(&key)).arg("failed_ttl_ms").arg(0);
            let () = command.query_async(&mut world.store.connection()).await.expect("set");
        }
        Player {
            scenario,
            world,
            hives: HashMap::new(),
            verbs: Verbs::default(),
            messages,
            coded: names.coded(),
            differences: Vec::new(),
        }
    }

    /// What differed; nothing if keys may have been gone before their time because the machine was slow.
    fn finish(self) -> Option<Vec<Difference>> {
        if self.scenario.shortest_ttl_ms().is_some_and(|ttl| self.world.unasked_ms() > ttl / 2) {
            return None;
        }
        let labels = self.scenario.labels();
        Some(self.differences.into_iter().map(|difference| difference.labelled(&labels)).collect())
    }

    async fn play(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step).await;
            self.compare_messages(step.n).await;
            let scenario = self.scenario;
            for checkpoint in scenario.checkpoints.iter().filter(|point| point.after_step == step.n)
            {
                self.compare_keyspaces(checkpoint).await;
            }
        }
    }

    async fn step(&mut self, step: &Step) {
        match &step.what {
            What::Call(call) => self.call(step.n, call).await,
            What::Command { command, reply } => self.command(step.n, command, reply.as_ref()).await,
            What::Edit { edit } => {
                let mut command = redis::cmd(&edit[0]);
                command.arg(&edit[1..]);
                let mut connection = self.world.store.connection();
                let () = command.query_async(&mut connection).await.expect("edited");
            }
            What::Hive { .. } => {
                let hive = Hive::open(self.world.store.clone()).await.expect("a hive");
                hive.set_options().await.expect("the options are set");
            }
            What::Outcome { .. } => {}
        }
    }

    async fn call(&mut self, n: usize, call: &Call) {
        self.world.wait_until(call.now).await;
        let hive = self.hive(&call.hive);
        let reply = self.verbs.call(&hive, call).await;
        let hash = self.verbs.data_hash(call);
        let args = call.args();
        let recorded = recorded_reply(call);
        let mut comparison = self.at(format!("step {n}"));
        if let Some(hash) = hash {
            let path = format!("hash of {}", args["jid"].as_str().unwrap_or_default());
            comparison.json(&path, &args["hash"], &hash.into());
        }
        let is_refused_too =
            |why: &str| call.error.as_ref().is_some_and(|error| error.contains(why));
        match reply {
            Ok(Reply::Value(ours)) => comparison.json("reply", &recorded, &ours),
            Ok(Reply::Refused(why)) if is_refused_too(why) => {}
            Ok(Reply::Refused(why)) => {
                comparison.differs("reply", Some(recorded), Some(why.into()))
            }
            Ok(Reply::Invalid(_)) if is_refused_too("") => {}
            Ok(Reply::Invalid(why)) => {
                comparison.differs("reply", Some(recorded), Some(why.into()));
                if let Some(call) = mended(call) {
                    self.verbs.call(&hive, &call).await.expect("a good call");
                }
            }
            Err(error) => {
                comparison.differs("reply", Some(recorded), Some(error.to_string().into()))
            }
        }
    }

    async fn command(&mut self, n: usize, command: &[String], recorded: Option<&Json>) {
        let hive = self.hive("testhost:4242:reader");
        let ours = self.verbs.command(&hive, command).await.expect("a working store");
        if command[0] != "PUBLISH" {
            let recorded = recorded.unwrap_or(&Json::Null);
            self.at(format!("step {n}")).json("reply", recorded, &ours);
        }
    }

    fn hive(&mut self, id: &str) -> Hive {
        let new = || Hive::named(self.world.store.clone(), id);
        self.hives.entry(id.to_owned()).or_insert_with(new).clone()
    }

    async fn compare_messages(&mut self, n: usize) {
        let ours = self.published(n).await;
        let of_step = self.scenario.messages.iter().filter(|message| message.step == n);
        let mut recorded: Vec<Message> = of_step.cloned().collect();
        for message in &mut recorded {
            message.channel = self.our_name(&message.channel);
        }
        let is_ordered = self.scenario.unordered.is_none();
        self.at(format!("step {n}")).messages(recorded, ours, is_ordered);
    }

    /// What was published by the step that has just been made.
    async fn published(&mut self, step: usize) -> Vec<Message> {
        self.world.store.publish(&marker_channel(), MARKER).await.expect("published");
        let mut published = Vec::new();
        loop {
            let event = self.messages.next().await.expect("the store is open");
            let Event::Message(message) = event else { panic!("messages were missed") };
            let body = String::from_utf8(message.payload).expect("a text");
            if body == MARKER {
                return published;
            }
            published.push(Message { step, channel: message.channel.to_string(), body });
        }
    }

    async fn compare_keyspaces(&mut self, checkpoint: &Checkpoint) {
        let ours = keyspace::dump(&self.world.store).await;
        let recorded = self.with_our_names(&checkpoint.keys);
        let elapsed_ms = self.world.elapsed_ms();
        self.at(format!("checkpoint \"{}\"", checkpoint.name))
            .keyspaces(&recorded, &ours, elapsed_ms);
    }

    fn with_our_names(&mut self, keyspace: &Keyspace) -> Keyspace {
        keyspace.iter().map(|(key, entry)| (self.our_name(key), entry.clone())).collect()
    }

    /// Under which name we store a key of the original.
    fn our_name(&mut self, key: &str) -> String {
        let ends = |name: &&String| {
            key.strip_suffix(name.as_str()).is_some_and(|start| start.ends_with(':'))
        };
        let Some(name) = self.coded.keys().find(ends) else { return key.to_owned() };
        let ours = format!("{}{}", &key[..key.len() - name.len()], self.coded[name]);
        self.at("everywhere".into()).differs("name", Some(key.into()), Some(ours.as_str().into()));
        ours
    }

    fn at(&mut self, place: String) -> Comparison<'_> {
        Comparison { scenario: &self.scenario.name, place, found: &mut self.differences }
    }
}

/// The reply as a value: the original sends jobs and hashes as JSON text.
fn recorded_reply(call: &Call) -> Json {
    let parse = |text: &Json| match text {
        Json::String(text) => serde_json::from_str(text).expect("a JSON reply"),
        other => other.clone(),
    };
    match (call.call.as_str(), &call.reply, &call.error) {
        (_, _, Some(error)) => error.as_str().into(),
        (_, None, None) => Json::Null,
        ("job/pop", Some(Json::Array(jobs)), _) => jobs.iter().map(parse).collect(),
        ("job/load" | "job/hash", Some(text), _) => parse(text),
        (_, Some(value), _) => value.clone(),
    }
}

/// The same call without what we refuse, if that makes sense.
fn mended(call: &Call) -> Option<Call> {
    let mut args = call.args();
    if args["options"]["delay"].as_f64()? >= 0.0 {
        return None;
    }
    args["options"]["delay"] = 0.into();
    Some(Call { args: args.to_string(), ..call.clone() })
}

fn marker_channel() -> keyrack_keys::Key {
    let queue = QueueName::new("replay-marker").expect("a good name");
    keys::queue_events(&queue, &queue.group())
}

/// The names that a scenario gives to things.
struct Names {
    queues: BTreeSet<String>,
    hosts: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl Names {
    fn of(scenario: &Scenario) -> Names {
        let mut names =
            Names { queues: BTreeSet::new(), hosts: BTreeSet::new(), others: BTreeSet::new() };
        let text = |value: &Json| value.as_str().map(str::to_owned);
        for args in scenario.calls().map(Call::args) {
            names.queues.extend(text(&args["queue"]));
            names.hosts.extend(text(&args["options"]["preferredHostname"]));
            names.others.extend(text(&args["hash"]));
            names.others.extend(args["tags"].as_array().into_iter().flatten().filter_map(text));
        }
        names
    }

    /// The settings of every queue.
    fn settings(&self) -> impl Iterator<Item = keyrack_keys::Key> {
        self.queues.iter().map(|name| {
            let queue = QueueName::new(name.clone()).expect("a good name");
            keys::settings(&queue, &queue.group())
        })
    }

    /// Every channel on which anything of this scenario can be heard.
    fn channels(&self) -> Vec<keyrack_keys::Key> {
        let group = Group::new("bee").expect("a good group");
        let queue = |name: &String| {
            let queue = QueueName::new(name.clone()).expect("a good name");
            keys::queue_events(&queue, &queue.group())
        };
        let host = |name: &String| {
            keys::host_events(&Hostname::new(name.clone()).expect("a good name"), &group)
        };
        let known = self.queues.iter().map(queue).chain(self.hosts.iter().map(host));
        known.chain([marker_channel()]).collect()
    }

    /// The names that our keys hold in another form.
    fn coded(&self) -> BTreeMap<String, String> {
        let coded = |name: &String| {
            let mut coded = String::new();
            QueueName::KIND.encode(name, &mut coded);
            (coded != *name).then(|| (name.clone(), coded))
        };
        self.queues.iter().chain(&self.others).filter_map(coded).collect()
    }
}
