//! Putting a script and its includes together.

use std::collections::HashSet;

use super::{
    Source,
    header::{Header, Names},
    numbers::{tokens, with_numbers},
    unused::without_unused,
};

/// What every script may include without bringing a file: `publish(channel, message)`, by the command that the store's
/// layout wants, and how a user's quota is kept.
const SHARED: [(&str, &str); 2] = [
    (
        "publish",
        "local function publish(channel, message)\n  return redis.call('@PUBLISH', channel, message)\nend\n",
    ),
    ("quota", include_str!("include/quota.lua")),
];

/// What cannot be the name of a local, and what a script would lose by one of that name.
const WORDS_OF_LUA: [&str; 43] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while", "KEYS", "ARGV",
    "assert", "bit", "cjson", "cmsgpack", "error", "ipairs", "math", "next", "pairs", "pcall",
    "redis", "select", "string", "struct", "table", "tonumber", "tostring", "type", "unpack",
    "xpcall",
];

/// The whole script. Each include stands once, where it is first asked for. A server reads all of a script that goes
/// along whole, so remarks are left out, and so is what nothing uses.
///
/// The arguments in the header are locals of these names. Those that may follow without bound begin at a named number:
/// for `jobs...` it is `JOBS_AT`.
pub(super) fn assemble(source: &Source, publish_command: &str) -> Result<String, String> {
    // What is wrong with a header is reported where a call needs it.
    let arguments = Header::parse(source.text).unwrap_or_default().args;
    let mut assembly =
        Assembly { source, body: first_of_rest(&arguments), done: Vec::new(), stack: Vec::new() };
    assembly.add(source.text)?;
    let body = without_unused(&with_numbers(&assembly.body));
    Ok((named_arguments(&arguments, &body) + &body).replace("@PUBLISH", publish_command))
}

/// The declaration of where the arguments without bound begin, if there are any.
fn first_of_rest(arguments: &Names) -> String {
    let Some(rest) = &arguments.rest else { return String::new() };
    format!("local {}_AT = {}\n", rest.to_uppercase(), arguments.names.len() + 1)
}

/// The declaration of the arguments that a script names. One that it does not would only cost time.
fn named_arguments(arguments: &Names, body: &str) -> String {
    let words: HashSet<&str> = body.lines().flat_map(tokens).collect();
    let named = arguments.names.iter().enumerate();
    let named: Vec<(usize, &str)> = named
        .map(|(at, name)| (at + 1, name.as_str()))
        .filter(|(_, name)| words.contains(name) && !WORDS_OF_LUA.contains(name))
        .collect();
    if named.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = named.iter().map(|(_, name)| *name).collect();
    let values: Vec<String> = named.iter().map(|(at, _)| format!("ARGV[{at}]")).collect();
    format!("local {} = {}\n", names.join(", "), values.join(", "))
}

struct Assembly<'a> {
    source: &'a Source,
    body: String,
    /// Includes that stand in the body already.
    done: Vec<&'a str>,
    /// Includes that are being added, outermost first.
    stack: Vec<&'a str>,
}

impl<'a> Assembly<'a> {
    fn add(&mut self, text: &'a str) -> Result<(), String> {
        for line in without_header(text).lines() {
            match include_name(line) {
                Some(name) => self.include(name)?,
                None if is_remark(line) => {}
                None if has_numbered_argument(line) => {
                    return Err(format!("arguments have the names of the header: {}", line.trim()));
                }
                // A line of it that looks like a remark would be lost.
                None if line.contains("[[") && !line.contains("--[[") => {
                    return Err(format!("no text over several lines, please: {}", line.trim()));
                }
                None => {
                    self.body.push_str(line);
                    self.body.push('\n');
                }
            }
        }
        Ok(())
    }

    fn include(&mut self, name: &'a str) -> Result<(), String> {
        if self.stack.contains(&name) {
            return Err(format!("\"{name}\" includes itself: {}", self.stack.join(" > ")));
        }
        if self.done.contains(&name) {
            return Ok(());
        }
        let text = self.find(name).ok_or_else(|| {
            let by = self.stack.last().copied().unwrap_or(self.source.name);
            format!("\"{by}\" includes \"{name}\", which the script! macro was not given")
        })?;
        self.stack.push(name);
        self.add(text)?;
        self.stack.pop();
        self.done.push(name);
        Ok(())
    }

    fn find(&self, name: &str) -> Option<&'a str> {
        let shared = SHARED.iter().find(|(shared, _)| *shared == name);
        let own = || self.source.includes.iter().find(|(file, _)| stem(file) == name);
        shared.or_else(own).map(|(_, text)| *text)
    }
}

fn without_header(text: &str) -> &str {
    let header = text.strip_prefix("--[[").and_then(|rest| rest.split_once("]]"));
    header.map_or(text, |(_, rest)| rest)
}

/// Whether a line says nothing to the server. `--[[` may go on for more lines.
fn is_remark(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || (line.starts_with("--") && !line.starts_with("--["))
}

/// Whether a line takes an argument by its number.
fn has_numbered_argument(line: &str) -> bool {
    let mut indexes = line.split("ARGV[").skip(1);
    indexes.any(|index| index.starts_with(|first: char| first.is_ascii_digit()))
}

/// The name in `--- @include "name"`.
fn include_name(line: &str) -> Option<&str> {
    line.trim().strip_prefix("--- @include \"")?.strip_suffix('"')
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".lua").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &'static str, includes: &'static [(&'static str, &'static str)]) -> Source {
        Source { name: "test.lua", text, includes }
    }

    #[test]
    fn includes_stand_once_and_before_what_needs_them() {
        let source = source(
            "--- @include \"a\"\n--- @include \"b\"\nreturn a() + b()",
            &[("x/a.lua", "--- @include \"b\"\nlocal a = b"), ("x/b.lua", "local b = 1")],
        );
        let body = assemble(&source, "PUBLISH");
        assert_eq!(body.as_deref(), Ok("local b = 1\nlocal a = b\nreturn a() + b()\n"));
    }

    #[test]
    fn what_a_server_need_not_read_is_left_out() {
        let source = source(
            "--[[\n  KEYS  1 x\n]]\n--- @include \"a\"\n\n-- Why.\nlocal x = a() -- as b()\n\
             --[[ one\ntwo ]]\nreturn x",
            &[("a.lua", "-- All of a.\nlocal function a() return 1 end\nlocal function c() end")],
        );
        let body = assemble(&source, "PUBLISH");
        let expected = "local function a() return 1 end\nlocal x = a() -- as b()\n--[[ one\ntwo ]]\nreturn x\n";
        assert_eq!(body.as_deref(), Ok(expected));
    }

    #[test]
    fn arguments_that_are_used_have_the_names_of_the_header() {
        let source = source(
            "--[[\n  ARGV  1 tag   2 worker   3 max   4 end   5 jids...\n]]\n--- @include \"a\"\n\
             for at = JIDS_AT, #ARGV do a(ARGV[at], max, 'worker') end",
            &[("a.lua", "local function a(jid, n) return tag .. jid .. n end")],
        );
        let expected = "local tag, max = ARGV[1], ARGV[3]\n\
             local function a(jid, n) return tag .. jid .. n end\n\
             for at = 5, #ARGV do a(ARGV[at], max, 'worker') end\n";
        assert_eq!(assemble(&source, "PUBLISH").as_deref(), Ok(expected));
    }

    #[test]
    fn an_argument_by_its_number_is_refused() {
        let refused = assemble(&source("--[[\n  ARGV  1 a\n]]\nreturn ARGV[1]", &[]), "PUBLISH");
        let reason = "arguments have the names of the header: return ARGV[1]";
        assert_eq!(refused, Err(reason.to_owned()));
    }

    #[test]
    fn text_over_several_lines_is_refused() {
        let refused = assemble(&source("return [[\n-- a line\n]]", &[]), "PUBLISH");
        assert_eq!(refused, Err("no text over several lines, please: return [[".to_owned()));
    }

    #[test]
    fn publish_follows_the_layout() {
        let source = source("--- @include \"publish\"\nreturn publish(KEYS[1], 'x')", &[]);
        assert!(assemble(&source, "PUBLISH").unwrap().contains("redis.call('PUBLISH', channel"));
        assert!(assemble(&source, "SPUBLISH").unwrap().contains("redis.call('SPUBLISH', channel"));
    }

    #[test]
    fn missing_and_circular_includes_name_the_way_there() {
        let missing =
            assemble(&source("--- @include \"a\"", &[("a.lua", "--- @include \"z\"")]), "PUBLISH");
        assert_eq!(
            missing.unwrap_err(),
            "\"a\" includes \"z\", which the script! macro was not given"
        );
        let circular = source(
            "--- @include \"a\"",
            &[("a.lua", "--- @include \"b\""), ("b.lua", "--- @include \"a\"")],
        );
        assert_eq!(assemble(&circular, "PUBLISH").unwrap_err(), "\"a\" includes itself: a > b");
    }
}
