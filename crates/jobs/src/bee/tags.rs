//! The words by which jobs are found.

use keyrack_store::Script;

use super::{
    hive::Hive,
    keys::{self, Group, Jid, Tag},
    submit::TAGS_MAX,
};
use crate::Error;

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
