//! Scripts run against a toy engine, and compared with answers recorded from a real server.

mod corpus;
pub(in crate::script) mod faults;
mod limits;
mod live;
mod soup;
mod toy;

use super::{Limits, Scripts};
use crate::reply::Reply;
use toy::{ToyEngine, render};

/// Runs `body` once in a fresh machine with a toy engine and renders the reply.
fn eval(body: &str) -> String {
    eval_with(Limits::default(), body)
}

fn eval_with(limits: Limits, body: &str) -> String {
    let mut scripts = Scripts::new(limits);
    render(&run(&mut scripts, body, &mut ToyEngine::default()))
}

fn run(scripts: &mut Scripts, body: &str, toy: &mut ToyEngine) -> Reply {
    match scripts.load(body.as_bytes()) {
        Ok(sha) => scripts.run(
            scripts.find(&sha).expect("it is loaded"),
            &sha,
            &[b"k1", b"k2"],
            &[b"a1", b"a2", b"a3"],
            toy,
        ),
        Err(error) => error.into(),
    }
}
