//! Looking for the next request without going to sleep, while requests come from all sides.
//!
//! A server that is a little quicker than its clients runs out of requests for some microseconds at a time. To sleep for
//! so long is the wrong thing to do: whoever sends the next request has to wake the server's thread, which takes the
//! sender longer than the pause was. So one connection asks the runtime a few more times whether something has come.
//! Where that is seldom so, it is seldom tried.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
};

/// How often in a row to look without result before the thread may sleep. One look takes about a microsecond.
const LOOKS_MAX: u32 = 32;
/// How many chances to look are let go by, at most, when the last ones brought nothing.
const SKIPPED_MAX: u32 = 63;

/// What the connections of a listener know of each other.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// How often a connection has received something.
    n_received: AtomicU64,
    /// Whether somebody is on the lookout; one is enough, as it makes the runtime look for all.
    is_watched: AtomicBool,
    /// How many chances to let go by after a lookout in vain, and how many are left of them.
    n_skipped: AtomicU32,
    n_to_skip: AtomicU32,
}

/// One connection's share in it.
#[derive(Debug)]
pub(super) struct Lookout {
    traffic: Arc<Traffic>,
    /// The count when this connection last received something.
    last: u64,
}

impl Lookout {
    pub(super) fn new(traffic: Arc<Traffic>) -> Lookout {
        Lookout { traffic, last: 0 }
    }

    /// Notes that this connection has received something. Returns whether others have too since it last did: a client
    /// that is alone waits for each answer, and its server may as well sleep meanwhile.
    pub(super) fn note_received(&mut self) -> bool {
        let before = self.traffic.n_received.fetch_add(1, Relaxed);
        std::mem::replace(&mut self.last, before + 1) != before
    }

    /// Goes on the lookout, unless somebody else is, or it is hardly worth it.
    pub(super) fn begin(&self) -> Option<Watch> {
        let Traffic { n_received, is_watched, n_to_skip, .. } = &*self.traffic;
        if is_watched.load(Relaxed) || is_watched.swap(true, Relaxed) {
            return None;
        }
        // Only who has the watch changes this, so nobody comes in between.
        let n_left = n_to_skip.load(Relaxed);
        if n_left > 0 {
            n_to_skip.store(n_left - 1, Relaxed);
            is_watched.store(false, Relaxed);
            return None;
        }
        let n_seen = n_received.load(Relaxed);
        Some(Watch { traffic: self.traffic.clone(), n_seen, n_looks: 0, has_found: false })
    }
}

/// Being on the lookout; ends on drop.
#[derive(Debug)]
pub(super) struct Watch {
    traffic: Arc<Traffic>,
    n_seen: u64,
    /// Looks since somebody received something.
    n_looks: u32,
    /// Whether anything came at all.
    has_found: bool,
}

impl Watch {
    /// Whether to look once more.
    pub(super) fn goes_on(&mut self) -> bool {
        let n_received = self.traffic.n_received.load(Relaxed);
        if std::mem::replace(&mut self.n_seen, n_received) != n_received {
            self.n_looks = 0;
            self.has_found = true;
        }
        self.n_looks += 1;
        self.n_looks <= LOOKS_MAX
    }

    /// Notes that the connection on the lookout has received something itself.
    pub(super) fn note_found(&mut self) {
        self.has_found = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Traffic { n_skipped, n_to_skip, is_watched, .. } = &*self.traffic;
        let n = if self.has_found { 0 } else { (2 * n_skipped.load(Relaxed) + 1).min(SKIPPED_MAX) };
        n_skipped.store(n, Relaxed);
        n_to_skip.store(n, Relaxed);
        is_watched.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(watch: &mut Watch) -> u32 {
        (0..).take_while(|_| watch.goes_on()).count() as u32
    }

    #[test]
    fn only_one_is_on_the_lookout_and_only_for_a_while() {
        let traffic = Arc::<Traffic>::default();
        let [mut one, mut other] = [(); 2].map(|()| Lookout::new(traffic.clone()));
        assert!(!one.note_received() && !one.note_received(), "a client that is alone");
        assert!(other.note_received() && one.note_received());
        let mut watch = one.begin().expect("nobody was on the lookout");
        assert!(other.begin().is_none());
        assert_eq!(looks(&mut watch), LOOKS_MAX);
        other.note_received();
        assert_eq!(looks(&mut watch), LOOKS_MAX, "there is traffic again");
        drop(watch);
        assert!(other.begin().is_some());
    }

    #[test]
    fn what_was_in_vain_is_tried_less_and_less_until_it_is_not() {
        let lookout = Lookout::new(Arc::default());
        let chances = |lookout: &Lookout| (1..).find(|_| lookout.begin().is_some()).unwrap_or(0);
        let waits: Vec<u32> = (0..8).map(|_| chances(&lookout)).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64]);
        let mut watch = (0..64).find_map(|_| lookout.begin()).expect("it is tried again");
        watch.note_found();
        drop(watch);
        assert!(lookout.begin().is_some());
    }
}
