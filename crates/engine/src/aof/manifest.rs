//! The manifest: which files make up the log, in which order.
//!
//! ```text
//! file appendonly.aof.2.base.aof seq 2 type b size 4711
//! file appendonly.aof.5.incr.aof seq 5 type i
//! #KRM crc=5d41402a
//! ```
//!
//! Redis ignores pairs it does not know and lines that begin with `#`, so both additions travel
//! with the file: `size` is the final length of a file that is no longer written to, without which
//! a loss at its end could go unseen, and the last line guards the manifest itself, in which one
//! flipped letter would turn live data (`i`) into history (`h`) to be deleted. A manifest that
//! Redis wrote has neither and is taken as it is.

use std::fmt::{self, Write};

/// What the name of every log file starts with; Redis' default `appendfilename`.
pub(super) const STEM: &str = "appendonly.aof";

/// How the checksum line begins.
const MARK: &str = "#KRM crc=";

/// Longest line that Redis reads, line end included.
const LINE_LEN_MAX: usize = 1023;

/// The part a file plays in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The keyspace at the last rewrite.
    Base,
    /// Changes since the base, or since the incr file before it.
    Incr,
    /// Replaced by a rewrite and waiting to be deleted.
    History,
}

impl Kind {
    fn letter(self) -> char {
        match self {
            Kind::Base => 'b',
            Kind::Incr => 'i',
            Kind::History => 'h',
        }
    }
}

/// One file of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) seq: u64,
    pub(super) kind: Kind,
    /// The final length, once the file is complete.
    pub(super) size: Option<u64>,
}

impl Entry {
    /// The base file number `seq`.
    pub(super) fn base(seq: u64, size: u64) -> Entry {
        let name = format!("{STEM}.{seq}.base.aof");
        Entry { name, seq, kind: Kind::Base, size: Some(size) }
    }

    /// The incr file number `seq`, open for writing.
    pub(super) fn incr(seq: u64) -> Entry {
        Entry { name: format!("{STEM}.{seq}.incr.aof"), seq, kind: Kind::Incr, size: None }
    }

    /// The entry that a file name stands for, if it is one of the names above.
    pub(super) fn from_name(name: &str) -> Option<Entry> {
        let (seq, kind) = name.strip_prefix(STEM)?.strip_prefix('.')?.split_once('.')?;
        let kind = match kind {
            "base.aof" => Kind::Base,
            "incr.aof" => Kind::Incr,
            _ => return None,
        };
        Some(Entry { name: name.to_owned(), seq: seq.parse().ok()?, kind, size: None })
    }
}

/// The files of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) base: Option<Entry>,
    /// In the order they are replayed, which is that of their numbers.
    pub(super) incrs: Vec<Entry>,
    pub(super) history: Vec<Entry>,
}

/// Why a manifest cannot be understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    /// Where the offending line begins.
    pub(super) offset: u64,
    pub(super) reason: &'static str,
}

impl Manifest {
    /// The files that hold the keyspace, in the order they are replayed.
    pub(super) fn live(&self) -> impl Iterator<Item = &Entry> {
        self.base.iter().chain(&self.incrs)
    }

    /// A number for the next base file.
    pub(super) fn next_base_seq(&self) -> u64 {
        self.base.as_ref().map_or(1, |base| base.seq + 1)
    }

    /// A number for the next incr file.
    pub(super) fn next_incr_seq(&self) -> u64 {
        self.incrs.last().map_or(1, |incr| incr.seq + 1)
    }

    /// Reads a manifest, one that Redis wrote as well as our own.
    pub(super) fn parse(bytes: &[u8]) -> Result<Manifest, Malformed> {
        let mut manifest = Manifest::default();
        let mut checked = false;
        let mut offset = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let malformed = |reason| Malformed { offset: offset as u64, reason };
            if line.len() > LINE_LEN_MAX || !line.ends_with(b"\n") {
                return Err(malformed("the line has no end"));
            }
            let line = str::from_utf8(line).map_err(|_| malformed("the line is not text"))?;
            if let Some(crc) = line.strip_prefix(MARK) {
                if crc != format!("{:08x}\n", crc32fast::hash(&bytes[..offset])) {
                    return Err(malformed("the checksum does not match"));
                }
                checked = true;
            } else if !line.starts_with('#') {
                manifest.add(parse_entry(line).map_err(malformed)?).map_err(malformed)?;
            }
            offset += line.len();
        }
        if !checked && manifest.live().any(|entry| entry.size.is_some()) {
            let reason = "the checksum is missing";
            return Err(Malformed { offset: bytes.len() as u64, reason });
        }
        if manifest.live().next().is_none() {
            return Err(Malformed { offset: 0, reason: "the manifest names no file" });
        }
        Ok(manifest)
    }

    fn add(&mut self, entry: Entry) -> Result<(), &'static str> {
        match entry.kind {
            Kind::Base if self.base.is_some() => return Err("there is a second base file"),
            Kind::Base => self.base = Some(entry),
            Kind::Incr if self.incrs.last().is_some_and(|last| last.seq >= entry.seq) => {
                return Err("the numbers of the incr files do not rise");
            }
            Kind::Incr => self.incrs.push(entry),
            Kind::History => self.history.push(entry),
        }
        Ok(())
    }
}

fn parse_entry(line: &str) -> Result<Entry, &'static str> {
    let (mut name, mut seq, mut kind, mut size) = (None, None, None, None);
    let mut words = line.split_ascii_whitespace();
    while let Some(key) = words.next() {
        let value = words.next().ok_or("the line is incomplete")?;
        match key.to_ascii_lowercase().as_str() {
            "file" if value.contains(['/', '\\', '"', '\'']) => {
                return Err("the file name is not a plain name");
            }
            "file" => name = Some(value.to_owned()),
            // Redis starts at 1; the bound leaves room to count on.
            "seq" => seq = value.parse().ok().filter(|seq| (1..u64::MAX / 2).contains(seq)),
            "type" => {
                kind = match value {
                    "b" => Some(Kind::Base),
                    "i" => Some(Kind::Incr),
                    "h" => Some(Kind::History),
                    _ => None,
                }
            }
            "size" => size = Some(value.parse().map_err(|_| "the size is not a number")?),
            // Later versions may add pairs; Redis skips what it does not know, too.
            _ => {}
        }
    }
    Ok(Entry {
        name: name.ok_or("the line names no file")?,
        seq: seq.ok_or("the number of the file is missing or wrong")?,
        kind: kind.ok_or("the type of the file is missing or unknown")?,
        size,
    })
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        // The order in which Redis writes them.
        for entry in self.base.iter().chain(&self.history).chain(&self.incrs) {
            let Entry { name, seq, kind, size } = entry;
            write!(text, "file {name} seq {seq} type {}", kind.letter())?;
            if let Some(size) = size {
                write!(text, " size {size}")?;
            }
            text.push('\n');
        }
        writeln!(f, "{text}{MARK}{:08x}", crc32fast::hash(text.as_bytes()))
    }
}
