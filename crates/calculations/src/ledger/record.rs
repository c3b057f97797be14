//! Taking events in: one look, the arithmetic, one commit, and again if somebody else was faster.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use keyrack_keys::Key;

use super::{
    Ledger,
    change::{self, Change, IntervalPart},
    commit::Steps,
    extremes::extremes,
    key::{Declared, KeyId},
    snapshot::{KeySnapshot, read_snapshot},
};
use crate::{
    bucket::Bucket,
    error::Error,
    event::Event,
    keys::{self, Calculation, Interval, Project},
    order,
    results::{self, Facts, Needs, is_by_bucket},
    settings::{Settings, Updates},
    sketch::Sketch,
    state,
};

/// Events of one key that go into one call, so that other clients are not kept waiting.
pub(super) const EVENTS_PER_CALL: usize = 250;
/// Keys that are worked on at once.
const KEYS_AT_ONCE: usize = 8;
/// How often others may be faster before it is given up; each time, somebody has got on.
const ATTEMPTS_MAX: usize = 1000;

/// What became of each event, in their order.
pub type EventResults = Vec<Result<(), Error>>;

impl Ledger {
    /// Takes in events of a project, one after the other; what becomes of each is told in their order.
    ///
    /// When this returns, the results are those of all values, these among them. An event may be sent again.
    ///
    /// # Errors
    /// When the store failed; some of the events may have been stored.
    pub async fn record(
        &self,
        project: &Project,
        events: Vec<Event>,
    ) -> Result<EventResults, Error> {
        let mut groups: HashMap<KeyId, (Vec<usize>, Vec<Event>)> = HashMap::new();
        let n = events.len();
        for (at, event) in events.into_iter().enumerate() {
            let id = self.key(project, &event.dimension, &event.key);
            let (places, group) = groups.entry(id).or_default();
            places.push(at);
            group.push(event);
        }
        let mut told: EventResults = Vec::new();
        told.resize_with(n, || Ok(()));
        let mut done = stream::iter(groups)
            .map(|(id, (places, events))| async move {
                Ok::<_, Error>((places, self.record_group(id, events).await?))
            })
            .buffer_unordered(KEYS_AT_ONCE);
        while let Some(group) = done.next().await {
            let (places, group) = group?;
            places.into_iter().zip(group).for_each(|(at, outcome)| told[at] = outcome);
        }
        Ok(told)
    }

    pub(super) async fn record_chunk(
        &self,
        id: &KeyId,
        events: &[Event],
    ) -> Result<EventResults, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let batch = self.read(id, events).await?;
            let has_fresh =
                batch.wanted.pairs().iter().any(|pair| !batch.snapshot.built.contains(*pair));
            if batch.snapshot.builder.is_some() || (has_fresh && batch.snapshot.values_len > 0) {
                self.build(id, &batch.wanted).await?;
                continue;
            }
            if let Some(told) = self.change(id, batch).await? {
                return Ok(told);
            }
        }
        Err(Error::Busy { key: id.shown() })
    }

    /// Reads what is needed. What that is depends on what is declared, so a first guess may not be enough.
    async fn read<'e>(&self, id: &KeyId, events: &'e [Event]) -> Result<Batch<'e>, Error> {
        let mut times: Vec<&str> = events.iter().map(|event| event.created_at.as_str()).collect();
        times.sort_unstable();
        times.dedup();
        let mut named = Declared::default();
        // Most events declare what the one before did.
        let is_same =
            |a: &Event, b: &Event| a.calculations == b.calculations && a.intervals == b.intervals;
        for same in events.chunk_by(is_same) {
            for &calculation in &same[0].calculations {
                named.extend(same[0].intervals.iter().map(|&interval| (calculation, interval)));
            }
        }
        let mut plan = Plan { settings: self.settings_hint(&id.project), declared: named.clone() };
        loop {
            let reads = plan.reads(id, events);
            let snapshot = read_snapshot(self.store(), id, &times, &reads.hashes).await?;
            let mut wanted = named.clone();
            wanted.extend(snapshot.declared.pairs().iter().copied());
            let rules = self.rules_at(&id.project, &snapshot.rules_mark).await?;
            wanted.extend(super::judge::declares(&rules, id));
            if plan.covers(&wanted, &snapshot.settings) {
                return Ok(Batch { events, times, named, wanted, snapshot, reads, rules });
            }
            self.hint_settings(&id.project, &snapshot.settings);
            plan = Plan { settings: snapshot.settings, declared: wanted };
        }
    }

    /// Works out what changes and does it; `None` when somebody else was faster.
    async fn change(
        &self,
        id: &KeyId,
        mut batch: Batch<'_>,
    ) -> Result<Option<EventResults>, Error> {
        let settings = batch.snapshot.settings.clone();
        let old = batch.old_values();
        let change::Changes { changes, told } =
            change::changes(batch.events, &old, settings.duplicates);
        drop(old);
        let mut steps = Steps::default();
        let values = changes.iter().filter(|change| change.is_new_text());
        steps.set(
            &id.values(),
            values.map(|change| (change.stamp.to_string(), change.text.clone())),
        );
        batch.declare(id, &mut steps);
        let mut all = Vec::new();
        for interval in batch.wanted.intervals() {
            let touched = self.touch(id, interval, &mut batch, &settings, &changes).await?;
            batch.write(id, &touched, &settings, &mut steps);
            all.push(touched);
        }
        if batch.snapshot.version == 0 {
            self.introduce(id, &batch, &settings, &mut steps);
        }
        super::judge::judge(&batch.rules, id, &settings, &all, self.store().now_ms(), &mut steps);
        if steps.is_empty() {
            return Ok(Some(told));
        }
        let done = steps.commit(self.store(), id, batch.snapshot.version, &batch.wanted).await?;
        let Some(committed) = done else { return Ok(None) };
        if let Some(due_at) = committed.due_at {
            self.announce_due(due_at).await?;
        }
        Ok(Some(told))
    }

    /// Reads on where buckets are late or values have an order, and brings an interval up to date.
    async fn touch(
        &self,
        id: &KeyId,
        interval: Interval,
        batch: &mut Batch<'_>,
        settings: &Settings,
        changes: &[Change],
    ) -> Result<IntervalPart, Error> {
        let mut touched = IntervalPart::new(interval, settings, changes);
        batch.load(interval, &mut touched);
        let late = touched.buckets.keys().filter(|number| touched.state.is_late(**number));
        let mut missing: Vec<(u32, u64)> =
            late.flat_map(|number| touched.state.fields_before(*number)).collect();
        missing.sort_unstable();
        missing.dedup();
        for chunk in missing.chunks(1000) {
            let mut cmd = redis::cmd("HMGET");
            let names: Vec<String> = chunk.iter().map(|at| state::field(*at)).collect();
            cmd.arg(&*self.store().place(&id.state(interval))).arg(names);
            let texts: Vec<Option<String>> =
                cmd.query_async(&mut self.store().connection()).await?;
            for (at, text) in chunk.iter().zip(texts) {
                text.iter().for_each(|text| touched.state.load(*at, text));
            }
        }
        if batch.wanted.need(interval, Needs::Order) {
            touched.extremes = extremes(self.store(), id, interval, &touched).await?;
        }
        touched.apply();
        Ok(touched)
    }

    /// Puts a key that is new where it is found.
    fn introduce(&self, id: &KeyId, batch: &Batch<'_>, settings: &Settings, steps: &mut Steps) {
        steps.each("SADD", &keys::projects(&id.account), vec![id.project.to_string()]);
        let dimensions = keys::dimensions(&id.project, &id.account);
        steps.each("SADD", &dimensions, vec![id.dimension.to_string()]);
        let Some(first) = batch.events.first() else { return };
        let wall = first.created_at.wall(settings.time_zone());
        let buckets = super::judge::first_seen(
            &batch.rules,
            id,
            settings,
            wall,
            self.store().now_ms(),
            steps,
        );
        let in_dimension = keys::dimension_keys(&id.project, &id.dimension, &id.account);
        steps.step("observe", &in_dimension, vec![id.key.to_string(), buckets]);
    }
}

/// What to read, guessed from what is known.
struct Plan {
    settings: Settings,
    declared: Declared,
}

/// What was read, and in which order.
struct Reads {
    hashes: Vec<(Key, Vec<String>)>,
    /// What each hash is: the state of an interval and its fields, or its sketches.
    parts: Vec<(Interval, ReadPart)>,
}

enum ReadPart {
    State(Vec<(u32, u64)>),
    Sketches(Vec<u64>),
}

impl Plan {
    fn reads(&self, id: &KeyId, events: &[Event]) -> Reads {
        let mut reads = Reads { hashes: Vec::new(), parts: Vec::new() };
        for interval in self.declared.intervals() {
            let zone = self.settings.time_zone();
            let of = |event: &Event| Bucket::of(interval, event.created_at.wall(zone)).number();
            let mut numbers: Vec<u64> = events.iter().map(of).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let state = state::State::new(interval);
            let mut fields: Vec<(u32, u64)> =
                numbers.iter().flat_map(|number| state.fields_at(*number)).collect();
            fields.sort_unstable();
            fields.dedup();
            let names = fields.iter().map(|at| state::field(*at));
            let names = std::iter::once(state::TOTAL.to_owned()).chain(names).collect();
            reads.hashes.push((id.state(interval), names));
            reads.parts.push((interval, ReadPart::State(fields)));
            if self.declared.need(interval, Needs::Sketch) {
                let names = numbers.iter().map(u64::to_string).collect();
                reads.hashes.push((id.sketch(interval), names));
                reads.parts.push((interval, ReadPart::Sketches(numbers)));
            }
        }
        reads
    }

    /// Was what was read enough for this?
    fn covers(&self, wanted: &Declared, settings: &Settings) -> bool {
        self.settings.zone == settings.zone
            && wanted.pairs().iter().all(|pair| self.declared.contains(*pair))
    }
}

/// Events of a key, and what is known about the key.
struct Batch<'e> {
    events: &'e [Event],
    /// Their times, each once, in the order in which the values there were read.
    times: Vec<&'e str>,
    /// What the events declare.
    named: Declared,
    /// What is declared with them.
    wanted: Declared,
    snapshot: KeySnapshot,
    reads: Reads,
    rules: std::sync::Arc<Vec<crate::rule::NumberedRule>>,
}

impl Batch<'_> {
    fn old_values(&self) -> HashMap<&str, Option<String>> {
        self.times.iter().copied().zip(self.snapshot.values.iter().cloned()).collect()
    }

    /// Adds what is newly declared to the declared sets.
    fn declare(&self, id: &KeyId, steps: &mut Steps) {
        for &(calculation, interval) in self.wanted.pairs() {
            if !self.snapshot.declared.contains((calculation, interval)) {
                steps.each("SADD", &id.calculations(), vec![calculation.to_string()]);
                steps.each("SADD", &id.intervals(calculation), vec![interval.to_string()]);
            }
        }
    }

    /// Takes in what was read about an interval.
    fn load(&mut self, interval: Interval, touched: &mut IntervalPart) {
        for ((of, part), texts) in self.reads.parts.iter().zip(&mut self.snapshot.fields) {
            if *of != interval {
                continue;
            }
            let mut texts = std::mem::take(texts).into_iter();
            match part {
                ReadPart::State(fields) => {
                    texts.next().flatten().iter().for_each(|total| touched.state.load_total(total));
                    for (at, text) in fields.iter().zip(texts) {
                        text.iter().for_each(|text| touched.state.load(*at, text));
                    }
                }
                ReadPart::Sketches(numbers) => {
                    let sketches = texts.map(|text| Sketch::parse(&text.unwrap_or_default()));
                    touched.sketches = numbers.iter().copied().zip(sketches).collect();
                }
            }
        }
    }

    /// The changes to an interval's state and results.
    fn write(&self, id: &KeyId, touched: &IntervalPart, settings: &Settings, steps: &mut Steps) {
        if touched.buckets.is_empty() {
            return;
        }
        let interval = touched.state.interval();
        steps.set(&id.state(interval), touched.state.changes());
        let sketches =
            touched.sketches.iter().filter(|(number, _)| touched.buckets.contains_key(number));
        steps.set(
            &id.sketch(interval),
            sketches.map(|(number, sketch)| (number.to_string(), sketch.text())),
        );
        if self.wanted.need(interval, Needs::Order) {
            let member = |number: &u64, (stamp, value): &(crate::Stamp, crate::Decimal)| {
                order::member(*number, value, stamp.as_str())
            };
            let (mut gone, mut come) = (Vec::new(), Vec::new());
            for (number, bucket) in &touched.buckets {
                gone.extend(bucket.removed.iter().map(|one| member(number, one)));
                come.extend(bucket.added.iter().map(|one| member(number, one)));
            }
            steps.each("ZREM", &id.order(interval), gone);
            steps.add_in_order(&id.order(interval), come);
        }
        let labels: Vec<(Bucket, String)> = touched
            .buckets
            .keys()
            .filter_map(|&number| Bucket::numbered(interval, number))
            .map(|bucket| (bucket, bucket.label(settings.labels)))
            .collect();
        let moments = touched.state.moments(settings.gaps);
        for calculation in self.wanted.over(interval) {
            let pair = (calculation, interval);
            if settings.updates == Updates::Event && !self.named.contains(pair) {
                continue;
            }
            if is_by_bucket(calculation) {
                steps.set(&id.result(pair), bucket_fields(calculation, touched, &labels));
            } else {
                let statistics = results::over_buckets(calculation, &moments, settings);
                let (set, gone): (Vec<_>, Vec<_>) =
                    statistics.into_iter().partition(|(_, text)| text.is_some());
                let set = set.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
                steps.set(&id.result(pair), set);
                let gone = gone.into_iter().map(|(name, _)| name.to_owned()).collect();
                steps.each("HDEL", &id.result(pair), gone);
            }
        }
    }
}

/// The fields of the buckets that were touched.
fn bucket_fields(
    calculation: Calculation,
    touched: &IntervalPart,
    labels: &[(Bucket, String)],
) -> Vec<(String, String)> {
    let fields = labels.iter().filter_map(|(bucket, label)| {
        let number = bucket.number();
        let extremes = touched.extremes.get(&number);
        let facts = Facts {
            leaf: touched.state.leaf(number),
            sketch: touched.sketches.get(&number),
            min: extremes.and_then(|extremes| extremes.min.as_ref()),
            max: extremes.and_then(|extremes| extremes.max.as_ref()),
        };
        let text = results::of_bucket(calculation, *bucket, &facts)?;
        Some((label.clone(), text))
    });
    fields.collect()
}
