//! Who knows the truth about entitlements.

mod revenue_cat;

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

pub use self::revenue_cat::RevenueCat;
pub(crate) use self::revenue_cat::bearer;
use crate::{customer::Customer, entitlement::Entitlement, web::CallError};

/// What a source will answer.
pub type SourceFuture<'a, T> = BoxFuture<'a, Result<T, CallError>>;

/// Who knows the truth about entitlements: a shop, or whoever keeps its books.
pub trait Source: std::fmt::Debug + Send + Sync + 'static {
    /// What a customer is entitled to; `None` if there is no such customer.
    fn fetch<'a>(&'a self, customer: &'a Customer) -> SourceFuture<'a, Option<Answer>>;

    /// Tells of a purchase elsewhere, by what proves it. Telling twice of the same purchase changes nothing.
    fn purchased<'a>(&'a self, customer: &'a Customer, receipt: &'a str) -> SourceFuture<'a, ()>;
}

/// Nobody to ask: for those who only look at what is stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSource;

impl Source for NoSource {
    fn fetch<'a>(&'a self, _: &'a Customer) -> SourceFuture<'a, Option<Answer>> {
        Box::pin(async { Err(CallError::Unreachable("no source is set up".into())) })
    }

    fn purchased<'a>(&'a self, _: &'a Customer, _: &'a str) -> SourceFuture<'a, ()> {
        Box::pin(async { Err(CallError::Unreachable("no source is set up".into())) })
    }
}

/// What a source says about a customer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// When each entitlement that the customer ever had ends, in unix seconds; `None` if it does not.
    pub entitlements: BTreeMap<String, Option<f64>>,
}

impl Answer {
    /// What this means at a time; `identifiers` are those about which something has to be said.
    pub(crate) fn at(&self, now: f64, identifiers: &[String]) -> BTreeMap<String, Entitlement> {
        let missing = identifiers.iter().map(|name| (name.clone(), Entitlement::inactive(now)));
        let mut values: BTreeMap<String, Entitlement> = missing.collect();
        for (identifier, expires_at) in &self.entitlements {
            let is_active = expires_at.is_none_or(|expires_at| expires_at > now);
            let expires_at = expires_at.filter(|_| is_active);
            values
                .insert(identifier.clone(), Entitlement { is_active, expires_at, checked_at: now });
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_is_active_until_then_and_what_does_not_end_always() {
        let entries =
            [("pro", Some(101.0)), ("plus", None), ("old", Some(99.0)), ("now", Some(100.0))];
        let entitlements = entries.map(|(name, at)| (name.to_owned(), at)).into();
        let values = Answer { entitlements }.at(100.0, &["pro".into(), "none".into()]);
        let shown: Vec<_> = values
            .iter()
            .map(|(name, value)| (&**name, value.is_active, value.expires_at))
            .collect();
        let expected = [
            ("none", false, None),
            ("now", false, None),
            ("old", false, None),
            ("plus", true, None),
            ("pro", true, Some(101.0)),
        ];
        assert_eq!(shown, expected);
        assert!(values.values().all(|value| value.checked_at == 100.0));
    }
}
