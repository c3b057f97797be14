//! `corpus.txt`: scripts, and what a real server answered.
//!
//! A line that starts with `> ` is a line of a script (with Rust's escapes for what a text file cannot hold), the line
//! that starts with `= ` after it is the answer. Scripts get the keys k1 and k2 and the arguments a1, a2 and a3.

use super::{ToyEngine, render, run};
use crate::script::{Limits, Scripts};

const CORPUS: &str = include_str!("corpus.txt");

/// One script of the corpus and its recorded answer.
pub(super) struct Case {
    pub(super) script: String,
    pub(super) answer: String,
}

pub(super) fn cases() -> Vec<Case> {
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
        let answer = render(&run(&mut scripts, &case.script, &mut ToyEngine::default()));
        if answer != case.answer {
            wrong.push(format!("{}\n  recorded {}\n  got      {answer}", case.script, case.answer));
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}
