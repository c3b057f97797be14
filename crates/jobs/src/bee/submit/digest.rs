//! Telling a repeated submission from another one under the same id.

use serde_json::Value as Json;

use super::{
    super::{
        hive::Hive,
        job::Job,
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

    /// Keys of objects are sorted in it.
    fn args_as_json(&self) -> Vec<Json> {
        serde_json::from_str(&self.data_json()).unwrap_or_default()
    }

    /// What two submissions with equal arguments have in common.
    pub(super) fn digest_of_args(&self) -> String {
        digest_of(self.args_as_json())
    }

    /// The entry of a stored job under which it may stand for submissions with the same arguments.
    pub(in crate::bee) fn args_field(job: &Job) -> String {
        args_field(&digest_of(job.args()), job.tenant())
    }

    /// What two equal submissions have in common. Numbers count by their value, and keys of objects by their names.
    pub(super) fn digest(&self) -> String {
        let args = self.args_as_json();
        let dependencies: Vec<&str> = self.dependencies.iter().map(Jid::as_str).collect();
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        let lists = serde_json::json!([args, dependencies, tags]);
        // As JSON none of them has a line break.
        let mut text = format!("{lists}\n{}\n{}", self.options.to_json(), self.rest(None));
        // The stored time differs from one submission to the next.
        if let Some(within) = self.start_within_ms {
            text.push_str(&format!("\n{within}"));
        }
        sha1_smol::Sha1::from(text).digest().to_string()
    }
}

fn digest_of(args: Vec<Json>) -> String {
    sha1_smol::Sha1::from(Json::Array(args).to_string()).digest().to_string()
}

/// The entry for submissions with the same arguments. As JSON, so that no two are the same by chance.
pub(super) fn args_field(digest: &str, tenant: Option<&str>) -> String {
    serde_json::json!(["args", digest, tenant]).to_string()
}

impl Hive {
    /// Whether the job under this id is what the submission has made, or may be: it is gone, or an earlier version has stored
    /// it without a digest and nobody has changed it.
    ///
    /// # Errors
    /// When the submission makes no sense, or the store fails.
    pub async fn is_repeat(&self, jid: &Jid, asked: &Submission) -> Result<bool, Error> {
        let digest = asked.clone().remembered().prepare(0)?.digest;
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
