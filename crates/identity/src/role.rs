//! What somebody may do.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What somebody may do; each role may do what the ones before it may. To what, the token's [`TokenScope`](crate::Reach) says.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks.
    Viewer,
    /// Changes things.
    #[default]
    Operator,
    /// Does everything, deleting queues and reading the audit log included.
    Admin,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    /// The word by which it is stored and spoken of.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let found = Role::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| format!("\"{text}\" is no role; give viewer, operator or admin"))
    }
}
