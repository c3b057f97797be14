//! The names in a Lua text that nobody has declared.
//!
//! Redis notices such a name only when the line is run, which for a rare one may be in a bad night.

use std::collections::BTreeSet;

/// What a script finds without declaring it.
const GIVEN: [&str; 17] = [
    "ARGV", "KEYS", "cjson", "error", "ipairs", "math", "next", "pairs", "pcall", "redis",
    "select", "string", "table", "tonumber", "tostring", "type", "unpack",
];
const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Names that are used before they are declared, or never are.
///
/// Blocks are not told apart: a name that was declared anywhere above counts as declared.
pub(super) fn unknown(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let at = |n: usize| tokens.get(n).map_or("", String::as_str);
    let mut declared: BTreeSet<&str> = GIVEN.into();
    let mut unknown = BTreeSet::new();
    // Whether each open bracket is one in which `name =` names a field.
    let mut brackets: Vec<bool> = Vec::new();
    let mut n = 0;
    while n < tokens.len() {
        let token = at(n);
        match token {
            "{" => brackets.push(true),
            "(" | "[" => brackets.push(false),
            "}" | ")" | "]" => drop(brackets.pop()),
            "function" => {
                let is_named = is_name(at(n + 1));
                declared.extend(is_named.then(|| at(n + 1)));
                n += if is_named { 2 } else { 1 };
                while at(n) != ")" {
                    n += 1;
                    declared.extend(Some(at(n)).filter(|name| is_name(name)));
                }
            }
            "for" | "local" if at(n + 1) != "function" => {
                n += 1;
                declared.insert(at(n));
                while at(n + 1) == "," {
                    n += 2;
                    declared.insert(at(n));
                }
            }
            _ if is_name(token) => {
                let is_field = matches!(n.checked_sub(1).map(at), Some("." | ":"));
                let is_key = brackets.last() == Some(&true) && at(n + 1) == "=";
                if !is_field && !is_key && !declared.contains(token) {
                    unknown.insert(token.to_owned());
                }
            }
            _ => {}
        }
        n += 1;
    }
    unknown
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !KEYWORDS.contains(&token)
}

/// Names and signs, without comments and texts.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if let Some(comment) = rest.strip_prefix("--[[") {
            4 + comment.find("]]").map_or(comment.len(), |end| end + 2)
        } else if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '\'' || first == '"' {
            text_len(rest, first)
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let len = end.unwrap_or(rest.len());
            tokens.push(rest[..len].to_owned());
            len
        } else {
            let len =
                if rest.starts_with("==") || rest.starts_with("..") { 2 } else { first.len_utf8() };
            tokens.extend(Some(rest[..len].to_owned()).filter(|sign| !sign.trim().is_empty()));
            len
        };
        rest = &rest[len..];
    }
    tokens
}

fn text_len(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    rest.len()
}

#[test]
fn names_that_nobody_declared_are_found() {
    let text = "
        local a, b = 1, redis.call('GET', KEYS[1]) -- c
        local function d(e, ...) return { f = a .. 'g', [b] = e.h } end
        for i, j in pairs({}) do i = late(j) end
        local late = function(k) return k == d and typo end
        o = a.b:c()";
    let expected: BTreeSet<String> = ["late", "typo", "o"].map(str::to_owned).into();
    assert_eq!(unknown(text), expected);
}
