//! Names and values as they are typed.

use keyrack_jobs::bee::keys::{Hostname, Jid, QueueName, Tag, Tenant};

/// Makes a clap parser of a part of keys.
macro_rules! parser {
    ($name:ident, $part:ident) => {
        pub(crate) fn $name(text: &str) -> Result<$part, String> {
            $part::new(text).map_err(|error| error.to_string())
        }
    };
}

parser!(queue, QueueName);
parser!(jid, Jid);
parser!(tag, Tag);
parser!(tenant, Tenant);
parser!(host, Hostname);

/// An argument of a job, as JSON text.
pub(crate) fn json(text: &str) -> Result<String, String> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => {
            Err(format!("not JSON: {error}; a text is written with its quotes, as in '\"{text}\"'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_and_keep_their_text() {
        assert_eq!(json("1.0000000000000000001"), Ok("1.0000000000000000001".into()));
        let refused = json("alice").expect_err("a bare word");
        assert!(refused.ends_with("as in '\"alice\"'"), "{refused}");
    }
}
