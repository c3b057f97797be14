//! Leaving out what a script brings and does not use.
//!
//! An include brings all its functions, and Lua makes each of them anew in every call of the script. What stands at the
//! left margin can go when nothing that stays has its name: a `local function`, and a `local` that is a number, a name
//! or a table of such. Whatever is not written plainly stays.

use std::collections::HashSet;

use super::numbers::is_word;

/// The script without what nothing in it needs.
pub(super) fn without_unused(body: &str) -> String {
    let pieces = pieces(body);
    let mut used = HashSet::new();
    let mut unread: Vec<&Piece> = pieces.iter().filter(|piece| piece.name.is_none()).collect();
    while let Some(piece) = unread.pop() {
        for word in piece.text.split(|c: char| !is_word(c)) {
            if used.insert(word) {
                unread.extend(pieces.iter().filter(|piece| piece.name == Some(word)));
            }
        }
    }
    let stays = |piece: &&Piece| piece.name.is_none_or(|name| used.contains(name));
    pieces.iter().filter(stays).map(|piece| piece.text).collect()
}

/// Whole lines of a script.
#[derive(Debug)]
struct Piece<'a> {
    text: &'a str,
    /// What the piece defines, if it does nothing else.
    name: Option<&'a str>,
}

fn pieces(body: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let definition = function(rest).or_else(|| constant(rest));
        let (name, length) =
            definition.map_or((None, line_length(rest)), |(name, length)| (Some(name), length));
        let (text, after) = rest.split_at(length);
        pieces.push(Piece { text, name });
        rest = after;
    }
    pieces
}

/// The function that the text begins with: its name and how long it is.
fn function(text: &str) -> Option<(&str, usize)> {
    let (name, _) = text.strip_prefix("local function ")?.split_once('(')?;
    let mut length = line_length(text);
    if text[..length].trim_end().ends_with(" end") {
        return Some((name, length));
    }
    while is_inside(&text[length..]) {
        length += line_length(&text[length..]);
    }
    let last = line_length(&text[length..]);
    (text[length..][..last].trim_end() == "end").then_some((name, length + last))
}

/// The same for a value that is there without anything being done.
fn constant(text: &str) -> Option<(&str, usize)> {
    let length = line_length(text);
    let (name, value) = text[..length].trim_end().strip_prefix("local ")?.split_once(" = ")?;
    let is_plain = |text: &str| text.chars().all(|c| is_word(c) || ". =,".contains(c));
    let table = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let is_whole = !is_inside(&text[length..]);
    (name.chars().all(is_word) && is_plain(table.unwrap_or(value)) && is_whole)
        .then_some((name, length))
}

/// Whether the next line is indented, and so belongs to what stands above it.
fn is_inside(text: &str) -> bool {
    text.starts_with([' ', '\t'])
}

fn line_length(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines marked with `-` are those that go.
    #[track_caller]
    fn check(script: &str) {
        let lines = || script.trim_start_matches('\n').lines();
        let text = |line: &str| format!("{}\n", &line[2.min(line.len())..]);
        let before: String = lines().map(text).collect();
        let after: String = lines().filter(|line| !line.starts_with('-')).map(text).collect();
        assert_eq!(without_unused(&before), after);
    }

    #[test]
    fn functions_that_nothing_calls_go() {
        check(
            "
- local function idle(a)
-   if a then
-     return 1
-   end
- end
  local function busy(a)
    return a
  end
- local function short() return 2 end
  local function brief() return 3 end
  return busy(brief())",
        );
    }

    #[test]
    fn what_only_they_need_goes_with_them() {
        check(
            "
- local LIMIT = 10
  local call = redis.call
- local function inner() return LIMIT end
- local function outer() return inner() + call('GET', 'x') end
  return call('GET', 'y')",
        );
    }

    #[test]
    fn a_function_that_calls_itself_is_not_needed_for_that() {
        check(
            "
- local function down(n)
-   return n == 0 and 0 or down(n - 1)
- end
  return 0",
        );
    }

    #[test]
    fn names_count_as_whole_words_and_wherever_they_stand() {
        check(
            "
- local function key() return 1 end
  local function field() return 2 end
  local function twice() return 3 end
  local function twice() return twice() end
  local keys = { queue_key = 'key_of', field = 2 }
  return keys.field + twice()",
        );
    }

    #[test]
    fn constants_go_only_if_nothing_happens_for_them() {
        check(
            "
- local MOST = 1000
- local SHARE = 0.5
- local send = redis.call
- local seen = {}
- local DEFAULTS = { delay = 0, retries = 5 }
  local counted = redis.call('INCR', 'x')
  local quoted = tostring 'x'
  local made = make { a = 1 }
  local list = { first() }
  local one, two = 1, 2
  local sum = 1
    + counted
  local rows = {
    a = 1,
  }
  return 0",
        );
    }

    #[test]
    fn what_is_not_written_plainly_stays() {
        check(
            "
  local function odd()
    return 1
  end -- a remark
  local function used() return 2 end
  local function open()
  print(1)
  end
  return used()",
        );
    }
}
