//! Doing something to the jobs whose rows were ticked in a list.

use std::{collections::BTreeSet, sync::Arc};

use axum::{body::Bytes, extract::State, response::Response};
use keyrack_format as format;
use keyrack_jobs::bee::{Bulk, keys::Jid};
use keyrack_web::{Problem, access::Subject};
use serde::Deserialize;

use super::{
    Visit, form,
    frame::{go_and_tell, own_path},
    job::job_id,
};
use crate::Site;

/// The most jobs that are changed by one form: a list shows fewer.
const CHOSEN_MAX: usize = 500;

/// The rows that were ticked.
#[derive(Debug, Deserialize)]
struct ChosenForm {
    what: String,
    back: String,
    #[serde(default)]
    jid: Vec<String>,
}

/// `POST /find/chosen`
pub(crate) async fn change(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let wanted: ChosenForm = match form::read(&body) {
        Ok(wanted) => wanted,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    let back = own_path(&wanted.back);
    match wanted.carry_out(&site).await {
        Ok((told, subject)) => {
            let mut response = go_and_tell(back, true, &told);
            response.extensions_mut().insert(Subject(subject));
            response
        }
        Err(problem) => go_and_tell(back, false, problem.message()),
    }
}

impl ChosenForm {
    /// Does what is wanted; returns what came of it, and what the audit log is told.
    async fn carry_out(&self, site: &Site) -> Result<(String, String), Problem> {
        let (what, done, verb) = match self.what.as_str() {
            "cancel" => (Bulk::Cancel, "canceled", "Cancel"),
            "retry" => (Bulk::Retry, "run again", "Retry"),
            other => return Err(form::wrong("what", &format!("\"{other}\"; use cancel or retry"))),
        };
        let names: BTreeSet<&str> = self.jid.iter().map(String::as_str).collect();
        match names.len() {
            0 => return Err(form::wrong("jobs", "tick some rows first")),
            n if n > CHOSEN_MAX => {
                return Err(form::wrong("jobs", &format!("{n}; at most {CHOSEN_MAX} at once")));
            }
            _ => {}
        }
        let ids = names.iter().map(|name| job_id(*name)).collect::<Result<Vec<Jid>, Problem>>()?;
        let hive = &site.services.jobs().await?.hive;
        let jobs: Vec<_> = hive.jobs(&ids).await?.into_iter().flatten().collect();
        let changed = hive.change(&jobs, &what).await?;
        let all = format::counted(ids.len() as u64, "job");
        let told = match changed == ids.len() as u64 {
            true => format!("{all} {done}."),
            false => format!(
                "{} of {all} {done}: that cannot be done to the others as they are now.",
                format::count(changed)
            ),
        };
        let names: Vec<&str> = names.into_iter().collect();
        Ok((told, format!("{verb} {all}: {}", names.join(" "))))
    }
}
