//! What may follow what in the history of a job.

use super::{
    facts::{Fact, Place},
    seen::Entry,
};

/// Checks that a history is one that a job can have, and that it tells the ends that the job had.
pub(super) fn check(jid: &str, job: &Fact, history: &[Entry]) -> Result<(), String> {
    let all: Vec<&str> = history.iter().map(|entry| entry.event.as_str()).collect();
    check_changes(jid, &all)?;
    // A change says nothing about where a job is.
    let events: Vec<&str> = all.iter().copied().filter(|event| *event != "changed").collect();
    if events.first() != Some(&"submitted") {
        return Err(format!("the history of {jid} begins with {:?}", events.first()));
    }
    for pair in events.windows(2) {
        let is_held =
            !job.asked.limits.is_empty() && matches!(pair, ["queued" | "released", "delayed"]);
        let is_anew =
            WAITS.contains(&pair[0]) && PLACES.contains(&pair[1]) && all.contains(&"changed");
        if !may_follow(pair[0]).contains(&pair[1]) && !is_anew && !is_held {
            return Err(format!(
                "in the history of {jid}, {} follows {}: {events:?}",
                pair[1], pair[0]
            ));
        }
    }
    if history.windows(2).any(|pair| pair[0].timestamp > pair[1].timestamp) {
        return Err(format!("the history of {jid} goes back in time: {history:?}"));
    }
    let count = |names: &[&str]| events.iter().filter(|event| names.contains(event)).count();
    let ends = count(&["completed", "failed", "duplicate", "expired"]);
    if ends != job.ends || ends > job.restarts + 1 {
        let (must, restarts) = (job.ends, job.restarts);
        return Err(format!(
            "{jid} ended {ends} times, not {must}, with {restarts} restarts: {events:?}"
        ));
    }
    let claims = count(&["popped"]) as u64;
    if claims != job.attempts - job.unseen {
        return Err(format!(
            "{jid} was claimed {} times, {} of them unseen, but its history tells {claims}",
            job.attempts, job.unseen
        ));
    }
    let from_reservations =
        events.windows(2).filter(|pair| is_out_of_a_reservation(pair)).count() as u64;
    if from_reservations > job.unseen {
        return Err(format!("{jid} lost a worker that it had not, {}: {events:?}", job.unseen));
    }
    let last = events.last().copied().unwrap_or_default();
    // A limit that it names holds it, or has.
    let is_held = job.place == Place::Ready && !job.asked.limits.is_empty() && last == "delayed";
    if !is_last_of(&job.place, last) && !is_held {
        return Err(format!("the history of {jid}, which is {:?}, ends with {last}", job.place));
    }
    Ok(())
}

/// What a job is told of when it waits, and when a change puts it elsewhere.
const WAITS: [&str; 5] = ["queued", "parked", "delayed", "released", "retriedByHand"];
const PLACES: [&str; 3] = ["queued", "parked", "delayed"];

/// Only a job that waits is changed.
fn check_changes(jid: &str, events: &[&str]) -> Result<(), String> {
    let may_be_changed =
        |event: &str| WAITS.contains(&event) || ["changed", "dependancyWaiting"].contains(&event);
    match events.windows(2).find(|pair| pair[1] == "changed" && !may_be_changed(pair[0])) {
        Some(pair) => Err(format!("{jid} was changed after {}: {events:?}", pair[0])),
        None => Ok(()),
    }
}

/// Whether a job was given back or taken away that nobody had seen to run.
fn is_out_of_a_reservation(pair: &[&str]) -> bool {
    matches!(pair, ["queued" | "released", "released" | "expiredLock"])
}

fn may_follow(event: &str) -> &'static [&'static str] {
    match event {
        "submitted" => &["queued", "parked", "delayed", "dependancyWaiting"],
        "dependancyWaiting" => &["queued", "parked", "delayed", "canceled", "expired"],
        "delayed" => &["queued", "parked", "canceled", "expired"],
        "parked" => &["queued", "delayed", "canceled", "expired"],
        // Of a tenant that may not start more.
        "queued" => {
            &["popped", "parked", "released", "expiredLock", "delayed", "canceled", "expired"]
        }
        "popped" => &[
            "completed",
            "exception",
            "snoozed",
            "duplicate",
            "released",
            "expiredLock",
            "canceled",
        ],
        "snoozed" => &["delayed"],
        // A tenant's job goes back to its tenant's others first.
        "released" => {
            &["popped", "queued", "parked", "released", "expiredLock", "canceled", "expired"]
        }
        "exception" => &["failed", "delayed"],
        "expiredLock" => &["failed", "queued", "parked"],
        // Expiry leaves no entry, and what has expired may be run again.
        "completed" => &["canceled", "retriedByHand"],
        "duplicate" => &["canceled"],
        "failed" | "canceled" | "expired" => &["canceled", "retriedByHand"],
        "retriedByHand" => &["queued", "parked"],
        _ => &[],
    }
}

fn is_last_of(place: &Place, event: &str) -> bool {
    let last: &[&str] = match place {
        Place::Waiting => &["dependancyWaiting"],
        Place::Delayed { .. } => &["delayed"],
        Place::Ready => &["queued", "parked", "released"],
        Place::Reserved { .. } => &["queued", "released"],
        Place::Running { .. } => &["popped"],
        Place::Completed => &["completed"],
        Place::Failed => &["failed"],
        Place::Duplicate => &["duplicate"],
        Place::Canceled => &["canceled"],
        Place::Expired => &["completed", "failed", "expired"],
    };
    last.contains(&event)
}
