//! Parts the output of a command: lines about its progress, and what is passed on byte by byte.

use super::line::Word;

/// What comes out of the sieve, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sifted {
    /// What to pass on.
    pub(super) pass: Vec<u8>,
    /// How many lines end in that.
    pub(super) lines: u64,
    /// What was said about progress.
    pub(super) words: Vec<Word>,
}

/// Holds back the beginning of a line only as long as it may be about progress.
#[derive(Debug)]
pub(super) struct Sieve {
    held: Vec<u8>,
    /// Whether the beginning of the present line was passed on already.
    is_passing: bool,
}

/// However long a line is, no more than this of it is held.
const HELD_BYTES_MAX: usize = 64 * 1024;

impl Sieve {
    pub(super) fn new() -> Sieve {
        Sieve { held: Vec::new(), is_passing: false }
    }

    /// Takes some output.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Sifted {
        let mut sifted = Sifted::default();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line(&mut sifted);
            } else if self.is_passing || !self.waits() {
                self.is_passing = true;
                sifted.pass.append(&mut self.held);
            }
        }
        sifted
    }

    /// The end of the output.
    pub(super) fn end(&mut self) -> Sifted {
        let mut sifted = Sifted::default();
        if self.is_passing || !self.held.is_empty() {
            self.end_line(&mut sifted);
        }
        sifted
    }

    fn waits(&self) -> bool {
        Word::may_begin_with(&self.held) && self.held.len() < HELD_BYTES_MAX
    }

    fn end_line(&mut self, sifted: &mut Sifted) {
        let word = if self.is_passing { None } else { Word::parse(&self.held) };
        match word {
            Some(word) => {
                self.held.clear();
                sifted.words.push(word);
            }
            None => {
                sifted.pass.append(&mut self.held);
                sifted.lines += 1;
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
        let mut sieve = Sieve::new();
        let mut all = Sifted::default();
        let mut add = |sifted: Sifted| {
            all.pass.extend(sifted.pass);
            all.lines += sifted.lines;
            all.words.extend(sifted.words);
        };
        chunks.iter().for_each(|chunk| add(sieve.feed(chunk.as_bytes())));
        add(sieve.end());
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
        let mut sieve = Sieve::new();
        assert_eq!(sieve.feed(b"Name? ").pass, b"Name? ");
        assert_eq!(
            sieve.feed(b"tick\n"),
            Sifted { pass: b"tick\n".to_vec(), lines: 1, words: vec![] }
        );
        assert_eq!(sieve.feed(b"tic").pass, b"");
    }

    #[test]
    fn line_without_end_does_not_fill_the_memory() {
        let mut sieve = Sieve::new();
        let passed: usize = (0..100).map(|_| sieve.feed(&[b'x'; 4_096]).pass.len()).sum();
        assert!(passed > 300_000, "{passed}");
        assert_eq!(sieve.end().lines, 1);
    }

    #[test]
    fn no_output_is_no_line() {
        assert_eq!(sift(&[]), (String::new(), 0, 0));
        assert_eq!(sift(&["\n"]), ("\n".to_owned(), 1, 0));
    }
}
