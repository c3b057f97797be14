//! Names and values as they are typed.

use keyrack_jobs::bee::{
    checked_priority,
    keys::{Hostname, Jid, LimitName, QueueName, Tag, Tenant},
};

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
parser!(limit, LimitName);
parser!(host, Hostname);

/// An entry of metadata.
pub(crate) fn metadata(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=TEXT, such as request=r-7")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A priority: at most 10.
pub(crate) fn priority(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|_| "not a number; use at most 10".to_owned())?;
    checked_priority(number).map_err(|error| error.to_string())
}

/// How often a job is tried again.
pub(crate) fn retries(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u32::MAX))
}

/// A share of something.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a number from 0 to 1".to_owned())
}

/// An argument of a job, as JSON text.
pub(crate) fn json(text: &str) -> Result<String, String> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => {
            Err(format!("not JSON: {error}; a string needs its quotes, as in '\"{text}\"'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_at_most_ten() {
        assert_eq!(priority("10"), Ok(10.0));
        assert_eq!(priority("-2.5"), Ok(-2.5));
        let refused = priority("11").expect_err("there is no sooner than next");
        assert!(refused.starts_with("priority: 11; give at most 10"), "{refused}");
        assert!(priority("NaN").is_err() && priority("inf").is_err() && priority("x").is_err());
    }

    #[test]
    fn arguments_are_json_and_keep_their_text() {
        assert_eq!(json("1.0000000000000000001"), Ok("1.0000000000000000001".into()));
        let refused = json("alice").expect_err("a bare word");
        assert!(refused.ends_with("as in '\"alice\"'"), "{refused}");
    }
}
