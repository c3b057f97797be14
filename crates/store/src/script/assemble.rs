//! Putting a script and its includes together.

use super::{Source, numbers::with_numbers, unused::without_unused};

/// What every script may include without bringing a file: `publish(channel, message)`, by the command that the store's
/// layout wants, and how a user's quota is kept.
const SHARED: [(&str, &str); 2] = [
    (
        "publish",
        "local function publish(channel, message)\n  return redis.call('@PUBLISH', channel, message)\nend\n",
    ),
    ("quota", include_str!("include/quota.lua")),
];

/// The whole script. Each include stands once, where it is first asked for. A server reads all of a script that goes
/// along whole, so remarks are left out, and so is what nothing uses.
pub(super) fn assemble(source: &Source, publish_command: &str) -> Result<String, String> {
    let mut assembly =
        Assembly { source, body: String::new(), done: Vec::new(), stack: Vec::new() };
    assembly.add(source.text)?;
    Ok(without_unused(&with_numbers(&assembly.body)).replace("@PUBLISH", publish_command))
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
