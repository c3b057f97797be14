//! Disks that refuse writes, write half of them, or lose what they took.

use std::{
    process::Command,
    sync::{Arc, atomic::Ordering::SeqCst},
    thread,
};

use parking_lot::Mutex;

use crate::{
    aof::scan::End,
    config::Config,
    host::Host,
    reply::Reply,
    session::{ClientInfo, mailbox},
    state::State,
};

use super::{
    fake_disk::{FakeDisk, Op, keys_of, replay},
    *,
};

#[test]
fn a_crash_after_any_write_or_in_it_keeps_what_was_synced() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = disk.start(&world, Options::default());
    // How many keys were acknowledged once so many operations were done.
    let mut acknowledged = Vec::new();
    for n in 0..60 {
        log.wait_committed(log.append(&set(n.to_string(), vec![b'x'; n * 7 % 50]))).unwrap();
        acknowledged.push((disk.0.ops.lock().len(), n + 1));
    }
    let ops = disk.0.ops.lock().clone();
    for n_ops in 0..ops.len() {
        let n_safe = acknowledged.iter().rev().find(|(done, _)| *done <= n_ops);
        let n_safe = n_safe.map_or(0, |(_, n)| *n);
        let in_flight = match &ops[n_ops] {
            Op::Write { bytes, .. } => bytes.len(),
            Op::Truncate(_) | Op::Sync => 0,
        };
        for part in 0..=in_flight {
            let mut crashed = ops[..n_ops].to_vec();
            if let Op::Write { offset, bytes } = &ops[n_ops] {
                crashed.push(Op::Write { offset: *offset, bytes: bytes[..part].to_vec() });
            }
            let (found, end) = keys_of(&replay(&crashed));
            assert!(!matches!(end, End::Damaged(_)), "after {n_ops} operations: {end:?}");
            assert!(found.len() >= n_safe, "after {n_ops} operations");
            assert!(found.iter().enumerate().all(|(n, key)| *key == n.to_string()));
        }
    }
}

#[test]
fn a_full_disk_fails_writers_at_once_and_nothing_is_lost_when_it_has_space_again() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = disk.start(&world, Options::default());
    log.wait_committed(log.append(&set("a", "1"))).unwrap();
    let good = disk.contents();
    disk.set_space(Some(good.len() as u64 + 20));
    let position = log.append(&set("b", "2"));
    let error = log.wait_committed(position).unwrap_err();
    assert!(matches!(&error, Error::Unsaved { reason } if reason.contains("no storage space")));
    assert!(log.write_error().unwrap().contains("no storage space"));
    // Who comes while the disk refuses is told at once as well.
    let later = log.append(&set("c", "3"));
    assert!(log.wait_committed(later).is_err());
    disk.wait_until_refused(2);
    let (found, end) = keys_of(&disk.contents());
    assert_eq!(found, ["a"]);
    assert!(matches!(end, End::Whole | End::Torn(_)));
    disk.set_space(None);
    while log.write_error().is_some() {
        thread::yield_now();
    }
    log.wait_committed(later).unwrap();
    assert_eq!(keys_of(&disk.contents()), (vec!["a".into(), "b".into(), "c".into()], End::Whole));
    log.close().unwrap();
}

/// The disk fills up when a script writes a line with `redis.log`.
struct FillsDisk {
    disk: FakeDisk,
    log: Arc<Log>,
}

impl Host for FillsDisk {
    fn now_us(&mut self) -> u64 {
        1_700_000_000_000_000
    }

    fn random(&mut self) -> u64 {
        1
    }

    fn log(&mut self, _: u8, _: &str) {
        self.disk.set_space(Some(0));
        self.log.wait_committed(self.log.append(&set("z", "1"))).unwrap_err();
    }

    fn is_live(&self) -> bool {
        false
    }
}

#[test]
fn a_disk_that_fills_up_under_a_script_stops_it_before_its_first_write_or_not_at_all() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = Arc::new(disk.start(&world, Options::default()));
    let host = FillsDisk { disk: disk.clone(), log: log.clone() };
    let mut state = State::new(Box::new(host), Config::default());
    state.log = Some(log);
    let (mailbox, _inbox) = mailbox(1 << 20);
    let client = state.connect(0, mailbox, true, ClientInfo::default());
    let mut run = |words: &[&str]| {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        state.execute(client, &words).reply.expect("an answer at once")
    };
    let both = "redis.call('SET', 'a', '1') redis.log(redis.LOG_NOTICE, 'now') \
                return redis.call('SET', 'b', '1')";
    assert_eq!(run(&["EVAL", both, "0"]), Reply::OK);
    let refused = run(&["EVAL", "return redis.call('SET', 'c', '1')", "0"]);
    assert!(refused.is_error(), "{refused:?}");
    assert_eq!(run(&["EXISTS", "a", "b"]), Reply::Int(2));
    assert_eq!(run(&["EXISTS", "c"]), Reply::Int(0));
}

#[test]
fn closing_on_a_full_disk_ends_and_says_what_is_lost() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let log = disk.start(&world, Options::default());
    disk.set_space(Some(10));
    let position = log.append(&set("a", "1"));
    let rewrite = log.begin_rewrite().unwrap();
    disk.wait_until_refused(1);
    assert!(matches!(log.close(), Err(Error::Unsaved { .. })));
    assert!(matches!(log.wait_committed(position), Err(Error::Unsaved { .. })));
    assert!(matches!(rewrite.finish(), Err(Error::Closed)));
    assert_eq!(keys_of(&disk.contents()), (vec![], End::Whole));
}

#[test]
fn a_failed_sync_is_fatal_and_never_acknowledged() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let messages = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&messages);
    let on_fatal = Arc::new(move |message: &str| heard.lock().push(message.to_owned()));
    let log = disk.start(&world, Options { on_fatal, ..Options::default() });
    disk.0.sync_fails.store(true, SeqCst);
    let position = log.append(&set("a", "1"));
    assert!(matches!(log.wait_committed(position), Err(Error::Unsaved { .. })));
    disk.0.sync_fails.store(false, SeqCst);
    let position = log.append(&set("b", "2"));
    assert!(log.wait_committed(position).is_err(), "a later sync proves nothing");
    assert_eq!(*messages.lock(), ["could not sync the log: the cable is out"]);
    assert!(log.close().is_err());
}

#[test]
fn a_writer_that_panics_tells_everybody_who_waits_for_it() {
    for fsync in [Fsync::Always, Fsync::EverySec] {
        let (world, disk) = (World::new(), FakeDisk::default());
        let messages = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&messages);
        let on_fatal = Arc::new(move |message: &str| heard.lock().push(message.to_owned()));
        let log = disk.start(&world, Options { fsync, on_fatal, ..Options::default() });
        log.wait_committed(log.append(&set("a", "1"))).unwrap();
        // Only the first of the two policies has waited for the disk.
        while keys_of(&disk.contents()).0 != ["a"] {
            thread::yield_now();
        }
        disk.0.write_panics.store(true, SeqCst);
        let position = log.append(&set("b", "2"));
        // It may be over already.
        let rewrite = log.begin_rewrite();
        while log.write_error().is_none() {
            thread::yield_now();
        }
        assert!(log.write_error().unwrap().contains("has failed: the disk is on fire"));
        log.set_fsync(Fsync::Always);
        assert!(matches!(log.wait_committed(position), Err(Error::Unsaved { .. })));
        assert!(!rewrite.is_ok_and(|rewrite| rewrite.finish().is_ok()));
        // Nor does anybody wait who comes later, however much that is.
        for _ in 0..100 {
            log.append(&set("c", vec![b'x'; 1 << 20]));
        }
        assert!(log.wait_committed(log.append(&set("d", "4"))).is_err());
        let message = "the thread that writes the log has failed: the disk is on fire";
        assert_eq!(*messages.lock(), [message]);
        assert!(log.close().is_err());
        assert_eq!(keys_of(&disk.contents()).0, ["a"]);
    }
}

#[test]
fn a_sync_beside_the_writer_that_panics_is_fatal_too() {
    let (world, disk) = (World::new(), FakeDisk::default());
    let messages = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&messages);
    let on_fatal = Arc::new(move |message: &str| heard.lock().push(message.to_owned()));
    let options = Options { fsync: Fsync::EverySec, on_fatal, ..Options::default() };
    let log = disk.start(&world, options);
    disk.0.sync_panics.store(true, SeqCst);
    log.append(&set("a", "1"));
    while log.write_error().is_none() {
        thread::yield_now();
    }
    assert_eq!(
        *messages.lock(),
        ["could not sync the log: the thread that syncs the log has died"]
    );
    assert!(log.close().is_err());
}

/// Set for the child process of the test below, to the folder it writes to.
const CHILD_DIR: &str = "KEYRACK_TEST_LIMITED_DIR";

#[test]
fn a_file_size_limit_of_the_system_refuses_writes_and_keeps_acknowledged_ones() {
    if let Ok(dir) = std::env::var(CHILD_DIR) {
        return write_until_refused(Path::new(&dir));
    }
    let world = World::new();
    // The limit would otherwise end the process with a signal; 64 blocks are 32 or 64 KiB.
    let script = "ulimit -f 64 && trap '' XFSZ && exec \"$0\" --exact \"$1\" --nocapture";
    // The test's name as the test runner knows it, without the crate.
    let module = module_path!().split_once("::").unwrap().1;
    let this = format!(
        "{module}::a_file_size_limit_of_the_system_refuses_writes_and_keeps_acknowledged_ones"
    );
    let child = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(this)
        .env(CHILD_DIR, world.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    let n_acknowledged: usize =
        std::fs::read_to_string(world.path().join("acknowledged")).unwrap().parse().unwrap();
    let found = world.keys();
    assert!(n_acknowledged > 10);
    assert_eq!(found.len(), n_acknowledged);
}

fn write_until_refused(dir: &Path) {
    let (log, _) = open(dir, Options::default(), &mut |_| Ok(())).unwrap();
    let mut n_acknowledged = 0;
    while log.wait_committed(log.append(&set(n_acknowledged.to_string(), [b'x'; 900]))).is_ok() {
        n_acknowledged += 1;
    }
    assert!(log.write_error().unwrap().starts_with("could not write to the log"));
    std::fs::write(dir.join("acknowledged"), n_acknowledged.to_string()).unwrap();
    assert!(log.close().is_err());
}
