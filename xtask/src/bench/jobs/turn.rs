//! One contender's turn: some jobs in, the same jobs out, and what that took.

use std::fmt;

use anyhow::Result;

use super::super::compare::median;
use super::super::report::whole;
use super::super::server::Server;
use super::cost::{Cost, measured};
use super::delivery::exactly_once;
use super::driver::{Driver, Jobs};

/// What submitting some jobs and working them off took.
#[derive(Default)]
pub(super) struct InAndOut {
    pub(super) submit_seconds: f64,
    pub(super) submit_cost: Cost,
    pub(super) drain_seconds: f64,
    pub(super) drain_cost: Cost,
    /// The jobs in the order in which they were started.
    pub(super) started: Vec<u32>,
}

impl InAndOut {
    /// Adds what more jobs took; their order is not kept.
    pub(super) fn add(&mut self, other: &InAndOut) {
        self.submit_seconds += other.submit_seconds;
        self.submit_cost = self.submit_cost + other.submit_cost;
        self.drain_seconds += other.drain_seconds;
        self.drain_cost = self.drain_cost + other.drain_cost;
    }
}

/// Submits jobs, works them off, and fails unless each was handled exactly once.
pub(super) fn in_and_out(server: &Server, driver: &mut Driver, jobs: Jobs) -> Result<InAndOut> {
    let (submit_seconds, submit_cost) = measured(server, driver, |driver| driver.submit(jobs))?;
    let (drained, drain_cost) = measured(server, driver, |driver| driver.drain(jobs.count))?;
    exactly_once(jobs.first..jobs.first + jobs.count, &drained.started)?;
    let (drain_seconds, started) = (drained.seconds, drained.started);
    Ok(InAndOut { submit_seconds, submit_cost, drain_seconds, drain_cost, started })
}

/// What is told about one contender.
pub(super) struct Figures {
    pub(super) submit_rate: f64,
    pub(super) drain_rate: f64,
    pub(super) submit_server_us: f64,
    pub(super) drain_server_us: f64,
    pub(super) client_us: f64,
    pub(super) commands: f64,
    /// Cores that others kept busy meanwhile.
    pub(super) others: f64,
}

impl Figures {
    /// Per job, out of totals.
    pub(super) fn new(total: &InAndOut, n_jobs: f64) -> Figures {
        let InAndOut { submit_cost, drain_cost, .. } = total;
        let us_per_job = |seconds: f64| seconds * 1e6 / n_jobs;
        Figures {
            submit_rate: n_jobs / total.submit_seconds,
            drain_rate: n_jobs / total.drain_seconds,
            submit_server_us: us_per_job(submit_cost.server_seconds),
            drain_server_us: us_per_job(drain_cost.server_seconds),
            client_us: us_per_job(submit_cost.client_seconds + drain_cost.client_seconds),
            commands: (submit_cost.commands + drain_cost.commands) / n_jobs,
            others: (*submit_cost + *drain_cost).others(),
        }
    }

    /// Each figure's median over the rounds.
    pub(super) fn middle(turns: &[Figures]) -> Figures {
        let of =
            |figure: fn(&Figures) -> f64| median(&turns.iter().map(figure).collect::<Vec<f64>>());
        Figures {
            submit_rate: of(|turn| turn.submit_rate),
            drain_rate: of(|turn| turn.drain_rate),
            submit_server_us: of(|turn| turn.submit_server_us),
            drain_server_us: of(|turn| turn.drain_server_us),
            client_us: of(|turn| turn.client_us),
            commands: of(|turn| turn.commands),
            others: of(|turn| turn.others),
        }
    }

    /// The server's processor time for a job's whole life.
    pub(super) fn server_us(&self) -> f64 {
        self.submit_server_us + self.drain_server_us
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "in {:>8}/s, out {:>8}/s, Redis CPU {:5.1} µs, client CPU {:5.1} µs a job",
            whole(self.submit_rate),
            whole(self.drain_rate),
            self.server_us(),
            self.client_us,
        )
    }
}

/// How many times the reference's figure the subject's is: the median of the ratios within each round.
pub(super) fn ratio(
    subject: &[Figures],
    reference: &[Figures],
    figure: impl Fn(&Figures) -> f64,
) -> f64 {
    let rounds = subject.iter().zip(reference);
    median(&rounds.map(|(ours, theirs)| figure(ours) / figure(theirs)).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_per_job_and_their_middle_ignores_a_lucky_turn() {
        let turn = |drain_seconds| {
            let cost = |server_seconds, client_seconds, commands| Cost {
                server_seconds,
                client_seconds,
                commands,
                ..Cost::default()
            };
            let (submit_cost, drain_cost) = (cost(0.5, 0.25, 100.0), cost(1.0, 0.75, 300.0));
            let started = Vec::new();
            let total =
                InAndOut { submit_seconds: 2.0, submit_cost, drain_seconds, drain_cost, started };
            Figures::new(&total, 1_000.0)
        };
        let middle = Figures::middle(&[turn(4.0), turn(0.1), turn(5.0)]);
        assert_eq!((middle.submit_rate, middle.drain_rate), (500.0, 250.0));
        assert_eq!((middle.server_us(), middle.client_us, middle.commands), (1500.0, 1000.0, 0.4));
    }
}
