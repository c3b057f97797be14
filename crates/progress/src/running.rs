//! The list of all traces under way, whoever's they are.
//!
//! It is written by the scripts that begin, move on and end a trace. On a cluster it lies in another slot than the traces, so it is
//! written after them there; what a crash leaves out of it, or in it, is put right by the trace's next step or a day later.

use keyrack_keys::{Key, Layout, UserSub};

use crate::{
    error::Error,
    keys::{self, BarName, TraceUid},
    service::Progress,
    text::float,
};

/// A trace under way, as the list has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTrace {
    /// Whose it is.
    pub user: UserSub,
    /// Its bar.
    pub bar: String,
    /// Its id.
    pub trace: String,
    /// When it was last heard of, in unix seconds.
    pub heard_at: f64,
}

/// How a trace stands in the list.
pub(crate) fn member(user: &UserSub, bar: &BarName, trace: &TraceUid) -> String {
    serde_json::json!([user.as_str(), bar.as_str(), trace.as_str()]).to_string()
}

impl Progress {
    /// So many of the traces under way from a rank on, those heard of last first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn running(&self, from: usize, max: usize) -> Result<Vec<RunningTrace>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store.place(&keys::running())).arg(from).arg(from.saturating_add(max - 1));
        cmd.arg("WITHSCORES");
        let found: Vec<(String, f64)> = cmd.query_async(&mut self.store.connection()).await?;
        Ok(found.into_iter().filter_map(|(member, at)| RunningTrace::parse(&member, at)).collect())
    }

    /// How many traces are under way.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn running_count(&self) -> Result<u64, Error> {
        let mut cmd = redis::cmd("ZCARD");
        cmd.arg(&*self.store.place(&keys::running()));
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// The list, where a script that changes a trace can change it too.
    pub(crate) fn running_key(&self) -> Option<Key> {
        (self.store.layout() == Layout::Documented).then(keys::running)
    }

    /// On a cluster: enters a trace that has begun or gone on.
    pub(crate) async fn enter_running(&self, user: &UserSub, bar: &BarName, trace: &TraceUid) {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store.place(&keys::running())).arg(float(self.now()));
        self.keep_running(cmd.arg(member(user, bar, trace))).await;
    }

    /// On a cluster: takes out a trace that has ended.
    pub(crate) async fn leave_running(&self, user: &UserSub, bar: &BarName, trace: &TraceUid) {
        let mut cmd = redis::cmd("ZREM");
        cmd.arg(&*self.store.place(&keys::running()));
        self.keep_running(cmd.arg(member(user, bar, trace))).await;
        let mut cmd = redis::cmd("ZREMRANGEBYSCORE");
        cmd.arg(&*self.store.place(&keys::running())).arg("-inf");
        self.keep_running(cmd.arg(float(self.now() - crate::trace::TTL_SECONDS as f64))).await;
    }

    /// The trace itself has changed already, so a list that lags behind is no reason to fail.
    async fn keep_running(&self, cmd: &redis::Cmd) {
        if let Err(error) = cmd.exec_async(&mut self.store.connection()).await {
            tracing::debug!(%error, "the list of traces under way lags behind");
        }
    }
}

impl RunningTrace {
    fn parse(member: &str, heard_at: f64) -> Option<RunningTrace> {
        let (user, bar, trace): (String, String, String) = serde_json::from_str(member).ok()?;
        Some(RunningTrace { user: UserSub::new(user).ok()?, bar, trace, heard_at })
    }
}
