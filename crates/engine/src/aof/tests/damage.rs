//! Every truncation and every flipped byte of a log: the right data or an offset, never a panic.

use crate::aof::scan::{End, Scan, scan, scan_from};

use super::*;

/// A log of many batches with all kinds of values.
struct Sample {
    bytes: Vec<u8>,
    commands: Commands,
    /// Offset behind each batch, and the number of commands up to there.
    ends: Vec<(usize, usize)>,
}

impl Sample {
    fn new(len: usize) -> Sample {
        let mut sample = Sample { bytes: Vec::new(), commands: Vec::new(), ends: vec![(0, 0)] };
        let mut n = 0;
        while sample.bytes.len() < len {
            let units: Vec<_> = (0..=n % 4).map(|i| Sample::unit(n * 10 + i)).collect();
            let batch = batch(sample.bytes.len(), &units);
            sample.bytes.extend_from_slice(&batch);
            n += 1;
            let Scan { end, .. } = sample.read_all();
            assert_eq!(end, End::Whole);
            sample.ends.push((sample.bytes.len(), sample.commands.len()));
        }
        sample
    }

    fn read_all(&mut self) -> Scan {
        let (found, commands) = read(&self.bytes);
        self.commands = commands;
        found
    }

    /// Values hold what could be mistaken for structure: NUL bytes, line ends, batch lines.
    fn unit(n: usize) -> Vec<u8> {
        let key = format!("key:{n}");
        match n % 5 {
            0 => set(key, vec![0; n % 97]),
            1 => set(key, "\r\n*1\r\n$4\r\nEXEC\r\n#KRB len="),
            2 => encode_multi(&[
                &[b"SET", key.as_bytes(), b"a"],
                &[b"SET", b"other", &[n as u8; 40]],
            ]),
            3 => encode(&[b"DEL", key.as_bytes()]),
            _ => set(key, vec![n as u8; n % 301]),
        }
    }

    /// How many commands the whole batches before `offset` hold, and where the last of them ends.
    fn whole_before(&self, offset: usize) -> (usize, usize) {
        *self.ends.iter().rev().find(|(end, _)| *end <= offset).unwrap()
    }
}

fn read(bytes: &[u8]) -> (Scan, Commands) {
    let mut commands = Commands::new();
    let found = scan(bytes, bytes.len() as u64, &mut |unit| {
        collect(unit, &mut commands);
        Ok(())
    });
    (found.unwrap(), commands)
}

#[test]
fn every_truncation_is_cut_at_the_last_whole_batch() {
    let sample = Sample::new(8 * 1024);
    for len in 0..sample.bytes.len() {
        let (found, commands) = read(&sample.bytes[..len]);
        let (end, n_commands) = sample.whole_before(len);
        assert_eq!(found.valid, end as u64, "cut to {len} bytes");
        assert_eq!(found.end == End::Whole, len == end, "cut to {len} bytes: {:?}", found.end);
        assert!(!matches!(found.end, End::Damaged(_)), "cut to {len} bytes: {:?}", found.end);
        assert_eq!(commands, sample.commands[..n_commands], "cut to {len} bytes");
    }
}

#[test]
fn every_tail_lost_to_power_failure_is_cut_at_the_last_whole_batch() {
    let sample = Sample::new(8 * 1024);
    // What was never written begins where a write began, or at a sector.
    let starts = sample.ends.iter().map(|(end, _)| *end);
    for lost in starts.chain((0..sample.bytes.len()).step_by(512)) {
        for padding in [0, 1, 4096] {
            let mut bytes = sample.bytes.clone();
            bytes[lost..].fill(0);
            bytes.resize(bytes.len() + padding, 0);
            let (found, commands) = read(&bytes);
            let (end, n_commands) = sample.whole_before(lost);
            assert_eq!(found.valid, end as u64, "lost from {lost}");
            assert_eq!(found.end == End::Whole, end == bytes.len(), "lost from {lost}");
            assert!(!matches!(found.end, End::Damaged(_)), "lost from {lost}: {:?}", found.end);
            assert_eq!(commands, sample.commands[..n_commands], "lost from {lost}");
        }
    }
}

#[test]
fn every_flipped_byte_of_64_kib_is_found_or_harmless() {
    let sample = Sample::new(64 * 1024);
    let mut bytes = sample.bytes.clone();
    for at in 0..bytes.len() {
        check_flip(&sample, &mut bytes, at, 0xff);
    }
}

#[test]
fn every_change_of_one_byte_is_found_or_harmless() {
    let sample = Sample::new(1024);
    let mut bytes = sample.bytes.clone();
    for at in 0..bytes.len() {
        for mask in 1..=255 {
            check_flip(&sample, &mut bytes, at, mask);
        }
    }
}

/// A flipped byte is damage at the batch that holds it. The one exception: a flip in the first
/// letters of a batch line makes it an annotation that we do not know, and the batch, which is
/// intact, is read as Redis would.
///
/// What comes before that batch is read only for every 64th byte, to save time.
#[track_caller]
fn check_flip(sample: &Sample, bytes: &mut [u8], at: usize, mask: u8) {
    bytes[at] ^= mask;
    let (start, n_whole) = sample.whole_before(at);
    let (from, mut n_commands) = if at.is_multiple_of(64) { (0, 0) } else { (start, n_whole) };
    let found = scan_from(from as u64, &bytes[from..], bytes.len() as u64, &mut |unit| {
        for command in unit.commands() {
            assert!(command.iter().eq(&sample.commands[n_commands]), "flipped byte {at}");
            n_commands += 1;
        }
        Ok(())
    });
    let found = found.unwrap();
    let is_mark = (1..frame::MARK.len()).contains(&(at - start));
    let is_lost_sector = at + 1 == bytes.len() && bytes[at] == 0 && at.is_multiple_of(512);
    match found.end {
        End::Whole if is_mark => assert_eq!(n_commands, sample.commands.len()),
        End::Torn(_) if is_lost_sector => {}
        End::Damaged(_) => {
            let in_mark = is_mark && found.valid == at as u64 + 1;
            assert!(in_mark || found.valid == start as u64, "flipped byte {at}");
            assert_eq!(n_commands, n_whole, "flipped byte {at}");
        }
        end => panic!("flipped byte {at} with {mask:#x}: {end:?}"),
    }
    bytes[at] ^= mask;
}

#[test]
fn a_batch_in_the_wrong_place_is_damage() {
    let first = batch(0, &[set("a", "1")]);
    let second = batch(first.len(), &[set("b", "2")]);
    let moved = [first.clone(), second.clone(), second].concat();
    let (found, commands) = read(&moved);
    assert_eq!(found.valid, 2 * first.len() as u64);
    assert_eq!(found.end, End::Damaged("the line in front of a batch is wrong"));
    assert_eq!(keys(&commands), ["a", "b"]);
}

#[test]
fn a_batch_with_a_malformed_end_counts_for_nothing() {
    let bytes = batch(0, &[set("a", "1"), b"*1\r\n".to_vec()]);
    let (found, _) = read(&bytes);
    assert!(matches!(found.end, End::Damaged(_)), "{found:?}");
    assert_eq!((found.valid, found.tally.commands, found.tally.units), (0, 0, 0));
}

#[test]
fn huge_lengths_are_torn_or_damaged_without_huge_memory() {
    for bytes in [
        &b"*1\r\n$999999999999999999\r\nabc\r\n"[..],
        b"*999999999999999999\r\n$3\r\nabc\r\n",
        b"*1\r\n$18446744073709551615\r\nabc\r\n",
        b"*1\r\n$99999999999999999999999\r\nabc\r\n",
    ] {
        let (found, commands) = read(bytes);
        assert_ne!(found.end, End::Whole);
        assert_eq!((found.valid, commands.len()), (0, 0));
    }
}

#[test]
fn commands_without_batches_are_read_as_redis_does() {
    let whole = [
        b"#TS:1700000000\r\n".to_vec(),
        set("a", "1"),
        b"# some other annotation\n".to_vec(),
        encode(&[b"multi"]),
        b"#TS:1700000001\r\n".to_vec(),
        set("b", "2"),
        encode(&[b"exec"]),
    ]
    .concat();
    let (found, commands) = read(&whole);
    assert_eq!((found.end, found.valid), (End::Whole, whole.len() as u64));
    assert_eq!(keys(&commands), ["a", "b"]);
    assert_eq!(found.tally.loose_bytes, whole.len() as u64);
}

#[test]
fn a_torn_command_or_transaction_of_redis_is_cut_at_its_start() {
    let kept = [batch(0, &[set("a", "1")]), set("b", "2")].concat();
    let transaction = encode_multi(&[&[b"SET", b"c", b"3"], &[b"SET", b"d", b"4"]]);
    for len in 1..transaction.len() {
        let bytes = [&kept[..], &transaction[..len]].concat();
        let (found, commands) = read(&bytes);
        assert!(matches!(found.end, End::Torn(_)), "cut to {len}: {:?}", found.end);
        assert_eq!(found.valid, kept.len() as u64);
        assert_eq!(keys(&commands), ["a", "b"]);
    }
}

#[test]
fn long_units_cross_the_read_buffer() {
    let long = vec![b'x'; 700 * 1024];
    let transaction = encode_multi(&[&[b"SET", b"b", &long], &[b"SET", b"c", &long]]);
    let bytes = [set("a", &long), transaction.clone()].concat();
    let bytes = [bytes.clone(), batch(bytes.len(), &[set("d", &long)])].concat();
    let (found, commands) = read(&bytes);
    assert_eq!((found.end, found.tally.units), (End::Whole, 3));
    assert_eq!(keys(&commands), ["a", "b", "c", "d"]);
}

#[test]
fn broken_transactions_are_damage() {
    let nested = [encode(&[b"MULTI"]), encode(&[b"MULTI"])].concat();
    let in_batch = batch(0, &[encode(&[b"MULTI"]), set("a", "1")]);
    let around = [encode(&[b"MULTI"]), batch(15, &[set("a", "1")]), encode(&[b"EXEC"])].concat();
    for bytes in [encode(&[b"EXEC"]), nested, in_batch, around] {
        let (found, _) = read(&bytes);
        assert!(matches!(found.end, End::Damaged(_)), "{:?}", found.end);
        assert_eq!(found.valid, 0);
    }
}

#[test]
fn a_unit_that_is_refused_names_its_own_offset() {
    let (first, second) = (set("a", "1"), set("b", "2"));
    let bytes = batch(0, &[first.clone(), second]);
    let mut n_units = 0;
    let found = scan(&bytes[..], bytes.len() as u64, &mut |_| {
        n_units += 1;
        if n_units == 2 { Err("no".to_owned()) } else { Ok(()) }
    });
    let offset = (frame::HEADER_LEN + first.len()) as u64;
    assert_eq!(found.unwrap().end, End::Rejected { offset, reason: "no".to_owned() });
}
