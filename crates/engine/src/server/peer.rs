//! A client as the server sees it: its commands go in, its answers come out, in order.

use super::{input::Commands, output::Output, seat::Seat};
use crate::{
    connection::is_script_kill,
    engine::Shared,
    reply::{Error, Reply},
    resp::{Limits, ProtocolError},
    script_control::ScriptControl,
    session::{Delivery, Inbox},
    state::State,
};

/// Commands run before others get the lock; a turn of simple ones takes well under 100 µs.
const COMMANDS_MAX: usize = 128;
/// Answers are sent when there is this much, so that a pipeline of large reads needs no more memory.
const OUTPUT_LEN_MAX: usize = 256 * 1024;

/// One client's side of the conversation.
pub(super) struct Peer {
    pub(super) seat: Seat,
    pub(super) inbox: Inbox,
    pub(super) output: Output,
    pub(super) limits: Limits,
    pub(super) query_buffer_max: usize,
    /// The protocol version of messages nobody asked for.
    pub(super) resp: u8,
    /// Waits for data; what it has sent since waits too.
    pub(super) blocked: bool,
    /// To be hung up on.
    pub(super) closing: bool,
    /// Commands were turned away while a script ran too long.
    pub(super) refused: bool,
    /// Whether its task runs on a runtime with several threads.
    pub(super) on_worker: bool,
    /// Bytes received that the statistics do not know of yet.
    pub(super) n_received: usize,
}

/// What a connection does after a turn, having sent its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Waits for more.
    Wait,
    /// Takes another turn.
    Again,
    Close,
}

impl Peer {
    /// Runs commands under one lock, until one has to wait, others want their turn, or there is no more.
    pub(super) fn turn(&mut self, shared: &Shared, mut commands: Commands<'_>) -> Next {
        match commands.advance(self.limits) {
            Ok(true) => {}
            Ok(false) => return Next::Wait,
            Err(error) => return self.refuse(&error),
        }
        let next = match shared.lock() {
            Ok(mut state) => {
                state.script_control.set_on_worker(self.on_worker);
                let next = self.run(&mut state, &mut commands);
                state.script_control.set_on_worker(false);
                next
            }
            Err(_busy) => return self.run_while_busy(shared, &mut commands),
        };
        if self.blocked {
            // The housekeeper has to know of the new deadline.
            shared.ring();
        }
        next
    }

    fn run(&mut self, state: &mut State, commands: &mut Commands<'_>) -> Next {
        let client = self.seat.take(state);
        self.tell(state);
        // What was published before these commands comes before their answers.
        self.take_deliveries();
        if self.closing {
            return Next::Close;
        }
        let output_before = self.output.len();
        let mut n_commands = 0;
        let next = loop {
            let executed = state.execute(client, commands.args());
            self.take_deliveries();
            if let Some(session) = state.clients.get(client) {
                self.resp = session.resp;
                self.limits.authenticated = session.authenticated;
            }
            let Some(reply) = executed.reply else {
                self.blocked = true;
                break Next::Wait;
            };
            self.output.push_at(&reply, self.resp, executed.position);
            if executed.close || self.closing {
                break Next::Close;
            }
            n_commands += 1;
            if n_commands == COMMANDS_MAX || self.output.len() >= OUTPUT_LEN_MAX {
                break Next::Again;
            }
            match commands.advance(self.limits) {
                Ok(true) => {}
                Ok(false) => break Next::Wait,
                Err(error) => break self.refuse(&error),
            }
        };
        self.output.saw(state.logged);
        state.stats.output_bytes += (self.output.len() - output_before) as u64;
        // They may have been changed just now.
        self.limits.bulk_len_max = state.config.bulk_len_max;
        self.query_buffer_max = state.config.query_buffer_max;
        next
    }

    /// Tells the state what happened without it.
    fn tell(&mut self, state: &mut State) {
        state.stats.input_bytes += std::mem::take(&mut self.n_received) as u64;
        if std::mem::take(&mut self.refused) {
            let client = self.seat.take(state);
            let session = state.clients.get_mut(client);
            if let Some(transaction) = session.and_then(|session| session.transaction.as_mut()) {
                transaction.broken = true;
            }
        }
    }

    /// Answers commands while a script keeps the state locked.
    fn run_while_busy(&mut self, shared: &Shared, commands: &mut Commands<'_>) -> Next {
        loop {
            let reply = self.answer_while_busy(shared, commands.args());
            self.output.push(&reply, self.resp);
            if self.output.len() >= OUTPUT_LEN_MAX {
                return Next::Again;
            }
            match commands.advance(self.limits) {
                Ok(true) => {}
                Ok(false) => return Next::Wait,
                Err(error) => return self.refuse(&error),
            }
        }
    }

    fn answer_while_busy(&mut self, shared: &Shared, args: &[&[u8]]) -> Reply {
        if !self.limits.authenticated {
            return Reply::Error(Error::fixed("NOAUTH Authentication required."));
        }
        if is_script_kill(args) {
            return shared.script_control().kill().unwrap_or_else(Reply::Error);
        }
        if is_shutdown_nosave(args) {
            shared.request_shutdown();
            return Reply::None;
        }
        self.refused = true;
        Reply::Error(ScriptControl::BUSY)
    }

    fn refuse(&mut self, error: &ProtocolError) -> Next {
        if let Some(error) = error.reply() {
            self.output.push(&Reply::Error(error), self.resp);
        }
        Next::Close
    }

    /// Takes what has been delivered, as long as it is not too much at once.
    pub(super) fn take_deliveries(&mut self) {
        while self.output.len() < OUTPUT_LEN_MAX
            && let Some(delivery) = self.inbox.try_next()
        {
            self.deliver(delivery);
        }
    }

    pub(super) fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Push(message) => self.output.push(&message, self.resp),
            Delivery::Served { reply, position } => {
                self.output.push_at(&reply, self.resp, position);
                self.blocked = false;
            }
            Delivery::Close => self.closing = true,
        }
    }
}

fn is_shutdown_nosave(args: &[&[u8]]) -> bool {
    matches!(args, [shutdown, nosave]
        if shutdown.eq_ignore_ascii_case(b"shutdown") && nosave.eq_ignore_ascii_case(b"nosave"))
}
