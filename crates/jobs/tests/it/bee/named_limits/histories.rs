//! Random histories of jobs that name limits: no limit is ever exceeded, and every job ends.

use std::collections::{BTreeMap, VecDeque};

use keyrack_jobs::bee::{
    End, Failure, Hive, Job, Limits, NamedLimit, Outcome, Rate, Submission, Verdict,
    WorkerTimeouts,
    keys::{self, Jid, QueueName, Tenant, WorkerId},
};
use keyrack_testkit::simulated_store;

use super::{
    super::{fixture::NOW, model::Random},
    name,
};

const LIMITS: [&str; 3] = ["gpu", "disk", "api"];
const TENANTS: [&str; 2] = ["ann", "bob"];
const N_STEPS: usize = 60;

/// As in the model: `KEYRACK_SEED=n` repeats one history, `KEYRACK_SEEDS=n` makes as many others.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("KEYRACK_SEED"), number("KEYRACK_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(n)) => {
            let first = u64::from(std::process::id()) * 1_000_003;
            first..first + n
        }
        (None, None) => 1..31,
    }
}

#[tokio::test]
async fn whatever_happens_no_named_limit_is_exceeded_and_every_job_ends() {
    for seed in seeds() {
        let mut history = History::begin(seed).await;
        for _ in 0..N_STEPS {
            history.step().await;
        }
        history.finish().await;
    }
}

struct History {
    seed: u64,
    random: Random,
    hive: Hive,
    clock: keyrack_engine::SimulatedHost,
    queue: QueueName,
    workers: Vec<(WorkerId, Vec<Job>)>,
    limits: BTreeMap<String, NamedLimit>,
    /// Since when the limits are these, and what started since then by each.
    starts: BTreeMap<String, VecDeque<u64>>,
    n_workers: usize,
    open: Vec<Jid>,
}

impl History {
    async fn begin(seed: u64) -> History {
        let (store, clock) = simulated_store(NOW, seed).await;
        let mut history = History {
            seed,
            random: Random::new(seed),
            hive: Hive::named(store, "host:1:hive"),
            clock,
            queue: QueueName::new("q").expect("a queue"),
            workers: Vec::new(),
            limits: BTreeMap::new(),
            starts: BTreeMap::new(),
            n_workers: 0,
            open: Vec::new(),
        };
        for _ in 0..2 {
            let worker = history.new_worker();
            history.workers.push((worker, Vec::new()));
        }
        history.set_limits().await;
        history
    }

    fn new_worker(&mut self) -> WorkerId {
        self.n_workers += 1;
        WorkerId::new(format!("host:1:hive:q:w{}", self.n_workers)).expect("a worker")
    }

    async fn step(&mut self) {
        match self.random.below(20) {
            0..6 => self.submit().await,
            6..10 => self.claim().await,
            10..14 => self.end().await,
            14 => self.cancel().await,
            15 => self.lose().await,
            16 if self.random.once_in(3) => self.set_limits().await,
            17 => self.sweep().await,
            _ => self.clock.advance_ms(self.random.next() % 700),
        }
        self.check().await;
    }

    async fn submit(&mut self) {
        let mut job = Submission::to(self.queue.clone()).arg(self.random.next() % 100);
        for limit in LIMITS {
            if self.random.once_in(2) {
                job = job.limit(&name(limit));
            }
        }
        if self.random.once_in(3) {
            let tenant = self.random.pick(&TENANTS);
            job = job.tenant(Tenant::new(tenant).expect("a tenant"));
        }
        if self.random.once_in(5) {
            job = job.priority(self.random.pick(&[10.0, 3.0, -2.0]));
        }
        if self.random.once_in(6) {
            job = job.delay_ms((self.random.next() % 2_000) as f64);
        }
        self.open.push(self.hive.submit(job.retries(1_000)).await.expect("submitted"));
    }

    async fn claim(&mut self) {
        let at = self.random.below(self.workers.len());
        let max = 1 + self.random.below(4);
        let worker = self.workers[at].0.clone();
        let lock = WorkerTimeouts::KEYRACK.lock;
        let claimed = self.hive.claim(&self.queue, &worker, max, lock).await.expect("claimed");
        self.note(at, claimed.jobs);
    }

    /// Takes note of jobs that have started.
    fn note(&mut self, at: usize, jobs: Vec<Job>) {
        let now = self.hive.now_ms();
        for job in jobs {
            for limit in job.options().limits {
                self.starts.entry(limit).or_default().push_back(now);
            }
            self.workers[at].1.push(job);
        }
    }

    async fn end(&mut self) {
        let at = self.random.below(self.workers.len());
        if self.workers[at].1.is_empty() {
            return;
        }
        let index = self.random.below(self.workers[at].1.len());
        let job = self.workers[at].1.remove(index);
        let end = match self.random.below(8) {
            0 => End::Released,
            1 => End::Failed(Failure::new("no").retry_in(std::time::Duration::from_millis(300))),
            2 => End::Snoozed { delay_ms: 200.0 },
            _ => End::Completed { result: "1".into(), ttl_ms: None },
        };
        let is_over = matches!(end, End::Completed { .. });
        let worker = self.workers[at].0.clone();
        let max = self.random.below(3);
        let outcome = [Outcome::of(&job, end)];
        let lock = WorkerTimeouts::KEYRACK.lock;
        let settled = self.hive.settle(&self.queue, &worker, &outcome, max, lock).await;
        let settled = settled.expect("settled");
        if is_over && settled.verdicts == [Verdict::Ok] {
            self.open.retain(|jid| jid.as_str() != job.jid());
        }
        self.note(at, settled.claimed.jobs);
    }

    async fn cancel(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let jid = self.open.remove(self.random.below(self.open.len()));
        self.hive.cancel(&jid).await.expect("canceled");
        for (_, jobs) in &mut self.workers {
            jobs.retain(|job| job.jid() != jid.as_str());
        }
    }

    /// A worker is never heard of again, or stops.
    async fn lose(&mut self) {
        let at = self.random.below(self.workers.len());
        let worker = self.workers[at].0.clone();
        if self.random.once_in(2) {
            self.hive.leave(&self.queue, &worker).await.expect("left");
        } else {
            let timeouts = WorkerTimeouts { deaths_max: 0, ..WorkerTimeouts::KEYRACK };
            self.hive.sweep(&self.queue, &timeouts, "", &[worker]).await.expect("swept");
        }
        self.workers[at] = (self.new_worker(), Vec::new());
    }

    async fn sweep(&mut self) {
        for (worker, _) in &self.workers {
            let lock = WorkerTimeouts::KEYRACK.lock;
            self.hive.heartbeat(&self.queue, worker, lock, None).await.expect("alive");
        }
        self.hive.sweep(&self.queue, &WorkerTimeouts::KEYRACK, "", &[]).await.expect("swept");
    }

    /// Other limits count what starts from now on, so everything that runs is given back first.
    async fn set_limits(&mut self) {
        for at in 0..self.workers.len() {
            let worker = self.workers[at].0.clone();
            self.hive.leave(&self.queue, &worker).await.expect("left");
            self.workers[at] = (self.new_worker(), Vec::new());
        }
        self.limits.clear();
        for limit in LIMITS {
            let concurrency = self.random.pick(&[None, Some(1), Some(2)]);
            let rate = self.random.pick(&[None, Some((1, 500)), Some((3, 1_000))]);
            let rate = rate.map(|(max, per_ms)| Rate { max, per_ms });
            let own = NamedLimit { concurrency, rate };
            if own != NamedLimit::default() {
                self.limits.insert(limit.to_owned(), own);
            }
        }
        self.starts.clear();
        let limits = Limits { named: self.limits.clone(), ..Limits::default() };
        self.hive.set_limits(&self.queue, &limits).await.expect("limits");
    }

    async fn check(&mut self) {
        let seed = self.seed;
        for (limit, own) in &self.limits {
            let running = self.workers.iter().flat_map(|(_, jobs)| jobs);
            let n = running.filter(|job| job.options().limits.contains(limit)).count() as u64;
            assert!(
                own.concurrency.is_none_or(|most| n <= most),
                "seed {seed}: {n} run of {limit}"
            );
            let (Some(rate), Some(starts)) = (own.rate, self.starts.get(limit)) else { continue };
            let max = usize::try_from(rate.max).expect("a small number");
            for (first, later) in starts.iter().zip(starts.iter().skip(max)) {
                assert!(later - first >= rate.per_ms, "seed {seed}: {limit} started at {starts:?}");
            }
        }
        let stats = self.hive.stats(&self.queue).await.expect("stats");
        let waiting = stats.queued + stats.delayed + stats.parked + stats.running;
        assert_eq!(waiting as usize, self.open.len(), "seed {seed}: each is in one place");
    }

    /// Whatever is left runs in the time that the limits need, and nothing is left of it.
    async fn finish(&mut self) {
        let seed = self.seed;
        let slowest = self.limits.values().filter_map(|own| own.rate).map(|rate| rate.per_ms);
        let patience = 5_000 + 1_500 * self.open.len() as u64 * slowest.max().unwrap_or(0) / 500;
        let until = self.hive.now_ms() + patience;
        while !self.open.is_empty() {
            assert!(self.hive.now_ms() < until, "seed {seed}: {:?} are left", self.open);
            for at in 0..self.workers.len() {
                let (worker, jobs) = self.workers[at].clone();
                let completed = || End::Completed { result: "1".into(), ttl_ms: None };
                let outcomes: Vec<_> =
                    jobs.iter().map(|job| Outcome::of(job, completed())).collect();
                let lock = WorkerTimeouts::KEYRACK.lock;
                let settled = self.hive.settle(&self.queue, &worker, &outcomes, 10, lock).await;
                let settled = settled.expect("settled");
                for (job, verdict) in jobs.iter().zip(&settled.verdicts) {
                    if *verdict == Verdict::Ok {
                        self.open.retain(|jid| jid.as_str() != job.jid());
                    }
                }
                self.workers[at].1.clear();
                self.note(at, settled.claimed.jobs);
            }
            self.check().await;
            self.clock.advance_ms(20);
        }
        for limit in LIMITS {
            let (group, limit) = (self.queue.group(), name(limit));
            for key in [
                keys::limit_held(&self.queue, &limit, &group),
                keys::limit_running(&self.queue, &limit, &group),
            ] {
                let mut cmd = redis::cmd("EXISTS");
                cmd.arg(&*self.hive.store().place(&key));
                let exists: bool =
                    cmd.query_async(&mut self.hive.store().connection()).await.expect("a reply");
                assert!(!exists, "seed {seed}: {} is left", key.name());
            }
        }
    }
}
