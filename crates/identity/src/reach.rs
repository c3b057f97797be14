//! How far a token reaches.

use std::{fmt, str::FromStr};

use serde::Serialize;

/// How far a token reaches.
///
/// Users make tokens for themselves, and whoever has the console makes them for those who run the server. The former must not
/// become the latter by being given a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// What is the user's own, such as progress bars.
    #[default]
    Own,
    /// The whole server, such as all queues and the dashboard.
    Server,
}

impl Reach {
    /// The word by which it is stored and spoken of.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reach::Own => "own",
            Reach::Server => "server",
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Reach, String> {
        match text {
            "own" => Ok(Reach::Own),
            "server" => Ok(Reach::Server),
            _ => Err(format!("\"{text}\" is no reach; give own or server")),
        }
    }
}
