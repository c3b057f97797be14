//! What work costs beside time: processor time of the server and of the client, and commands.

use std::ops::AddAssign;

use anyhow::{Context, Result};

use super::super::server::Server;
use super::driver::Driver;

/// Processor time and commands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) server_seconds: f64,
    pub(super) client_seconds: f64,
    /// Commands that the server carried out, in scripts or not.
    pub(super) commands: f64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.server_seconds += other.server_seconds;
        self.client_seconds += other.client_seconds;
        self.commands += other.commands;
    }
}

/// Does something with a driver and says what that cost on its side and on the server's.
pub(super) fn measured<T>(
    server: &Server,
    driver: &mut Driver,
    action: impl FnOnce(&mut Driver) -> Result<T>,
) -> Result<(T, Cost)> {
    let before = reading(server, driver)?;
    let value = action(driver)?;
    let after = reading(server, driver)?;
    let cost = Cost {
        server_seconds: after.server_seconds - before.server_seconds,
        client_seconds: after.client_seconds - before.client_seconds,
        commands: after.commands - before.commands,
    };
    Ok((value, cost))
}

/// All that was spent so far.
fn reading(server: &Server, driver: &Driver) -> Result<Cost> {
    let info = server.ask(&["INFO", "everything"])?;
    Ok(Cost {
        server_seconds: cpu_seconds(&info)?,
        client_seconds: driver.cpu_seconds()?,
        commands: commands(&info),
    })
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
    fn our_own_questions_do_not_count() {
        assert_eq!(commands(INFO), 5.0);
    }
}
