//! The tasks of these tests.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use keyrack::prelude::*;
use keyrack_testkit::on_every_store;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) cents: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) text: String,
}

impl Task for Charge {
    const QUEUE: &'static str = "shop/charges";
    type Output = Receipt;
}

impl Receipt {
    pub(crate) fn of(cents: u64) -> Receipt {
        Receipt { text: format!("{cents} cents") }
    }
}

pub(crate) async fn charge(charge: Charge) -> Result<Receipt, BoxError> {
    Ok(Receipt::of(charge.cents))
}

/// How often something was done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

impl Counter {
    /// The number of this time, from 1.
    pub(crate) fn count(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) async fn on_every_rack(test: impl AsyncFn(Keyrack)) {
    on_every_store(async |store| test(Keyrack::on(store).await.expect("a rack")).await).await;
}
