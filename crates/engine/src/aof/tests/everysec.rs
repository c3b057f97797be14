//! What `everysec` puts at risk: nothing that could be in the system's cache, and a second's worth at most.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering::SeqCst},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{
    fake_disk::{FakeDisk, keys_of},
    *,
};

/// Whether a writer of `position` would be answered now.
fn is_acknowledged(log: &Log, position: u64) -> bool {
    let mut committed = pin!(log.committed(position));
    match committed.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result.is_ok(),
        Poll::Pending => false,
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[test]
fn writes_reach_the_system_while_a_sync_takes_its_time() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = disk.start(&world, options(Fsync::EverySec));
    let gate = disk.0.sync_gate.lock();
    log.append(&set("a", "1"));
    wait_until(|| disk.0.syncs_begun.load(SeqCst) == 1);
    for key in ["b", "c"] {
        log.append(&set(key, "2"));
        wait_until(|| keys_of(&disk.contents()).0.last().is_some_and(|last| last == key));
    }
    drop(gate);
    log.close().unwrap();
    assert_eq!(keys_of(&disk.contents()).0, ["a", "b", "c"]);
}

#[test]
fn a_disk_that_is_a_second_behind_makes_writers_wait() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = disk.start(&world, options(Fsync::EverySec));
    let gate = disk.0.sync_gate.lock();
    let started_at = Instant::now();
    let first = log.append(&set("a", "1"));
    assert!(is_acknowledged(&log, first));
    wait_until(|| !is_acknowledged(&log, first));
    let elapsed = started_at.elapsed();
    assert!(elapsed >= Duration::from_secs(1), "acknowledged for {elapsed:?} only");
    let later = log.append(&set("b", "2"));
    assert!(!is_acknowledged(&log, later));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| log.wait_committed(later));
        drop(gate);
        waiting.join().unwrap().unwrap();
    });
    // After a pause without writes nothing is late.
    wait_until(|| is_acknowledged(&log, log.append(&set("c", "3"))));
    log.close().unwrap();
}

#[test]
fn always_covers_what_a_sync_in_the_background_does_not() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = disk.start(&world, options(Fsync::EverySec));
    let gate = disk.0.sync_gate.lock();
    log.append(&set("a", "1"));
    wait_until(|| disk.0.syncs_begun.load(SeqCst) == 1);
    let position = log.append(&set("b", "2"));
    log.set_fsync(Fsync::Always);
    assert!(!is_acknowledged(&log, position));
    drop(gate);
    log.wait_committed(position).unwrap();
    assert_eq!(disk.0.syncs_begun.load(SeqCst), 2);
}

#[test]
fn a_failed_sync_in_the_background_is_fatal() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let messages = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&messages);
    let on_fatal = Arc::new(move |message: &str| heard.lock().push(message.to_owned()));
    let options = Options { fsync: Fsync::EverySec, on_fatal, ..Options::default() };
    let log = disk.start(&world, options);
    disk.0.sync_fails.store(true, SeqCst);
    log.append(&set("a", "1"));
    wait_until(|| log.write_error().is_some());
    assert_eq!(*messages.lock(), ["could not sync the log: the cable is out"]);
    assert!(log.close().is_err());
}
