//! What a command says on stderr: how far it is, and words for whoever runs it.

use std::{
    collections::VecDeque,
    io::{self, Write as _},
    time::Duration,
};

use keyrack_format as format;
use serde_json::Value as Json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    sync::watch,
};

/// Longer lines are cut.
const LINE_BYTES_MAX: usize = 4 * 1024;
/// Of one attempt no more than this is passed on: a command in a loop must not fill a disk.
const PASSED_BYTES_MAX: usize = 1024 * 1024;
/// What a failure tells of its command's last words.
const LAST_LINES_MAX: usize = 10;
const LAST_BYTES_MAX: usize = 2 * 1024;

/// What a command has said by its end.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    /// The end of what it wrote.
    pub(super) last_words: String,
    /// When it wants the job to be run again.
    pub(super) again: Option<Again>,
}

/// When a command wants its job to be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The attempt failed, and the next is to be made in this time.
    RetryIn(Duration),
    /// It could not be made yet, which is no failure.
    Snooze(Duration),
}

/// Reads stderr to its end: progress goes to `progress`, other lines to our own stderr and to `log`. Returns what it said.
///
/// Of progress that comes faster than it can be told, the last counts.
pub(super) async fn read(
    stderr: impl AsyncRead + Unpin,
    jid: &str,
    log: impl Fn(&str),
    progress: watch::Sender<Option<Json>>,
) -> io::Result<Said> {
    let mut again = None;
    let mut reader = BufReader::new(stderr);
    let mut lines = LineSplitter::default();
    let mut passed = StderrLog { jid, passed: 0, last: VecDeque::new() };
    loop {
        let chunk = reader.fill_buf().await?;
        let n = chunk.len();
        let whole = if n == 0 { lines.end() } else { lines.feed(chunk) };
        for line in whole {
            match StderrLine::parse(&line) {
                StderrLine::Progress(value) => {
                    progress.send_replace(Some(value));
                }
                StderrLine::Again(when) => again = Some(when),
                StderrLine::Text(words) => {
                    if !words.trim().is_empty() {
                        log(&words);
                    }
                    passed.take(words);
                }
            }
        }
        if n == 0 {
            return Ok(Said { last_words: passed.last_words(), again });
        }
        reader.consume(n);
    }
}

/// Bytes put together to lines.
#[derive(Default)]
struct LineSplitter {
    begun: Vec<u8>,
}

impl LineSplitter {
    /// The lines that end in this chunk.
    fn feed(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        let mut pieces = chunk.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            let room = LINE_BYTES_MAX - self.begun.len();
            self.begun.extend_from_slice(&piece[..piece.len().min(room)]);
            if pieces.peek().is_some() {
                whole.push(std::mem::take(&mut self.begun));
            }
        }
        whole
    }

    /// A last line without an end.
    fn end(&mut self) -> Vec<Vec<u8>> {
        let last = std::mem::take(&mut self.begun);
        if last.is_empty() { Vec::new() } else { vec![last] }
    }
}

/// A line of stderr.
#[derive(Debug, PartialEq)]
enum StderrLine {
    /// How far the job is.
    Progress(Json),
    /// When it wants the job to be run again.
    Again(Again),
    /// Anything else.
    Text(String),
}

impl StderrLine {
    fn parse(line: &[u8]) -> StderrLine {
        let words = plain(&String::from_utf8_lossy(line));
        // A time that is none is for whoever reads the log.
        let time = |prefix| format::duration::parse(words.strip_prefix(prefix)?.trim()).ok();
        let again = time("snooze:").map(Again::Snooze);
        if let Some(again) = again.or_else(|| time("retry-in:").map(Again::RetryIn)) {
            return StderrLine::Again(again);
        }
        match words.strip_prefix("progress:").map(str::trim) {
            None | Some("") => StderrLine::Text(words),
            // What is no JSON is taken for a text.
            Some(value) => {
                StderrLine::Progress(serde_json::from_str(value).unwrap_or_else(|_| value.into()))
            }
        }
    }
}

/// A line without what moves a terminal's cursor or changes its colours. Of a line that was written over, the last
/// state counts, as on a terminal.
fn plain(line: &str) -> String {
    let line = line.trim_end();
    let line = line.rsplit('\r').next().unwrap_or(line);
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next_if_eq(&'[').is_some() {
            // A control sequence ends with its first letter.
            chars.by_ref().find(|c| ('@'..='~').contains(c));
        } else if c == '\t' || !c.is_control() {
            plain.push(c);
        }
    }
    plain
}

/// The words of one attempt.
struct StderrLog<'a> {
    jid: &'a str,
    passed: usize,
    last: VecDeque<String>,
}

impl StderrLog<'_> {
    fn take(&mut self, words: String) {
        self.pass_on(&words);
        if words.trim().is_empty() {
            return;
        }
        if self.last.len() == LAST_LINES_MAX {
            self.last.pop_front();
        }
        self.last.push_back(words);
    }

    /// Nobody is left to tell when our own stderr is gone.
    fn pass_on(&mut self, words: &str) {
        if self.passed > PASSED_BYTES_MAX {
            return;
        }
        self.passed += words.len() + 1;
        let line = match self.passed {
            ..=PASSED_BYTES_MAX => format!("[{}] {words}\n", format::visible(self.jid)),
            _ => format!("[{}] … (more is left out)\n", format::visible(self.jid)),
        };
        let _ = io::stderr().write_all(line.as_bytes());
    }

    fn last_words(mut self) -> String {
        let mut bytes = self.last.iter().map(|line| line.len() + 1).sum::<usize>();
        while bytes > LAST_BYTES_MAX && self.last.len() > 1 {
            bytes -= self.last.pop_front().map_or(0, |line| line.len() + 1);
        }
        let words = self.last.make_contiguous().join("\n");
        words[..words.floor_char_boundary(LAST_BYTES_MAX)].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(line: &str, expected: StderrLine) {
        assert_eq!(StderrLine::parse(line.as_bytes()), expected, "{line}");
    }

    #[test]
    fn progress_is_any_json_or_else_a_text() {
        check("progress: 40", StderrLine::Progress(json!(40)));
        check("progress:0.5\r", StderrLine::Progress(json!(0.5)));
        check("progress: {\"step\": 2}", StderrLine::Progress(json!({ "step": 2 })));
        check("progress: halfway", StderrLine::Progress(json!("halfway")));
    }

    #[test]
    fn other_lines_are_words() {
        for line in ["progress", "progress:", " progress: 4", "in progress: 4", "", "40"] {
            check(line, StderrLine::Text(line.into()));
        }
    }

    #[test]
    fn words_cannot_move_the_cursor() {
        check("\u{1b}[31mred\u{1b}[0m\u{7}", StderrLine::Text("red".into()));
        check("10%\r20%\r30%\r", StderrLine::Text("30%".into()));
        check("a\tb\u{1b}]0;title", StderrLine::Text("a\tb]0;title".into()));
        assert_eq!(StderrLine::parse(b"\xff!"), StderrLine::Text("\u{fffd}!".into()));
    }

    #[test]
    fn lines_are_put_together_from_chunks_and_cut_at_their_limit() {
        let mut lines = LineSplitter::default();
        assert_eq!(lines.feed(b"on"), Vec::<Vec<u8>>::new());
        assert_eq!(lines.feed(b"e\ntwo\nth"), [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(lines.end(), [b"th".to_vec()]);
        assert_eq!(lines.end(), Vec::<Vec<u8>>::new());
        let whole = lines.feed(&[&[b'x'; 3 * LINE_BYTES_MAX][..], b"\ny\n"].concat());
        assert_eq!(whole.iter().map(Vec::len).collect::<Vec<_>>(), [LINE_BYTES_MAX, 1]);
    }

    #[test]
    fn last_words_are_the_last_lines_that_fit() {
        let mut log = StderrLog { jid: "j", passed: PASSED_BYTES_MAX + 1, last: VecDeque::new() };
        (0..20).for_each(|i| log.take(format!("line {i}")));
        log.take(String::new());
        let words = log.last_words();
        assert_eq!(words.lines().next(), Some("line 10"));
        assert_eq!(words.lines().last(), Some("line 19"));

        let mut log = StderrLog { jid: "j", passed: PASSED_BYTES_MAX + 1, last: VecDeque::new() };
        log.take("x".repeat(1000));
        log.take("ü".repeat(LAST_BYTES_MAX));
        assert_eq!(log.last_words(), "ü".repeat(LAST_BYTES_MAX / 2));
    }
}
