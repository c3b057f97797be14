//! How far a token reaches.

use std::{fmt, str::FromStr};

use serde::Serialize;

/// How far a token reaches.
///
/// Users make tokens for themselves, and whoever has the console makes them for those who run the server. The former must not
/// become the latter by being given a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// What is the user's own, such as progress bars.
    #[default]
    Own,
    /// The whole server, such as all queues and the dashboard.
    Server,
}

impl TokenScope {
    /// The word by which it is stored and spoken of.
    pub const fn as_str(self) -> &'static str {
        match self {
            TokenScope::Own => "own",
            TokenScope::Server => "server",
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TokenScope {
    type Err = String;

    fn from_str(text: &str) -> Result<TokenScope, String> {
        match text {
            "own" => Ok(TokenScope::Own),
            "server" => Ok(TokenScope::Server),
            _ => Err(format!("\"{text}\" is no reach; give own or server")),
        }
    }
}
