//! All rows of a user, for listings.

use keyrack_keys::UserSub;

use super::stored::{Stored, With};
use crate::{
    bar::{Bar, Step, bar_name},
    error::Error,
    keys::{self, BarName},
    retained::{RetainedStep, RetainedTrace, Samples},
    service::Progress,
};

/// Bars read in one step: enough to save round trips, few enough not to hold up others.
const BATCH: usize = 50;

impl Progress {
    /// A bar; `None` when there is none.
    ///
    /// # Errors
    /// When that can be no name, or the store fails.
    pub async fn bar(&self, user: &UserSub, name: &str) -> Result<Option<Bar>, Error> {
        let stored = self.stored_bar(user, &bar_name(name)?, With::Nothing).await?;
        Ok(stored.map(|stored| stored.bar))
    }

    /// A bar with its steps and what it retains; `None` when there is no such bar.
    ///
    /// # Errors
    /// When that can be no name, or the store fails.
    pub async fn samples(&self, user: &UserSub, name: &str) -> Result<Option<Samples>, Error> {
        let stored = self.stored_bar(user, &bar_name(name)?, With::Samples).await?;
        Ok(stored.map(Stored::into_samples))
    }

    /// All bars of a user, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_bars(&self, user: &UserSub) -> Result<Vec<Bar>, Error> {
        self.list(user, None, With::Nothing, |stored| vec![stored.bar]).await
    }

    /// All steps of a user's bars, or of one bar; those of a bar in order, the default step first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_steps(
        &self,
        user: &UserSub,
        pbar_name: Option<&str>,
    ) -> Result<Vec<Step>, Error> {
        self.list(user, pbar_name, With::Nothing, |stored| stored.steps).await
    }

    /// All retained traces of a user, or of one bar; those of a bar oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_traces(
        &self,
        user: &UserSub,
        pbar_name: Option<&str>,
    ) -> Result<Vec<RetainedTrace>, Error> {
        self.list(user, pbar_name, With::Samples, |stored| {
            let retained = stored.samples.into_iter().map(|sample| RetainedTrace {
                uid: sample.uid,
                user_sub: user.to_string(),
                progress_bar_name: stored.bar.name.clone(),
                created_at: sample.created_at,
            });
            retained.collect()
        })
        .await
    }

    /// All steps of a user's retained traces, or of those of one bar; trace by trace and in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_trace_steps(
        &self,
        user: &UserSub,
        pbar_name: Option<&str>,
    ) -> Result<Vec<RetainedStep>, Error> {
        self.list(user, pbar_name, With::Samples, retained_steps).await
    }

    async fn list<T>(
        &self,
        user: &UserSub,
        pbar_name: Option<&str>,
        with: With,
        rows_of: impl Fn(Stored) -> Vec<T>,
    ) -> Result<Vec<T>, Error> {
        let names = match pbar_name {
            Some(name) => vec![bar_name(name)?],
            None => self.bar_names(user).await?,
        };
        let mut rows = Vec::new();
        for names in names.chunks(BATCH) {
            let bars = self.stored_bars(user, names, with).await?;
            rows.extend(bars.into_iter().flatten().flat_map(&rows_of));
        }
        Ok(rows)
    }

    async fn bar_names(&self, user: &UserSub) -> Result<Vec<BarName>, Error> {
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store.place(&keys::bars(user))).arg(0).arg(-1);
        let names: Vec<String> = cmd.query_async(&mut self.store.connection()).await?;
        names.into_iter().map(|name| Ok(BarName::new(name)?)).collect()
    }
}

fn retained_steps(stored: Stored) -> Vec<RetainedStep> {
    let mut rows = Vec::new();
    for sample in &stored.samples {
        for (step, taken) in stored.real_steps().iter().zip(&sample.steps) {
            rows.push(RetainedStep {
                uid: taken.uid.clone(),
                user_sub: stored.bar.user_sub.clone(),
                progress_bar_name: stored.bar.name.clone(),
                progress_bar_trace_uid: sample.uid.clone(),
                progress_bar_step_name: step.name.clone(),
                progress_bar_step_position: step.position,
                iterations: taken.iterations,
                started_at: taken.started_at,
                finished_at: taken.finished_at,
            });
        }
    }
    rows
}
