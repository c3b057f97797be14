//! Who sends a request to what is everybody's.

use keyrack_identity::{Principal, Role, TokenScope};

/// Who sends a request, and what they may do. Pages show what it allows and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    who: Who,
    is_read_only: bool,
}

#[derive(Debug, Clone, Default)]
enum Who {
    /// Somebody who has shown nothing, where that is not enough.
    #[default]
    Nobody,
    /// Somebody who has shown nothing, where reaching the port is enough.
    Local,
    /// Somebody who has shown a token.
    Known { principal: Principal, is_session: bool },
}

impl Caller {
    /// Whoever reaches a port that only this machine can reach.
    pub(super) fn local() -> Caller {
        Caller { who: Who::Local, is_read_only: false }
    }

    /// Somebody with a token, or with a session in a browser.
    pub(super) fn known(principal: Principal, is_session: bool) -> Caller {
        Caller { who: Who::Known { principal, is_session }, is_read_only: false }
    }

    /// The same where nothing can be changed.
    pub(super) fn read_only(self, is_read_only: bool) -> Caller {
        Caller { is_read_only, ..self }
    }

    /// What the caller may do to what is everybody's; `None` if nothing at all.
    pub fn role(&self) -> Option<Role> {
        match &self.who {
            Who::Nobody => None,
            Who::Local => Some(Role::Admin),
            Who::Known { principal, .. } => {
                (principal.reach == TokenScope::Server).then_some(principal.role)
            }
        }
    }

    /// Whether the caller may change things.
    pub fn may_change(&self) -> bool {
        self.may_change_as(Role::Operator)
    }

    /// Whether they may delete what operators only use, such as a queue.
    pub fn may_delete(&self) -> bool {
        self.may_change_as(Role::Admin)
    }

    fn may_change_as(&self, least: Role) -> bool {
        self.role() >= Some(least) && !self.is_read_only
    }

    /// Whether the caller may see who has changed what.
    pub fn is_admin(&self) -> bool {
        self.role() == Some(Role::Admin)
    }

    /// Whether nobody can change anything.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Whether the caller has signed in with a browser, and can sign out.
    pub fn is_signed_in(&self) -> bool {
        matches!(self.who, Who::Known { is_session: true, .. })
    }

    /// Whether the caller has shown nothing.
    pub fn is_nobody(&self) -> bool {
        matches!(self.who, Who::Nobody)
    }

    /// The caller's name, for people and for the audit log.
    pub fn name(&self) -> &str {
        match &self.who {
            Who::Nobody => "nobody",
            Who::Local => "local",
            Who::Known { principal, .. } => principal.sub.as_str(),
        }
    }

    /// What the caller was known by, if that can be taken back.
    pub(super) fn principal(&self) -> Option<&Principal> {
        match &self.who {
            Who::Known { principal, .. } => Some(principal),
            Who::Nobody | Who::Local => None,
        }
    }
}
