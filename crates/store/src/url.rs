//! Store URLs: which store, where, and as whom.

use std::{fmt, path::PathBuf, str::FromStr};

use keyrack_engine::Fsync;
use redis::{ConnectionInfo, IntoConnectionInfo};

/// A store's address, read and checked.
///
/// | URL | store |
/// |---|---|
/// | `embedded:memory` | an engine in this process that forgets everything when it stops |
/// | `embedded:PATH` | an engine in this process with its data in a folder; `?fsync=everysec` or `no` trades safety for speed |
/// | `redis://[user:password@]host[:port][/db]` | one server; `rediss://` with TLS |
/// | `redis+unix:///path/to/socket[?db=N]` | one server on this machine |
/// | `redis+sentinel://[user:password@]host[:port],…/master[/db]` | whichever server the Sentinels call the primary |
/// | `redis+cluster://[user:password@]host[:port],…` | a cluster |
#[derive(Clone)]
pub struct StoreUrl {
    pub(crate) target: Target,
    /// The URL without its password.
    shown: String,
}

#[derive(Clone)]
pub(crate) enum Target {
    Memory,
    Folder { dir: PathBuf, fsync: Fsync },
    Server(ConnectionInfo),
    Sentinel { sentinels: Vec<ConnectionInfo>, master: String, node: NodeLogin },
    Cluster { nodes: Vec<ConnectionInfo> },
}

/// How to log in to the servers that Sentinels name.
#[derive(Clone, Default)]
pub(crate) struct NodeLogin {
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) db: i64,
}

/// What is wrong with a store URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} in \"{shown}\"")]
pub struct UrlError {
    reason: String,
    shown: String,
}

impl StoreUrl {
    /// Whether the data lives in this process.
    pub fn is_embedded(&self) -> bool {
        matches!(self.target, Target::Memory | Target::Folder { .. })
    }

    /// The data folder, for an embedded store that has one.
    pub fn folder(&self) -> Option<&std::path::Path> {
        match &self.target {
            Target::Folder { dir, .. } => Some(dir),
            _ => None,
        }
    }
}

impl FromStr for StoreUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<StoreUrl, UrlError> {
        let shown = redact(url);
        let target = parse(url).map_err(|reason| UrlError { reason, shown: shown.clone() })?;
        Ok(StoreUrl { target, shown })
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

fn parse(url: &str) -> Result<Target, String> {
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(format!("no scheme; write one of {SCHEMES}"));
    };
    match scheme {
        "embedded" => parse_embedded(rest),
        "redis" | "rediss" | "redis+unix" => connection_info(url).map(Target::Server),
        "redis+sentinel" => parse_sentinel(rest),
        "redis+cluster" => parse_cluster(rest),
        _ => Err(format!("unknown scheme \"{scheme}\"; write one of {SCHEMES}")),
    }
}

const SCHEMES: &str = "embedded:memory, embedded:PATH, redis://, rediss://, redis+unix://, redis+sentinel://, redis+cluster://";

fn parse_embedded(rest: &str) -> Result<Target, String> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut fsync = Fsync::Always;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        fsync = match pair {
            "fsync=always" => Fsync::Always,
            "fsync=everysec" => Fsync::EverySec,
            "fsync=no" => Fsync::No,
            _ => {
                return Err(format!(
                    "unknown option \"{pair}\"; there is fsync=always|everysec|no"
                ));
            }
        };
    }
    match path {
        "" => Err("no folder; write embedded:memory or embedded:PATH".into()),
        "memory" if query.is_empty() => Ok(Target::Memory),
        "memory" => Err("options do not apply to embedded:memory".into()),
        path => Ok(Target::Folder { dir: path.into(), fsync }),
    }
}

/// Hosts, login and path of `//[user:password@]host[:port],…[/path]`.
struct Group<'a> {
    /// With its `@`, as each node's own URL wants it.
    login: &'a str,
    hosts: Vec<&'a str>,
    path: Vec<&'a str>,
}

fn parse_group(rest: &str) -> Result<Group<'_>, String> {
    let rest = rest.strip_prefix("//").ok_or("no \"//\" after the scheme")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let split = authority.rfind('@').map_or(0, |at| at + 1);
    let (login, hosts) = authority.split_at(split);
    let hosts: Vec<&str> = hosts.split(',').filter(|host| !host.is_empty()).collect();
    if hosts.is_empty() {
        return Err("no host".into());
    }
    Ok(Group { login, hosts, path: path.split('/').filter(|part| !part.is_empty()).collect() })
}

fn parse_sentinel(rest: &str) -> Result<Target, String> {
    const PORT: &str = "26379";
    let group = parse_group(rest)?;
    let (master, db) = match group.path[..] {
        [master] => (master, 0),
        [master, db] => {
            (master, db.parse().map_err(|_| format!("\"{db}\" is no database number"))?)
        }
        _ => return Err("no name of the primary; write redis+sentinel://HOST:PORT/NAME".into()),
    };
    let sentinels = group
        .hosts
        .iter()
        .map(|host| connection_info(&format!("redis://{}", with_port(host, PORT))))
        .collect::<Result<_, _>>()?;
    // The login is that of the data servers; Sentinels usually have none.
    let login = connection_info(&format!("redis://{}localhost", group.login))?;
    let settings = login.redis_settings();
    let node = NodeLogin {
        username: settings.username().map(str::to_owned),
        password: settings.password().map(str::to_owned),
        password_file: None,
        db,
    };
    Ok(Target::Sentinel { sentinels, master: master.to_owned(), node })
}

fn parse_cluster(rest: &str) -> Result<Target, String> {
    let group = parse_group(rest)?;
    if !group.path.is_empty() {
        return Err("a cluster has only database 0, so its URL has no path".into());
    }
    let nodes = group
        .hosts
        .iter()
        .map(|host| connection_info(&format!("redis://{}{}", group.login, with_port(host, "6379"))))
        .collect::<Result<_, _>>()?;
    Ok(Target::Cluster { nodes })
}

fn with_port(host: &str, port: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host.to_owned() } else { format!("{host}:{port}") }
}

fn connection_info(url: &str) -> Result<ConnectionInfo, String> {
    url.into_connection_info().map_err(|error| crate::error::text(&error))
}

/// The URL with its password replaced.
fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..authority_end].rfind('@') else { return url.to_owned() };
    let user = rest[..at].split_once(':').map_or("", |(user, _)| user);
    format!("{scheme}://{user}:***{}", &rest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn error(url: &str) -> String {
        url.parse::<StoreUrl>().expect_err("a bad URL").to_string()
    }

    #[test]
    fn every_kind_of_store_is_understood() {
        for url in [
            "embedded:memory",
            "embedded:./data",
            "embedded:/var/lib/x?fsync=everysec",
            "redis://localhost",
            "redis://user:secret@localhost:6380/3",
            "rediss://localhost:6380",
            "redis+unix:///run/redis.sock?db=2",
            "redis+sentinel://a:1,b:2,c/mymaster",
            "redis+sentinel://:secret@a/mymaster/2",
            "redis+cluster://a:7000,b:7001",
        ] {
            assert!(url.parse::<StoreUrl>().is_ok(), "{url}");
        }
    }

    #[test]
    fn bad_urls_say_what_to_write() {
        assert!(error("localhost").contains("no scheme"));
        assert!(error("http://x").contains("unknown scheme \"http\""));
        assert!(error("embedded:").contains("embedded:memory or embedded:PATH"));
        assert!(error("embedded:x?fsync=sometimes").contains("fsync=always|everysec|no"));
        assert!(error("redis+sentinel://a:1").contains("no name of the primary"));
        assert!(error("redis+sentinel://a:1/m/x").contains("\"x\" is no database number"));
        assert!(error("redis+cluster://a:1/3").contains("only database 0"));
        assert!(error("redis+cluster://").contains("no host"));
    }

    #[test]
    fn passwords_are_never_shown() {
        let url: StoreUrl = "redis://user:secret@localhost/0".parse().expect("a good URL");
        assert_eq!(url.to_string(), "redis://user:***@localhost/0");
        assert!(!error("redis+cluster://user:secret@host:1/3").contains("secret"));
    }
}
