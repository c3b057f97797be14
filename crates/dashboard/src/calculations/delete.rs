//! The forms that take back a value, or a key with all that belongs to it.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, State},
    response::Response,
};
use keyrack_calculations::{Error, KeyId, Ledger, Stamp, StampError};
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    super::{form, frame::go_and_tell},
    key::link_to,
    named, project_link,
};
use crate::Site;

/// Account, project, dimension and key.
type Names = (String, String, String, String);

/// A key that was named, and the pages that are left when it is gone.
struct Named {
    ledger: Ledger,
    id: KeyId,
    page: String,
    project_page: String,
}

async fn find(site: &Site, (account, project, dimension, key): &Names) -> Result<Named, Problem> {
    let (ledger, project) = named(site, account, project).await?;
    let dimension = keyrack_calculations::dimension(dimension)?;
    let key = keyrack_calculations::dimension_key(key)?;
    Ok(Named {
        page: link_to(ledger.account(), &project, &dimension, &key),
        project_page: project_link(ledger.account(), &project),
        id: ledger.key(&project, &dimension, &key),
        ledger,
    })
}

/// `POST /calculations/{account}/{project}/{dimension}/{key}/delete-key`
pub(super) async fn key(State(site): State<Arc<Site>>, Path(names): Path<Names>) -> Response {
    let done = async {
        let found = find(&site, &names).await?;
        if !found.ledger.delete_key(&found.id).await? {
            let name = format!("{}/{}", names.2, names.3);
            return Err(Problem::from(Error::NotFound { what: "key", name }));
        }
        Ok(found.project_page)
    };
    match done.await {
        Ok(page) => {
            let told = format!("{} / {} is deleted; what rules have said stays.", names.2, names.3);
            go_and_tell(&page, true, &told)
        }
        Err(problem) => go_and_tell("/calculations", false, problem.message()),
    }
}

/// Which value.
#[derive(Debug, Deserialize)]
struct At {
    at: String,
}

/// `POST /calculations/{account}/{project}/{dimension}/{key}/delete-value`
pub(super) async fn at(
    State(site): State<Arc<Site>>,
    Path(names): Path<Names>,
    body: Bytes,
) -> Response {
    let found = match find(&site, &names).await {
        Ok(found) => found,
        Err(problem) => return go_and_tell("/calculations", false, problem.message()),
    };
    let done = async {
        let At { at } = form::read(&body)?;
        let time: Stamp =
            at.trim().parse().map_err(|error: StampError| form::wrong("at", &error.to_string()))?;
        if found.ledger.delete_values(&found.id, &[time]).await? == 0 {
            return Err(Problem::from(Error::NotFound { what: "value at", name: at }));
        }
        Ok(at)
    };
    match done.await {
        Ok(at) => {
            go_and_tell(&found.page, true, &format!("The value at {} is deleted.", at.trim()))
        }
        Err(problem) => go_and_tell(&found.page, false, problem.message()),
    }
}
