//! One log file read from front to back: which units it holds, and where and how it ends.
//!
//! Reading decides nothing: whether a torn end may be cut depends on which file it is, and that is
//! for [`super::load`] to say. The input is any reader of a known length, so tests and fuzzers feed
//! slices. Memory is bounded by the file's length, whatever lengths damaged bytes claim.

use std::io::{self, Read};

use super::{
    frame::{self, HEADER_LEN, MARK},
    resp::{Stop, Unit, read_unit},
};

/// Longest annotation line that Redis reads as one line, line end included.
pub(super) const ANNOTATION_LEN_MAX: usize = 1023;

/// How much is read from the file at once.
const CHUNK_LEN: usize = 256 * 1024;

/// The smallest piece a disk writes; what power loss leaves unwritten begins at a multiple of it.
const SECTOR_LEN: u64 = 512;

/// What takes the units; an error stops the scan.
pub(super) type Apply<'f> = dyn FnMut(&Unit<'_>) -> Result<(), String> + 'f;

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// Everything before this offset is whole.
    pub(super) valid: u64,
    /// The file's length.
    pub(super) len: u64,
    pub(super) tally: ScanCounts,
    pub(super) end: End,
}

/// How much was read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanCounts {
    pub(super) batches: u64,
    pub(super) units: u64,
    pub(super) commands: u64,
    /// Bytes outside batches, which no checksum covers (written by Redis).
    pub(super) loose_bytes: u64,
}

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With its last whole unit.
    Whole,
    /// In the middle of a write, as after a crash.
    Torn(&'static str),
    /// With bytes that nobody wrote.
    Damaged(&'static str),
    /// At a unit that `apply` refused.
    Rejected { offset: u64, reason: String },
}

/// Reads `len` bytes of log from `input` and hands every unit to `apply`.
pub(super) fn scan(input: impl Read, len: u64, apply: &mut Apply<'_>) -> io::Result<Scan> {
    scan_from(0, input, len, apply)
}

/// Like [`scan`], for an input that stands at `offset`, where a batch or loose unit begins.
pub(super) fn scan_from(
    offset: u64,
    input: impl Read,
    len: u64,
    apply: &mut Apply<'_>,
) -> io::Result<Scan> {
    let mut window = Window { input, buffer: Vec::new(), start: 0, offset, len };
    let mut tally = ScanCounts::default();
    let end = loop {
        match read_next(&mut window, &mut tally, apply) {
            Ok(true) => {}
            Ok(false) => break End::Whole,
            Err(Failure::End(end)) => break end,
            Err(Failure::Io(error)) => return Err(error),
        }
    };
    Ok(Scan { valid: window.offset, len, tally, end })
}

enum Failure {
    Io(io::Error),
    End(End),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<End> for Failure {
    fn from(end: End) -> Failure {
        Failure::End(end)
    }
}

/// Reads one batch, annotation or loose unit; `false` at the end of the file.
fn read_next(
    window: &mut Window<impl Read>,
    tally: &mut ScanCounts,
    apply: &mut Apply<'_>,
) -> Result<bool, Failure> {
    if !window.fill(1)? {
        return Ok(false);
    }
    let at_mark = window.fill(MARK.len() as u64)? && window.bytes().starts_with(MARK);
    match window.bytes()[0] {
        b'#' if at_mark => read_batch(window, tally, apply)?,
        b'#' => read_annotation(window, tally)?,
        _ => read_loose_unit(window, tally, apply)?,
    }
    Ok(true)
}

fn read_batch(
    window: &mut Window<impl Read>,
    tally: &mut ScanCounts,
    apply: &mut Apply<'_>,
) -> Result<(), Failure> {
    if !window.fill(HEADER_LEN as u64)? {
        return Err(End::Torn("the line in front of the last batch is incomplete").into());
    }
    let Some(header) = frame::decode(&window.bytes()[..HEADER_LEN], window.offset) else {
        return Err(window.blame(HEADER_LEN, "the line in front of a batch is wrong")?.into());
    };
    let whole_len = HEADER_LEN as u64 + header.len;
    if !window.fill(whole_len)? {
        return Err(End::Torn("the last batch is incomplete").into());
    }
    let whole_len = whole_len as usize;
    let payload = &window.bytes()[HEADER_LEN..whole_len];
    if crc32fast::hash(payload) != header.crc {
        return Err(window.blame(whole_len, "the checksum of a batch does not match")?.into());
    }
    apply_batch(payload, window.offset + HEADER_LEN as u64, tally, apply)?;
    tally.batches += 1;
    window.consume(whole_len);
    Ok(())
}

fn apply_batch(
    payload: &[u8],
    offset: u64,
    tally: &mut ScanCounts,
    apply: &mut Apply<'_>,
) -> Result<(), End> {
    let mut unit = Unit::default();
    // Counted once it is whole: what stands before the damage does not end within a batch.
    let mut counted = *tally;
    let mut at = 0;
    while at < payload.len() {
        let unit_len = read_unit(&payload[at..], &mut unit).map_err(|_| {
            End::Damaged("a batch with the right checksum holds a malformed command")
        })?;
        apply(&unit).map_err(|reason| End::Rejected { offset: offset + at as u64, reason })?;
        counted.units += 1;
        counted.commands += unit.len() as u64;
        at += unit_len;
    }
    *tally = counted;
    Ok(())
}

fn read_annotation(window: &mut Window<impl Read>, tally: &mut ScanCounts) -> Result<(), Failure> {
    let whole = window.fill(ANNOTATION_LEN_MAX as u64)?;
    let bytes = window.bytes();
    let line = &bytes[..bytes.len().min(ANNOTATION_LEN_MAX)];
    match memchr::memchr(b'\n', line) {
        Some(end) => {
            tally.loose_bytes += end as u64 + 1;
            window.consume(end + 1);
            Ok(())
        }
        None if whole => {
            Err(window.blame(ANNOTATION_LEN_MAX, "an annotation without a line end")?.into())
        }
        None => Err(End::Torn("the last line is incomplete").into()),
    }
}

/// Reads a unit without a batch round it, as Redis appends them.
fn read_loose_unit(
    window: &mut Window<impl Read>,
    tally: &mut ScanCounts,
    apply: &mut Apply<'_>,
) -> Result<(), Failure> {
    loop {
        let mut unit = Unit::default();
        match read_unit(window.bytes(), &mut unit) {
            Ok(unit_len) => {
                let offset = window.offset;
                apply(&unit).map_err(|reason| End::Rejected { offset, reason })?;
                tally.units += 1;
                tally.commands += unit.len() as u64;
                tally.loose_bytes += unit_len as u64;
                window.consume(unit_len);
                return Ok(());
            }
            Err(Stop::Short(need)) => {
                // Doubling keeps the cost of starting over linear in the unit's length.
                let more = need.max(2 * window.bytes().len() as u64).min(window.remaining());
                if need > window.remaining() || !window.fill(more)? {
                    return Err(End::Torn("the last command is incomplete").into());
                }
            }
            Err(Stop::Bad { at, reason }) => return Err(window.blame(at + 1, reason)?.into()),
        }
    }
}

/// The part of the file in memory: from the first byte not yet understood.
struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    /// Where `start` stands in the file.
    offset: u64,
    /// The file's length.
    len: u64,
}

impl<R: Read> Window<R> {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn remaining(&self) -> u64 {
        self.len - self.offset
    }

    fn consume(&mut self, n: usize) {
        self.start += n;
        self.offset += n as u64;
    }

    /// Makes at least `need` bytes available; `false` if the file has fewer.
    fn fill(&mut self, need: u64) -> io::Result<bool> {
        // What does not fit in memory cannot have been written by us; it cannot be read either.
        if need > self.remaining() || need > isize::MAX as u64 {
            // Whatever is left is still wanted by those who look at an incomplete end.
            let rest = self.remaining().min(CHUNK_LEN as u64);
            self.load(rest as usize)?;
            return Ok(false);
        }
        self.load(need as usize)?;
        Ok(true)
    }

    fn load(&mut self, need: usize) -> io::Result<()> {
        if self.bytes().len() >= need {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let wanted = (need.max(CHUNK_LEN) as u64).min(self.remaining());
        let missing = wanted - self.buffer.len() as u64;
        self.buffer.reserve_exact(missing as usize);
        self.input.by_ref().take(missing).read_to_end(&mut self.buffer)?;
        // A file that is shorter than it was a moment ago is being changed by somebody else.
        if self.buffer.len() < need { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Tells damage from a tail that power loss left unwritten, for a failure that lies within the
    /// next `span` bytes.
    ///
    /// A file can be longer on disk than what reached the disk; the difference reads as NUL bytes
    /// from a sector boundary, or from the end of an earlier write, up to the end of the file. The
    /// reader is used up afterwards.
    fn blame(&mut self, span: usize, reason: &'static str) -> io::Result<End> {
        let written_end = self.find_written_end()?;
        let hole = match written_end == self.offset {
            true => written_end,
            false => written_end.next_multiple_of(SECTOR_LEN),
        };
        Ok(if hole < self.len && hole < self.offset + span as u64 {
            End::Torn("the end of the file was never written")
        } else {
            End::Damaged(reason)
        })
    }

    /// The offset behind the last byte that is not NUL, or the current one if there is none.
    fn find_written_end(&mut self) -> io::Result<u64> {
        fn last_written(bytes: &[u8]) -> Option<u64> {
            bytes.iter().rposition(|&byte| byte != 0).map(|at| at as u64 + 1)
        }
        let mut end = self.offset + last_written(self.bytes()).unwrap_or(0);
        let mut at = self.offset + self.bytes().len() as u64;
        let mut chunk = vec![0; (self.len - at).min(CHUNK_LEN as u64) as usize];
        while at < self.len {
            let wanted = (self.len - at).min(chunk.len() as u64) as usize;
            self.input.read_exact(&mut chunk[..wanted])?;
            end = last_written(&chunk[..wanted]).map_or(end, |n| at + n);
            at += wanted as u64;
        }
        Ok(end)
    }
}
