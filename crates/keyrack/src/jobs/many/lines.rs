//! Jobs on lines.

use std::io::{self, BufRead, Read as _};

use keyrack_jobs::bee::{DATA_BYTES_MAX, Submission, SubmissionBody, keys::QueueName};

/// Longer lines are refused: beside its data a job has some words of its own.
const LINE_BYTES_MAX: usize = DATA_BYTES_MAX + 128 * 1024;

/// The lines of a file.
pub(super) struct InputLines {
    reader: Box<dyn BufRead>,
    number: u64,
}

/// One line.
#[derive(Debug, PartialEq)]
pub(super) struct InputLine {
    /// Its number, the first being 1.
    pub(super) number: u64,
    /// How many bytes of the file it takes.
    pub(super) bytes: u64,
    /// What stands on it, unless that is too much.
    text: Option<Vec<u8>>,
}

impl InputLines {
    pub(super) fn new(reader: Box<dyn BufRead>) -> InputLines {
        InputLines { reader, number: 0 }
    }

    /// The next line, if there is one.
    pub(super) fn next(&mut self) -> io::Result<Option<InputLine>> {
        let mut text = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let mut bytes = self.reader.by_ref().take(limit).read_until(b'\n', &mut text)? as u64;
        if bytes == 0 {
            return Ok(None);
        }
        self.number += 1;
        let is_whole = text.last() == Some(&b'\n') || bytes < limit;
        if !is_whole {
            bytes += self.reader.skip_until(b'\n')? as u64;
        }
        Ok(Some(InputLine { number: self.number, bytes, text: Some(text).filter(|_| is_whole) }))
    }
}

impl InputLine {
    /// The job on the line; none on an empty one.
    pub(super) fn job(&self, queue: &QueueName) -> Result<Option<Submission>, String> {
        let Some(bytes) = &self.text else {
            return Err(format!(
                "more than {LINE_BYTES_MAX} bytes; store the data elsewhere and pass its name"
            ));
        };
        let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?.trim();
        let job = match text.bytes().next() {
            None => return Ok(None),
            Some(b'[') => Submission::to(queue.clone()).args_json(text),
            Some(b'{') => serde_json::from_str::<SubmissionBody>(text)
                .map_err(|error| error.to_string())?
                .to_queue(queue.clone()),
            Some(_) => return Err("neither a list of arguments nor an object".into()),
        };
        job.map(Some).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<InputLine> {
        let mut lines = InputLines::new(Box::new(io::Cursor::new(text.to_vec())));
        std::iter::from_fn(|| lines.next().expect("no error")).collect()
    }

    fn jobs(text: &[u8]) -> Vec<Result<bool, String>> {
        let queue = QueueName::new("q").expect("a queue");
        lines(text).iter().map(|line| line.job(&queue).map(|job| job.is_some())).collect()
    }

    #[test]
    fn lists_and_objects_are_jobs_and_empty_lines_are_none() {
        let found = jobs(b"[1, \"two\"]\n\n{\"data\": [3], \"tags\": [\"t\"]}\r\n[]");
        assert_eq!(found, [Ok(true), Ok(false), Ok(true), Ok(true)]);
    }

    #[test]
    fn what_is_no_job_is_refused_with_the_reason() {
        let found = jobs(b"\"x\"\n[1\n{\"email\": 1}\n\xff\n");
        let reasons: Vec<&str> =
            found.iter().map(|job| job.as_ref().expect_err("refused").as_str()).collect();
        assert_eq!(reasons[0], "neither a list of arguments nor an object");
        assert!(reasons[1].starts_with("data: not a JSON list"), "{}", reasons[1]);
        assert!(reasons[2].starts_with("unknown field `email`"), "{}", reasons[2]);
        assert_eq!(reasons[3], "not UTF-8");
    }

    #[test]
    fn too_long_a_line_is_refused_and_the_next_is_read() {
        let text = [&vec![b'x'; 2 * LINE_BYTES_MAX][..], b"\n[1]\n"].concat();
        let found = lines(&text);
        assert_eq!(found.iter().map(|line| line.bytes).sum::<u64>(), text.len() as u64);
        assert!(jobs(&text)[0].as_ref().is_err_and(|reason| reason.starts_with("more than ")));
        assert_eq!(jobs(&text)[1], Ok(true));
        let fits = [b"[\"", &vec![b'x'; LINE_BYTES_MAX - 5][..], b"\"]\n"].concat();
        assert_eq!(jobs(&fits), [Ok(true)]);
    }
}
