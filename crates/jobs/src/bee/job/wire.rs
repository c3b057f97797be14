//! A job as JSON, for people and programs that are not Node hives.

use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::value::RawValue;

use super::Job;

/// What is stored as JSON is passed on as it is, so that numbers keep all their digits.
impl Serialize for Job {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut job = to.serialize_struct("Job", 22)?;
        job.serialize_field("jid", self.jid())?;
        job.serialize_field("queue", self.queue())?;
        job.serialize_field("status", &self.status())?;
        job.serialize_field("data", list(self.field("data")))?;
        job.serialize_field("options", &raw(self.options_json()))?;
        job.serialize_field("worker", &Some(self.worker()).filter(|worker| !worker.is_empty()))?;
        job.serialize_field("submitted", &self.submitted())?;
        job.serialize_field("retries", &self.retries())?;
        job.serialize_field("attempts", &self.attempts())?;
        job.serialize_field("deaths", &self.deaths())?;
        job.serialize_field("tags", list(self.field("tags")))?;
        job.serialize_field("tenant", &self.tenant())?;
        job.serialize_field("parent", &self.parent())?;
        job.serialize_field("unique", &self.unique())?;
        job.serialize_field("hash", &self.hash())?;
        job.serialize_field("duplicate", &self.duplicate_of())?;
        job.serialize_field("result", &self.result().and_then(raw))?;
        job.serialize_field("failedReason", &self.failed_reason())?;
        job.serialize_field("errorGroup", &self.error_group())?;
        job.serialize_field("progress", &self.progress())?;
        job.serialize_field("dependants", list(self.field("dependants")))?;
        job.serialize_field("history", list(self.field("history")))?;
        job.end()
    }
}

/// What is no JSON, which only a stray write can have caused, is `null`.
fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}

/// Lua writes an empty list as `{}`.
fn list(text: Option<&str>) -> &RawValue {
    let is_list = |text: &&RawValue| text.get().starts_with('[');
    let list = text.and_then(raw).filter(is_list);
    list.unwrap_or_else(|| serde_json::from_str("[]").expect("a list is JSON"))
}

#[cfg(test)]
mod tests {
    use super::super::{FIELDS, Stored};
    use super::*;

    fn told(job: &Job) -> serde_json::Value {
        serde_json::to_value(job).expect("JSON")
    }

    fn job(stored: &[(&str, &str)]) -> Job {
        let field = |name: &str| stored.iter().find(|(field, _)| *field == name);
        let fields = FIELDS.map(|name| field(name).map(|(_, text)| (*text).to_owned()));
        Stored { fields, ..Stored::default() }.into()
    }

    #[test]
    fn numbers_keep_all_their_digits_and_objects_their_order() {
        let data = r#"[{"z":1,"a":12345678901234567890.123456789}]"#;
        let text =
            serde_json::to_string(&job(&[("jid", "j"), ("data", data), ("result", "1e400")]));
        let text = text.expect("JSON");
        assert!(text.contains(&format!("\"data\":{data}")), "{text}");
        assert!(text.contains("\"result\":1e400"), "{text}");
    }

    #[test]
    fn what_lua_or_a_stray_write_left_is_a_list_or_nothing() {
        let stored = [("data", "{}"), ("options", "{"), ("tags", "{}"), ("history", "x")];
        let job = told(&job(&stored));
        assert_eq!(job["data"], serde_json::json!([]));
        assert_eq!(job["tags"], serde_json::json!([]));
        assert_eq!(job["history"], serde_json::json!([]));
        assert!(job["options"].is_null());
        assert!(job["worker"].is_null());
    }

    #[test]
    fn every_stored_field_is_told() {
        let job = told(&job(&[]));
        for field in FIELDS {
            assert!(job.get(field).is_some(), "{field}");
        }
    }
}
