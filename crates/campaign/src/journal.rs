//! What clients were told, what handlers did, and what became of it.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Mutex,
};

use crate::time::monotonic_ms;

/// How far a store's clock may be off from ours before a start counts as early, in ms.
const CLOCK_TOLERANCE_MS: u64 = 50;

/// The journal of one fault. Clients write what was acknowledged; workers append what they start and end to a file.
#[derive(Debug)]
pub(crate) struct Journal {
    began_ms: u64,
    written: Mutex<Written>,
    runs: PathBuf,
    /// Where in the file of runs this fault begins.
    runs_from: u64,
}

#[derive(Debug, Default)]
struct Written {
    acknowledged: HashMap<String, Acknowledged>,
    acknowledged_ms: Vec<u64>,
    errors: BTreeMap<String, u64>,
}

/// A submission that succeeded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    /// No handler may start it before, on the monotonic clock.
    pub(crate) not_before_ms: u64,
}

/// What the handlers did with one job.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) starts_ms: Vec<u64>,
    pub(crate) ends: u64,
}

/// Everything that a fault is judged by.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) acknowledged: HashMap<String, Acknowledged>,
    pub(crate) runs: HashMap<String, Runs>,
    pub(crate) began_ms: u64,
    /// Errors that clients met and should not have, with how often.
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) longest_gap_ms: u64,
}

impl Journal {
    /// A journal that begins now.
    pub(crate) fn begin(runs: &Path) -> Journal {
        let runs_from = runs.metadata().map_or(0, |file| file.len());
        let written = Mutex::default();
        Journal { began_ms: monotonic_ms(), written, runs: runs.to_owned(), runs_from }
    }

    /// Writes down that the store has acknowledged a job.
    pub(crate) fn acknowledge(&self, jid: &str, acknowledged: Acknowledged) {
        let mut written = self.written.lock().expect("no writer panics");
        written.acknowledged.insert(jid.to_owned(), acknowledged);
        written.acknowledged_ms.push(monotonic_ms());
    }

    /// Writes down an error that does not say "not now".
    pub(crate) fn error(&self, text: String) {
        *self.written.lock().expect("no writer panics").errors.entry(text).or_default() += 1;
    }

    pub(crate) fn n_acknowledged(&self) -> usize {
        self.written.lock().expect("no writer panics").acknowledged.len()
    }

    pub(crate) fn n_started(&self) -> usize {
        self.lines().lines().filter(|line| line.starts_with("start ")).count()
    }

    /// What stands in it. Gaps are counted until `until_ms`, when the clients were told to stop.
    pub(crate) fn read(&self, until_ms: u64) -> Reading {
        let written = self.written.lock().expect("no writer panics");
        let runs = parse_runs(&self.lines());
        let starts = runs.values().flat_map(|runs| runs.starts_ms.iter().copied()).collect();
        let gap = |moments| longest_gap_ms(self.began_ms, until_ms, moments);
        Reading {
            began_ms: self.began_ms,
            longest_gap_ms: gap(written.acknowledged_ms.clone()).max(gap(starts)),
            acknowledged: written.acknowledged.clone(),
            errors: written.errors.clone(),
            runs,
        }
    }

    fn lines(&self) -> String {
        let mut text = Vec::new();
        let read = File::open(&self.runs).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.runs_from))?;
            file.read_to_end(&mut text)
        });
        read.unwrap_or_else(|error| panic!("could not read \"{}\": {error}", self.runs.display()));
        String::from_utf8(text).expect("workers write UTF-8")
    }
}

impl Reading {
    /// Jobs that were started more than once, and when.
    pub(crate) fn run_twice(&self) -> impl Iterator<Item = (&str, &Runs)> {
        let runs = self.runs.iter().map(|(jid, runs)| (jid.as_str(), runs));
        runs.filter(|(_, runs)| runs.starts_ms.len() > 1)
    }

    /// Jobs that were started before their time.
    pub(crate) fn started_early(&self) -> usize {
        let is_early = |(jid, job): &(&String, &Acknowledged)| {
            let first = self.runs.get(*jid).and_then(|runs| runs.starts_ms.iter().min());
            first.is_some_and(|&start| start + CLOCK_TOLERANCE_MS < job.not_before_ms)
        };
        self.acknowledged.iter().filter(is_early).count()
    }

    pub(crate) fn has_run(&self, jid: &str) -> bool {
        self.runs.get(jid).is_some_and(|runs| runs.ends > 0)
    }
}

/// `start JID MS` and `end JID MS`, a line each. A worker that is killed may leave the last one unfinished.
fn parse_runs(text: &str) -> HashMap<String, Runs> {
    let mut jobs: HashMap<String, Runs> = HashMap::new();
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["start", jid, ms] => {
                let ms = ms.parse().unwrap_or_else(|_| panic!("not a time: \"{line}\""));
                jobs.entry(jid.to_owned()).or_default().starts_ms.push(ms);
            }
            ["end", jid, _] => jobs.entry(jid.to_owned()).or_default().ends += 1,
            _ => panic!("not a line of a worker: \"{line}\""),
        }
    }
    jobs
}

/// The longest time within which nothing happened.
fn longest_gap_ms(from: u64, until: u64, mut moments: Vec<u64>) -> u64 {
    moments.retain(|moment| (from..=until).contains(moment));
    moments.extend([from, until]);
    moments.sort_unstable();
    moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_by_job() {
        let runs = parse_runs("start a 5\nstart b 6\nend a 7\nstart a 9\n");
        assert_eq!(runs["a"], Runs { starts_ms: vec![5, 9], ends: 1 });
        assert_eq!(runs["b"], Runs { starts_ms: vec![6], ends: 0 });
    }

    #[test]
    fn a_gap_is_counted_from_the_beginning_to_the_end() {
        assert_eq!(longest_gap_ms(0, 100, vec![10, 30, 70]), 40);
        assert_eq!(longest_gap_ms(0, 100, vec![10, 30]), 70);
        assert_eq!(longest_gap_ms(0, 100, vec![60, 200]), 60);
    }

    #[test]
    fn a_job_that_starts_before_its_time_or_twice_is_found() {
        let job = |not_before_ms| Acknowledged { not_before_ms };
        let reading = Reading {
            acknowledged: [("a".into(), job(1000)), ("b".into(), job(1000))].into(),
            runs: parse_runs("start a 990\nend a 991\nstart b 500\nstart b 501\n"),
            began_ms: 0,
            errors: BTreeMap::new(),
            longest_gap_ms: 0,
        };
        assert_eq!((reading.started_early(), reading.run_twice().count()), (1, 1));
        assert!(reading.has_run("a") && !reading.has_run("b"));
    }
}
