//! A progress bar around an iterator. After the first run, the bar knows how long a run takes.
//!
//! Run it with `cargo run -p keyrack-progress --example progress_bar`. With `redis://…` instead of
//! the store in memory, other processes can watch the runs, and the bar remembers them.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use keyrack_keys::UserSub;
use keyrack_progress::{Progress, client::Client};
use keyrack_store::Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::open("embedded:memory").await?;
    let progress = Progress::open(store, keyrack_jobs::hot::keys::hot());
    let user = UserSub::new("alice")?;
    let client = Client::direct(progress.clone(), user.clone());

    let files = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
    for run in 1..=3 {
        for file in client.wrap("import", "copy", &files) {
            copy(file).await;
        }
        // Reports go out from a task of their own, so that they never delay the work.
        client.flush(Duration::from_secs(5)).await;
        let eta = progress.eta(&user, "import").await?;
        println!("after run {run}: the next takes about {:.2} s", eta.eta);
    }
    Ok(())
}

/// Stands for real work.
async fn copy(_: &str) {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
