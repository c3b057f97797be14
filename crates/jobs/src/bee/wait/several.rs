//! Claims of one worker at several queues, which take turns by weight.
//!
//! Each turn goes to the queue with the highest credit. Before it, every queue gets its weight as credit; after it, the chosen
//! one pays the sum of all weights. So a queue of weight 3 has three turns for one of a queue of weight 1, and they are spread
//! evenly. What a queue cannot use is for the others.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt as _, future::try_join_all, stream::FuturesUnordered};
use parking_lot::Mutex;

use super::{Claim, ClaimGuard, Waiters};
use crate::{Error, bee::keys::QueueName};

/// Workers whose credits are remembered. With more, all begin anew, which costs fairness for a moment and nothing else.
const WORKERS_MAX: usize = 10_000;

/// The queues of a worker, and what it may claim at each: the maximum of a claim is for all of them together.
#[derive(Debug, Clone)]
pub struct WeightedClaim {
    /// The claim at this queue.
    pub claim: Claim,
    /// How many turns the queue has for one of a queue of weight 1.
    pub weight: u32,
}

/// What each worker's queues have left of their turns.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<String, HashMap<QueueName, i64>>>);

impl Turns {
    /// How many of the next `n` turns each of the queues has, in the order given, and all of them in the order in which they
    /// are next after that.
    fn take(&self, worker: &str, queues: &[WeightedClaim], n: usize) -> (Vec<usize>, Vec<usize>) {
        let mut workers = self.0.lock();
        if workers.len() >= WORKERS_MAX && !workers.contains_key(worker) {
            workers.clear();
        }
        let credits = workers.entry(worker.to_owned()).or_default();
        credits.retain(|queue, _| queues.iter().any(|of| of.claim.queue == *queue));
        let mut left: Vec<i64> = queues
            .iter()
            .map(|of| credits.get(&of.claim.queue).copied().unwrap_or_default())
            .collect();
        let sum: i64 = queues.iter().map(|of| i64::from(of.weight)).sum();
        let mut turns = vec![0; queues.len()];
        for _ in 0..n {
            for (credit, of) in left.iter_mut().zip(queues) {
                *credit += i64::from(of.weight);
            }
            // The first of equal ones.
            let highest = (0..left.len()).rev().max_by_key(|at| left[*at]).unwrap_or_default();
            left[highest] -= sum;
            turns[highest] += 1;
        }
        for (credit, of) in left.iter().zip(queues) {
            credits.insert(of.claim.queue.clone(), *credit);
        }
        let mut next: Vec<usize> = (0..queues.len()).collect();
        next.sort_by_key(|at| std::cmp::Reverse(left[*at]));
        (turns, next)
    }
}

impl Waiters {
    /// Claims up to `max` jobs at several queues; when there are none, waits for some. `worker` is the name under which the
    /// turns of the queues are remembered. Returns what came of each queue that was asked, also if that is nothing.
    ///
    /// Dropping the future, or what it returns, gives the jobs back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn claim_several(
        &self,
        worker: &str,
        queues: &[WeightedClaim],
        max: usize,
        wait: Duration,
    ) -> Result<Vec<ClaimGuard>, Error> {
        let (turns, next) = self.turns.take(worker, queues, max);
        let guards = self.claim_by_turns(queues, max, &turns, &next).await?;
        if wait.is_zero() || guards.iter().any(|guard| !guard.is_empty()) {
            return Ok(guards);
        }
        let at_each = move |of: &WeightedClaim| {
            let claim = Claim { max, ..of.claim.clone() };
            async move { self.claim(&claim, wait).await }
        };
        let mut waiting: FuturesUnordered<_> = queues.iter().map(at_each).collect();
        let mut empty = Vec::new();
        while let Some(claimed) = waiting.next().await {
            let guard = claimed?;
            if !guard.is_empty() {
                // Those that wait at the other queues are dropped, and what they are just being given goes back.
                return Ok(vec![guard]);
            }
            empty.push(guard);
        }
        Ok(empty)
    }

    /// Gives each queue its turns, and what is left of them to the others.
    async fn claim_by_turns(
        &self,
        queues: &[WeightedClaim],
        max: usize,
        turns: &[usize],
        next: &[usize],
    ) -> Result<Vec<ClaimGuard>, Error> {
        let has_turn = (0..queues.len()).filter(|at| turns[*at] > 0);
        let mut guards = try_join_all(has_turn.clone().map(|at| {
            let claim = Claim { max: turns[at], ..queues[at].claim.clone() };
            async move { self.claim(&claim, Duration::ZERO).await }
        }))
        .await?;
        // Whether a queue may have more jobs than it had turns.
        let filled: HashMap<usize, bool> = has_turn
            .zip(&guards)
            .map(|(at, guard)| (at, guard.claimed().jobs.len() == turns[at]))
            .collect();
        let mut left = max - guards.iter().map(|guard| guard.claimed().jobs.len()).sum::<usize>();
        for at in next.iter().copied().filter(|at| *filled.get(at).unwrap_or(&true)) {
            if left == 0 {
                break;
            }
            let claim = Claim { max: left, ..queues[at].claim.clone() };
            let guard = self.claim(&claim, Duration::ZERO).await?;
            left -= guard.claimed().jobs.len();
            guards.push(guard);
        }
        Ok(guards)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bee::{
        Hive, Submission, keys::WorkerId, sweep::WorkerTimeouts, test_support::simulated_hive,
    };

    const QUEUES: [(&str, u32); 2] = [("big", 3), ("small", 1)];

    fn claims() -> Vec<WeightedClaim> {
        let of = |(queue, weight)| WeightedClaim {
            claim: Claim {
                queue: QueueName::new(queue).expect("a queue"),
                worker: WorkerId::new(format!("w:0:http:{queue}")).expect("a worker"),
                max: 1,
                lock: WorkerTimeouts::KEYRACK.lock,
            },
            weight,
        };
        QUEUES.into_iter().map(of).collect()
    }

    async fn fill(hive: &Hive, queue: &str, n: usize) {
        let queue = QueueName::new(queue).expect("a queue");
        let jobs = (0..n).map(|n| Submission::to(queue.clone()).arg(n)).collect();
        hive.submit_many(jobs).await.expect("submitted");
    }

    /// How many jobs of each queue a claim of so many brings.
    async fn claim(waiters: &Waiters, max: usize) -> BTreeMap<String, usize> {
        let guards = waiters.claim_several("w", &claims(), max, Duration::ZERO).await;
        let mut found = BTreeMap::new();
        for job in guards.expect("claimed").into_iter().flat_map(|guard| guard.keep().jobs) {
            *found.entry(job.queue().to_owned()).or_default() += 1;
        }
        found
    }

    fn of(big: usize, small: usize) -> BTreeMap<String, usize> {
        let both = [("big".to_owned(), big), ("small".to_owned(), small)];
        both.into_iter().filter(|(_, n)| *n > 0).collect()
    }

    #[tokio::test]
    async fn a_queue_of_weight_3_has_three_turns_for_one_of_weight_1() {
        let (hive, _) = simulated_hive().await;
        let waiters = Waiters::new(&hive);
        for (queue, _) in QUEUES {
            fill(&hive, queue, 100).await;
        }
        let mut one_by_one = BTreeMap::new();
        for _ in 0..20 {
            for (queue, n) in claim(&waiters, 1).await {
                *one_by_one.entry(queue).or_default() += n;
            }
        }
        assert_eq!(one_by_one, of(15, 5));
        assert_eq!(claim(&waiters, 40).await, of(30, 10));
    }

    #[tokio::test]
    async fn what_one_queue_cannot_use_is_for_the_other() {
        let (hive, _) = simulated_hive().await;
        let waiters = Waiters::new(&hive);
        fill(&hive, "small", 12).await;
        assert_eq!(claim(&waiters, 1).await, of(0, 1));
        assert_eq!(claim(&waiters, 8).await, of(0, 8));
        fill(&hive, "big", 1).await;
        assert_eq!(claim(&waiters, 8).await, of(1, 3));
        assert_eq!(claim(&waiters, 8).await, of(0, 0));
    }

    #[tokio::test]
    async fn who_waits_at_several_queues_gets_the_job_that_comes_first() {
        let (hive, _) = simulated_hive().await;
        let waiters = Waiters::new(&hive);
        let claims = claims();
        let mut waiting =
            std::pin::pin!(waiters.claim_several("w", &claims, 5, Duration::from_secs(60)));
        let listens = async {
            loop {
                let heard = waiters.queues.lock().len() == QUEUES.len();
                if heard {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = &mut waiting => panic!("there is nothing to claim"),
            () = listens => {}
        }
        fill(&hive, "small", 1).await;
        let guards = waiting.await.expect("claimed");
        let jobs: Vec<_> = guards.into_iter().flat_map(|guard| guard.keep().jobs).collect();
        assert_eq!(jobs.iter().map(|job| job.queue()).collect::<Vec<_>>(), ["small"]);
    }
}
