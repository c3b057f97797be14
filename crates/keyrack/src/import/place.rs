//! Where a library keeps entries of jobs, and how they are taken from there.

use keyrack_store::Connection;
use redis::Pipeline;

/// What is added to the name of a place for the list of entries that are being moved. It has the same hash tag.
const HELD: &str = ":keyrack-import";

/// Takes entries out of a list or a sorted set that still has them, into the list of those that are being moved.
const HOLD: &str = "
    local is_list, answers = ARGV[1] ~= '0', {}
    for n = 2, #ARGV, 2 do
      local found
      if is_list then
        found = redis.call('LREM', KEYS[1], ARGV[1], ARGV[n])
      else
        found = redis.call('ZREM', KEYS[1], ARGV[n])
      end
      if found == 1 then redis.call('RPUSH', KEYS[2], ARGV[n + 1]) end
      answers[n / 2] = found
    end
    return answers";

/// A list or a sorted set of the library.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) key: String,
    pub(super) kind: Kind,
    /// The library's queue.
    pub(super) queue: String,
    /// The priority of its jobs, in our measure.
    pub(super) priority: f64,
}

/// How a place is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A list whose first entry is the oldest.
    OldestFirst,
    /// A list whose last entry is the oldest.
    OldestLast,
    /// A sorted set by the time when jobs are due.
    ByTime,
    /// A sorted set by priority.
    ByPriority,
}

/// What stands in a place for a job.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) text: Vec<u8>,
    /// As it is in a sorted set.
    pub(super) score: Option<f64>,
}

impl Entry {
    pub(super) fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.text).ok()
    }

    /// How it stands in the list of those that are being moved: with its score before it, if it has one.
    fn held(&self) -> Vec<u8> {
        match self.score {
            Some(score) => [format!("{score} ").as_bytes(), &self.text].concat(),
            None => self.text.clone(),
        }
    }
}

impl Place {
    fn held_key(&self) -> String {
        format!("{}{HELD}", self.key)
    }

    fn is_list(&self) -> bool {
        matches!(self.kind, Kind::OldestFirst | Kind::OldestLast)
    }

    /// Up to so many entries after the first ones, the oldest first.
    pub(super) async fn entries(
        &self,
        from: &mut Connection,
        passed: usize,
        max: usize,
    ) -> anyhow::Result<Vec<Entry>> {
        let (first, last) = (passed as i64, (passed + max) as i64 - 1);
        if self.is_list() {
            let is_reversed = self.kind == Kind::OldestLast;
            let (first, last) = if is_reversed { (-1 - last, -1 - first) } else { (first, last) };
            let mut cmd = redis::cmd("LRANGE");
            let mut texts: Vec<Vec<u8>> =
                cmd.arg(&self.key).arg(first).arg(last).query_async(from).await?;
            if is_reversed {
                texts.reverse();
            }
            return Ok(texts.into_iter().map(|text| Entry { text, score: None }).collect());
        }
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&self.key).arg(first).arg(last).arg("WITHSCORES");
        let scored: Vec<(Vec<u8>, f64)> = cmd.query_async(from).await?;
        let entry = |(text, score)| Entry { text, score: Some(score) };
        Ok(scored.into_iter().map(entry).collect())
    }

    /// Takes entries for an import. Says of each whether it was still there.
    pub(super) async fn hold(
        &self,
        from: &mut Connection,
        entries: &[&Entry],
    ) -> anyhow::Result<Vec<bool>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        // Lists are searched from the end where the entry was found.
        let side = match self.kind {
            Kind::OldestFirst => 1,
            Kind::OldestLast => -1,
            Kind::ByTime | Kind::ByPriority => 0,
        };
        let mut cmd = redis::cmd("EVAL");
        cmd.arg(HOLD).arg(2).arg(&self.key).arg(self.held_key()).arg(side);
        for entry in entries {
            cmd.arg(&entry.text).arg(entry.held());
        }
        let found: Vec<u8> = cmd.query_async(from).await?;
        Ok(found.into_iter().map(|n| n == 1).collect())
    }

    /// Entries that an import has taken and not forgotten.
    pub(super) async fn held(
        &self,
        from: &mut Connection,
        max: usize,
    ) -> anyhow::Result<Vec<Entry>> {
        let mut cmd = redis::cmd("LRANGE");
        let texts: Vec<Vec<u8>> =
            cmd.arg(self.held_key()).arg(0).arg(max as i64 - 1).query_async(from).await?;
        Ok(texts.into_iter().map(|text| self.entry_of_held(text)).collect())
    }

    fn entry_of_held(&self, text: Vec<u8>) -> Entry {
        if self.is_list() {
            return Entry { text, score: None };
        }
        let at = text.iter().position(|byte| *byte == b' ').unwrap_or(0);
        let score = std::str::from_utf8(&text[..at]).ok().and_then(|score| score.parse().ok());
        Entry { text: text[(at + 1).min(text.len())..].to_vec(), score }
    }

    /// Returns an entry to where it was found.
    pub(super) async fn put_back(
        &self,
        from: &mut Connection,
        entry: &Entry,
    ) -> anyhow::Result<()> {
        let mut change = Pipeline::new();
        change.atomic();
        match self.kind {
            Kind::OldestFirst => change.cmd("LPUSH").arg(&self.key).arg(&entry.text),
            Kind::OldestLast => change.cmd("RPUSH").arg(&self.key).arg(&entry.text),
            Kind::ByTime | Kind::ByPriority => {
                let score = entry.score.unwrap_or_default();
                change.cmd("ZADD").arg(&self.key).arg(score).arg(&entry.text)
            }
        };
        change.cmd("LREM").arg(self.held_key()).arg(1).arg(entry.held());
        change.query_async::<()>(from).await?;
        Ok(())
    }

    /// Removes entries that are stored elsewhere now, and their keys.
    pub(super) async fn forget(
        &self,
        from: &mut Connection,
        entries: &[(Entry, Vec<String>)],
    ) -> anyhow::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut change = Pipeline::new();
        change.atomic();
        for (entry, keys) in entries {
            // The keys first: an entry without them could not be read again.
            if !keys.is_empty() {
                change.cmd("DEL").arg(keys);
            }
            change.cmd("LREM").arg(self.held_key()).arg(1).arg(entry.held());
        }
        change.query_async::<()>(from).await?;
        Ok(())
    }
}
