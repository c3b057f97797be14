//! Telling a repeated submission from another one under the same id.

use serde_json::Value as Json;

use super::{
    super::{
        hive::Hive,
        keys::{self, Jid, Tag},
    },
    Submission,
};
use crate::Error;

impl Submission {
    /// Stores a digest of what is asked for with the job, so that a repeated submission can be told from another one under the
    /// same id, whatever workers have changed since.
    pub fn remembered(mut self) -> Self {
        self.is_remembered = true;
        self
    }

    /// What two equal submissions have in common. Numbers count by their value, and keys of objects by their names.
    pub(super) fn digest(&self) -> String {
        let args: Vec<Json> = serde_json::from_str(&self.data_json()).unwrap_or_default();
        let dependencies: Vec<&str> = self.dependencies.iter().map(Jid::as_str).collect();
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        let lists = serde_json::json!([args, dependencies, tags]);
        // As JSON none of them has a line break.
        let text = format!("{lists}\n{}\n{}", self.options.to_json(), self.rest(None));
        sha1_smol::Sha1::from(text).digest().to_string()
    }
}

impl Hive {
    /// Whether the job under this id is what the submission has made, or may be: it is gone, or an earlier version has stored
    /// it without a digest and nobody has changed it.
    ///
    /// # Errors
    /// When the submission makes no sense, or the store fails.
    pub async fn is_repeat(&self, jid: &Jid, asked: &Submission) -> Result<bool, Error> {
        let digest = asked.clone().remembered().prepare()?.digest;
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store().place(&keys::job(jid, &jid.group()))).arg("digest");
        let stored: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        if stored.is_some() {
            return Ok(stored == digest);
        }
        match self.job(jid).await {
            Ok(job) => Ok(asked.made(&job)),
            Err(Error::NoSuchJob { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}
