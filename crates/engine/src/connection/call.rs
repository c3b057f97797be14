//! Commands that a connection was asked to run, and how far it has got with them.

use std::borrow::Cow;

use redis::{Arg, Cmd, Pipeline};

use super::Client;
use crate::{
    dict::TOGETHER,
    reply::Reply,
    session::{ClientInfo, mailbox},
    state::State,
};

/// Commands of a pipeline that are run before others get the lock.
pub(super) const COMMANDS_MAX: usize = 256;

/// The commands of one call.
pub(super) enum Commands<'a> {
    One(Cow<'a, Cmd>),
    Many(Cow<'a, Pipeline>),
}

impl<'a> From<&'a Cmd> for Commands<'a> {
    fn from(cmd: &'a Cmd) -> Commands<'a> {
        Commands::One(Cow::Borrowed(cmd))
    }
}

impl<'a> From<&'a Pipeline> for Commands<'a> {
    fn from(pipeline: &'a Pipeline) -> Commands<'a> {
        Commands::Many(Cow::Borrowed(pipeline))
    }
}

impl Commands<'_> {
    fn into_owned(self) -> Commands<'static> {
        match self {
            Commands::One(cmd) => Commands::One(Cow::Owned(cmd.into_owned())),
            Commands::Many(pipeline) => Commands::Many(Cow::Owned(pipeline.into_owned())),
        }
    }

    /// How many there are, with those around a transaction.
    fn len(&self) -> usize {
        match self {
            Commands::One(_) => 1,
            Commands::Many(pipeline) => {
                pipeline.len() + if pipeline.is_transaction() { 2 } else { 0 }
            }
        }
    }

    /// Whether it pays to look at the keys of the next before they are run. Those of a transaction are run later.
    fn are_many(&self) -> bool {
        match self {
            Commands::One(_) => false,
            Commands::Many(pipeline) => pipeline.len() >= TOGETHER && !pipeline.is_transaction(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Command<'_>> {
        let (one, many) = match self {
            Commands::One(cmd) => (Some(&**cmd), None),
            Commands::Many(pipeline) => (None, Some(&**pipeline)),
        };
        let is_atomic = many.is_some_and(Pipeline::is_transaction);
        let bracket = |name| is_atomic.then_some(Command::Bare(name)).into_iter();
        let given = one.into_iter().chain(many.into_iter().flat_map(Pipeline::cmd_iter));
        bracket(b"MULTI").chain(given.map(Command::Given)).chain(bracket(b"EXEC"))
    }
}

enum Command<'a> {
    Given(&'a Cmd),
    /// Its name is all there is to it.
    Bare(&'static [u8]),
}

impl<'a> Command<'a> {
    /// Its first argument, which is its key if it has one.
    fn key(self) -> Option<&'a [u8]> {
        match self {
            Command::Given(cmd) => cmd.args_iter().nth(1).map(bytes),
            Command::Bare(_) => None,
        }
    }

    fn put_args(self, args: &mut Vec<&'a [u8]>) {
        args.clear();
        match self {
            Command::Given(cmd) => args.extend(cmd.args_iter().map(bytes)),
            Command::Bare(name) => args.push(name),
        }
    }
}

pub(super) fn bytes(arg: Arg<&[u8]>) -> &[u8] {
    match arg {
        Arg::Simple(bytes) => bytes,
        // A cursor that has not moved yet.
        _ => b"0",
    }
}

/// A call under way.
pub(super) struct Call<'a> {
    commands: Commands<'a>,
    n_run: usize,
    /// With the protocol that each came in. They are converted when others have the lock again.
    replies: Vec<(Reply, u8)>,
    /// Where in the log the last change of the call is.
    position: u64,
    /// What in the log its replies may tell of.
    seen: u64,
    resp: u8,
    /// The last command that was run waits for data.
    waits: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new(commands: Commands<'a>) -> Call<'a> {
        let replies = Vec::with_capacity(commands.len());
        Call { commands, n_run: 0, replies, position: 0, seen: 0, resp: 2, waits: false }
    }

    /// The same call with commands of its own.
    pub(super) fn into_owned(self) -> Call<'static> {
        let Call { commands, n_run, replies, position, seen, resp, waits } = self;
        Call { commands: commands.into_owned(), n_run, replies, position, seen, resp, waits }
    }

    /// Nothing to run: what a call leaves behind that is elsewhere.
    pub(super) fn nothing() -> Call<'static> {
        Call::new(Commands::Many(Cow::Owned(Pipeline::new())))
    }

    /// Runs commands until one has to wait, others want their turn, or there is no more.
    pub(super) fn go_on(&mut self, state: &mut State, client: &mut Option<Client>, db: usize) {
        let client = client.get_or_insert_with(|| {
            let (mailbox, inbox) = mailbox(state.config.pending_output_max);
            let index = state.connect(db, mailbox, true, ClientInfo::default());
            Client { index, inbox, is_queueing: false }
        });
        state.begin_turn();
        let turn_end = self.n_run + COMMANDS_MAX;
        let (mut args, mut keys) = (Vec::new(), Vec::new());
        let mut ahead = self.commands.iter().skip(self.n_run);
        for (n, command) in self.commands.iter().skip(self.n_run).enumerate() {
            if self.commands.are_many() && n % TOGETHER == 0 {
                keys.clear();
                keys.extend(ahead.by_ref().take(TOGETHER).filter_map(Command::key));
                state.fetch(client.index, &keys);
            }
            // Between MULTI and EXEC nobody else gets a turn, who could keep EXEC from being run.
            if self.n_run >= turn_end && !state.is_queueing(client.index) {
                break;
            }
            command.put_args(&mut args);
            let executed = state.execute_next(client.index, &args);
            self.n_run += 1;
            self.position = self.position.max(executed.position);
            self.resp = state.resp(client.index);
            match executed.reply {
                Some(reply) => self.replies.push((reply, self.resp)),
                None => {
                    self.waits = true;
                    // The answer cannot be there yet: what is there was for a caller that gave up.
                    client.inbox.clear();
                    break;
                }
            }
        }
        client.is_queueing = state.is_queueing(client.index);
        self.seen = state.logged;
    }

    /// Takes the answer to the command that had to wait.
    pub(super) fn note_served(&mut self, reply: Reply, position: u64) {
        self.waits = false;
        self.position = self.position.max(position);
        self.replies.push((reply, self.resp));
    }

    /// Answers what has not been run.
    pub(super) fn answer_rest(&mut self, answer: impl Fn(&[&[u8]]) -> Reply) {
        let mut args = Vec::new();
        for command in self.commands.iter().skip(self.n_run) {
            command.put_args(&mut args);
            self.replies.push((answer(&args), 2));
        }
        self.n_run = self.commands.len();
    }

    pub(super) fn is_over(&self) -> bool {
        self.n_run == self.commands.len() && !self.waits
    }

    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn into_replies(self) -> impl Iterator<Item = (Reply, u8)> {
        self.replies.into_iter()
    }
}
