//! What a client is answered while a script keeps the state locked for too long.
//!
//! Redis takes a few commands then, those marked `allow_busy`: who has just come must be able to give the password and
//! end the script. They are answered here from what is known outside of the state, and done for real as soon as
//! the state can be reached, before the client's next command.

use super::peer::Peer;
use crate::{
    commands::{Greeting, WRONG_PASSWORD, equal_in_constant_time, welcome},
    engine::Shared,
    exec,
    reply::{Error, Reply},
    script_control::ScriptControl,
    session::ClientIndex,
    state::State,
    table::{Command, Flags},
};

/// Commands of one client that can wait to be done.
const LATE_MAX: usize = 1000;
/// Bytes of one client's commands that can wait to be done.
const LATE_LEN_MAX: usize = 1 << 20;

/// Something that was answered and is still to be done.
pub(super) enum Deferred {
    Run(Vec<Box<[u8]>>),
    /// A command of a transaction was refused, so EXEC has to refuse too.
    Spoil,
}

/// What a client has been promised.
#[derive(Default)]
pub(super) struct DeferredList {
    list: Vec<Deferred>,
    len: usize,
}

impl DeferredList {
    fn has_room_for(&self, args: &[&[u8]]) -> bool {
        let len: usize = args.iter().map(|arg| arg.len()).sum();
        self.list.len() < LATE_MAX && self.len + len <= LATE_LEN_MAX
    }

    fn push(&mut self, args: &[&[u8]]) {
        self.len += args.iter().map(|arg| arg.len()).sum::<usize>();
        self.list.push(Deferred::Run(args.iter().map(|arg| (*arg).into()).collect()));
    }

    fn spoil(&mut self) {
        if !matches!(self.list.last(), Some(Deferred::Spoil)) {
            self.list.push(Deferred::Spoil);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Does everything, in order.
    pub(super) fn carry_out(&mut self, state: &mut State, client: ClientIndex) {
        self.len = 0;
        for late in self.list.drain(..) {
            match late {
                Deferred::Run(args) => {
                    let args: Vec<&[u8]> = args.iter().map(|arg| &**arg).collect();
                    // Answered already, and what it answers now is the same.
                    state.execute(client, &args);
                    if args[0].eq_ignore_ascii_case(b"watch") {
                        // The script may have changed the keys after the client began to watch them.
                        state.watchers.touch_client(client);
                    }
                }
                Deferred::Spoil => state.spoil_transaction(client),
            }
        }
    }
}

impl Peer {
    /// The answer to a command while a script keeps the state locked, in the order in which Redis checks.
    pub(super) fn answer_while_busy(&mut self, shared: &Shared, args: &[&[u8]]) -> Reply {
        let answer = exec::resolve(args, None).and_then(|command| {
            if !self.limits.authenticated && !command.has(Flags::NO_AUTH) {
                return Err(Error::fixed("NOAUTH Authentication required."));
            }
            if self.in_transaction && command.has(Flags::NO_MULTI) {
                return Err(Error::fixed("ERR Command not allowed inside a transaction"));
            }
            if !command.has(Flags::ALLOW_BUSY) || !self.late.has_room_for(args) {
                return Err(ScriptControl::BUSY);
            }
            Ok(command)
        });
        match answer {
            Ok(command) if self.in_transaction && !exec::is_run_at_once(command) => {
                self.late.push(args);
                Reply::Status("QUEUED".into())
            }
            Ok(command) => self.run_while_busy(shared, command, args).unwrap_or_else(Reply::Error),
            Err(error) => Reply::Error(self.reject_while_busy(args, error)),
        }
    }

    fn reject_while_busy(&mut self, args: &[&[u8]], error: Error) -> Error {
        let was_in_transaction = self.in_transaction;
        if args[0].eq_ignore_ascii_case(b"exec") {
            if std::mem::take(&mut self.in_transaction) {
                self.late.push(&[b"DISCARD"]);
            } else {
                self.late.push(&[b"UNWATCH"]);
            }
            return exec::abort_error(&error);
        }
        if was_in_transaction {
            self.late.spoil();
        }
        error
    }

    fn run_while_busy(
        &mut self,
        shared: &Shared,
        command: &Command,
        args: &[&[u8]],
    ) -> Result<Reply, Error> {
        match command.name {
            "script|kill" => return shared.script_control().kill(),
            "shutdown" => return self.shut_down(shared, args),
            "quit" => {
                self.closing = true;
                return Ok(Reply::OK);
            }
            _ => {}
        }
        let reply = match command.name {
            "auth" => self.auth(shared, args)?,
            "hello" => self.hello(shared, args)?,
            "reset" => {
                self.limits.authenticated = shared.password().is_none();
                self.in_transaction = false;
                self.resp = 2;
                Reply::Status("RESET".into())
            }
            "multi" if self.in_transaction => {
                return Err(Error::fixed("ERR MULTI calls can not be nested"));
            }
            "multi" => {
                self.in_transaction = true;
                Reply::OK
            }
            "discard" if !std::mem::take(&mut self.in_transaction) => {
                return Err(Error::fixed("ERR DISCARD without MULTI"));
            }
            "watch" if self.in_transaction => {
                return Err(Error::fixed("ERR WATCH inside MULTI is not allowed"));
            }
            "discard" | "watch" | "unwatch" => Reply::OK,
            _ => return Err(ScriptControl::BUSY),
        };
        self.late.push(args);
        Ok(reply)
    }

    fn shut_down(&mut self, shared: &Shared, args: &[&[u8]]) -> Result<Reply, Error> {
        let has =
            |name: &str| args[1..].iter().any(|arg| arg.eq_ignore_ascii_case(name.as_bytes()));
        if has("abort") && args.len() == 2 {
            return Err(Error::fixed("ERR No shutdown in progress."));
        }
        if !has("nosave") {
            return Err(ScriptControl::BUSY);
        }
        shared.request_shutdown();
        Ok(Reply::None)
    }

    fn auth(&mut self, shared: &Shared, args: &[&[u8]]) -> Result<Reply, Error> {
        let (user, password) = match args[1..] {
            [password] if shared.password().is_some() => (&b"default"[..], password),
            [user, password] => (user, password),
            // The state will say what is wrong with it.
            _ => return Err(ScriptControl::BUSY),
        };
        self.authenticate(shared, user, password)?;
        Ok(Reply::OK)
    }

    fn hello(&mut self, shared: &Shared, args: &[&[u8]]) -> Result<Reply, Error> {
        let Greeting { resp, credentials, name: _ } = Greeting::parse(&args[1..])?;
        if let Some((user, password)) = credentials {
            self.authenticate(shared, user, password)?;
        }
        if !self.limits.authenticated {
            return Err(Greeting::NOAUTH);
        }
        self.resp = resp.unwrap_or(self.resp);
        Ok(welcome(self.resp, self.registration.id()))
    }

    fn authenticate(&mut self, shared: &Shared, user: &[u8], password: &[u8]) -> Result<(), Error> {
        let expected = shared.password();
        let known =
            expected.is_none_or(|expected| equal_in_constant_time(expected.as_bytes(), password));
        if user != b"default" || !known {
            return Err(WRONG_PASSWORD);
        }
        self.limits.authenticated = true;
        Ok(())
    }
}
