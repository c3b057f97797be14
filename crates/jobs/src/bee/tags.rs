//! The words by which jobs are found.

use keyrack_store::Script;

use super::{
    hive::Hive,
    keys::{self, Group, Jid, Tag},
    submit::TAGS_MAX,
};
use crate::Error;

/// Jobs that are looked at in one go.
const SCANNED: usize = 1000;

static TAGS: Script = bee_script!("tags.lua");

impl Hive {
    /// Replaces the tags of a job.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`], too many tags, or when the store fails.
    pub async fn set_tags(&self, jid: &Jid, tags: &[Tag]) -> Result<(), Error> {
        if tags.len() > TAGS_MAX {
            return Err(Error::invalid(
                "tags",
                format!("{} of them; at most {TAGS_MAX} are taken", tags.len()),
            ));
        }
        let tags: Vec<&str> = tags.iter().map(Tag::as_str).collect();
        let text = serde_json::to_string(&tags).expect("texts are JSON");
        match self.call_on_job(&TAGS, jid).arg("tags", text).run::<String>().await?.as_str() {
            "ok" => Ok(()),
            _ => Err(Error::NoSuchJob { jid: jid.to_string() }),
        }
    }

    /// Some of the jobs that carry a tag, and where the next are; 0 is the beginning and the end.
    ///
    /// Unlike [`Hive::search`] this takes no longer when a million jobs carry it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tagged(
        &self,
        group: &Group,
        tag: &Tag,
        cursor: u64,
        max: usize,
    ) -> Result<(u64, Vec<String>), Error> {
        let mut cmd = redis::cmd("SSCAN");
        cmd.arg(&*self.store().place(&keys::tags(tag, group))).arg(cursor).arg("COUNT").arg(max);
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Up to `max` of the jobs that carry all of these tags, and how many do; of no tag, none.
    ///
    /// Unlike [`Hive::search`] this brings no more ids over than are wanted.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search_some(
        &self,
        group: &Group,
        tags: &[Tag],
        max: usize,
    ) -> Result<(Vec<String>, u64), Error> {
        let mut sets: Vec<String> =
            tags.iter().map(|tag| self.store().place(&keys::tags(tag, group)).into()).collect();
        let Some(smallest) = self.smallest(&sets).await? else { return Ok((Vec::new(), 0)) };
        let smallest = sets.swap_remove(smallest);
        let mut count = redis::cmd("SINTERCARD");
        count.arg(sets.len() + 1).arg(&smallest).arg(&sets);
        let total: u64 = count.query_async(&mut self.store().connection()).await?;
        let wanted = usize::try_from(total).unwrap_or(usize::MAX).min(max);
        let (mut found, mut cursor) = (Vec::new(), 0_u64);
        while found.len() < wanted {
            let mut scan = redis::cmd("SSCAN");
            scan.arg(&smallest).arg(cursor).arg("COUNT").arg(SCANNED);
            let jids: Vec<String>;
            (cursor, jids) = scan.query_async(&mut self.store().connection()).await?;
            found.extend(self.in_all(jids, &sets).await?);
            if cursor == 0 {
                break;
            }
        }
        // A scan may give an id twice.
        found.sort_unstable();
        found.dedup();
        found.truncate(max);
        Ok((found, total))
    }

    /// Which of these sets has the fewest members.
    async fn smallest(&self, sets: &[String]) -> Result<Option<usize>, Error> {
        if sets.is_empty() {
            return Ok(None);
        }
        let mut sizes = redis::pipe();
        for set in sets {
            sizes.cmd("SCARD").arg(set);
        }
        let sizes: Vec<u64> = sizes.query_async(&mut self.store().connection()).await?;
        Ok((0..sets.len()).min_by_key(|at| sizes[*at]))
    }

    /// Those of the members that are in all of these sets too.
    async fn in_all(
        &self,
        mut members: Vec<String>,
        sets: &[String],
    ) -> Result<Vec<String>, Error> {
        for set in sets {
            if members.is_empty() {
                break;
            }
            let mut cmd = redis::cmd("SMISMEMBER");
            cmd.arg(set).arg(&members);
            let is_in: Vec<bool> = cmd.query_async(&mut self.store().connection()).await?;
            let mut is_in = is_in.into_iter();
            members.retain(|_| is_in.next().unwrap_or(false));
        }
        Ok(members)
    }

    /// The jobs that carry all of these tags; of no tag, none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search(&self, group: &Group, tags: &[Tag]) -> Result<Vec<String>, Error> {
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("SINTER");
        for tag in tags {
            cmd.arg(&*self.store().place(&keys::tags(tag, group)));
        }
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }
}
