//! Taking events in: one look, the arithmetic, one commit, and again if somebody else was faster.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use keyrack_keys::Key;

use super::{
    Ledger,
    change::{self, IntervalPart, ValueTable},
    commit::Steps,
    key::{Declared, KeyId},
    second_read::read_more,
    snapshot::{KeySnapshot, read_snapshot},
    tally::TallyChanges,
};
use crate::{
    bucket::Bucket,
    error::Error,
    event::Event,
    keys::{self, Interval, Project},
    results::{self, Needs, is_by_bucket},
    settings::{Settings, Updates},
    sketch::Sketch,
    state,
};

/// Events of one key that go into one call, so that other clients are not kept waiting.
pub(super) const EVENTS_PER_CALL: usize = 1_000;
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
        steps.set(&id.values(), values.map(|change| (change.stamp.as_str(), change.text.as_str())));
        batch.declare(id, &mut steps);
        let table = ValueTable::new(&changes);
        let mut all = Vec::new();
        for interval in batch.wanted.intervals() {
            let mut touched = IntervalPart::new(interval, &settings, &changes, &table);
            batch.load(interval, &mut touched);
            all.push(touched);
        }
        read_more(self.store(), id, &batch.wanted, &table, &mut all).await?;
        for touched in &mut all {
            let with_order = batch.wanted.need(touched.state.interval(), Needs::Order);
            touched.apply(&table, with_order, settings.labels);
        }
        for touched in &all {
            batch.write(id, touched, &settings, &mut steps);
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

    /// Puts a key that is new where it is found.
    fn introduce(&self, id: &KeyId, batch: &Batch<'_>, settings: &Settings, steps: &mut Steps<'_>) {
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
    /// The interval whose state each hash is, and its fields.
    parts: Vec<(Interval, Vec<(u32, u64)>)>,
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
            reads.parts.push((interval, fields));
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
    fn declare(&self, id: &KeyId, steps: &mut Steps<'_>) {
        for &(calculation, interval) in self.wanted.pairs() {
            if !self.snapshot.declared.contains((calculation, interval)) {
                steps.each("SADD", &id.calculations(), vec![calculation.to_string()]);
                steps.each("SADD", &id.intervals(calculation), vec![interval.to_string()]);
            }
        }
    }

    /// Takes in what was read about an interval.
    fn load(&mut self, interval: Interval, touched: &mut IntervalPart) {
        for ((of, fields), texts) in self.reads.parts.iter().zip(&mut self.snapshot.fields) {
            if *of != interval {
                continue;
            }
            let mut texts = std::mem::take(texts).into_iter();
            texts.next().flatten().iter().for_each(|total| touched.state.load_total(total));
            for (at, text) in fields.iter().zip(texts) {
                text.iter().for_each(|text| touched.state.load(*at, text));
            }
        }
    }

    /// The changes to an interval's state and results.
    fn write<'a>(
        &self,
        id: &KeyId,
        touched: &'a IntervalPart,
        settings: &Settings,
        steps: &mut Steps<'a>,
    ) {
        if touched.buckets.is_empty() {
            return;
        }
        let interval = touched.state.interval();
        steps.set(&id.state(interval), touched.state.changes());
        self.write_values(id, touched, steps);
        let moments = touched.state.moments(settings.gaps);
        for calculation in self.wanted.over(interval) {
            let pair = (calculation, interval);
            if settings.updates == Updates::Event && !self.named.contains(pair) {
                continue;
            }
            if is_by_bucket(calculation) {
                steps.set(&id.result(pair), touched.bucket_fields(calculation));
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

impl Batch<'_> {
    /// The changes to what is kept of the values of buckets.
    fn write_values(&self, id: &KeyId, touched: &IntervalPart, steps: &mut Steps<'_>) {
        let interval = touched.state.interval();
        let with_counts = self.wanted.need(interval, Needs::Sketch);
        let (mut texts, mut gone) = (Vec::new(), Vec::new());
        for (number, sketch) in &touched.sketches {
            match sketch {
                // Counts by size are for quantiles only.
                Sketch::Counts(_) if !with_counts => gone.push(number.to_string()),
                _ => texts.extend(sketch.text().map(|text| (number.to_string(), text))),
            }
        }
        steps.set(&id.sketch(interval), texts);
        steps.each("HDEL", &id.sketch(interval), gone);
        let mut changes = TallyChanges::default();
        touched.tallies.iter().for_each(|(number, tally)| tally.changes(*number, &mut changes));
        changes.write(id, interval, steps);
    }
}
