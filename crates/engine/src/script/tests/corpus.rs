//! `corpus.txt`: scripts, and what a real server answered.
//!
//! A line that starts with `> ` is a line of a script (with Rust's escapes for what a text file cannot hold), the line
//! that starts with `= ` after it is the answer. Scripts get the keys k1 and k2 and the arguments a1, a2 and a3.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use super::toy::without_name;
use super::{Toy, render, run};
use crate::script::{Limits, Scripts};

const CORPUS: &str = include_str!("corpus.txt");

/// One script of the corpus and its recorded answer.
struct Case {
    script: String,
    answer: String,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in CORPUS.lines() {
        if let Some(code) = line.strip_prefix("> ") {
            lines.push(code.to_owned());
        } else if let Some(answer) = line.strip_prefix("= ") {
            cases.push(Case { script: lines.join("\n"), answer: answer.to_owned() });
            lines.clear();
        }
    }
    cases
}

#[test]
fn every_recorded_answer_is_given_again() {
    // One machine for all: what one script does must not reach the next.
    let mut scripts = Scripts::new(Limits::default());
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() > 300, "the corpus has only {} cases", cases.len());
    for case in cases {
        let answer = render(&run(&mut scripts, &case.script, &mut Toy::default()));
        if answer != case.answer {
            wrong.push(format!("{}\n  recorded {}\n  got      {answer}", case.script, case.answer));
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares the recorded answers with those of the server at `REDIS_ADDR`, and writes the corpus with the server's
/// answers to the file named by `CORPUS_OUT` if that is set.
#[test]
#[ignore = "needs a redis-server 7.0.15 at REDIS_ADDR"]
fn a_live_server_still_gives_the_recorded_answers() {
    let address = std::env::var("REDIS_ADDR").unwrap_or_else(|_| "127.0.0.1:6379".to_owned());
    let mut server = Server(BufReader::new(
        TcpStream::connect(address).expect("the server accepts connections"),
    ));
    let mut recorded = String::new();
    let mut wrong = Vec::new();
    for case in cases() {
        server.ask(&["FLUSHALL"]);
        server.ask(&["SCRIPT", "FLUSH"]);
        let answer = server.ask(&["EVAL", &case.script, "2", "k1", "k2", "a1", "a2", "a3"]);
        let code = case.script.replace('\n', "\n> ");
        recorded.push_str(&format!("> {code}\n= {answer}\n"));
        if answer != case.answer {
            wrong.push(format!("{}\n  recorded {}\n  live     {answer}", case.script, case.answer));
        }
    }
    if let Ok(path) = std::env::var("CORPUS_OUT") {
        std::fs::write(path, recorded).expect("the corpus can be written");
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// A connection that speaks just enough RESP2.
struct Server(BufReader<TcpStream>);

impl Server {
    fn ask(&mut self, words: &[&str]) -> String {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        self.0.get_mut().write_all(&request).expect("the server reads");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).expect("the server answers");
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        let Some((kind, rest)) = line.split_at_checked(1) else {
            panic!("the server closed the connection")
        };
        match (kind, rest) {
            ("$" | "*", "-1") => "nil".to_owned(),
            ("$", length) => {
                let length: usize = length.parse().expect("a length");
                let mut bytes = vec![0; length + 2];
                self.0.read_exact(&mut bytes).expect("a whole string");
                format!("\"{}\"", bytes[..length].escape_ascii())
            }
            ("*", count) => {
                let count: usize = count.parse().expect("a count");
                let items: Vec<String> = (0..count).map(|_| self.answer()).collect();
                format!("[{}]", items.join(" "))
            }
            ("-", text) => format!("-{}", without_name(text)),
            _ => line,
        }
    }
}
