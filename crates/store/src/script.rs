//! Lua scripts: files with a header and includes, called by hash with named keys and arguments.
//!
//! ```text
//! --[[
//!   Moves an amount from one account to another.
//!
//!   KEYS  1 from   2 to
//!   ARGV  1 amount
//!   Returns what is left.
//!   Errors  TOO_LITTLE
//! ]]
//! --- @include "publish"
//! ```
//!
//! The header is the contract: callers name what they pass, and a name that the header does not have is a bug that
//! the first call shows. The script has its arguments as locals of these names; what follows without bound as `jobs...` begins
//! at `ARGV[JOBS_AT]`. Time and ids come in as arguments, because scripts read neither clock nor random source. Words
//! under `Errors` are returned as `redis.error_reply('WORD what happened')` and arrive as [`Error::Refused`].
//!
//! On a cluster a call passes one more key, under which nothing is ever stored. While a slot moves between nodes a cluster
//! runs nothing that names several keys of which one is missing (`TRYAGAIN`), whatever else the script derives: it sees
//! all keys of its slot, or does not begin. The script itself does not see the additional key.
//!
//! An include may bring more than a script needs: what nothing uses is not sent. Nor are remarks, and a
//! `local LIMIT = 10` at the left margin stands as a number wherever its name does, so a name in capitals is no field.

mod assemble;
mod header;
mod numbers;
mod unused;

use std::{borrow::Cow, pin::Pin, sync::OnceLock};

use keyrack_keys::{Key, Layout};
use redis::{FromRedisValue, RedisError, ToRedisArgs, Value};

use self::{assemble::assemble, header::Header};
use crate::{error::Error, store::Store, traced};

/// Room for the keys and arguments that every call of a script has.
const USUAL_BYTES: usize = 512;

/// Takes away the key that is passed on a cluster only, so that scripts may count their keys.
const WITHOUT_ABSENT: &str = "KEYS[#KEYS] = nil ";

/// A script, made with [`script!`](crate::script!).
#[derive(Debug)]
pub struct Script {
    source: Source,
    header: OnceLock<Header>,
    documented: OnceLock<Text>,
    cluster: OnceLock<Text>,
}

/// A script's files.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Source {
    pub name: &'static str,
    pub text: &'static str,
    /// File names and texts of what it may include.
    pub includes: &'static [(&'static str, &'static str)],
}

/// What is sent to the server.
#[derive(Debug)]
struct Text {
    body: String,
    sha: String,
}

/// Makes a [`Script`] from a file and the files it includes, named as for `include_str!`.
#[macro_export]
macro_rules! script {
    ($file:literal $(, $include:literal)* $(,)?) => {
        $crate::Script::new($crate::Source {
            name: $file,
            text: include_str!($file),
            includes: &[$(($include, include_str!($include))),*],
        })
    };
}

impl Script {
    #[doc(hidden)]
    pub const fn new(source: Source) -> Script {
        Script {
            source,
            header: OnceLock::new(),
            documented: OnceLock::new(),
            cluster: OnceLock::new(),
        }
    }

    /// The file it was made from.
    pub fn name(&self) -> &'static str {
        self.source.name
    }

    /// The script as a server gets it: with its includes, and without remarks and what nothing in it uses.
    ///
    /// # Panics
    /// When the script's own files are wrong: a bad header, a missing or circular include, text over several lines.
    pub fn body(&self, layout: Layout) -> &str {
        &self.text(layout).body
    }

    /// Starts a call.
    pub fn call<'a>(&'a self, store: &'a Store) -> Call<'a> {
        let header = self.header();
        Call {
            script: self,
            store,
            keys: vec![None; header.keys.names.len()],
            args: vec![None; header.args.names.len()],
            more_keys: Vec::new(),
            more_args: Vec::new(),
            absent: None,
        }
    }

    fn header(&self) -> &Header {
        self.header.get_or_init(|| {
            Header::parse(self.source.text)
                .unwrap_or_else(|reason| panic!("the header of {}: {reason}", self.source.name))
        })
    }

    fn text(&self, layout: Layout) -> &Text {
        let (cell, before, publish) = match layout {
            Layout::Documented => (&self.documented, "", "PUBLISH"),
            Layout::Cluster => (&self.cluster, WITHOUT_ABSENT, "SPUBLISH"),
        };
        cell.get_or_init(|| {
            let body = assemble(&self.source, publish)
                .unwrap_or_else(|reason| panic!("the script {}: {reason}", self.source.name));
            let body = format!("{before}{body}");
            let sha = sha1_smol::Sha1::from(&body).digest().to_string();
            Text { body, sha }
        })
    }
}

/// A call of a script under preparation.
#[derive(Debug)]
#[must_use = "a call does nothing until it is run"]
pub struct Call<'a> {
    script: &'a Script,
    store: &'a Store,
    keys: Vec<Option<String>>,
    args: Vec<Option<Vec<u8>>>,
    more_keys: Vec<String>,
    more_args: Vec<Cow<'a, [u8]>>,
    /// The key that is never stored, on a cluster.
    absent: Option<String>,
}

impl<'a> Call<'a> {
    /// Passes a key under the name that the header gives it.
    ///
    /// # Panics
    /// When the header has no such key.
    pub fn key(mut self, name: &str, key: &Key) -> Self {
        let at = self.position(&self.script.header().keys.names, "key", name);
        self.keys[at] = Some(self.place(key));
        self
    }

    /// Passes an argument under the name that the header gives it.
    ///
    /// # Panics
    /// When the header has no such argument, or `value` is not exactly one.
    pub fn arg(mut self, name: &str, value: impl ToRedisArgs) -> Self {
        let at = self.position(&self.script.header().args.names, "argument", name);
        let mut values = value.to_redis_args();
        assert_eq!(values.len(), 1, "{}: the argument \"{name}\" is one value", self.script.name());
        self.args[at] = values.pop();
        self
    }

    /// Passes the keys that the header ends with as `name...`.
    ///
    /// # Panics
    /// When the header does not end so.
    pub fn keys<'k>(mut self, name: &str, keys: impl IntoIterator<Item = &'k Key>) -> Self {
        self.check_rest(self.script.header().keys.rest.as_deref(), name);
        for key in keys {
            let placed = self.place(key);
            self.more_keys.push(placed);
        }
        self
    }

    /// Passes the arguments that the header ends with as `name...`.
    ///
    /// # Panics
    /// When the header does not end so.
    pub fn args(mut self, name: &str, values: impl ToRedisArgs) -> Self {
        self.check_rest(self.script.header().args.rest.as_deref(), name);
        self.more_args.extend(values.to_redis_args().into_iter().map(Cow::Owned));
        self
    }

    /// The same for many values, which are not copied.
    ///
    /// # Panics
    /// When the header does not end so.
    pub fn many_args(mut self, name: &str, values: Vec<Cow<'a, [u8]>>) -> Self {
        self.check_rest(self.script.header().args.rest.as_deref(), name);
        self.more_args.extend(values);
        self
    }

    /// Runs the script, loading it where the server does not know it.
    ///
    /// # Errors
    /// [`Error::Refused`] with a word of the header, or what befell the connection.
    ///
    /// # Panics
    /// When a key or argument of the header was not passed.
    pub async fn run<T: FromRedisValue>(self) -> Result<T, Error> {
        let reply = self.reply().await?;
        Ok(redis::from_redis_value(reply).map_err(RedisError::from)?)
    }

    /// What the script returns, as the server sends it. Boxed, so that it is compiled here once, and not wherever
    /// something else is made of the reply.
    fn reply(self) -> Pin<Box<dyn Future<Output = Result<Value, Error>> + Send + 'a>> {
        let name = self.script.name();
        Box::pin(traced::script(name, async move {
            let text = self.script.text(self.store.native_layout());
            let mut connection = self.store.connection();
            let by_hash = self.command("EVALSHA", &text.sha).query_async(&mut connection).await;
            match by_hash {
                // EVAL runs it and leaves it loaded, on the very node that has the keys.
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    Ok(self.command("EVAL", &text.body).query_async(&mut connection).await?)
                }
                result => Ok(result?),
            }
        }))
    }

    /// Adds the call to a transaction. The script goes along whole: nothing could load it once the rest has happened.
    ///
    /// # Panics
    /// When a key or argument of the header was not passed.
    pub fn add_to(self, transaction: &mut redis::Pipeline) {
        let body = self.script.body(self.store.native_layout());
        transaction.add_command(self.command("EVAL", body));
    }

    fn command(&self, name: &str, script: &str) -> redis::Cmd {
        let missing = |kind: &str, names: &[String], at: usize| -> ! {
            panic!("{}: the {kind} \"{}\" was not passed", self.script.name(), names[at])
        };
        let header = self.script.header();
        // A batch has a thousand arguments, and a buffer that grew with them would be copied again and again.
        let n_args = 3 + header.keys.names.len() + header.args.names.len();
        let n_bytes: usize = self.more_args.iter().map(|arg| arg.len()).sum();
        let mut cmd = redis::Cmd::with_capacity(
            n_args + self.more_keys.len() + self.more_args.len(),
            n_bytes + script.len() + USUAL_BYTES,
        );
        let n_keys = self.keys.len() + self.more_keys.len() + usize::from(self.absent.is_some());
        cmd.arg(name).arg(script).arg(n_keys);
        for (at, key) in self.keys.iter().enumerate() {
            cmd.arg(key.as_ref().unwrap_or_else(|| missing("key", &header.keys.names, at)));
        }
        cmd.arg(&self.more_keys).arg(&self.absent);
        for (at, arg) in self.args.iter().enumerate() {
            cmd.arg(arg.as_ref().unwrap_or_else(|| missing("argument", &header.args.names, at)));
        }
        for arg in &self.more_args {
            cmd.arg(&**arg);
        }
        cmd
    }

    fn place(&mut self, key: &Key) -> String {
        if self.absent.is_none() && self.store.native_layout() == Layout::Cluster {
            self.absent = Some(key.absent_beside());
        }
        self.store.place(key).into_owned()
    }

    fn position(&self, names: &[String], kind: &str, name: &str) -> usize {
        names.iter().position(|other| other == name).unwrap_or_else(|| {
            panic!("{}: the header has no {kind} \"{name}\"", self.script.name())
        })
    }

    fn check_rest(&self, rest: Option<&str>, name: &str) {
        assert_eq!(
            rest,
            Some(name),
            "{}: the header does not end with \"{name}...\"",
            self.script.name()
        );
    }
}
