//! A store with nothing in it, on a clock that is moved by hand.

use std::{sync::Arc, time::Instant};

use keyrack_engine::SimulatedHost;
use keyrack_store::{Kind, Options, Store};
use keyrack_testkit::simulated_store;

use super::keyspace;

pub(super) struct World {
    pub(super) store: Store,
    clock: SimulatedHost,
    began_at: u64,
    /// A server's own clock goes on by itself.
    opened: Instant,
}

impl World {
    /// A world at this time: on a server that is emptied first, or on an embedded engine.
    pub(super) async fn empty(server: Option<&str>, now_ms: u64) -> World {
        let (store, clock) = match server {
            None => simulated_store(now_ms, 1).await,
            Some(url) => {
                let clock = SimulatedHost::new(now_ms, 1);
                let options =
                    Options { clock: Some(Arc::new(clock.clone())), ..Options::default() };
                let url = url.parse().expect("a good URL");
                let store = Store::open_with(url, options).await.expect("a server");
                let mut connection = store.connection();
                let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.expect("empty");
                (store, clock)
            }
        };
        World { store, clock, began_at: now_ms, opened: Instant::now() }
    }

    /// Lets time pass until then.
    pub(super) async fn wait_until(&self, now_ms: u64) {
        let ms = now_ms.checked_sub(self.clock.now_ms()).expect("time goes on");
        self.clock.advance_ms(ms);
        match self.store.engine() {
            Some(engine) => engine.tick(),
            None => keyspace::grow_older(&self.store, ms).await,
        }
    }

    /// The most by which keys may have grown older since the beginning.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.clock.now_ms() - self.began_at + self.unasked_ms()
    }

    /// How much time has passed, at the most, that was not meant to: a server has a clock of its own.
    pub(super) fn unasked_ms(&self) -> u64 {
        match self.store.kind() {
            Kind::Embedded => 0,
            // A millisecond for the fraction, one for the server's rounding.
            _ => self.opened.elapsed().as_millis() as u64 + 2,
        }
    }
}
