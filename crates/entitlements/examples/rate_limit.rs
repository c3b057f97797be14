//! A rate limit that all processes on one store share: three requests in ten seconds per address.
//!
//! Run it with `cargo run -p keyrack-entitlements --example rate_limit`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use keyrack_entitlements::{
    Limit, Limiter,
    keys::{LimitName, LimitSubject},
};
use keyrack_store::Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Limiter::new(Store::open("embedded:memory").await?);
    let (name, address) = (LimitName::new("search")?, LimitSubject::new("10.0.0.1")?);

    // `Limit::Steady` gives capacity back gradually instead of all at once.
    let limit = Limit::Window { max: 3, period: Duration::from_secs(10) };
    for request in 1..=4 {
        let verdict = limiter.take(&name, &address, limit, 1).await?;
        match verdict.retry_after {
            _ if verdict.allowed => println!("request {request}: {} left", verdict.remaining),
            Some(wait) => println!("request {request}: try again in {:.1} s", wait.as_secs_f64()),
            None => println!("request {request}: asks for more than the limit"),
        }
    }
    Ok(())
}
