//! An in-process Redis used through the `redis` crate: commands, a script, and a subscription.

use keyrack_engine::Engine;
use redis::{AsyncCommands, Script};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::in_memory();
    let mut connection = engine.connection(0)?;

    connection.set::<_, _, ()>("greeting", "hello").await?;
    let greeting: String = connection.get("greeting").await?;

    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    let visits: i64 = script.key("visits").arg(41).invoke_async(&mut connection).await?;

    let mut subscriber = engine.subscribe();
    subscriber.subscribe("news");
    connection.publish::<_, _, ()>("news", "it works").await?;
    let news = subscriber.next_message().await.map(|message| message.payload);

    assert_eq!((greeting.as_str(), visits, news.as_deref()), ("hello", 41, Some(&b"it works"[..])));
    Ok(())
}
