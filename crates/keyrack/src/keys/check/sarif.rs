//! Findings as SARIF 2.1.0, which code scanning of several hosts reads.

use keyrack_keys::CheckRule;
use serde_json::{Value, json};

use super::Located;

pub(super) fn log(found: &[Located]) -> Value {
    let rules: Vec<Value> = CheckRule::ALL
        .iter()
        .map(|rule| json!({ "id": rule.code(), "shortDescription": { "text": rule.title() } }))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "keyrack keys check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": found.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(found: &Located) -> Value {
    let finding = &found.finding;
    let mut result = json!({
        "ruleId": finding.rule.code(),
        "level": found.level(),
        "message": { "text": format!("{}: {}", finding.family, finding.detail) },
    });
    if let Some((file, line)) = &found.place {
        result["locations"] = json!([{ "physicalLocation": {
            "artifactLocation": { "uri": file },
            "region": { "startLine": line },
        } }]);
    }
    result
}
