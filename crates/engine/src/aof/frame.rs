//! The annotation line in front of each batch: its length, and the checksums that prove it whole.
//!
//! ```text
//! #KRB len=000000000133 crc=5d41402a sum=9f0b7c11\r\n
//! ```
//!
//! Redis skips lines that begin with `#`. `crc` covers the `len` bytes that follow the line. `sum`
//! covers the line itself together with its place in the file: a flipped digit in `len` must not
//! pass for a batch that was cut short, and a block that the disk put in the wrong place must not
//! pass for a good one. The line has a fixed width, so the writer can reserve room for it in front
//! of a batch that is still growing.

use std::io::Write;

/// How every such line begins.
pub(super) const MARK: &[u8] = b"#KRB ";

/// The width of the line, its line end included.
pub(super) const HEADER_LEN: usize = 49;

/// Bytes of the line that `sum` covers.
const SUMMED_LEN: usize = HEADER_LEN - " sum=01234567\r\n".len();

/// More than any batch can hold, and the most that fits the field.
const LEN_MAX: u64 = 999_999_999_999;

/// What a sound line says about the batch behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) len: u64,
    pub(super) crc: u32,
}

/// Writes the line into the first [`HEADER_LEN`] bytes of `batch`, for the bytes behind them.
///
/// `offset` is where `batch` will stand in its file.
pub(super) fn seal(batch: &mut [u8], offset: u64) {
    let (line, payload) = batch.split_at_mut(HEADER_LEN);
    let header = Header { len: payload.len() as u64, crc: crc32fast::hash(payload) };
    line.copy_from_slice(&encode(header, offset));
}

/// Reads a line that stands at `offset` of its file; `None` if a single byte of it is wrong.
pub(super) fn decode(line: &[u8], offset: u64) -> Option<Header> {
    let len = std::str::from_utf8(line.get(9..21)?).ok()?.parse().ok()?;
    let crc = u32::from_str_radix(std::str::from_utf8(line.get(26..34)?).ok()?, 16).ok()?;
    let header = Header { len, crc };
    // Comparing with what we would have written is stricter than any field-by-field check.
    (len <= LEN_MAX && line == encode(header, offset)).then_some(header)
}

fn encode(header: Header, offset: u64) -> [u8; HEADER_LEN] {
    debug_assert!(header.len <= LEN_MAX);
    let mut line = [0; HEADER_LEN];
    let mut rest = &mut line[..];
    // Writing to a slice fails only when it is full, and every field has a fixed width.
    let _ = write!(rest, "#KRB len={:012} crc={:08x}", header.len, header.crc);
    let mut sum = crc32fast::Hasher::new();
    sum.update(&line[..SUMMED_LEN]);
    sum.update(&offset.to_le_bytes());
    let mut rest = &mut line[SUMMED_LEN..];
    let _ = write!(rest, " sum={:08x}\r\n", sum.finalize());
    line
}
