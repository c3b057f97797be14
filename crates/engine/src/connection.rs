//! The door for the `redis` crate: commands go straight into the state, without sockets or serialisation.

use std::{io, sync::Arc};

use parking_lot::MutexGuard;
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value, aio::ConnectionLike};

use crate::{
    engine::Shared,
    num::format_double,
    reply::{Error, Reply},
    script_control::ScriptControl,
    session::{About, ClientIndex, Delivery, Inbox, mailbox},
};

/// Commands of a pipeline that are run before others get the lock.
const COMMANDS_MAX: usize = 256;

/// A connection inside the process. A clone is a connection of its own, on the same database.
///
/// Many live for a single command, so it is the first command that makes one known to the engine, which is locked then
/// anyway.
pub struct Connection {
    shared: Arc<Shared>,
    client: Option<Client>,
    db: usize,
}

struct Client {
    index: ClientIndex,
    inbox: Inbox,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, db: usize) -> Connection {
        Connection { shared, client: None, db }
    }

    /// Runs commands one after the other and returns their replies, waiting where one has to.
    async fn run(&mut self, commands: &[Vec<&[u8]>]) -> RedisResult<Vec<Value>> {
        // With the protocol that each came in. They are converted when others have the lock again.
        let mut replies = Vec::with_capacity(commands.len());
        let (mut position, mut seen) = (0, 0);
        let (mut next, mut resp) = (0, 2);
        while next < commands.len() {
            let blocked = {
                let Ok(mut state) = self.shared.lock() else {
                    replies.extend(commands[next..].iter().map(|args| (self.while_busy(args), 2)));
                    break;
                };
                let client = self.client.get_or_insert_with(|| {
                    let (mailbox, inbox) = mailbox(state.config.pending_output_max);
                    Client { index: state.connect(self.db, mailbox, true, About::default()), inbox }
                });
                let mut blocked = false;
                let turn_end = next + COMMANDS_MAX;
                // Between MULTI and EXEC nobody else gets a turn, who could keep EXEC from being run.
                while !blocked && (next < turn_end || state.is_queueing(client.index)) {
                    let Some(args) = commands.get(next) else { break };
                    let executed = state.execute(client.index, args);
                    position = position.max(executed.position);
                    resp = state.resp(client.index);
                    match executed.reply {
                        Some(reply) => replies.push((reply, resp)),
                        None => blocked = true,
                    }
                    next += 1;
                }
                if blocked {
                    // The answer cannot be there yet: what is there was for a caller that gave up.
                    client.inbox.clear();
                }
                seen = state.logged;
                if next < commands.len() {
                    MutexGuard::unlock_fair(state);
                }
                blocked
            };
            if blocked {
                let client = self.client.as_mut().expect("who waits is known");
                let (reply, served_at) = client.wait(&self.shared).await?;
                position = position.max(served_at);
                replies.push((reply, resp));
            }
        }
        self.shared.committed(position).await.map_err(io::Error::other)?;
        self.shared.shown(seen).await;
        Ok(replies.into_iter().map(|(reply, resp)| value(reply, resp)).collect())
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
        self.shared.lock_patiently().stop_waiting(self.client);
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let args = arguments(cmd)?;
            let mut values = self.run(&[args]).await?;
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
            let mut commands = Vec::with_capacity(pipeline.len() + 2);
            let atomic = pipeline.is_transaction();
            if atomic {
                commands.push(vec![&b"MULTI"[..]]);
            }
            for cmd in pipeline.cmd_iter() {
                commands.push(arguments(cmd)?);
            }
            if atomic {
                commands.push(vec![&b"EXEC"[..]]);
            }
            let values = self.run(&commands).await?;
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

fn arguments(cmd: &Cmd) -> RedisResult<Vec<&[u8]>> {
    let args: Vec<&[u8]> = cmd
        .args_iter()
        .map(|arg| match arg {
            Arg::Simple(bytes) => bytes,
            // A cursor that has not moved yet.
            _ => b"0",
        })
        .collect();
    let name = args.first().copied().unwrap_or_default();
    if name.is_empty() {
        return Err(invalid("a command needs a name"));
    }
    if is_subscription(name) {
        return Err(invalid("a connection in process cannot subscribe: use Engine::subscribe"));
    }
    Ok(args)
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
