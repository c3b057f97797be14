//! Checking and repairing: what is found, what is kept, and that nothing is thrown away.

use std::fs;

use crate::aof::{check, check_bytes, repair};

use super::*;

/// A folder with a base file and two incr files of three keys each.
fn three_files() -> World {
    let world = World::new();
    let log = world.open().unwrap().0;
    let mut rewrite = log.begin_rewrite().unwrap();
    for key in ["a", "b", "c"] {
        rewrite.write(&set(key, "value")).unwrap();
    }
    rewrite.finish().unwrap();
    write(&log, &["d", "e", "f"]);
    drop(log.begin_rewrite().unwrap());
    write(&log, &["g", "h", "i"]);
    log.close().unwrap();
    world
}

const BASE: &str = "appendonly.aof.1.base.aof";
const FIRST: &str = "appendonly.aof.2.incr.aof";
const SECOND: &str = "appendonly.aof.3.incr.aof";
const MANIFEST: &str = "appendonly.aof.manifest";

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn batch_len(world: &World, name: &str) -> usize {
    fs::metadata(world.file(name)).unwrap().len() as usize / 3
}

#[test]
fn a_sound_folder_is_reported_whole_and_repair_leaves_it_alone() {
    let world = three_files();
    let report = check(world.path()).unwrap();
    assert!(report.is_sound() && report.damage.is_empty() && !report.in_use);
    let names: Vec<_> = report.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [BASE, FIRST, SECOND]);
    let counts: Vec<_> = report.files.iter().map(|file| (file.batches, file.commands)).collect();
    assert_eq!(counts, [(1, 3), (3, 3), (3, 3)]);
    assert!(report.files[0].base && !report.files[1].base);
    let before = world.names();
    assert_eq!(repair(world.path()).unwrap().saved, []);
    assert_eq!(world.names(), before);
}

#[test]
fn checking_changes_nothing_and_creates_nothing() {
    let world = World::new();
    assert_eq!(check(world.path()).unwrap(), Default::default());
    assert_eq!(fs::read_dir(world.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_in_use_can_be_checked_but_not_repaired() {
    let world = three_files();
    let log = world.open().unwrap().0;
    assert!(check(world.path()).unwrap().in_use);
    assert!(matches!(repair(world.path()), Err(Error::InUse { .. })));
    log.close().unwrap();
}

#[test]
fn repair_keeps_everything_before_the_damage_and_saves_the_rest() {
    let world = three_files();
    let batch_len = batch_len(&world, FIRST);
    flip(&world.file(FIRST), batch_len + 70);
    let damaged = fs::read(world.file(FIRST)).unwrap();
    let later = fs::read(world.file(SECOND)).unwrap();
    assert!(matches!(world.open(), Err(Error::Damaged { .. })));
    let report = check(world.path()).unwrap();
    assert!(!report.is_sound());
    let damage = &report.damage[0];
    assert_eq!((damage.file.as_str(), damage.offset), (FIRST, batch_len as u64));
    assert_eq!((damage.bytes, damage.torn), (2 * batch_len as u64, false));

    let done = repair(world.path()).unwrap();
    assert_eq!(done.found.damage, report.damage);
    assert_eq!(done.saved.len(), 2);
    assert_eq!(fs::read(world.file(&done.saved[0].saved_as)).unwrap(), damaged[batch_len..]);
    assert_eq!(fs::read(world.file(&done.saved[1].saved_as)).unwrap(), later);
    assert!(check(world.path()).unwrap().damage.is_empty());
    assert_eq!(world.keys(), ["a", "b", "c", "d"]);
    world.write(&["z"]);
    assert_eq!(world.keys(), ["a", "b", "c", "d", "z"]);
}

#[test]
fn a_torn_end_is_sound_and_repair_saves_what_a_start_would_cut() {
    let world = three_files();
    let bytes = fs::read(world.file(SECOND)).unwrap();
    fs::write(world.file(SECOND), &bytes[..bytes.len() - 5]).unwrap();
    let report = check(world.path()).unwrap();
    assert!(report.is_sound() && report.damage[0].torn);
    let done = repair(world.path()).unwrap();
    let whole = 2 * bytes.len() / 3;
    assert_eq!(
        fs::read(world.file(&done.saved[0].saved_as)).unwrap(),
        bytes[whole..bytes.len() - 5]
    );
    assert_eq!(world.keys().len(), 8);
}

#[test]
fn a_missing_incr_file_ends_the_log_before_it_and_a_missing_base_cannot_be_repaired() {
    let world = three_files();
    fs::remove_file(world.file(FIRST)).unwrap();
    assert!(check(world.path()).unwrap().damage[0].reason.contains("missing"));
    let done = repair(world.path()).unwrap();
    assert_eq!(done.saved[0].file, SECOND);
    assert_eq!(world.keys(), ["a", "b", "c"]);

    let world = three_files();
    fs::remove_file(world.file(BASE)).unwrap();
    assert!(matches!(repair(world.path()), Err(Error::Unrepairable { .. })));
    assert!(world.file(FIRST).exists() && world.file(SECOND).exists());
}

#[test]
fn a_damaged_manifest_is_made_anew_from_the_files() {
    let world = three_files();
    flip(&world.file(MANIFEST), 3);
    let damaged = fs::read(world.file(MANIFEST)).unwrap();
    let report = check(world.path()).unwrap();
    assert_eq!((report.damage[0].file.as_str(), report.damage[0].offset), (MANIFEST, 0));
    let done = repair(world.path()).unwrap();
    assert_eq!(fs::read(world.file(&done.saved[0].saved_as)).unwrap(), damaged);
    assert_eq!(world.keys().len(), 9);

    fs::remove_file(world.file(MANIFEST)).unwrap();
    repair(world.path()).unwrap();
    assert_eq!(world.keys().len(), 9);
}

#[test]
fn a_lost_manifest_beside_two_base_files_is_left_to_a_human() {
    let world = three_files();
    fs::copy(world.file(BASE), world.file("appendonly.aof.2.base.aof")).unwrap();
    fs::remove_file(world.file(MANIFEST)).unwrap();
    let Err(error) = repair(world.path()) else { panic!("guessed a manifest") };
    assert!(error.to_string().contains("several base files"), "{error}");
}

#[test]
fn every_flipped_byte_can_be_repaired_to_the_batches_before_it() {
    let sound = three_files();
    let bytes = fs::read(sound.file(FIRST)).unwrap();
    let batch_len = bytes.len() / 3;
    for at in (0..bytes.len()).step_by(5) {
        let world = three_files_like(&sound);
        flip(&world.file(FIRST), at);
        if check(world.path()).unwrap().is_sound() {
            continue;
        }
        repair(world.path()).unwrap();
        assert_eq!(world.keys().len(), 3 + at / batch_len, "flipped byte {at}");
    }
}

fn three_files_like(sound: &World) -> World {
    let world = World::new();
    fs::create_dir(world.path().join("appendonlydir")).unwrap();
    for name in sound.names() {
        fs::copy(sound.file(&name), world.file(&name)).unwrap();
    }
    world
}

#[test]
fn bytes_alone_can_be_checked() {
    let bytes = [batch(0, &[set("a", "1")]), set("b", "2"), b"*1\r\n".to_vec()].concat();
    let (file, damage) = check_bytes(&bytes);
    assert_eq!((file.batches, file.commands), (1, 2));
    let damage = damage.unwrap();
    assert_eq!((damage.offset, damage.bytes, damage.torn), (bytes.len() as u64 - 4, 4, true));
}
