//! Bringing events to all who watch.
//!
//! There is one room for each journey that is watched, however many do: it listens to the channel, makes the text of each event once,
//! and keeps the latest for a moment. Watchers come by and pick up what they want a few times a second, and are not woken for each
//! event: a thousand of them at two hundred events a second would be.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use keyrack_store as store;
use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    event::Event,
    journeys::Journeys,
    keys::{self, JourneyUid},
    view::View,
};

/// How long an event waits for others to go along. The original waits for 250 ms, which alone is as late as an event may be at a
/// thousand watchers; after 100 ms there is time left for the way, and nobody gets more than ten packets a second.
const BATCH_DELAY: Duration = Duration::from_millis(100);

/// Events that are kept for those who come by: more than anybody may see in the time between.
const KEPT_MAX: usize = 8192;

/// How soon a store that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// All journeys that are watched. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Live {
    journeys: Journeys,
    rooms: Broadcasts,
}

type Broadcasts = Arc<Mutex<HashMap<JourneyUid, Weak<Broadcast>>>>;

/// An event that came.
#[derive(Debug)]
pub struct ReceivedEvent {
    /// When.
    at: Instant,
    journey_time: f64,
    /// The event as watchers get it.
    pub text: String,
}

/// The events of one journey, as they come. Closes when nobody watches any more.
#[derive(Debug)]
struct Broadcast {
    uid: JourneyUid,
    kept: Arc<Kept>,
    listening: AbortHandle,
    rooms: Broadcasts,
}

#[derive(Debug)]
struct Kept {
    latest: Mutex<Latest>,
    /// How many have come.
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Latest {
    /// How many were here before the first of these.
    gone: u64,
    events: VecDeque<Arc<ReceivedEvent>>,
}

/// Somebody who watches a journey.
#[derive(Debug)]
pub struct Watcher {
    _room: Arc<Broadcast>,
    kept: Arc<Kept>,
    count: watch::Receiver<u64>,
    /// How many events were looked at.
    seen: u64,
    view: View,
    pending: Vec<Arc<ReceivedEvent>>,
}

impl Live {
    /// Nobody watches yet.
    pub fn new(journeys: Journeys) -> Live {
        Live { journeys, rooms: Arc::default() }
    }

    /// Watches a journey: what is published from now on is seen.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn watch(&self, uid: &JourneyUid, view: View) -> Result<Watcher, crate::Error> {
        let present = self.rooms.lock().get(uid).and_then(Weak::upgrade);
        let room = match present {
            Some(room) => room,
            None => self.open(uid).await?,
        };
        let kept = room.kept.clone();
        let count = kept.count.subscribe();
        let seen = *count.borrow();
        Ok(Watcher { _room: room, kept, count, seen, view, pending: Vec::new() })
    }

    /// How many journeys are watched.
    pub fn rooms(&self) -> usize {
        self.rooms.lock().len()
    }

    /// How many watch a journey through this process.
    pub fn watchers(&self, uid: &JourneyUid) -> usize {
        self.rooms.lock().get(uid).map_or(0, Weak::strong_count)
    }

    async fn open(&self, uid: &JourneyUid) -> Result<Arc<Broadcast>, crate::Error> {
        let heard = self.journeys.store().subscribe(&[keys::events(uid)]).await?;
        let mut rooms = self.rooms.lock();
        // Somebody else may have been faster.
        if let Some(room) = rooms.get(uid).and_then(Weak::upgrade) {
            return Ok(room);
        }
        let kept = Arc::new(Kept { latest: Mutex::default(), count: watch::Sender::new(0) });
        let listening = listen(self.journeys.clone(), uid.clone(), heard, kept.clone());
        let listening = tokio::spawn(listening).abort_handle();
        let room =
            Arc::new(Broadcast { uid: uid.clone(), kept, listening, rooms: self.rooms.clone() });
        rooms.insert(uid.clone(), Arc::downgrade(&room));
        Ok(room)
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        self.listening.abort();
        let mut rooms = self.rooms.lock();
        // Another room for the same journey may be open by now.
        if rooms.get(&self.uid).is_some_and(|room| room.strong_count() == 0) {
            rooms.remove(&self.uid);
        }
    }
}

async fn listen(
    journeys: Journeys,
    uid: JourneyUid,
    mut heard: store::Subscription,
    kept: Arc<Kept>,
) {
    loop {
        match heard.next().await {
            Some(store::Event::Message(message)) => kept.add(&message.payload),
            // What was missed was live, and is over.
            Some(store::Event::Gap) => {}
            None => match journeys.store().subscribe(&[keys::events(&uid)]).await {
                Ok(again) => heard = again,
                Err(error) => {
                    tracing::warn!(%error, "could not listen to a journey");
                    sleep(RETRY_PAUSE).await;
                }
            },
        }
    }
}

impl Kept {
    /// Keeps an event that was published, by whomever; what is none is passed over.
    fn add(&self, message: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Event>(message) else {
            tracing::debug!("something else was published as an event of a journey");
            return;
        };
        let heard = Arc::new(ReceivedEvent {
            at: Instant::now(),
            journey_time: event.journey_time,
            text: text(&event),
        });
        let mut latest = self.latest.lock();
        if latest.events.len() == KEPT_MAX {
            latest.events.pop_front();
            latest.gone += 1;
        }
        latest.events.push_back(heard);
        let count = latest.gone + latest.events.len() as u64;
        drop(latest);
        self.count.send_replace(count);
    }
}

fn text(event: &Event) -> String {
    json!({
        "uid": event.uid,
        "user_sub": event.user_sub,
        "session_uid": event.session_uid,
        "evtype": event.evtype,
        "journey_time": event.journey_time,
        "data": event.data,
    })
    .to_string()
}

impl Watcher {
    /// The watcher's clock.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The next events that are seen: at least one, and all that come within a moment of it. May be dropped and called again.
    pub async fn batch(&mut self) -> Vec<Arc<ReceivedEvent>> {
        loop {
            self.look();
            if let Some(first) = self.pending.first() {
                sleep_until(first.at + BATCH_DELAY).await;
                self.look();
                return std::mem::take(&mut self.pending);
            }
            if self.count.changed().await.is_err() {
                // The room holds the other end, and this value holds the room.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Takes up what has come since the last look.
    fn look(&mut self) {
        self.count.borrow_and_update();
        let latest = self.kept.latest.lock();
        // Whoever was away for too long has missed something.
        let from = self.seen.saturating_sub(latest.gone) as usize;
        for heard in latest.events.iter().skip(from) {
            if self.view.sees(heard.at, heard.journey_time) {
                self.pending.push(heard.clone());
            }
        }
        self.seen = latest.gone + latest.events.len() as u64;
    }
}
