//! Keys that these tests declare for themselves.

use keyrack_keys::declare::*;

parts! {
    /// Whose things these are.
    text Owner;
    /// One of an owner's accounts.
    text Account;
}

keys! {
    owner = "store.tests", origin = Added, shard = Shard::Part("owner");

    /// How much is in an account.
    balance(owner: Owner, account: Account) = "test:balance:<owner>:<account>"
        => string(COUNT.means("the amount")),
        removed = "with the test's server",
        example = "test:balance:alice:savings";

    /// Says that an owner's money has moved.
    moved(owner: Owner) = "test:moved:<owner>"
        => channel(COUNT.means("how much")),
        example = "test:moved:alice";

    /// What an owner has to do.
    tasks(owner: Owner) = "test:tasks:<owner>"
        => list(Text.means("a task")),
        removed = "with the test's server",
        example = "test:tasks:alice";
}

/// The owner of most tests' keys.
pub(crate) fn alice() -> Owner {
    Owner::new("alice").expect("a good name")
}

pub(crate) fn account(name: &str) -> Key {
    balance(&alice(), &Account::new(name).expect("a good name"))
}
