//! Parts the output of a command: lines about its progress, and what is passed on byte by byte.

use super::line::ProgressReport;

/// What comes out of the filter, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilteredOutput {
    /// What to pass on.
    pub(super) pass: Vec<u8>,
    /// How many lines end in that.
    pub(super) lines: u64,
    /// What was said about progress.
    pub(super) words: Vec<ProgressReport>,
}

/// Holds back the beginning of a line only as long as it may be about progress.
#[derive(Debug)]
pub(super) struct OutputFilter {
    held: Vec<u8>,
    /// Whether the beginning of the present line was passed on already.
    is_passing: bool,
}

/// However long a line is, no more than this of it is held.
const HELD_BYTES_MAX: usize = 64 * 1024;

impl OutputFilter {
    pub(super) fn new() -> OutputFilter {
        OutputFilter { held: Vec::new(), is_passing: false }
    }

    /// Takes some output.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> FilteredOutput {
        let mut filtered = FilteredOutput::default();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line(&mut filtered);
            } else if self.is_passing || !self.waits() {
                self.is_passing = true;
                filtered.pass.append(&mut self.held);
            }
        }
        filtered
    }

    /// The end of the output.
    pub(super) fn end(&mut self) -> FilteredOutput {
        let mut filtered = FilteredOutput::default();
        if self.is_passing || !self.held.is_empty() {
            self.end_line(&mut filtered);
        }
        filtered
    }

    fn waits(&self) -> bool {
        ProgressReport::may_begin_with(&self.held) && self.held.len() < HELD_BYTES_MAX
    }

    fn end_line(&mut self, filtered: &mut FilteredOutput) {
        let word = if self.is_passing { None } else { ProgressReport::parse(&self.held) };
        match word {
            Some(word) => {
                self.held.clear();
                filtered.words.push(word);
            }
            None => {
                filtered.pass.append(&mut self.held);
                filtered.lines += 1;
            }
        }
        self.is_passing = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds chunks; returns what was passed on, how many lines, and how many words.
    fn sift(chunks: &[&str]) -> (String, u64, usize) {
        let mut filter = OutputFilter::new();
        let mut all = FilteredOutput::default();
        let mut add = |filtered: FilteredOutput| {
            all.pass.extend(filtered.pass);
            all.lines += filtered.lines;
            all.words.extend(filtered.words);
        };
        chunks.iter().for_each(|chunk| add(filter.feed(chunk.as_bytes())));
        add(filter.end());
        (String::from_utf8(all.pass).expect("text"), all.lines, all.words.len())
    }

    #[test]
    fn words_are_taken_out_however_output_is_cut() {
        let text = "one\nstep copy 3\ntick\ntwo\r\ntock\ntick 2\nlast";
        let expected = ("one\ntwo\r\ntock\nlast".to_owned(), 4, 3);
        for size in 1..text.len() {
            let chunks = text.as_bytes().chunks(size);
            let chunks: Vec<&str> =
                chunks.map(|chunk| std::str::from_utf8(chunk).expect("text")).collect();
            assert_eq!(sift(&chunks), expected, "chunks of {size}");
        }
    }

    #[test]
    fn question_without_a_line_end_is_passed_on_at_once() {
        let mut filter = OutputFilter::new();
        assert_eq!(filter.feed(b"Name? ").pass, b"Name? ");
        assert_eq!(
            filter.feed(b"tick\n"),
            FilteredOutput { pass: b"tick\n".to_vec(), lines: 1, words: vec![] }
        );
        assert_eq!(filter.feed(b"tic").pass, b"");
    }

    #[test]
    fn line_without_end_does_not_fill_the_memory() {
        let mut filter = OutputFilter::new();
        let passed: usize = (0..100).map(|_| filter.feed(&[b'x'; 4_096]).pass.len()).sum();
        assert!(passed > 300_000, "{passed}");
        assert_eq!(filter.end().lines, 1);
    }

    #[test]
    fn no_output_is_no_line() {
        assert_eq!(sift(&[]), (String::new(), 0, 0));
        assert_eq!(sift(&["\n"]), ("\n".to_owned(), 1, 0));
    }
}
