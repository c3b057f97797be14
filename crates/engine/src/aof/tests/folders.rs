//! The folder as a whole: its lock, its manifest, what is missing and what is left over.

use std::fs;

use super::*;

#[test]
fn a_second_process_is_told_who_has_the_folder() {
    let world = World::new();
    let log = world.open().unwrap().0;
    let Err(error) = world.open() else { panic!("opened twice") };
    let text = error.to_string();
    assert!(text.contains(world.path().to_str().unwrap()), "{text}");
    assert!(text.contains(&format!("(pid {})", std::process::id())), "{text}");
    log.close().unwrap();
    world.open().unwrap();
}

#[test]
fn a_lock_that_outlives_its_holder_for_a_moment_is_waited_for() {
    let world = World::new();
    world.write(&["a"]);
    let path = world.path().join("keyrack.lock");
    let held = fs::File::open(&path).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| world.keys());
        keyrack_testkit::wait_until("the lock to be asked for", || n_open(&path) == 2);
        drop(held);
        assert_eq!(opened.join().unwrap(), ["a"]);
    });
}

/// How many times this process has the file `path` open.
fn n_open(path: &std::path::Path) -> usize {
    let path = path.canonicalize().unwrap();
    let files = fs::read_dir("/proc/self/fd").unwrap();
    files
        .filter(|file| fs::read_link(file.as_ref().unwrap().path()).is_ok_and(|to| to == path))
        .count()
}

#[test]
fn a_torn_end_is_cut_and_reported_once() {
    let world = World::new();
    world.write(&["a", "b"]);
    let whole = fs::read(world.first_incr()).unwrap();
    let torn = [&whole[..], &whole[..30]].concat();
    fs::write(world.first_incr(), torn).unwrap();
    let (log, recovery, commands) = world.open().unwrap();
    let cut = recovery.cut.unwrap();
    assert_eq!((cut.offset, cut.bytes), (whole.len() as u64, 30));
    assert_eq!(cut.path, world.first_incr());
    assert_eq!(keys(&commands), ["a", "b"]);
    write(&log, &["c"]);
    log.close().unwrap();
    let (_log, recovery, commands) = world.open().unwrap();
    assert_eq!((recovery.cut, keys(&commands)), (None, ["a", "b", "c"].map(String::from).to_vec()));
}

#[test]
fn damage_before_the_end_stops_the_start_with_file_offset_and_advice() {
    let world = World::new();
    world.write(&["a", "b", "c"]);
    let mut bytes = fs::read(world.first_incr()).unwrap();
    let batch_len = bytes.len() / 3;
    bytes[batch_len + 60] ^= 1;
    fs::write(world.first_incr(), &bytes).unwrap();
    let Err(error) = world.open() else { panic!("opened a damaged log") };
    let Error::Damaged { path, offset, .. } = &error else { panic!("{error}") };
    assert_eq!((path, *offset), (&world.first_incr(), batch_len as u64));
    assert!(error.to_string().contains("run \"keyrack store repair\""), "{error}");
    assert_eq!(fs::read(world.first_incr()).unwrap(), bytes, "nothing was changed");
}

#[test]
fn only_the_last_file_may_be_torn() {
    let world = World::new();
    let log = world.open().unwrap().0;
    write(&log, &["a", "b"]);
    drop(log.begin_rewrite().unwrap());
    write(&log, &["c"]);
    log.close().unwrap();
    let bytes = fs::read(world.first_incr()).unwrap();
    for len in 0..bytes.len() {
        fs::write(world.first_incr(), &bytes[..len]).unwrap();
        let Err(error) = world.open() else { panic!("opened with {len} bytes") };
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
    fs::write(world.first_incr(), [&bytes[..], &set("x", "1")].concat()).unwrap();
    assert!(
        matches!(world.open(), Err(Error::Damaged { offset, .. }) if offset == bytes.len() as u64)
    );
    fs::write(world.first_incr(), bytes).unwrap();
    assert_eq!(world.keys(), ["a", "b", "c"]);
}

#[test]
fn every_change_of_one_byte_of_the_manifest_is_found_or_harmless() {
    let world = World::new();
    let log = world.open().unwrap().0;
    write(&log, &["a"]);
    drop(log.begin_rewrite().unwrap());
    write(&log, &["b"]);
    log.close().unwrap();
    let path = world.file("appendonly.aof.manifest");
    let whole = fs::read(&path).unwrap();
    let names = world.names();
    for at in 0..whole.len() {
        for mask in [0x01, 0x02, 0x20, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            fs::write(&path, &bytes).unwrap();
            match world.open() {
                Ok((_, _, commands)) => assert_eq!(keys(&commands), ["a", "b"], "byte {at}"),
                Err(Error::Damaged { path: named, .. }) => assert_eq!(named, path, "byte {at}"),
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        match world.open() {
            Ok((_, _, commands)) => assert_eq!(keys(&commands), ["a", "b"], "cut to {len}"),
            Err(error) => assert!(matches!(error, Error::Damaged { .. }), "cut to {len}: {error}"),
        }
    }
    assert_eq!(world.names(), names);
}

#[test]
fn missing_files_stop_the_start() {
    let world = World::new();
    world.write(&["a"]);
    let manifest = world.file("appendonly.aof.manifest");
    let text = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    assert!(matches!(world.open(), Err(Error::Missing { path, .. }) if path == manifest));
    fs::write(&manifest, text).unwrap();
    fs::rename(world.first_incr(), world.file("elsewhere")).unwrap();
    assert!(matches!(world.open(), Err(Error::Missing { path, .. }) if path == world.first_incr()));
}

#[test]
fn a_crash_before_the_first_manifest_is_a_fresh_start() {
    let world = World::new();
    drop(world.open().unwrap());
    fs::remove_file(world.file("appendonly.aof.manifest")).unwrap();
    assert_eq!(world.keys(), [""; 0]);
    world.write(&["a"]);
    assert_eq!(world.keys(), ["a"]);
}

#[test]
fn an_rdb_base_is_refused_with_the_setting_to_use() {
    let world = World::new();
    drop(world.open().unwrap());
    fs::write(world.file("appendonly.aof.1.base.rdb"), b"REDIS0010\xfa\tredis-ver").unwrap();
    let manifest = "file appendonly.aof.1.base.rdb seq 1 type b\n\
                    file appendonly.aof.1.incr.aof seq 1 type i\n";
    fs::write(world.file("appendonly.aof.manifest"), manifest).unwrap();
    let Err(error) = world.open() else { panic!("opened an RDB snapshot") };
    assert!(matches!(error, Error::RdbBase { .. }));
    assert!(error.to_string().contains("\"CONFIG SET aof-use-rdb-preamble no\""), "{error}");
}

#[test]
fn leftovers_of_a_crash_go_and_other_files_stay() {
    let world = World::new();
    world.write(&["a"]);
    let manifest = fs::read_to_string(world.file("appendonly.aof.manifest")).unwrap();
    let entries = manifest.lines().next().unwrap();
    let with_history = format!("file appendonly.aof.0x.base.aof seq 1 type h\n{entries}\n");
    fs::write(world.file("appendonly.aof.manifest"), with_history).unwrap();
    for name in [
        "appendonly.aof.0x.base.aof",
        "temp-appendonly.aof.2.base.aof",
        "temp-appendonly.aof.manifest",
        "temp_appendonly.aof.manifest",
        "notes.txt",
        "appendonly.aof.2.incr.aof",
    ] {
        fs::write(world.file(name), "x").unwrap();
    }
    assert_eq!(world.keys(), ["a"]);
    let expected = [
        "appendonly.aof.1.incr.aof",
        "appendonly.aof.2.incr.aof",
        "appendonly.aof.manifest",
        "notes.txt",
    ];
    assert_eq!(world.names(), expected);
}

#[test]
fn a_refused_command_names_its_file_and_offset() {
    let world = World::new();
    world.write(&["a", "b"]);
    let mut n_units = 0;
    let result = open(world.path(), Options::default(), &mut |_| {
        n_units += 1;
        if n_units == 3 { Err("unknown command".to_owned()) } else { Ok(()) }
    });
    let Err(Error::Rejected { path, offset, reason }) = result else { panic!("replayed it") };
    let second = fs::metadata(world.first_incr()).unwrap().len() / 2 + frame::HEADER_LEN as u64;
    assert_eq!((path, offset), (world.first_incr(), second));
    assert_eq!(reason, "unknown command");
}
