//! The command table: what each command is called, takes and touches. It drives dispatch, arity errors, COMMAND,
//! read-only checks, key extraction and what goes into the log.

use std::{collections::HashMap, sync::LazyLock};

use foldhash::fast::FixedState;

use crate::{
    commands,
    ctx::Ctx,
    reply::{Error, Reply},
};

/// Runs a command; `args[0]` is its name. Arity is checked before.
pub(crate) type Handler = fn(&mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error>;

/// One row of the table.
pub(crate) struct Command {
    /// In lower case; a subcommand's holds its parent's, as in `config|get`.
    pub(crate) name: &'static str,
    /// How many arguments it takes, its name included; negative for "at least".
    pub(crate) arity: i32,
    pub(crate) flags: Flags,
    pub(crate) keys: Keys,
    pub(crate) handler: Handler,
    /// The Redis version that first had it.
    pub(crate) since: &'static str,
    pub(crate) group: Group,
    /// What it does, in one line.
    pub(crate) summary: &'static str,
    pub(crate) subcommands: &'static [Command],
}

impl Command {
    pub(crate) const fn new(
        name: &'static str,
        arity: i32,
        flags: Flags,
        keys: Keys,
        handler: Handler,
    ) -> Command {
        let (since, group, summary) = ("1.0.0", Group::Generic, "");
        Command { name, arity, flags, keys, handler, since, group, summary, subcommands: &[] }
    }

    /// Adds what COMMAND DOCS tells.
    pub(crate) const fn doc(
        mut self,
        group: Group,
        since: &'static str,
        summary: &'static str,
    ) -> Command {
        (self.group, self.since, self.summary) = (group, since, summary);
        self
    }

    /// Adds subcommands, which are chosen by the first argument.
    pub(crate) const fn with(mut self, subcommands: &'static [Command]) -> Command {
        self.subcommands = subcommands;
        self
    }

    pub(crate) fn has(&self, flags: Flags) -> bool {
        self.flags.0 & flags.0 != 0
    }

    /// Whether it takes so little time that the next command may be run by the same reading of the clock.
    pub(crate) fn is_brief(&self) -> bool {
        self.has(Flags::FAST) || matches!(self.group, Group::String)
    }

    pub(crate) fn takes(&self, n_args: usize) -> bool {
        let n = i32::try_from(n_args).unwrap_or(i32::MAX);
        if self.arity < 0 { n >= -self.arity } else { n == self.arity }
    }

    /// `wrong number of arguments`, in Redis' words.
    pub(crate) fn arity_error(&self) -> Error {
        Error::new(format!("ERR wrong number of arguments for '{}' command", self.name))
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Command({})", self.name)
    }
}

/// A set of command flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags(u32);

impl Flags {
    pub(crate) const NONE: Flags = Flags(0);
    /// May change data.
    pub(crate) const WRITE: Flags = Flags(1);
    /// Reads data and changes none.
    pub(crate) const READONLY: Flags = Flags(1 << 1);
    /// May use more memory.
    pub(crate) const DENYOOM: Flags = Flags(1 << 2);
    /// For operators.
    pub(crate) const ADMIN: Flags = Flags(1 << 3);
    pub(crate) const PUBSUB: Flags = Flags(1 << 4);
    /// Not allowed in scripts.
    pub(crate) const NOSCRIPT: Flags = Flags(1 << 5);
    /// May wait for data.
    pub(crate) const BLOCKING: Flags = Flags(1 << 6);
    /// Allowed while loading.
    pub(crate) const LOADING: Flags = Flags(1 << 7);
    pub(crate) const STALE: Flags = Flags(1 << 8);
    pub(crate) const SKIP_MONITOR: Flags = Flags(1 << 9);
    /// Takes constant or logarithmic time.
    pub(crate) const FAST: Flags = Flags(1 << 10);
    /// Allowed before AUTH.
    pub(crate) const NO_AUTH: Flags = Flags(1 << 11);
    /// COMMAND does not show this one.
    pub(crate) const MAY_REPLICATE: Flags = Flags(1 << 12);
    /// Not allowed in MULTI.
    pub(crate) const NO_MULTI: Flags = Flags(1 << 13);
    /// Its keys depend on the arguments.
    pub(crate) const MOVABLE_KEYS: Flags = Flags(1 << 14);
    /// Allowed while a script runs too long.
    pub(crate) const ALLOW_BUSY: Flags = Flags(1 << 15);
    pub(crate) const SKIP_SLOWLOG: Flags = Flags(1 << 16);
    /// Not allowed while a replica loads in the background, which never happens here.
    pub(crate) const NO_ASYNC_LOADING: Flags = Flags(1 << 18);
    /// Works without any key too.
    pub(crate) const NO_MANDATORY_KEYS: Flags = Flags(1 << 17);

    pub(crate) const fn or(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The names that COMMAND shows, in Redis' order.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [(Flags, &str); 18] = [
            (Flags::WRITE, "write"),
            (Flags::READONLY, "readonly"),
            (Flags::DENYOOM, "denyoom"),
            (Flags::ADMIN, "admin"),
            (Flags::PUBSUB, "pubsub"),
            (Flags::NOSCRIPT, "noscript"),
            (Flags::BLOCKING, "blocking"),
            (Flags::LOADING, "loading"),
            (Flags::STALE, "stale"),
            (Flags::SKIP_MONITOR, "skip_monitor"),
            (Flags::SKIP_SLOWLOG, "skip_slowlog"),
            (Flags::FAST, "fast"),
            (Flags::NO_AUTH, "no_auth"),
            (Flags::NO_ASYNC_LOADING, "no_async_loading"),
            (Flags::NO_MULTI, "no_multi"),
            (Flags::NO_MANDATORY_KEYS, "no_mandatory_keys"),
            (Flags::MOVABLE_KEYS, "movablekeys"),
            (Flags::ALLOW_BUSY, "allow_busy"),
        ];
        NAMES.into_iter().filter(move |(flag, _)| self.0 & flag.0 != 0).map(|(_, name)| name)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        self.or(other)
    }
}

/// Which arguments are keys.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    None,
    /// From `first` to `last` (negative counts from the end) in steps of `step`.
    Range {
        first: usize,
        last: isize,
        step: usize,
    },
    /// The argument at `at` says how many keys follow it; `with_dest` for a key at 1 that is written to.
    Counted {
        at: usize,
        with_dest: bool,
    },
}

impl Keys {
    /// Just the argument at 1.
    pub(crate) const FIRST: Keys = Keys::Range { first: 1, last: 1, step: 1 };
    /// All arguments.
    pub(crate) const ALL: Keys = Keys::Range { first: 1, last: -1, step: 1 };

    /// The keys among `args`; none where the arguments do not fit.
    pub(crate) fn of<'a>(&self, args: &[&'a [u8]]) -> Vec<&'a [u8]> {
        match *self {
            Keys::None => Vec::new(),
            Keys::Range { first, last, step } => {
                let last =
                    if last < 0 { args.len().saturating_add_signed(last) } else { last as usize };
                args.iter().take(last + 1).skip(first).step_by(step).copied().collect()
            }
            Keys::Counted { at, with_dest } => {
                let n = args.get(at).and_then(|n| crate::num::parse_int(n)).unwrap_or(0);
                let n = usize::try_from(n).unwrap_or(0);
                let dest = with_dest.then(|| args.get(1).copied()).flatten();
                dest.into_iter().chain(args.iter().skip(at + 1).take(n).copied()).collect()
            }
        }
    }
}

/// What COMMAND DOCS files a command under.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Group {
    Connection,
    Generic,
    Hash,
    List,
    PubSub,
    Scripting,
    Server,
    Set,
    SortedSet,
    String,
    Transactions,
}

impl Group {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Connection => "connection",
            Group::Generic => "generic",
            Group::Hash => "hash",
            Group::List => "list",
            Group::PubSub => "pubsub",
            Group::Scripting => "scripting",
            Group::Server => "server",
            Group::Set => "set",
            Group::SortedSet => "sorted-set",
            Group::String => "string",
            Group::Transactions => "transactions",
        }
    }
}

static BY_NAME: LazyLock<HashMap<&'static [u8], &'static Command, FixedState>> =
    LazyLock::new(|| all().map(|command| (command.name.as_bytes(), command)).collect());

/// Names are at most this long; anything longer is no command.
const NAME_LEN_MAX: usize = 32;

/// Every command, subcommands inside their parents.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    commands::TABLES.iter().copied().flatten()
}

/// The command called `name`, in any case.
pub(crate) fn find(name: &[u8]) -> Option<&'static Command> {
    let mut lower = [0; NAME_LEN_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    BY_NAME.get(&*lower).copied()
}

/// The subcommand of `command` that `name` chooses, in any case.
pub(crate) fn find_sub(command: &'static Command, name: &[u8]) -> Option<&'static Command> {
    command.subcommands.iter().find(|sub| {
        let short = sub.name.split_once('|').map_or(sub.name, |(_, short)| short);
        short.as_bytes().eq_ignore_ascii_case(name)
    })
}
