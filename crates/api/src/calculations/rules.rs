//! Rules of a project.

use std::collections::{BTreeMap, HashMap};

use axum::{Json, http::StatusCode};
use keyrack_calculations::{
    Rule,
    keys::{RuleNumber, RuleType},
};
use keyrack_web::{Problem, error::invalid, extract::Body};
use serde::Serialize;
use utoipa::ToSchema;

use super::{caller::Caller, caller::Segments};

/// A rule that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CreatedRule {
    /// Its number.
    number: u64,
}

/// Makes a rule that compares a result with a threshold: `dimension`, `key`, `interval`, `calculation`, `operator` and `threshold`,
/// and if wanted `hold_ms` and `resolve_ms`.
#[utoipa::path(post, path = "/rule/comparator", tag = "calculations", operation_id = "createComparator",
    request_body = BTreeMap<String, String>, responses((status = CREATED, body = CreatedRule)))]
pub(super) async fn comparator(
    caller: Caller,
    body: Body<HashMap<String, String>>,
) -> Result<(StatusCode, Json<CreatedRule>), Problem> {
    create(caller, body, RuleType::Comparator).await
}

/// Makes a rule that counts the keys first seen in a dimension: `dimension`, `key`, `interval`, `watch` and `trigger`,
/// and if wanted `hold_ms`.
#[utoipa::path(post, path = "/rule/observer", tag = "calculations", operation_id = "createObserver",
    request_body = BTreeMap<String, String>, responses((status = CREATED, body = CreatedRule)))]
pub(super) async fn observer(
    caller: Caller,
    body: Body<HashMap<String, String>>,
) -> Result<(StatusCode, Json<CreatedRule>), Problem> {
    create(caller, body, RuleType::Observer).await
}

async fn create(
    caller: Caller,
    Body(mut fields): Body<HashMap<String, String>>,
    kind: RuleType,
) -> Result<(StatusCode, Json<CreatedRule>), Problem> {
    // The published form names both; the token has said them already, and they are not stored.
    let named =
        [("account", caller.ledger.account().as_str()), ("project", caller.project.as_str())];
    for (name, own) in named {
        if fields.remove(name).is_some_and(|named| named != own) {
            return Err(invalid(name, "it is not that of the token"));
        }
    }
    let rule = Rule::from_fields(kind, &fields)?;
    let known = Rule::field_names(kind);
    if let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(invalid(unknown.clone(), format!("a {kind} has no such field")));
    }
    let number = caller.ledger.create_rule(&caller.project, &rule).await?.get();
    Ok((StatusCode::CREATED, Json(CreatedRule { number })))
}

/// Lists the rules of the project, by number.
#[utoipa::path(get, path = "/calculations/rules", tag = "calculations", operation_id = "listRules",
    responses((status = OK, body = Vec<BTreeMap<String, String>>)))]
pub(super) async fn list(caller: Caller) -> Result<Json<Vec<BTreeMap<String, String>>>, Problem> {
    let rules = caller.ledger.rules(&caller.project).await?;
    let shown = rules.into_iter().map(|numbered| {
        let mut fields: BTreeMap<String, String> = numbered.rule.fields().into_iter().collect();
        fields.insert("number".into(), numbered.number.to_string());
        fields.insert("type".into(), numbered.rule.kind().to_string());
        fields
    });
    Ok(Json(shown.collect()))
}

/// Deletes a rule; what it has said stays.
#[utoipa::path(delete, path = "/calculations/rules/{number}", tag = "calculations", operation_id = "deleteRule",
    params(("number" = u64, Path)), responses((status = NO_CONTENT)))]
pub(super) async fn delete(
    caller: Caller,
    Segments([number]): Segments<1>,
) -> Result<StatusCode, Problem> {
    let number: RuleNumber = number
        .parse()
        .map_err(|error: keyrack_keys::PartError| invalid("number", error.to_string()))?;
    caller.ledger.delete_rule(&caller.project, number).await?;
    Ok(StatusCode::NO_CONTENT)
}
