//! What the error replies of a server mean: the one table of those that pass by themselves.

use redis::{ErrorKind, RedisError, ServerError};

/// What an error reply means for whoever made the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorMeaning {
    /// The server refused and changed nothing; the same call may succeed a little later.
    Transient(&'static str),
    /// The server does not accept the user or the password. A reconnect logs in again.
    Login,
    /// The user has no right to this command or key.
    Denied,
}

/// An error reply that passes by itself.
struct Reply {
    /// The first word of the reply.
    code: &'static str,
    /// Why the server refuses, for people.
    why: &'static str,
    /// Whether a cluster gives it for as long as a slot moves or fails over.
    while_slot_moves: bool,
}

const fn passing(code: &'static str, why: &'static str) -> Reply {
    Reply { code, why, while_slot_moves: false }
}

const fn moving(code: &'static str, why: &'static str) -> Reply {
    Reply { code, why, while_slot_moves: true }
}

/// Every reply by which a server says "not now". None of them has changed anything.
const TRANSIENT: &[Reply] = &[
    moving("MOVED", "the keys have moved to another node of the cluster"),
    moving("ASK", "the keys are moving to another node of the cluster"),
    moving("TRYAGAIN", "the keys are moving to another node of the cluster"),
    moving("CLUSTERDOWN", "a part of the cluster is down"),
    moving("READONLY", "the server has become a replica; the store looks for the new primary"),
    passing("LOADING", "the server is loading its data"),
    passing("OOM", "the server's memory is full (maxmemory)"),
    passing("MISCONF", "the server cannot save its data to disk"),
    passing("NOREPLICAS", "too few replicas follow the server (min-replicas-to-write)"),
    passing("MASTERDOWN", "the server is a replica that has lost its primary"),
    passing("BUSY", "the server is busy running a script"),
    passing("UNBLOCKED", "the server has become a replica; the store looks for the new primary"),
];

/// Replies that have no word of their own, by what they contain.
const TRANSIENT_TEXTS: &[Reply] = &[
    // A script in a moving slot met a key that is on the other node. Scripts read every key before they write.
    moving(
        "attempted to access a non local key",
        "the keys are moving to another node of the cluster",
    ),
    moving("while the cluster is down", "a part of the cluster is down"),
    passing("max number of clients reached", "the server has too many clients (maxclients)"),
];

/// What an error means if a server gave it; `None` for everything else that servers and scripts say.
///
/// Of the replies to a pipeline the first that says anything decides.
pub(crate) fn meaning(error: &RedisError) -> Option<ErrorMeaning> {
    if error.kind() == ErrorKind::AuthenticationFailed {
        // A server that loads its data refuses the password with LOADING; the crate reports either so.
        let text = error.detail().unwrap_or_default();
        return Some(
            transient_inside(text)
                .map_or(ErrorMeaning::Login, |it| ErrorMeaning::Transient(it.why)),
        );
    }
    let replies = error.clone().into_server_errors()?;
    replies.iter().find_map(|(_, reply)| of_reply(reply))
}

/// Whether a cluster gives this error for as long as a slot moves or fails over.
pub(crate) fn is_slot_moving(error: &RedisError) -> bool {
    let replies = error.clone().into_server_errors();
    replies.is_some_and(|replies| replies.iter().any(|(_, reply)| is_slot_moving_reply(reply)))
}

/// The same for a reply that stands among others.
pub(crate) fn is_slot_moving_reply(reply: &ServerError) -> bool {
    transient(reply).is_some_and(|it| it.while_slot_moves)
}

fn of_reply(reply: &ServerError) -> Option<ErrorMeaning> {
    if let Some(transient) = transient(reply) {
        return Some(ErrorMeaning::Transient(transient.why));
    }
    match inner_code(reply) {
        "NOAUTH" | "WRONGPASS" => Some(ErrorMeaning::Login),
        "NOPERM" => Some(ErrorMeaning::Denied),
        _ => None,
    }
}

fn transient(reply: &ServerError) -> Option<&'static Reply> {
    let code = inner_code(reply);
    let text = reply.details().unwrap_or_default();
    by_code(code).or_else(|| (code == "ERR").then(|| transient_inside(text)).flatten())
}

/// The code of the reply, or of the reply that caused it: an EXEC says why it was aborted.
fn inner_code(reply: &ServerError) -> &str {
    if reply.code() != "EXECABORT" {
        return reply.code();
    }
    let cause = reply.details().and_then(|text| text.split_once("because of: "));
    let code = cause.and_then(|(_, cause)| cause.split_whitespace().next());
    code.map_or("EXECABORT", |code| code.trim_start_matches('-'))
}

fn by_code(code: &str) -> Option<&'static Reply> {
    TRANSIENT.iter().find(|reply| reply.code == code)
}

/// Looks into a text: Redis 6.2 puts the reply that ended a script into the middle of its own.
fn transient_inside(text: &str) -> Option<&'static Reply> {
    if let Some(reply) = TRANSIENT_TEXTS.iter().find(|reply| text.contains(reply.code)) {
        return Some(reply);
    }
    let of_script = text.starts_with("Error running script").then_some(text)?;
    let words = of_script.split_whitespace();
    words.filter_map(|word| word.strip_prefix('-')).find_map(by_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(reply: &str) -> RedisError {
        let reply = format!("-{reply}\r\n");
        let value =
            redis::parse_redis_value(reply.as_bytes()).and_then(redis::Value::extract_error);
        value.expect_err("an error reply")
    }

    fn is_transient(reply: &str) -> bool {
        matches!(meaning(&error(reply)), Some(ErrorMeaning::Transient(_)))
    }

    #[test]
    fn every_reply_that_says_not_now_is_transient() {
        for reply in TRANSIENT {
            assert!(is_transient(&format!("{} said the server", reply.code)), "{}", reply.code);
        }
        assert!(is_transient("ERR max number of clients reached"));
    }

    #[test]
    fn a_transaction_that_was_aborted_is_judged_by_its_cause() {
        assert!(is_transient(
            "EXECABORT Transaction discarded because of: OOM command not allowed"
        ));
        assert!(is_transient(
            "EXECABORT Transaction discarded because of: -LOADING Redis is loading"
        ));
        assert_eq!(
            meaning(&error("EXECABORT Transaction discarded because of: NOPERM no rights")),
            Some(ErrorMeaning::Denied)
        );
        assert_eq!(meaning(&error("EXECABORT Transaction discarded")), None);
    }

    #[test]
    fn a_script_that_an_error_ended_is_judged_by_that_error() {
        let old = "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: -OOM command not allowed";
        assert!(is_transient(old));
        let moved = "ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:5.";
        assert!(is_transient(moved));
        assert!(is_slot_moving(&error(moved)));
        assert!(!is_transient("ERR value is not an integer -OOM or out of range"));
    }

    #[test]
    fn refused_logins_and_missing_rights_are_classes_of_their_own() {
        assert_eq!(meaning(&error("NOAUTH Authentication required.")), Some(ErrorMeaning::Login));
        assert_eq!(meaning(&error("WRONGPASS invalid password")), Some(ErrorMeaning::Login));
        assert_eq!(meaning(&error("NOPERM no rights")), Some(ErrorMeaning::Denied));
        assert_eq!(meaning(&error("QUEUE_PAUSED emails")), None);
        assert_eq!(meaning(&error("ERR unknown command")), None);
    }

    #[test]
    fn only_replies_about_slots_are_waited_out() {
        for reply in ["MOVED 1 a:1", "ASK 1 a:1", "TRYAGAIN x", "CLUSTERDOWN x", "READONLY x"] {
            assert!(is_slot_moving(&error(reply)), "{reply}");
        }
        for reply in ["OOM x", "LOADING x", "MISCONF x", "NOAUTH x", "QUEUE_PAUSED x"] {
            assert!(!is_slot_moving(&error(reply)), "{reply}");
        }
    }
}
