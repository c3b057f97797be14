//! Places that the queues of one worker share, given out by weight.
//!
//! A queue with weight 3 starts three jobs for one of a queue with weight 1, as long as both have jobs. What one queue does not
//! use, the others may. Each queue has a count of the places it got, divided by its weight. Among queues that may have jobs and
//! may run more, the one with the lowest count is next; the others get nothing until it has asked. It asks as soon as it can: it
//! hears of each change, and each of its calls ends.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The places of a worker.
#[derive(Debug)]
pub(super) struct Places {
    state: Mutex<State>,
    /// Counts up whenever somebody may get a place who could not before.
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    n_places: usize,
    queues: Vec<QueueState>,
    /// The count of the queue that got a place last, before it got it. Queues that had no jobs go on from here.
    count: f64,
}

#[derive(Debug)]
struct QueueState {
    weight: f64,
    /// The most jobs of the queue itself that run at once.
    concurrency: usize,
    /// Jobs that run, that wait for a moment, and that a call under way may bring.
    used: usize,
    /// Whether it may have jobs that wait: from when it asks for places until a claim brings fewer jobs than it could.
    has_jobs: bool,
    /// How many places it got, divided by its weight.
    count: f64,
}

/// What one queue may use of them. Dropped, it gives its places back.
#[derive(Debug)]
pub(super) struct PlacesOfQueue {
    places: Arc<Places>,
    queue: usize,
    changes: watch::Receiver<u64>,
}

impl Places {
    /// So many places, for queues of these weights that run at most so many jobs each.
    pub(super) fn share(
        n_places: usize,
        queues: impl Iterator<Item = (u32, usize)>,
    ) -> Vec<PlacesOfQueue> {
        let queue = |(weight, concurrency)| QueueState {
            weight: f64::from(weight),
            concurrency,
            used: 0,
            has_jobs: false,
            count: 0.0,
        };
        let state = State { n_places, queues: queues.map(queue).collect(), count: 0.0 };
        let n_queues = state.queues.len();
        let places = Arc::new(Places { state: Mutex::new(state), changes: watch::Sender::new(0) });
        let of_queue = |queue| {
            let changes = places.changes.subscribe();
            PlacesOfQueue { places: Arc::clone(&places), queue, changes }
        };
        (0..n_queues).map(of_queue).collect()
    }

    /// Changes the state, and wakes the queues if that lets somebody have a place.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> (T, bool)) -> T {
        let (value, is_news) = change(&mut self.state.lock());
        if is_news {
            self.changes.send_modify(|n| *n += 1);
        }
        value
    }
}

impl State {
    /// The lowest count among the other queues that could use a place, and the first queue that has it.
    fn next_of_others(&self, queue: usize) -> Option<(f64, usize)> {
        let could_use = |of: &QueueState| of.has_jobs && of.used < of.concurrency;
        let others = self.queues.iter().enumerate();
        let others = others.filter(|(at, of)| *at != queue && could_use(of));
        others.map(|(at, of)| (of.count, at)).min_by(|one, other| one.0.total_cmp(&other.0))
    }

    fn grant(&mut self, queue: usize, wanted: usize) -> usize {
        let n_used: usize = self.queues.iter().map(|of| of.used).sum();
        let next = self.next_of_others(queue);
        let count = self.count;
        let of = &mut self.queues[queue];
        // Time without jobs is not made up for.
        if !std::mem::replace(&mut of.has_jobs, true) {
            of.count = of.count.max(count);
        }
        let n = match next {
            None => wanted,
            Some(next) if (of.count, queue) < next => wanted.min(of.weight as usize),
            Some(_) => 0,
        };
        let n = n.min(self.n_places.saturating_sub(n_used));
        if n > 0 {
            self.count = of.count;
            of.used += n;
            of.count += n as f64 / of.weight;
        }
        n
    }
}

impl PlacesOfQueue {
    /// Asks for places for jobs that may wait, and gets as many as it may have now. Whoever gets fewer asks again after a change.
    pub(super) fn grant(&mut self, wanted: usize) -> usize {
        self.changes.mark_unchanged();
        self.places.change(|state| {
            let n = state.grant(self.queue, wanted);
            (n, n > 0)
        })
    }

    /// Takes note of how many places the queue uses.
    pub(super) fn set_used(&self, n: usize) {
        self.places.change(|state| {
            let before = std::mem::replace(&mut state.queues[self.queue].used, n);
            ((), n < before)
        });
    }

    /// Takes note of places for which there was no job. They cost no turn.
    pub(super) fn not_filled(&self, n: usize) {
        self.places.change(|state| {
            let of = &mut state.queues[self.queue];
            of.count -= n as f64 / of.weight;
            of.has_jobs = false;
            ((), true)
        });
    }

    /// Lets the others have what it could use, until it asks again.
    pub(super) fn rest(&self) {
        self.places.change(|state| {
            let had_jobs = std::mem::replace(&mut state.queues[self.queue].has_jobs, false);
            ((), had_jobs)
        });
    }

    /// Resolves when it may be given places that it was not given before; without shared places, never.
    pub(super) async fn changed(places: &mut Option<PlacesOfQueue>) {
        let Some(places) = places else { return std::future::pending().await };
        if places.changes.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for PlacesOfQueue {
    fn drop(&mut self) {
        self.places.change(|state| {
            let of = &mut state.queues[self.queue];
            (of.used, of.has_jobs) = (0, false);
            ((), true)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: usize = 100;

    fn two(n_places: usize, weights: [u32; 2]) -> Vec<PlacesOfQueue> {
        Places::share(n_places, weights.into_iter().map(|weight| (weight, ANY)))
    }

    /// Two queues that always have jobs, each of which ends at once: how many each was given after so many turns.
    fn turns(n_places: usize, weights: [u32; 2], n_turns: usize) -> [usize; 2] {
        let mut queues = two(n_places, weights);
        let mut given = [0, 0];
        for _ in 0..n_turns {
            for (at, queue) in queues.iter_mut().enumerate() {
                let n = queue.grant(n_places);
                given[at] += n;
                queue.set_used(0);
            }
        }
        given
    }

    #[test]
    fn queues_that_have_jobs_get_places_by_weight() {
        for n_places in [1, 2, 3, 10] {
            let [first, second] = turns(n_places, [3, 1], 400);
            assert!(second >= 100, "{n_places} places: {first} and {second}");
            let share = first as f64 / second as f64;
            assert!((2.9..3.1).contains(&share), "{n_places} places: {first} and {second}");
        }
    }

    #[test]
    fn a_queue_alone_gets_all_places_and_never_more() {
        let mut queues = two(5, [1, 1]);
        assert_eq!(queues[0].grant(100), 5);
        assert_eq!(queues[1].grant(100), 0);
        queues[0].set_used(3);
        assert_eq!(queues[0].grant(100), 0, "the other waits and has had none");
        assert_eq!(queues[1].grant(100), 1, "a turn");
        assert_eq!(queues[0].grant(100), 0, "it still has had fewer");
        assert_eq!(queues[1].grant(100), 1);
        assert_eq!(queues[1].grant(100), 0, "no place is left");
    }

    #[test]
    fn a_queue_that_had_no_jobs_does_not_make_up_for_it() {
        let mut queues = two(1, [1, 1]);
        for _ in 0..50 {
            assert_eq!(queues[0].grant(1), 1);
            queues[0].set_used(0);
        }
        let mut given = [0, 0];
        for _ in 0..20 {
            for at in [1, 0] {
                given[at] += queues[at].grant(1);
                queues[at].set_used(0);
            }
        }
        assert!(given[0].abs_diff(given[1]) <= 1, "{given:?}");
    }

    #[test]
    fn a_queue_that_was_alone_for_long_is_not_held_back_for_it() {
        let mut queues = two(1, [1, 1]);
        for _ in 0..50 {
            assert_eq!(queues[0].grant(1), 1);
            queues[0].set_used(0);
        }
        assert_eq!(queues[0].grant(1), 1);
        queues[0].not_filled(1);
        queues[0].set_used(0);
        // While it has no jobs, the other one begins.
        assert_eq!(queues[1].grant(1), 1);
        queues[1].set_used(0);
        let mut given = [0, 0];
        for _ in 0..20 {
            for at in [1, 0] {
                given[at] += queues[at].grant(1);
                queues[at].set_used(0);
            }
        }
        assert!(given[0].abs_diff(given[1]) <= 2, "{given:?}");
    }

    #[test]
    fn a_queue_whose_claim_is_under_way_keeps_its_turn() {
        let mut queues = two(2, [3, 1]);
        assert_eq!(queues[0].grant(1), 1);
        assert_eq!(queues[1].grant(1), 1);
        queues[1].set_used(0);
        // The claim of the first is not answered yet, and it has had one of its three turns.
        assert_eq!(queues[1].grant(1), 0);
        assert_eq!(queues[0].grant(1), 1);
    }

    #[test]
    fn a_queue_that_rests_holds_nobody_up() {
        let mut queues = two(2, [100, 1]);
        assert_eq!(queues[0].grant(1), 1);
        assert_eq!(queues[1].grant(1), 1);
        queues[1].set_used(0);
        assert_eq!(queues[1].grant(1), 0);
        queues[0].rest();
        assert_eq!(queues[1].grant(1), 1);
    }

    #[test]
    fn a_claim_that_brought_nothing_costs_no_turn_and_holds_nobody_up() {
        let mut queues = two(2, [1, 1]);
        assert_eq!(queues[0].grant(2), 2);
        queues[0].set_used(0);
        queues[0].not_filled(2);
        assert_eq!(queues[1].grant(2), 2);
    }

    #[test]
    fn a_queue_that_has_all_it_can_run_holds_nobody_up() {
        let mut queues = Places::share(5, [(100, 2), (1, 5)].into_iter());
        assert_eq!(queues[1].grant(5), 5);
        assert_eq!(queues[0].grant(2), 0);
        queues[1].set_used(0);
        assert_eq!(queues[0].grant(2), 2);
        assert_eq!(queues[1].grant(5), 3);
    }

    #[test]
    fn places_of_a_queue_that_has_stopped_are_for_others() {
        let mut queues = two(2, [1, 1]);
        assert_eq!(queues[0].grant(2), 2);
        let mut other = queues.pop().expect("two queues");
        assert_eq!(other.grant(2), 0);
        drop(queues);
        assert_eq!(other.grant(2), 2);
    }

    #[tokio::test]
    async fn a_queue_without_a_place_hears_of_one() {
        let mut queues = Places::share(1, [(1, 1), (1, 1)].into_iter());
        let mut waiting = queues.pop();
        let mut running = queues.pop().expect("two queues");
        assert_eq!(running.grant(1), 1);
        let waits = waiting.as_mut().expect("places");
        assert_eq!(waits.grant(1), 0);
        running.set_used(0);
        PlacesOfQueue::changed(&mut waiting).await;
        assert_eq!(waiting.expect("places").grant(1), 1);
    }
}
