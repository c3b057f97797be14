//! Submits a job with a typed argument and runs it in the same process, without a Redis server.
//!
//! Run it with `cargo run -p keyrack-jobs --example typed_jobs`. With a server, give
//! `Store::open` an address such as `redis://127.0.0.1:6379`; the worker can then be another process.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use keyrack_jobs::bee::{
    Hive, Submission,
    keys::QueueName,
    worker::{Settings, Worker},
};
use keyrack_store::Store;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[derive(Debug, Serialize, Deserialize)]
struct Resize {
    picture: String,
    width: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Resized {
    file: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hive = Hive::open(Store::open("embedded:memory").await?).await?;
    let queue = QueueName::new("thumbnails")?;

    let order = Resize { picture: "cat.jpg".to_owned(), width: 64 };
    let id = hive.submit(Submission::to(queue.clone()).arg(&order).retries(3)).await?;
    println!("submitted {id}");

    let settled = Arc::new(Notify::new());
    let notify = settled.clone();
    // `data` is the list of arguments, so a tuple reads one argument. An error is a failed attempt.
    let worker = Worker::new(&hive).on(queue, Settings::default(), |context| async move {
        let (order,): (Resize,) = serde_json::from_str(context.job().data())?;
        Ok(Resized { file: format!("{}-{}", order.width, order.picture) })
    });
    // A program that works for long waits for Ctrl-C here.
    let worker = worker.on_settled(Arc::new(move |_, _| notify.notify_one()));
    worker.run(async move { settled.notified().await }).await?;

    let job = hive.job(&id).await?;
    let result: Resized = serde_json::from_str(job.result().unwrap_or_default())?;
    println!("{:?}: {}", job.status(), result.file);
    Ok(())
}
