//! Commands of every kind, one after another.

use super::{engine, replies};
use crate::{
    resp::{Limits, Parser},
    session::Delivery,
};

/// Runs bytes as what a client sends, except for scripts, which could run for ever.
///
/// # Panics
/// When an answer is not made of well-formed replies.
pub fn run_commands(bytes: &[u8]) {
    let (mut state, client, mut inbox) = engine();
    let (mut bytes, mut words) = (bytes.to_vec(), Vec::new());
    let mut rest = &mut bytes[..];
    let limits = Limits { bulk_len_max: 1 << 20, authenticated: true };
    let mut parser = Parser::default();
    while let Ok(true) = parser.next(&mut rest, &mut words, limits) {
        if words[0].to_ascii_lowercase().starts_with(b"eval") {
            continue;
        }
        let executed = state.execute(client, &words);
        match &executed.reply {
            Some(reply) => replies::check(reply),
            None => state.stop_waiting(client),
        }
        while let Some(delivery) = inbox.try_next() {
            match delivery {
                Delivery::Push(reply) => replies::check(&reply),
                Delivery::Served { reply, .. } => replies::check(&reply),
                Delivery::Close => return,
            }
        }
        if executed.close {
            return;
        }
    }
}
