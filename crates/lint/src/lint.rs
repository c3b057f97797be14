//! The lint itself: every key of a store against its declaration.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::TryStreamExt;
use keyrack_keys::{Family, Registry};
use keyrack_store::{Error, Keyspace, Store};

use crate::finding::Finding;
use crate::read_key::{KeyObservation, KeyReader};
use crate::recognise::Recogniser;
use crate::report::{Report, Tallies};
use crate::subject::{Location, Subject};
use crate::undeclared::Undeclared;
use crate::walk::{WalkRate, walk_keys};

/// What to look at, and how fast.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Only keys of this family.
    pub family: Option<&'static Family>,
    /// Look into one key of so many. Names are checked all the same; the same keys are chosen each time.
    pub sample: NonZeroU64,
    /// How many findings to list; all are counted.
    pub findings_max: usize,
    /// How fast to walk.
    pub pace: WalkRate,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            family: None,
            sample: NonZeroU64::MIN,
            findings_max: 1_000,
            pace: WalkRate::default(),
        }
    }
}

/// How far a walk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Keys met so far.
    pub keys: u64,
    /// Keys there were at the start.
    pub keys_total: u64,
}

/// Batches in the works at once: while one waits for the server, another is compared.
const BATCHES: usize = 3;

/// Checks every key of the store against its declaration; tells how far it has come after each batch.
///
/// Whatever looks wrong is looked at a second time, so that a writer at work is not taken for a fault. A key that
/// expires during the walk is none either.
///
/// # Errors
/// When the store cannot be reached, or refuses to show a declared key.
pub async fn lint(
    store: &Store,
    registry: &Registry,
    options: &Options,
    progress: impl Fn(Progress),
) -> Result<Report, Error> {
    let keyspaces = store.keyspaces().await?;
    let keys_total = keyspaces.iter().map(Keyspace::keys).sum();
    let recogniser = Recogniser::new(store, registry).await?;
    let keys_done = AtomicU64::new(0);
    let (mut report, mut tallies) = (Report::default(), Tallies::default());
    let mut undeclared = Undeclared::default();
    for keyspace in &keyspaces {
        let place = Location { layout: store.layout(), main_db: store.db(), db: keyspace.db() };
        let looker = KeyReader { keyspace, registry, place };
        let pattern = options.family.map(|family| family.pattern(store.layout()));
        let batches = walk_keys(keyspace, pattern.as_deref(), options.pace);
        let mut checked = pin!(
            batches
                .map_ok(|keys| check(looker, &recogniser, options, keys))
                .try_buffer_unordered(BATCHES)
        );
        while let Some(batch) = checked.try_next().await? {
            let keys = keys_done.fetch_add(batch.keys, Ordering::Relaxed) + batch.keys;
            undeclared.add(keyspace.db(), &batch.undeclared);
            batch.add_to(&mut report, &mut tallies, options.findings_max);
            progress(Progress { keys, keys_total });
        }
    }
    undeclared.report(&mut report, options.findings_max);
    tallies.finish(&mut report);
    Ok(report)
}

/// What one batch has shown.
struct Batch {
    /// Keys that SCAN gave, those of other families included.
    keys: u64,
    /// Family and memory of each key that was still there.
    met: Vec<(Option<&'static Family>, Option<u64>)>,
    checked: u64,
    findings: Vec<Finding>,
    /// Keys of no family.
    undeclared: Vec<Vec<u8>>,
}

async fn check(
    looker: KeyReader<'_>,
    recogniser: &Recogniser,
    options: &Options,
    keys: Vec<Vec<u8>>,
) -> Result<Batch, Error> {
    let n_keys = keys.len() as u64;
    let mut subjects: Vec<Subject> =
        keys.into_iter().map(|raw| Subject::new(looker.registry, raw)).collect();
    recognise(looker, recogniser, &mut subjects).await?;
    if let Some(wanted) = options.family {
        subjects.retain(|subject| is(subject.family, wanted));
    }
    let (chosen, others): (Vec<&Subject>, Vec<&Subject>) =
        subjects.iter().partition(|subject| is_chosen(&subject.raw, options.sample));
    let first = looker.look(&chosen, true).await?;
    let mut batch = Batch {
        keys: n_keys,
        met: Vec::with_capacity(subjects.len()),
        checked: chosen.len() as u64,
        findings: Vec::new(),
        undeclared: Vec::new(),
    };
    let mut suspects = Vec::new();
    for (subject, seen) in chosen.into_iter().zip(first) {
        if !seen.gone {
            batch.met.push((subject.family, seen.memory_bytes));
        }
        if !seen.gone && !seen.faults.is_empty() {
            suspects.push((subject, seen));
        }
    }
    for subject in others {
        batch.met.push((subject.family, None));
        let faults = subject.faults(looker.registry, looker.place);
        if !faults.is_empty() {
            suspects.push((subject, KeyObservation { gone: false, faults, memory_bytes: None }));
        }
    }
    batch.confirm(looker, suspects).await?;
    Ok(batch)
}

/// Takes the family away from keys that only look like keys of it.
async fn recognise(
    looker: KeyReader<'_>,
    recogniser: &Recogniser,
    subjects: &mut [Subject],
) -> Result<(), Error> {
    let names: Vec<_> =
        subjects.iter().map(|subject| (subject.raw.as_slice(), subject.family)).collect();
    let ask = async |pipeline: &redis::Pipeline| looker.keyspace.pipeline(pipeline).await;
    let families = recogniser.belong(looker.registry, looker.place.db, &names, ask).await?;
    for (subject, family) in subjects.iter_mut().zip(families) {
        subject.family = family;
    }
    Ok(())
}

impl Batch {
    /// Looks again at what seemed wrong, and reports what still is.
    async fn confirm(
        &mut self,
        looker: KeyReader<'_>,
        suspects: Vec<(&Subject, KeyObservation)>,
    ) -> Result<(), Error> {
        if suspects.is_empty() {
            return Ok(());
        }
        let subjects: Vec<&Subject> = suspects.iter().map(|(subject, _)| *subject).collect();
        let second = looker.look(&subjects, false).await?;
        for ((subject, earlier), mut seen) in suspects.into_iter().zip(second) {
            if !seen.gone {
                seen.faults.retain_known(&earlier.faults);
                self.report(looker.place, subject, seen.faults);
            }
        }
        Ok(())
    }

    fn report(&mut self, place: Location, subject: &Subject, faults: crate::finding::Faults) {
        if subject.family.is_none() {
            self.undeclared.push(subject.raw.clone());
        } else if !faults.is_empty() {
            let family = subject.family.map(Family::id);
            self.findings.extend(faults.into_findings(place.db, &subject.raw, family.as_deref()));
        }
    }

    fn add_to(self, report: &mut Report, tallies: &mut Tallies, findings_max: usize) {
        report.keys += self.met.len() as u64;
        report.checked += self.checked;
        for (family, memory_bytes) in self.met {
            let tally = tallies.of(family);
            tally.keys += 1;
            if let Some(bytes) = memory_bytes {
                tally.measured += 1;
                tally.measured_bytes += bytes;
            }
        }
        for finding in self.findings {
            report.add(finding, findings_max);
        }
    }
}

fn is(family: Option<&'static Family>, wanted: &'static Family) -> bool {
    family.is_some_and(|family| std::ptr::eq(family, wanted))
}

/// Whether this key is among the sample, by its name alone.
pub(crate) fn is_chosen(raw: &[u8], sample: NonZeroU64) -> bool {
    if sample == NonZeroU64::MIN {
        return true;
    }
    let mut hasher = DefaultHasher::new();
    raw.hash(&mut hasher);
    hasher.finish() % sample == 0
}
