//! Appending and waiting: what is acknowledged is there after a restart, and nobody waits in vain.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use super::*;

#[test]
fn units_come_back_in_order_after_a_restart() {
    let world = World::new();
    let (log, recovery, commands) = world.open().unwrap();
    assert_eq!((recovery, commands.len()), (Recovery::default(), 0));
    log.append(&set("a", "1"));
    log.append(&encode_multi(&[&[b"SET", b"b", b"2"], &[b"SET", b"c", b"3"]]));
    let position = log.append(&set("d", vec![0; 100_000]));
    log.wait_committed(position).unwrap();
    assert_eq!(log.size(), std::fs::metadata(world.first_incr()).unwrap().len());
    log.close().unwrap();
    let (log, recovery, commands) = world.open().unwrap();
    assert_eq!(keys(&commands), ["a", "b", "c", "d"]);
    assert_eq!((recovery.files, recovery.commands, recovery.cut), (1, 4, None));
    assert_eq!(recovery.bytes, log.size());
}

#[test]
fn a_transaction_comes_back_as_one_unit() {
    let world = World::new();
    let log = world.open().unwrap().0;
    log.append(&encode_multi(&[&[b"SET", b"b", b"2"], &[b"SET", b"c", b"3"]]));
    log.append(&encode_multi(&[]));
    log.close().unwrap();
    let mut unit_lens = Vec::new();
    let log = open(world.path(), Options::default(), &mut |unit| {
        unit_lens.push(unit.commands().count());
        Ok(())
    });
    log.unwrap().0.close().unwrap();
    // The first is the SELECT that every file begins with.
    assert_eq!(unit_lens, [1, 2, 0]);
}

#[test]
fn every_commit_of_many_threads_survives() {
    const N_THREADS: usize = 16;
    const N_WRITES: usize = 200;
    let world = World::new();
    let log = world.open().unwrap().0;
    thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let log = &log;
            scope.spawn(move || {
                for n in 0..N_WRITES {
                    log.wait_committed(log.append(&set(format!("{thread}:{n}"), "v"))).unwrap();
                }
            });
        }
    });
    // A copy taken now is what a crash would leave.
    let crashed = World::new();
    drop(crashed.open().unwrap());
    std::fs::copy(world.first_incr(), crashed.first_incr()).unwrap();
    let found = crashed.keys();
    assert_eq!(found.len(), N_THREADS * N_WRITES);
    for thread in 0..N_THREADS {
        let of_thread = found.iter().filter(|key| key.starts_with(&format!("{thread}:")));
        let expected = (0..N_WRITES).map(|n| format!("{thread}:{n}"));
        assert!(of_thread.cloned().eq(expected), "the writes of a thread keep their order");
    }
}

#[test]
fn tasks_wait_without_blocking_a_runtime_thread() {
    let world = World::new();
    let log = Arc::new(world.open().unwrap().0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..200)
            .map(|n| {
                let log = Arc::clone(&log);
                tokio::spawn(
                    async move { log.committed(log.append(&set(n.to_string(), "v"))).await },
                )
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    log.close().unwrap();
    assert_eq!(world.keys().len(), 200);
}

#[test]
fn everysec_and_no_do_not_wait() {
    for fsync in [Fsync::EverySec, Fsync::No] {
        let world = World::new();
        let (log, _) = open(world.path(), options(fsync), &mut |_| Ok(())).unwrap();
        for n in 0..1000 {
            let position = log.append(&set(n.to_string(), "v"));
            let mut committed = pin!(log.committed(position));
            let poll = committed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(poll, Poll::Ready(Ok(()))));
        }
        log.close().unwrap();
        assert_eq!(world.keys().len(), 1000, "closing saves everything");
    }
}

#[test]
fn always_syncs_what_was_written_before_it_was_set() {
    let world = World::new();
    let (log, _) = open(world.path(), options(Fsync::No), &mut |_| Ok(())).unwrap();
    let position = log.append(&set("a", "1"));
    log.set_fsync(Fsync::Always);
    assert_eq!(log.fsync(), Fsync::Always);
    log.wait_committed(position).unwrap();
}

#[test]
fn a_waiter_that_gives_up_leaves_nothing_behind() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let world = World::new();
    let log = world.open().unwrap().0;
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    // Nothing was appended up to there, so nothing can resolve it.
    let position = 1_000_000;
    {
        let mut committed = pin!(log.committed(position));
        let mut cx = Context::from_waker(&waker);
        assert!(committed.as_mut().poll(&mut cx).is_pending());
        assert!(committed.as_mut().poll(&mut cx).is_pending(), "polling twice is fine");
        assert_eq!(Arc::strong_count(&count), 3, "one waker is kept, not two");
    }
    assert_eq!(Arc::strong_count(&count), 2);
    log.wait_committed(log.append(&set("a", "1"))).unwrap();
    assert_eq!(count.0.load(Relaxed), 0);
}

#[test]
fn closing_twice_is_fine_and_ends_all_waiting() {
    let world = World::new();
    let log = world.open().unwrap().0;
    let position = log.append(&set("a", "1"));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| log.wait_committed(position + 1));
        log.close().unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(Error::Closed)));
    });
    log.close().unwrap();
    log.wait_committed(position).unwrap();
    assert_eq!(log.write_error().as_deref(), Some("the log is closed"));
    assert!(matches!(log.begin_rewrite(), Err(Error::Closed)));
}
