//! A random load.

use std::time::Duration;

use keyrack_jobs::bee::{
    End, Failure, HistoryEntry, Job, Outcome, ReservationEnd, SettleAndClaim,
    keys::{Jid, Tenant},
};

use super::super::fixture::{Fixture, TIMEOUTS};

/// The same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// Clients and a worker that do what comes to their mind.
pub(super) struct Load {
    random: Random,
    fixture: Fixture,
    jids: Vec<Jid>,
    held: Vec<Job>,
    reservations: u64,
}

impl Load {
    pub(super) fn new(seed: u64, fixture: Fixture) -> Load {
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Load { random, fixture, jids: Vec::new(), held: Vec::new(), reservations: 0 }
    }

    pub(super) async fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            let step = self.random.below(10);
            match step {
                0..3 => self.submit().await,
                3..5 => self.claim().await,
                5..7 => self.settle().await,
                7 => self.reserve_and_close().await,
                8 => self.meddle().await,
                _ => drop(self.fixture.sweep().await),
            }
            let ms = [0, 1, 7, 90, 900, 4_000, 40_000][self.random.below(7) as usize];
            self.fixture.clock.advance_ms(self.random.below(ms + 1));
            // Otherwise the sweep would take all jobs away.
            self.fixture.heartbeat().await;
        }
        while !self.held.is_empty() {
            self.settle().await;
        }
    }

    async fn submit(&mut self) {
        for _ in 0..=self.random.below(6) {
            let mut job = self.fixture.job().arg(self.jids.len()).ttl_ms(30 * 86_400_000);
            match self.random.below(6) {
                0 => job = job.delay_ms(self.random.below(30_000) as f64),
                1 => job = job.tenant(Tenant::new("acme").expect("a tenant")),
                2 => job = job.retries(1).retry_delay_ms(100.0, false),
                3 if self.random.below(3) == 0 => {
                    job = job.start_within(Duration::from_millis(500));
                }
                _ => {}
            }
            self.jids.push(self.fixture.submit(job).await);
        }
    }

    async fn claim(&mut self) {
        let max = 1 + self.random.below(8) as usize;
        self.held.extend(self.fixture.claim(max).await);
    }

    fn end(&mut self) -> End {
        match self.random.below(12) {
            0..6 => End::Completed { result: "1".into(), ttl_ms: Some(30 * 86_400_000) },
            6 => End::Completed { result: "2".into(), ttl_ms: None },
            7 | 8 => End::Failed(Failure::new("it \"event\":\"popped\",\"timestamp\":7 broke")),
            9 => End::Failed(Failure::fatal("for good")),
            10 => End::Snoozed { delay_ms: 50.0 },
            _ => End::Released,
        }
    }

    fn outcomes(&mut self, jobs: &[Job]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for job in jobs {
            let mut outcome = Outcome::of(job, self.end());
            if self.random.below(5) == 0 {
                // As over HTTP, where nobody knows the job.
                outcome.told = None;
            }
            outcomes.push(outcome);
        }
        outcomes
    }

    async fn settle(&mut self) {
        let n = (1 + self.random.below(6) as usize).min(self.held.len());
        let jobs: Vec<Job> = self.held.drain(..n).collect();
        let outcomes = self.outcomes(&jobs);
        let Fixture { hive, queue, worker, .. } = &self.fixture;
        let settled = hive.settle(queue, worker, &outcomes, 0, TIMEOUTS.lock).await;
        settled.expect("settled");
    }

    /// Takes some jobs in a reservation and tells of them; sometimes one is canceled meanwhile.
    async fn reserve_and_close(&mut self) {
        self.reservations += 1;
        let number = self.reservations;
        let Fixture { hive, queue, worker, clock, .. } = self.fixture.clone();
        let ask = SettleAndClaim {
            max: 1 + self.random.below(8) as usize,
            lock: TIMEOUTS.lock,
            reserve: Some(number),
            ..SettleAndClaim::default()
        };
        let reply = hive.settle_and_claim(&queue, &worker, &ask).await.expect("an answer");
        self.held.extend(reply.claimed.jobs);
        if reply.reserved.is_empty() {
            return;
        }
        let jobs = hive.jobs_of_reservation(&queue, &worker, number, &reply.reserved).await;
        let jobs = jobs.expect("the jobs");
        if let Some(job) = jobs.first().filter(|_| self.random.below(3) == 0) {
            hive.cancel(&job.id().expect("an id")).await.expect("canceled");
        }
        clock.advance_ms(self.random.below(40));
        let outcomes: Vec<Outcome> = self
            .outcomes(&jobs)
            .into_iter()
            .zip(&jobs)
            // A reservation is known by the job that its worker was told of.
            .map(|(outcome, job)| Outcome { told: Some(job.clone()), ..outcome })
            .collect();
        let closes = Some(ReservationEnd { reservation: number, begun: Vec::new() });
        let tell = SettleAndClaim {
            outcomes: &outcomes,
            lock: TIMEOUTS.lock,
            closes,
            ..SettleAndClaim::default()
        };
        hive.settle_and_claim(&queue, &worker, &tell).await.expect("an answer");
    }

    async fn meddle(&mut self) {
        if self.jids.is_empty() {
            return;
        }
        let jid = self.jids[self.random.below(self.jids.len() as u64) as usize].clone();
        match self.random.below(3) {
            0 => drop(self.fixture.hive.cancel(&jid).await),
            // Most cannot be run again: they have not failed. Some cannot be canceled, either.
            1 => drop(self.fixture.hive.retry(&jid).await),
            // Whoever listens makes the quick way impossible.
            _ => {
                let stream =
                    self.fixture.hive.events(std::slice::from_ref(&self.fixture.queue)).await;
                self.claim().await;
                self.settle().await;
                drop(stream);
            }
        }
    }

    /// What happened to all jobs.
    pub(super) async fn histories(&self) -> Vec<Vec<HistoryEntry>> {
        let mut histories = Vec::new();
        for jid in &self.jids {
            histories.push(self.fixture.read(jid).await.history());
        }
        histories
    }
}
