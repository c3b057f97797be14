//! Rewrites: the same keyspace in fewer bytes, and no moment at which a crash could hurt.

use std::{fs, thread};

use crate::aof::manifest::{Entry, Kind, Manifest};

use super::*;

/// Copies the log folder as it is now: what a crash would leave.
fn crash(world: &World) -> World {
    let copy = World::new();
    fs::create_dir(copy.path().join("appendonlydir")).unwrap();
    for name in world.names() {
        fs::copy(world.file(&name), copy.file(&name)).unwrap();
    }
    copy
}

#[test]
fn a_rewrite_replaces_what_came_before_it_and_nothing_else() {
    let world = World::new();
    let log = world.open().unwrap().0;
    write(&log, &["a", "b", "a"]);
    log.append(&set("before", "1"));
    let mut rewrite = log.begin_rewrite().unwrap();
    log.append(&set("after", "1"));
    assert!(matches!(log.begin_rewrite(), Err(Error::RewriteInProgress)));
    rewrite.write(&set("snapshot", "1")).unwrap();
    write(&log, &["c"]);
    assert_eq!(keys(&crash(&world).open().unwrap().2), ["a", "b", "a", "before", "after", "c"]);
    rewrite.finish().unwrap();
    let expected = ["snapshot", "after", "c", "d"];
    write(&log, &["d"]);
    assert_eq!(keys(&crash(&world).open().unwrap().2), expected);
    let files =
        ["appendonly.aof.1.base.aof", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest"];
    assert_eq!(world.names(), files);
    let len = |name: &str| fs::metadata(world.file(name)).unwrap().len();
    assert_eq!(log.base_size(), len(files[0]));
    assert_eq!(log.size(), len(files[0]) + len(files[1]));
    log.close().unwrap();
    let (log, recovery, commands) = world.open().unwrap();
    assert_eq!((keys(&commands), recovery.files), (expected.map(String::from).to_vec(), 2));
    assert_eq!(log.base_size(), len(files[0]));
    assert_eq!(log.size(), len(files[0]) + len(files[1]));
}

#[test]
fn rewrites_given_up_leave_a_valid_log_and_the_next_one_clears_it() {
    let world = World::new();
    let log = world.open().unwrap().0;
    for key in ["a", "b", "c"] {
        write(&log, &[key]);
        let mut rewrite = log.begin_rewrite().unwrap();
        rewrite.write(&set("unused", vec![0; 300_000])).unwrap();
        // The new file is there before the next rewrite may ask for another.
        write(&log, &["then"]);
    }
    assert_eq!(crash(&world).keys(), ["a", "then", "b", "then", "c", "then"]);
    assert!(world.names().iter().all(|name| !name.starts_with("temp")));
    let mut rewrite = log.begin_rewrite().unwrap();
    rewrite.write(&set("snapshot", "1")).unwrap();
    rewrite.finish().unwrap();
    log.close().unwrap();
    assert_eq!(world.keys(), ["snapshot"]);
    assert_eq!(world.names().len(), 3);
}

#[test]
fn an_empty_rewrite_empties_the_log() {
    let world = World::new();
    let log = world.open().unwrap().0;
    write(&log, &["a"]);
    log.begin_rewrite().unwrap().finish().unwrap();
    assert_eq!((log.base_size(), log.size()), (0, 0));
    log.close().unwrap();
    assert_eq!(world.keys(), [""; 0]);
}

#[test]
fn a_crash_between_any_two_steps_of_finishing_keeps_the_keyspace() {
    let world = World::new();
    let log = world.open().unwrap().0;
    write(&log, &["a"]);
    log.begin_rewrite().unwrap().finish().unwrap();
    write(&log, &["b"]);
    let mut rewrite = log.begin_rewrite().unwrap();
    rewrite.write(&set("snapshot", "1")).unwrap();
    write(&log, &["c"]);
    let before = crash(&world);
    rewrite.finish().unwrap();
    log.close().unwrap();
    let base = "appendonly.aof.2.base.aof";
    let manifest = "appendonly.aof.manifest";

    // The base file has its name, the manifest does not know it; the same name is used again.
    let named = crash(&before);
    fs::copy(world.file(base), named.file(base)).unwrap();
    assert_eq!(crash(&named).keys(), ["b", "c"]);
    let log = named.open().unwrap().0;
    let mut again = log.begin_rewrite().unwrap();
    again.write(&set("again", "1")).unwrap();
    again.finish().unwrap();
    log.close().unwrap();
    assert_eq!(named.keys(), ["again"]);

    // The manifest is new, the old files are all there, or some of them.
    let replaced = crash(&before);
    fs::copy(world.file(base), replaced.file(base)).unwrap();
    let mut entries = Manifest::parse(&fs::read(world.file(manifest)).unwrap()).unwrap();
    let history = |entry| Entry { kind: Kind::History, ..entry };
    entries.history = vec![history(Entry::base(1, 0)), history(Entry::incr(2))];
    fs::write(replaced.file(manifest), entries.to_string()).unwrap();
    assert_eq!(crash(&replaced).keys(), ["snapshot", "c"]);
    fs::remove_file(replaced.file("appendonly.aof.2.incr.aof")).unwrap();
    assert_eq!(replaced.keys(), ["snapshot", "c"]);
    assert_eq!(replaced.names(), world.names());
}

#[test]
fn writers_and_rewrites_run_side_by_side() {
    const N_WRITES: usize = 300;
    let world = World::new();
    let log = world.open().unwrap().0;
    thread::scope(|scope| {
        let writers = [0, 1, 2, 3].map(|thread| {
            let log = &log;
            scope.spawn(move || {
                for n in 0..N_WRITES {
                    log.wait_committed(log.append(&set(format!("{thread}:{n}"), "v"))).unwrap();
                }
            })
        });
        // Each rewrite is given up, so that every write stays in the log, across many files.
        while writers.iter().any(|writer| !writer.is_finished()) {
            if let Ok(rewrite) = log.begin_rewrite() {
                drop(rewrite);
            }
            thread::yield_now();
        }
    });
    log.close().unwrap();
    let found = world.keys();
    assert_eq!(found.len(), 4 * N_WRITES);
    assert!(world.names().len() > 3);
    for thread in 0..4 {
        let of_thread = found.iter().filter(|key| key.starts_with(&format!("{thread}:")));
        assert!(of_thread.cloned().eq((0..N_WRITES).map(|n| format!("{thread}:{n}"))));
    }
}

#[test]
fn a_rewrite_outlived_by_nothing_fails_cleanly() {
    let world = World::new();
    let log = world.open().unwrap().0;
    write(&log, &["a"]);
    let mut rewrite = log.begin_rewrite().unwrap();
    log.close().unwrap();
    let mut result = rewrite.write(&set("snapshot", vec![0; 300_000]));
    assert!(matches!(result, Err(Error::Closed)));
    result = rewrite.write(&set("snapshot", vec![0; 300_000]));
    assert!(matches!(result, Err(Error::RewriteFailed)));
    assert!(rewrite.finish().is_err());
    assert_eq!(world.keys(), ["a"]);
}
