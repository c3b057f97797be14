//! A typed task, its handler, a worker, and a caller who waits for the result.
//!
//! Run it with `cargo run -p keyrack --example typed_service`. With `redis://HOST:6379` instead of the store in memory, the
//! worker can be another process.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use keyrack::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Cents(u64);
impl Task for Cents {
    const QUEUE: &str = "charges";
    type Output = String;
}
async fn charge(Cents(n): Cents) -> Result<String, BoxError> {
    Ok(format!("receipt for {n} cents"))
}
#[tokio::main]
async fn main() -> keyrack::Result<()> {
    let jobs = Keyrack::open("embedded:memory").await?.jobs();
    let worker = jobs.worker().on(charge).spawn();
    println!("{}", Cents(500).submit(&jobs).await?.wait(secs(10)).await?);
    worker.stop().await
}
