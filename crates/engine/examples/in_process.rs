//! The engine alone: a Redis in this process, used through the `redis` crate.
//!
//! Run it with `cargo run -p keyrack-engine --example in_process`. It shows commands, a script and a
//! subscription. `Engine::open("folder")` keeps the data on disk, and `engine.listen("127.0.0.1:6379")`
//! lets any Redis client connect.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use keyrack_engine::Engine;
use redis::{AsyncCommands, Script};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::in_memory();
    let mut connection = engine.connection(0)?;

    connection.set::<_, _, ()>("greeting", "hello").await?;
    let greeting: String = connection.get("greeting").await?;
    println!("GET: {greeting}");

    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    let visits: i64 = script.key("visits").arg(41).invoke_async(&mut connection).await?;
    println!("script: {visits}");

    let mut subscriber = engine.subscribe();
    subscriber.subscribe("news");
    connection.publish::<_, _, ()>("news", "it works").await?;
    let news = subscriber.next_message().await.map(|message| message.payload);
    println!("message: {}", String::from_utf8_lossy(&news.unwrap_or_default()));
    Ok(())
}
