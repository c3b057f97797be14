//! What can be said on the command line.

use std::{ffi::OsString, fmt::Display, net::IpAddr, path::PathBuf, str::FromStr};

use keyrack_engine::Fsync;

pub(super) const HELP: &str = "\
A Redis-compatible server.

Usage: keyrack-engine [options]

  --port N            TCP port to listen on, 0 for any free one (6379)
  --bind ADDRESS      address to listen on (127.0.0.1)
  --dir DIR           folder to keep the data in; without it the data lives in memory only
  --appendfsync WHEN  when a write counts as done: always, everysec or no (always)
  --requirepass TEXT  password that clients have to give
  --databases N       number of databases (1024)
  --maxclients N      number of clients at a time (20000)
  --io-threads N      number of threads that serve clients (1)
  --help              print this
  --version           print the version
";

/// What the user wants.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Run(Options),
    Help,
    Version,
}

#[derive(Debug, PartialEq)]
pub(super) struct Options {
    pub(super) port: u16,
    pub(super) bind: IpAddr,
    pub(super) dir: Option<PathBuf>,
    pub(super) fsync: Fsync,
    pub(super) password: Option<String>,
    pub(super) databases: usize,
    pub(super) clients_max: usize,
    pub(super) threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            port: 6379,
            bind: IpAddr::from([127, 0, 0, 1]),
            dir: None,
            fsync: Fsync::default(),
            password: None,
            databases: 1024,
            clients_max: 20_000,
            threads: 1,
        }
    }
}

/// Reads `--name value` and `--name=value`; the last of several counts.
pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request, String> {
    let args: Result<Vec<String>, OsString> = args.into_iter().map(OsString::into_string).collect();
    let args = args.map_err(|arg| format!("\"{}\" is not valid UTF-8", arg.display()))?;
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (name, joined) = match arg.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (arg, None),
        };
        match name.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            "--version" | "-V" => return Ok(Request::Version),
            _ => {}
        }
        let value = || joined.or_else(|| args.next()).ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--port" => options.port = number(&name, &value()?)?,
            "--bind" => options.bind = address(&value()?)?,
            "--dir" => options.dir = Some(value()?.into()),
            "--appendfsync" => options.fsync = fsync(&value()?)?,
            "--requirepass" => options.password = Some(value()?),
            "--databases" => options.databases = at_least_one(&name, &value()?)?,
            "--io-threads" => options.threads = at_least_one(&name, &value()?)?,
            "--maxclients" => options.clients_max = at_least_one(&name, &value()?)?,
            _ => return Err(format!("unknown option \"{name}\"; --help lists them all")),
        }
    }
    Ok(Request::Run(options))
}

fn number<T: FromStr<Err: Display>>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|error| format!("{name} does not take \"{value}\": {error}"))
}

fn at_least_one(name: &str, value: &str) -> Result<usize, String> {
    match number(name, value)? {
        0 => Err(format!("{name} does not take \"{value}\": it must be 1 or more")),
        n => Ok(n),
    }
}

fn address(value: &str) -> Result<IpAddr, String> {
    value.parse().map_err(|_| {
        format!("--bind does not take \"{value}\": give an IP address, such as 127.0.0.1 or ::1")
    })
}

fn fsync(value: &str) -> Result<Fsync, String> {
    match value {
        "always" => Ok(Fsync::Always),
        "everysec" => Ok(Fsync::EverySec),
        "no" => Ok(Fsync::No),
        _ => Err(format!("--appendfsync does not take \"{value}\": give always, everysec or no")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fsync, HELP, Options, OsString, Request, parse};

    #[track_caller]
    fn check(line: &str, expected: Result<Request, &str>) {
        let parsed = parse(line.split_whitespace().map(OsString::from));
        assert_eq!(parsed, expected.map_err(str::to_owned));
    }

    #[test]
    fn no_options_mean_an_engine_in_memory_on_the_usual_port() {
        check("", Ok(Request::Run(Options::default())));
    }

    #[test]
    fn every_option_is_understood_in_both_spellings() {
        let options = Options {
            port: 7000,
            bind: "::1".parse().expect("an address"),
            dir: Some("data".into()),
            fsync: Fsync::EverySec,
            password: Some("secret".into()),
            databases: 16,
            clients_max: 10,
            threads: 2,
        };
        check(
            "--port 7000 --bind ::1 --dir data --appendfsync everysec --requirepass=secret --databases=16 --maxclients=10 --io-threads 2",
            Ok(Request::Run(options)),
        );
    }

    #[test]
    fn help_and_version_win_over_the_rest() {
        check("--port 1 --help", Ok(Request::Help));
        check("-V", Ok(Request::Version));
    }

    #[test]
    fn mistakes_are_named() {
        check("--prot 1", Err("unknown option \"--prot\"; --help lists them all"));
        check("--port", Err("--port needs a value"));
        check(
            "--port 70000",
            Err("--port does not take \"70000\": number too large to fit in target type"),
        );
        check(
            "--bind localhost",
            Err("--bind does not take \"localhost\": give an IP address, such as 127.0.0.1 or ::1"),
        );
        check(
            "--appendfsync never",
            Err("--appendfsync does not take \"never\": give always, everysec or no"),
        );
        check("--databases 0", Err("--databases does not take \"0\": it must be 1 or more"));
    }

    #[test]
    fn help_shows_the_defaults() {
        let defaults = Options::default();
        for shown in [
            format!("({})", defaults.port),
            format!("({})", defaults.bind),
            format!("({})", defaults.databases),
            format!("({})", defaults.clients_max),
            format!("({})", defaults.threads),
        ] {
            assert!(HELP.contains(&shown), "{shown}");
        }
    }
}
