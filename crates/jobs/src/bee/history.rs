//! Entries of a job's history, as the scripts write them.

/// What happened, when, and by whose call.
pub(super) fn entry(event: &str, now: &str, hive: &str) -> String {
    format!(r#"{{"event":"{event}","timestamp":{now},"hive":"{hive}"}}"#)
}

/// Whether cjson would write the text as it is; it escapes slashes, too.
pub(super) fn needs_no_escapes(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""\/"#.contains(&byte))
}
