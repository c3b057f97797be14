//! Addresses of pages: names that people choose are coded here and nowhere else.

use std::fmt::Write as _;

/// A name as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    let mut coded = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                coded.push(char::from(byte));
            }
            // Browsers take a segment of only dots for a way up.
            b'.' if name.bytes().any(|byte| byte != b'.') => coded.push('.'),
            _ => {
                let _ = write!(coded, "%{byte:02X}");
            }
        }
    }
    coded
}

/// The page of a queue.
pub(super) fn queue(name: &str) -> String {
    format!("/queues/{}", segment(name))
}

/// The page of a group of failures of a queue.
pub(super) fn error_group(queue: &str, id: &str) -> String {
    format!("/queues/{}/errors/{}", segment(queue), segment(id))
}

/// The page of a job.
pub(super) fn job(jid: &str) -> String {
    format!("/jobs/{}", segment(jid))
}

/// A path with a query of these pairs; empty values are left out.
pub(super) fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_segment() {
        assert_eq!(queue("mail/send now"), "/queues/mail%2Fsend%20now");
        assert_eq!(job(".."), "/jobs/%2E%2E");
        assert_eq!(job("a.b?c#d"), "/jobs/a.b%3Fc%23d");
    }

    #[test]
    fn empty_values_are_left_out_of_queries() {
        assert_eq!(with_query("/find", &[("queue", "a&b"), ("tag", "")]), "/find?queue=a%26b");
        assert_eq!(with_query("/find", &[("tag", "")]), "/find");
    }
}
