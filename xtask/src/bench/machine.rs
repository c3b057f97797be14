//! What the numbers were measured on.

use std::fs;

use anyhow::{Context, Result};

use crate::shell;

/// The machine and what always takes part, as a list.
pub(super) fn describe() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").context("no /proc/cpuinfo")?;
    let cores = cpu.lines().filter(|line| line.starts_with("processor")).count();
    let memory = fs::read_to_string("/proc/meminfo").context("no /proc/meminfo")?;
    Ok(format!(
        "- machine: {}, {cores} cores, {} GiB, {}\n\
         - keyrack: commit {} of {}, {}\n",
        field(&cpu, "model name").unwrap_or("unknown processor"),
        gibibytes(&memory).context("no memory in /proc/meminfo")?,
        printed("uname", "-sr")?,
        printed("git", "describe --always --dirty")?,
        printed("date", "-u +%F")?,
        printed("rustc", "--version")?,
    ))
}

/// The same, where a redis-server takes part.
pub(super) fn with_redis() -> Result<String> {
    Ok(format!("{}- redis-server {} without persistence\n", describe()?, redis_version()?))
}

/// The version of the redis-server that is installed.
pub(super) fn redis_version() -> Result<String> {
    let line = printed("redis-server", "--version")?;
    let version = line.split_once("v=").and_then(|(_, rest)| rest.split(' ').next());
    Ok(version.unwrap_or(&line).to_owned())
}

/// What a program prints.
pub(super) fn printed(program: &str, arguments: &str) -> Result<String> {
    Ok(shell::output(&mut shell::command(program, arguments))?.trim().to_owned())
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn gibibytes(meminfo: &str) -> Option<u64> {
    let kibibytes: f64 = field(meminfo, "MemTotal")?.split(' ').next()?.parse().ok()?;
    Some((kibibytes / 1024.0 / 1024.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_without_their_padding() {
        let cpu = "processor\t: 0\nmodel name\t: A Processor @ 2.00GHz\n";
        assert_eq!(field(cpu, "model name"), Some("A Processor @ 2.00GHz"));
        assert_eq!(gibibytes("MemTotal:       24619904 kB\n"), Some(23));
        assert_eq!(gibibytes("MemFree: 1 kB\n"), None);
    }
}
