//! The forms in which an event is sent.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::event::Event;

/// The form of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Format {
    /// The event: `id`, `kind`, `time`, `subject`, `data`.
    #[default]
    Json,
    /// What an incoming webhook of Slack takes: one line of text.
    Slack,
    /// What the Events API v2 of PagerDuty takes: bad news trigger an incident, good news resolve
    /// it.
    PagerDuty,
}

impl Format {
    /// All forms.
    pub const ALL: [Format; 3] = [Format::Json, Format::Slack, Format::PagerDuty];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Slack => "slack",
            Format::PagerDuty => "pagerduty",
        }
    }

    /// The body of an event. `routing_key` is that of PagerDuty.
    pub(crate) fn body(self, event: &Event, routing_key: Option<&str>) -> Vec<u8> {
        let body = match self {
            Format::Json => json!({
                "id": event.id, "kind": event.kind, "time": time(event.at),
                "subject": event.subject, "data": event.data,
            }),
            Format::Slack => json!({"text": slack_escaped(&line(event))}),
            Format::PagerDuty => pager_duty(event, routing_key.unwrap_or_default()),
        };
        body.to_string().into_bytes()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(word: &str) -> Result<Format, String> {
        let found = Format::ALL.into_iter().find(|format| format.as_str() == word);
        found.ok_or_else(|| format!("\"{word}\" is none of json, slack, pagerduty"))
    }
}

/// PagerDuty's longest summary.
const SUMMARY_CHARS_MAX: usize = 1_024;

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// An event in one line: what happened to what, and why.
fn line(event: &Event) -> String {
    let mut line = format!("{}: {}", event.kind, event.subject);
    if let Some(queue) = &event.queue {
        line.push_str(&format!(" in queue {queue}"));
    }
    let why = ["failed_reason", "text"].iter().find_map(|name| event.data.get(name)?.as_str());
    if let Some(why) = why {
        line.push_str(&format!(": {why}"));
    }
    line.chars().take(SUMMARY_CHARS_MAX).collect()
}

/// The three characters that mean something to Slack.
fn slack_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn pager_duty(event: &Event, routing_key: &str) -> Json {
    let is_good =
        ["job.completed", "rule.resolved", "alert.cleared"].contains(&event.kind.as_str());
    let severity = match (event.kind.as_str(), event.data.get("severity").and_then(Json::as_str)) {
        ("test", _) | (_, Some("note")) => "info",
        (_, Some("warning")) => "warning",
        _ => "error",
    };
    json!({
        "routing_key": routing_key,
        "event_action": if is_good { "resolve" } else { "trigger" },
        "dedup_key": event.subject.chars().take(255).collect::<String>(),
        "payload": {
            "summary": line(event), "source": "keyrack", "severity": severity,
            "timestamp": time(event.at), "class": event.kind, "custom_details": event.data,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: Json) -> Event {
        let at = 1_794_709_387_250;
        Event::new(kind, "1", at, "job:4<2".into(), data).in_queue("emails")
    }

    fn body(format: Format, event: &Event) -> Json {
        serde_json::from_slice(&format.body(event, Some("R123"))).expect("JSON")
    }

    #[test]
    fn json_has_id_kind_time_and_data() {
        let event = event("job.completed", json!({"jid": "4<2"}));
        let expected = json!({
            "id": event.id, "kind": "job.completed", "time": "2026-11-15T02:23:07.25Z",
            "subject": "job:4<2", "data": {"jid": "4<2"},
        });
        assert_eq!(body(Format::Json, &event), expected);
    }

    #[test]
    fn slack_gets_a_line_that_cannot_be_mistaken_for_markup() {
        let event = event("job.failed", json!({"failed_reason": "a & b"}));
        let expected = json!({"text": "job.failed: job:4&lt;2 in queue emails: a &amp; b"});
        assert_eq!(body(Format::Slack, &event), expected);
    }

    #[test]
    fn what_pager_duty_triggers_is_resolved_under_the_same_key() {
        let failed = body(Format::PagerDuty, &event("job.failed", json!({"failed_reason": "x"})));
        let completed = body(Format::PagerDuty, &event("job.completed", json!({})));
        assert_eq!(
            (&failed["event_action"], &completed["event_action"]),
            (&json!("trigger"), &json!("resolve"))
        );
        assert_eq!(failed["dedup_key"], completed["dedup_key"]);
        assert_eq!(failed["routing_key"], "R123");
        assert_eq!(failed["payload"]["summary"], "job.failed: job:4<2 in queue emails: x");
        assert_eq!(failed["payload"]["severity"], "error");
    }
}
