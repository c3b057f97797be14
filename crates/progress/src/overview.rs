//! The bars of all users, for those who look after the whole: every read is bounded, however many there are.

use keyrack_keys::UserSub;

use crate::{
    bar::bar_name,
    bars::BarKeys,
    error::Error,
    keys::{self, BarName, Month, Year},
    retained::{Sample, Samples},
    service::Progress,
    trace::month_of,
};

/// Replies of which the line of a bar is made.
const REPLIES: usize = 4;

/// Some of the users who have created traces lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users {
    /// Each with how many traces they created in the month.
    pub users: Vec<(UserSub, u64)>,
    /// Where to go on; none after the last.
    pub next: Option<String>,
}

/// A bar as one line: what can be told without reading its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct BarLine {
    /// Whose it is.
    pub user: UserSub,
    /// Its name.
    pub name: String,
    /// How many steps a trace goes through.
    pub steps: u64,
    /// How often the steps have changed.
    pub version: u64,
    /// How many past traces it has retained.
    pub retained: u64,
    /// When the newest of them began, in unix seconds.
    pub last_at: Option<f64>,
}

impl Progress {
    /// Some of the users who have created traces in this month or the last, in no order; about `max` at a time.
    ///
    /// # Errors
    /// When `cursor` is none that this gave, or the store fails.
    pub async fn active_users(&self, cursor: Option<&str>, max: usize) -> Result<Users, Error> {
        let at = UserCursor::parse(cursor.unwrap_or("0-0"))?;
        let (year, month) = at.month(month_of(self.now())?)?;
        let mut cmd = redis::cmd("HSCAN");
        cmd.arg(&*self.store.place(&keys::month_count(&year, &month)));
        cmd.arg(at.cursor).arg("COUNT").arg(max);
        let (next, mut found): (u64, Vec<(String, u64)>) =
            cmd.query_async(&mut self.store.connection()).await?;
        if at.months_ago > 0 {
            self.leave_out_present(&mut found).await?;
        }
        let users = found.into_iter().filter_map(|(user, n)| Some((UserSub::new(user).ok()?, n)));
        let next = match (next, at.months_ago) {
            (0, 0) => Some(UserCursor { months_ago: 1, cursor: 0 }),
            (0, _) => None,
            (cursor, months_ago) => Some(UserCursor { months_ago, cursor }),
        };
        Ok(Users { users: users.collect(), next: next.map(|next| next.to_string()) })
    }

    /// Leaves out those who have created traces this month, who were told before.
    async fn leave_out_present(&self, found: &mut Vec<(String, u64)>) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        let (year, month) = month_of(self.now())?;
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store.place(&keys::month_count(&year, &month)));
        for (user, _) in found.iter() {
            cmd.arg(user);
        }
        let present: Vec<Option<u64>> = cmd.query_async(&mut self.store.connection()).await?;
        let mut present = present.iter();
        found.retain(|_| present.next().is_none_or(Option::is_none));
        Ok(())
    }

    /// So many bars of a user, the newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn bar_lines(&self, user: &UserSub, max: usize) -> Result<Vec<BarLine>, Error> {
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store.place(&keys::bars(user))).arg(0).arg(max.max(1) - 1);
        let names: Vec<String> = cmd.query_async(&mut self.store.connection()).await?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<BarName> = names.into_iter().map(BarName::new).collect::<Result<_, _>>()?;
        let mut pipeline = redis::pipe();
        for name in &names {
            let BarKeys { bar, steps, traces, .. } = BarKeys::of(user, name);
            let traces = self.store.place(&traces);
            pipeline.cmd("HGET").arg(&*self.store.place(&bar)).arg("version");
            pipeline.cmd("LLEN").arg(&*self.store.place(&steps));
            pipeline.cmd("ZCARD").arg(&*traces);
            pipeline.cmd("ZREVRANGE").arg(&*traces).arg(0).arg(0).arg("WITHSCORES");
        }
        let replies: Vec<redis::Value> = pipeline.query_async(&mut self.store.connection()).await?;
        let rows = names.into_iter().zip(replies.chunks(REPLIES));
        Ok(rows.filter_map(|(name, row)| BarLine::of(user, &name, row)).collect())
    }

    /// A bar with its steps and the newest of what it retains; `None` when there is no such bar.
    ///
    /// # Errors
    /// When that can be no name, or the store fails.
    pub async fn recent_samples(
        &self,
        user: &UserSub,
        name: &str,
        max: usize,
    ) -> Result<Option<Samples>, Error> {
        let name = bar_name(name)?;
        let Some(stored) = self.stored_bar(user, &name, crate::bars::With::Nothing).await? else {
            return Ok(None);
        };
        let keys = BarKeys::of(user, &name);
        let mut cmd = redis::cmd("ZREVRANGE");
        cmd.arg(&*self.store.place(&keys.traces)).arg(0).arg(max.saturating_sub(1));
        let uids: Vec<String> = cmd.query_async(&mut self.store.connection()).await?;
        let mut found = stored.into_samples();
        if !uids.is_empty() {
            let mut pipeline = redis::pipe();
            for key in [&keys.samples, &keys.paces] {
                pipeline.cmd("HMGET").arg(&*self.store.place(key)).arg(&uids);
            }
            let (samples, paces): (Vec<Option<String>>, Vec<Option<String>>) =
                pipeline.query_async(&mut self.store.connection()).await?;
            // One that has gone in between, or that cannot be read, is left out of what is a sample anyway.
            let read = |(sample, pace): (Option<String>, Option<String>)| {
                let mut sample: Sample = serde_json::from_str(&sample?).ok()?;
                sample.add_paces(
                    pace.and_then(|pace| serde_json::from_str(&pace).ok()).unwrap_or_default(),
                );
                Some(sample)
            };
            found.traces = samples.into_iter().zip(paces).rev().filter_map(read).collect();
        }
        Ok(Some(found))
    }
}

impl BarLine {
    /// The line that a bar's replies make; none for one that was just deleted.
    fn of(user: &UserSub, name: &BarName, replies: &[redis::Value]) -> Option<BarLine> {
        let [version, steps, retained, newest] = replies else { return None };
        let read = |value: &redis::Value| redis::from_redis_value::<Option<u64>>(value.clone());
        let newest: Vec<(String, f64)> = redis::from_redis_value(newest.clone()).ok()?;
        Some(BarLine {
            user: user.clone(),
            name: name.to_string(),
            // The default step is none that a trace goes through.
            steps: read(steps).ok()??.saturating_sub(1),
            version: read(version).ok()??,
            retained: read(retained).ok()??,
            last_at: newest.first().map(|(_, at)| *at),
        })
    }
}

/// How far a listing of users has come.
#[derive(Debug, Clone, Copy)]
struct UserCursor {
    months_ago: u32,
    cursor: u64,
}

impl UserCursor {
    fn parse(text: &str) -> Result<UserCursor, Error> {
        let place = text.split_once('-').and_then(|(months_ago, cursor)| {
            let place =
                UserCursor { months_ago: months_ago.parse().ok()?, cursor: cursor.parse().ok()? };
            (place.months_ago <= 1).then_some(place)
        });
        place.ok_or_else(|| {
            Error::invalid("cursor", format!("\"{text}\" is none; begin without one"))
        })
    }

    /// The month that is meant, seen from this one.
    fn month(self, (year, month): (Year, Month)) -> Result<(Year, Month), Error> {
        let (year, month) = (year.get(), month.get());
        Ok(match (self.months_ago, month) {
            (0, _) => (Year::new(year)?, Month::new(month)?),
            (_, 1) => (Year::new(year.saturating_sub(1))?, Month::new(12)?),
            _ => (Year::new(year)?, Month::new(month - 1)?),
        })
    }
}

impl std::fmt::Display for UserCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.months_ago, self.cursor)
    }
}
