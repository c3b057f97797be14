//! A client as the server sees it: its commands go in, its answers come out, in order.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    auth_throttle::AuthThrottle, busy::DeferredList, input::Commands, output::Output,
    registration::Registration,
};
use crate::{
    engine::{Refused, Shared},
    reply::Reply,
    resp::{Limits, ProtocolError},
    session::{Delivery, Inbox},
    state::State,
};

/// Commands run before others get the lock; a turn of simple ones takes well under 100 µs.
const COMMANDS_MAX: usize = 128;
/// Answers are sent when there is this much, so that a pipeline of large reads needs no more memory.
const OUTPUT_LEN_MAX: usize = 256 * 1024;

/// One client's side of the conversation.
pub(super) struct Peer {
    pub(super) registration: Registration,
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
    /// Between MULTI and EXEC, as far as it was told.
    pub(super) in_transaction: bool,
    /// What it was answered while a script ran too long, and is still to be done.
    pub(super) late: DeferredList,
    pub(super) auth_throttle: Arc<AuthThrottle>,
    pub(super) address: IpAddr,
    pub(super) auth_delay_max: Duration,
    pub(super) request_timeout_s: u64,
    /// Bytes received that the statistics do not know of yet.
    pub(super) n_received: usize,
    /// Commands run so far.
    pub(super) n_commands: u64,
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
    pub(super) async fn turn(&mut self, shared: &Shared, mut commands: Commands<'_>) -> Next {
        match commands.advance(self.limits) {
            Ok(true) => {}
            Ok(false) => return Next::Wait,
            Err(error) => return self.refuse(&error),
        }
        let is_auth_attempt = !self.limits.authenticated && is_auth_attempt(commands.args());
        if is_auth_attempt && !self.wait_for_auth_attempt().await {
            return Next::Close;
        }
        let next = loop {
            match self.try_turn(shared, &mut commands) {
                Some(next) => break next,
                None => shared.until_free().await,
            }
        };
        if is_auth_attempt && self.limits.authenticated {
            self.auth_throttle.note_success(self.address);
        }
        next
    }

    /// Waits until a password may be tried; false if the client is to be hung up on meanwhile.
    async fn wait_for_auth_attempt(&mut self) -> bool {
        while let Err(next_at) =
            self.auth_throttle.ask(self.address, Instant::now().into_std(), self.auth_delay_max)
        {
            tokio::select! {
                () = tokio::time::sleep_until(next_at.into()) => {}
                () = self.inbox.hung_up() => return false,
            }
        }
        true
    }

    /// Takes a turn, unless somebody has the state who takes long.
    fn try_turn(&mut self, shared: &Shared, commands: &mut Commands<'_>) -> Option<Next> {
        let next = match shared.lock_briefly() {
            Ok(mut state) => self.run(&mut state, commands),
            Err(Refused::Held) => return None,
            Err(Refused::Busy) => self.turn_while_busy(shared, commands),
        };
        if self.blocked {
            // The housekeeper has to know of the new deadline.
            shared.ring();
        }
        Some(next)
    }

    fn run(&mut self, state: &mut State, commands: &mut Commands<'_>) -> Next {
        let client = self.registration.take(state);
        self.tell(state);
        // What was published before these commands comes before their answers.
        self.take_deliveries();
        if self.closing {
            return Next::Close;
        }
        let output_before = self.output.len();
        let mut n_commands = 0;
        state.begin_turn();
        let next = loop {
            let executed = state.execute_next(client, commands.args());
            match state.clients.get(client) {
                Some(session) => {
                    self.resp = session.resp;
                    self.limits.authenticated = session.authenticated;
                    self.in_transaction = session.transaction.is_some();
                    // Others are sent nothing by their own commands.
                    if session.is_monitor || !session.subscriptions.is_empty() {
                        self.take_deliveries();
                    }
                }
                None => self.take_deliveries(),
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
            // Who has not given the password has one try at a time.
            let is_over = n_commands == COMMANDS_MAX || !self.limits.authenticated;
            if is_over || self.output.len() >= OUTPUT_LEN_MAX {
                break Next::Again;
            }
            match commands.advance(self.limits) {
                Ok(true) => {}
                Ok(false) => break Next::Wait,
                Err(error) => break self.refuse(&error),
            }
        };
        self.n_commands += 1;
        self.output.saw(state.logged);
        state.stats.output_bytes += (self.output.len() - output_before) as u64;
        // They may have been changed just now.
        self.limits.bulk_len_max = state.config.bulk_len_max;
        self.query_buffer_max = state.config.query_buffer_max;
        self.request_timeout_s = state.config.request_timeout_s;
        next
    }

    /// Tells the state what happened without it.
    fn tell(&mut self, state: &mut State) {
        state.stats.input_bytes += std::mem::take(&mut self.n_received) as u64;
        if !self.late.is_empty() {
            let client = self.registration.take(state);
            self.late.carry_out(state, client);
        }
    }

    /// Answers commands while a script keeps the state locked.
    fn turn_while_busy(&mut self, shared: &Shared, commands: &mut Commands<'_>) -> Next {
        loop {
            let reply = self.answer_while_busy(shared, commands.args());
            self.output.push(&reply, self.resp);
            if self.closing {
                return Next::Close;
            }
            if self.output.len() >= OUTPUT_LEN_MAX || !self.limits.authenticated {
                return Next::Again;
            }
            match commands.advance(self.limits) {
                Ok(true) => {}
                Ok(false) => return Next::Wait,
                Err(error) => return self.refuse(&error),
            }
        }
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

/// Whether a command gives a password.
fn is_auth_attempt(args: &[&[u8]]) -> bool {
    match args {
        [name, _, ..] if name.eq_ignore_ascii_case(b"auth") => true,
        [name, _, _, ..] => name.eq_ignore_ascii_case(b"hello"),
        _ => false,
    }
}
