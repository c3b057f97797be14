//! Taking the demo's members out of a key that others use too.

use keyrack_keys::{Content, Family};
use keyrack_store::{Error as StoreError, Keyspace};
use redis::{FromRedisValue, Pipeline, RedisError, cmd};

use crate::{error::Error, mark::Marks};

/// How many members one step looks at.
const STEP: usize = 500;

/// Takes marked members out of a key of any type; returns how many they were.
pub(super) async fn trim(
    keyspace: &Keyspace,
    key: &[u8],
    family: &Family,
    marks: &Marks,
) -> Result<u64, Error> {
    let (scan, remove, pairs) = match &family.content {
        Content::Set(_) => ("SSCAN", "SREM", false),
        Content::SortedSet { .. } => ("ZSCAN", "ZREM", true),
        Content::Map { .. } => ("HSCAN", "HDEL", true),
        Content::List(_) => return trim_list(keyspace, key, marks).await,
        // Their fields have names of their own.
        Content::Hash(_)
        | Content::String(_)
        | Content::Stream(_)
        | Content::Bitmap(_)
        | Content::HyperLogLog(_)
        | Content::Channel(_) => return Ok(0),
    };
    let (mut cursor, mut ours) = (0_u64, Vec::new());
    loop {
        let mut step = cmd(scan);
        step.arg(key).arg(cursor).arg("COUNT").arg(STEP);
        let (next, found): (u64, Vec<Vec<u8>>) = ask(keyspace, step).await?;
        let members = found.into_iter().step_by(if pairs { 2 } else { 1 });
        ours.extend(members.filter(|member| marks.is_on_member(member)));
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    let mut removed = 0;
    for some in ours.chunks(STEP) {
        let mut step = cmd(remove);
        step.arg(key).arg(some);
        removed += ask::<u64>(keyspace, step).await?;
    }
    Ok(removed)
}

async fn trim_list(keyspace: &Keyspace, key: &[u8], marks: &Marks) -> Result<u64, Error> {
    let mut ours = Vec::new();
    for start in (0..).step_by(STEP) {
        let mut range = cmd("LRANGE");
        range.arg(key).arg(start).arg(start + STEP - 1);
        let items: Vec<Vec<u8>> = ask(keyspace, range).await?;
        let is_last = items.len() < STEP;
        ours.extend(items.into_iter().filter(|item| marks.is_on_member(item)));
        if is_last {
            break;
        }
    }
    ours.sort_unstable();
    ours.dedup();
    let mut removed = 0;
    for item in ours {
        let mut step = cmd("LREM");
        step.arg(key).arg(0).arg(item);
        removed += ask::<u64>(keyspace, step).await?;
    }
    Ok(removed)
}

/// One command to where the key is.
async fn ask<T: FromRedisValue>(keyspace: &Keyspace, command: redis::Cmd) -> Result<T, Error> {
    let mut pipeline = Pipeline::with_capacity(1);
    pipeline.add_command(command);
    let reply = keyspace.pipeline(&pipeline).await?.pop().unwrap_or(redis::Value::Nil);
    let reply = reply.extract_error().map_err(StoreError::from)?;
    Ok(redis::from_redis_value(reply).map_err(RedisError::from)?)
}
