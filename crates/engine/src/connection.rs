//! The door for the `redis` crate: commands go straight into the state, without sockets or serialisation.

mod call;
pub(crate) mod queue;

use std::{io, sync::Arc};

use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value, aio::ConnectionLike};

use self::call::{Call, Commands};
use crate::{
    engine::{Busy, Guard, Shared},
    num::format_double,
    reply::{Error, Reply},
    script_control::ScriptControl,
    session::{ClientIndex, Delivery, Inbox},
};

/// A connection inside the process. A clone is a connection of its own, on the same database.
///
/// Many live for a single command, so it is the first command that makes one known to the engine, which is locked then
/// anyway.
pub struct Connection {
    shared: Arc<Shared>,
    client: Option<Client>,
    db: usize,
}

pub(crate) struct Client {
    index: ClientIndex,
    inbox: Inbox,
    /// Whether it is between MULTI and EXEC.
    is_queueing: bool,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, db: usize) -> Connection {
        Connection { shared, client: None, db }
    }

    /// Runs commands one after the other and returns their replies, waiting where one has to.
    async fn run(&mut self, commands: Commands<'_>) -> RedisResult<Vec<Value>> {
        let mut call = Call::new(commands);
        while !call.is_over() {
            if let Err(Busy) = self.turn(&mut call).await {
                self.spoil_transaction();
                call.answer_rest(|args| self.while_busy(args));
                break;
            }
            if call.waits() {
                let client = self.client.as_mut().expect("who waits is known");
                let (reply, position) = client.wait(&self.shared).await?;
                call.note_served(reply, position);
            }
        }
        self.shared.committed(call.position()).await.map_err(io::Error::other)?;
        self.shared.shown(call.seen()).await;
        Ok(call.into_replies().map(|(reply, resp)| value(reply, resp)).collect())
    }

    /// Runs the next commands of a call, or has them run by whoever has the lock.
    async fn turn(&mut self, call: &mut Call<'_>) -> Result<(), Busy> {
        if let Some(state) = self.shared.lock_at_once() {
            go_on(call, state, &mut self.client, self.db);
        } else if queue::is_worth_it() {
            queue::wait_in_queue(self, call).await?;
        } else {
            go_on(call, self.shared.lock()?, &mut self.client, self.db);
        }
        Ok(())
    }

    /// Makes EXEC refuse if a command for it was refused.
    fn spoil_transaction(&mut self) {
        if let Some(client) = &mut self.client
            && std::mem::take(&mut client.is_queueing)
        {
            let index = client.index;
            self.shared.do_soon(move |state| state.spoil_transaction(index));
        }
    }

    /// The answer to a command while a script runs too long.
    fn while_busy(&self, args: &[&[u8]]) -> Reply {
        if is_script_kill(args) {
            self.shared.script_control().kill().unwrap_or_else(Reply::Error)
        } else {
            Reply::Error(ScriptControl::BUSY)
        }
    }
}

fn go_on(call: &mut Call<'_>, mut state: Guard<'_>, client: &mut Option<Client>, db: usize) {
    call.go_on(&mut state, client, db);
    if !call.is_over() {
        state.unlock_fair();
    }
}

impl Client {
    /// Waits for the answer to a blocking command.
    async fn wait(&mut self, shared: &Shared) -> RedisResult<(Reply, u64)> {
        shared.ring();
        let waiting = Waiting { shared, client: self.index };
        loop {
            match self.inbox.next().await {
                Some(Delivery::Served { reply, position }) => {
                    std::mem::forget(waiting);
                    return Ok((reply, position));
                }
                Some(Delivery::Push(_)) => {}
                Some(Delivery::Close) | None => {
                    let closed = "the connection was closed by CLIENT KILL";
                    return Err(io::Error::new(io::ErrorKind::ConnectionAborted, closed).into());
                }
            }
        }
    }
}

/// Whether this is the one command that reaches a script that runs too long.
pub(crate) fn is_script_kill(args: &[&[u8]]) -> bool {
    matches!(args, [script, kill]
        if script.eq_ignore_ascii_case(b"script") && kill.eq_ignore_ascii_case(b"kill"))
}

/// A blocking command under way: if the caller gives up, the client no longer waits.
struct Waiting<'a> {
    shared: &'a Shared,
    client: ClientIndex,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.stop_waiting(self.client);
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            check(cmd)?;
            let mut values = self.run(cmd.into()).await?;
            values.pop().unwrap_or(Value::Nil).extract_error()
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            pipeline.cmd_iter().try_for_each(check)?;
            let values = self.run(pipeline.into()).await?;
            Ok(values.into_iter().skip(offset).take(count).collect())
        })
    }

    fn get_db(&self) -> i64 {
        self.db as i64
    }
}

impl Clone for Connection {
    fn clone(&self) -> Connection {
        Connection::new(self.shared.clone(), self.db)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            self.shared.leave(client.index);
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("db", &self.db).finish_non_exhaustive()
    }
}

/// Whether a command can be run here.
fn check(cmd: &Cmd) -> RedisResult<()> {
    let name = cmd.args_iter().next().map(call::bytes).unwrap_or_default();
    if name.is_empty() {
        return Err(invalid("a command needs a name"));
    }
    if is_subscription(name) {
        return Err(invalid("a connection in process cannot subscribe: use Engine::subscribe"));
    }
    Ok(())
}

fn is_subscription(name: &[u8]) -> bool {
    let names: [&[u8]; 4] = [b"subscribe", b"psubscribe", b"ssubscribe", b"monitor"];
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

fn invalid(message: &'static str) -> RedisError {
    RedisError::from((redis::ErrorKind::Client, message))
}

/// A reply as the `redis` crate would have read it off a socket.
fn value(reply: Reply, resp: u8) -> Value {
    let all = |replies: Vec<Reply>| replies.into_iter().map(|reply| value(reply, resp)).collect();
    let resp3 = resp >= 3;
    match reply {
        Reply::Status(text) if text == "OK" => Value::Okay,
        Reply::Status(text) => Value::SimpleString(text.into_owned()),
        Reply::Error(error) => server_error(&error),
        Reply::Int(n) => Value::Int(n),
        Reply::Bulk(bytes) => Value::BulkString(bytes),
        Reply::Nil | Reply::NilArray | Reply::None => Value::Nil,
        Reply::Double(n) if resp3 => Value::Double(n),
        Reply::Double(n) => Value::BulkString(format_double(n).into_bytes()),
        Reply::Bool(yes) if resp3 => Value::Boolean(yes),
        Reply::Bool(yes) => Value::Int(i64::from(yes)),
        Reply::Set(items) if resp3 => Value::Set(all(items)),
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Several(items) => {
            Value::Array(all(items))
        }
        Reply::Map(pairs) if resp3 => {
            Value::Map(pairs.into_iter().map(|(k, v)| (value(k, resp), value(v, resp))).collect())
        }
        Reply::Map(pairs) => Value::Array(
            pairs.into_iter().flat_map(|(k, v)| [value(k, resp), value(v, resp)]).collect(),
        ),
        Reply::Verbatim(text) => Value::BulkString(text.into_bytes()),
    }
}

/// The crate makes its server errors only by parsing them.
fn server_error(error: &Error) -> Value {
    redis::parse_redis_value(format!("-{}\r\n", error.text()).as_bytes()).unwrap_or(Value::Nil)
}

#[cfg(test)]
mod tests;
