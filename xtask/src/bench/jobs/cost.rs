//! What work costs beside time: processor time of the server and of the client, and commands. Also what others spend
//! meanwhile, as beside a compiler no rate means anything.

use std::fs;
use std::ops::Add;
use std::time::Instant;

use anyhow::{Context, Result};

use super::super::server::Server;
use super::driver::{Driver, TICKS_PER_SECOND};

/// Processor time and commands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) server_seconds: f64,
    pub(super) client_seconds: f64,
    /// Commands that the server carried out, in scripts or not.
    pub(super) commands: f64,
    /// Processor time of everybody else on the machine.
    pub(super) others_seconds: f64,
    /// The time in which all this was spent.
    pub(super) wall_seconds: f64,
}

impl Cost {
    /// How many cores others kept busy meanwhile.
    pub(super) fn others(&self) -> f64 {
        self.others_seconds.max(0.0) / self.wall_seconds
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            server_seconds: self.server_seconds + other.server_seconds,
            client_seconds: self.client_seconds + other.client_seconds,
            commands: self.commands + other.commands,
            others_seconds: self.others_seconds + other.others_seconds,
            wall_seconds: self.wall_seconds + other.wall_seconds,
        }
    }
}

/// Does something with a driver and says what that cost on its side and on the server's.
pub(super) fn measured<T>(
    server: &Server,
    driver: &mut Driver,
    action: impl FnOnce(&mut Driver) -> Result<T>,
) -> Result<(T, Cost)> {
    let before = Reading::take(server, driver)?;
    // Looking at the machine comes last and first, so that asking the server does not count as work of others.
    let (busy_before, started) = (busy_seconds()?, Instant::now());
    let value = action(driver)?;
    let (busy_after, wall) = (busy_seconds()?, started.elapsed());
    let after = Reading::take(server, driver)?;
    let server_seconds = after.server_seconds - before.server_seconds;
    let client_seconds = after.client_seconds - before.client_seconds;
    let cost = Cost {
        server_seconds,
        client_seconds,
        commands: after.commands - before.commands,
        others_seconds: busy_after - busy_before - server_seconds - client_seconds,
        wall_seconds: wall.as_secs_f64(),
    };
    Ok((value, cost))
}

/// All that was spent so far.
struct Reading {
    server_seconds: f64,
    client_seconds: f64,
    commands: f64,
}

impl Reading {
    fn take(server: &Server, driver: &Driver) -> Result<Reading> {
        let info = server.ask(&["INFO", "everything"])?;
        Ok(Reading {
            server_seconds: cpu_seconds(&info)?,
            client_seconds: driver.cpu_seconds()?,
            commands: commands(&info),
        })
    }
}

/// The processor time that the whole machine has used.
pub(super) fn busy_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/stat").context("no /proc/stat")?;
    let ticks = busy_ticks(&stat).context("/proc/stat has no line for all processors")?;
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// `cpu user nice system idle iowait irq softirq steal …`: all but idle and iowait, in which nobody works.
fn busy_ticks(stat: &str) -> Option<u64> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u64> = numbers.map_while(|number| number.parse().ok()).take(8).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks[..] else { return None };
    Some(user + nice + system + irq + softirq + steal)
}

fn cpu_seconds(info: &str) -> Result<f64> {
    let mut sum = 0.0;
    for field in ["used_cpu_user:", "used_cpu_sys:"] {
        let value = info.lines().find_map(|line| line.trim().strip_prefix(field));
        let value = value.and_then(|value| value.parse::<f64>().ok());
        sum += value.with_context(|| format!("INFO has no \"{field}\""))?;
    }
    Ok(sum)
}

/// The calls of all commands but INFO, which is our own.
fn commands(info: &str) -> f64 {
    let calls = |line: &str| -> Option<f64> {
        let (name, counts) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = counts.split(',').next()?.parse().ok()?;
        (name != "info").then_some(calls)
    };
    info.lines().filter_map(calls).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# CPU\r\nused_cpu_sys:0.250000\r\nused_cpu_user:1.500000\r\n\
        used_cpu_sys_children:9.000000\r\n# Commandstats\r\n\
        cmdstat_evalsha:calls=3,usec=26,usec_per_call=0.26,rejected_calls=0,failed_calls=0\r\n\
        cmdstat_config|get:calls=2,usec=26,usec_per_call=0.26,rejected_calls=0,failed_calls=0\r\n\
        cmdstat_info:calls=7,usec=36,usec_per_call=18.00,rejected_calls=0,failed_calls=0\r\n";

    #[test]
    fn time_of_the_server_is_its_own_and_the_kernels() {
        assert_eq!(cpu_seconds(INFO).unwrap(), 1.75);
        assert_eq!(cpu_seconds("").unwrap_err().to_string(), "INFO has no \"used_cpu_user:\"");
    }

    #[test]
    fn waiting_is_no_work() {
        let stat = "cpu  100 20 3 50000 6000 10 200 4000 0 0\ncpu0 1 2 3\n";
        assert_eq!(busy_ticks(stat), Some(4333));
        assert_eq!(busy_ticks("cpu  1 2 3\n"), None);
        busy_seconds().unwrap();
    }

    #[test]
    fn others_are_counted_in_cores_and_never_below_none() {
        let cost = |others_seconds| Cost { others_seconds, wall_seconds: 2.0, ..Cost::default() };
        assert_eq!((cost(3.0) + cost(-1.0)).others(), 0.5);
        assert_eq!(cost(-0.01).others(), 0.0);
    }

    #[test]
    fn our_own_questions_do_not_count() {
        assert_eq!(commands(INFO), 5.0);
    }
}
