//! How fast entitlements are read from memory, and how soon a purge reaches everybody.
//!
//! `tiers URL` prints two numbers: reads per second, and the milliseconds that the slowest purge took. A purge has to reach eight other
//! processes, and counts until the last of them has said over a pipe that it is there. An embedded store is opened to them over TCP, as
//! `keyrack serve` does.

use std::{
    error::Error,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use keyrack_entitlements::{Answer, Customer, Entitlements, Settings, Source, SourceFuture};
use keyrack_keys::UserSub;
use keyrack_store::Store;

const USERS: usize = 1_000;
const READERS: usize = 2;
const READS: usize = 1_000_000;
const PROCESSES: usize = 8;
const PURGES: usize = 200;
/// How often another process looks whether it still remembers. Looking all the time would keep the others from hearing.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Far more than a purge may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody who always knows.
#[derive(Debug)]
struct Everybody;

impl Source for Everybody {
    fn fetch<'a>(&'a self, _: &'a Customer) -> SourceFuture<'a, Option<Answer>> {
        let answer = Answer { entitlements: [("pro".to_owned(), None)].into() };
        Box::pin(async move { Ok(Some(answer)) })
    }

    fn purchased<'a>(&'a self, _: &'a Customer, _: &'a str) -> SourceFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [word, address] if word == "listen" => listen(address).await,
        [url] => measure(url).await,
        _ => Err("usage: tiers URL".into()),
    }
}

async fn measure(url: &str) -> Result<(), Failure> {
    let store = Store::open(url).await?;
    let listener = match store.engine() {
        Some(engine) => Some(engine.listen("127.0.0.1:0").await?),
        None => None,
    };
    let address = match &listener {
        Some(listener) => format!("redis://{}", listener.local_addr()),
        None => url.to_owned(),
    };
    let entitlements = open(store).await?;
    let users = (0..USERS).map(|n| UserSub::new(format!("user{n}")));
    let users: Arc<[UserSub]> = users.collect::<Result<_, _>>()?;
    for user in users.iter() {
        entitlements.ensure_customer(user).await?;
        entitlements.lookup(user, "pro").await?;
    }
    let reads = reads_per_second(&entitlements, &users).await?;
    let slowest = slowest_purge(&entitlements, &address, &users).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{reads:.0} {:.2}", slowest.as_secs_f64() * 1000.0)?;
    Ok(())
}

async fn open(store: Store) -> Result<Entitlements, Failure> {
    let opened = Entitlements::open(store, Arc::new(Everybody), Settings::default())?;
    opened.ready().await;
    Ok(opened)
}

async fn reads_per_second(
    entitlements: &Entitlements,
    users: &Arc<[UserSub]>,
) -> Result<f64, Failure> {
    let started = Instant::now();
    let readers = (0..READERS).map(|_| {
        let (entitlements, users) = (entitlements.clone(), users.clone());
        tokio::spawn(async move {
            for n in 0..READS {
                entitlements.lookup(&users[n % USERS], "pro").await?;
            }
            Ok::<(), keyrack_entitlements::Error>(())
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await??;
    }
    let reads = (READERS * READS) as f64 / started.elapsed().as_secs_f64();
    let counts = entitlements.counts();
    if counts.local < (READERS * READS) as u64 {
        return Err("some reads were not answered from memory".into());
    }
    Ok(reads)
}

/// Lets all processes remember a user, purges the user, and sees how long the last of them remembers.
async fn slowest_purge(
    entitlements: &Entitlements,
    address: &str,
    users: &[UserSub],
) -> Result<Duration, Failure> {
    let mut listeners = Vec::new();
    for _ in 0..PROCESSES {
        listeners.push(Listener::start(address)?);
    }
    for listener in &mut listeners {
        listener.hear("ready")?;
    }
    let mut slowest = Duration::ZERO;
    for user in users.iter().cycle().take(PURGES) {
        for listener in &mut listeners {
            listener.say(user.as_str())?;
        }
        for listener in &mut listeners {
            listener.hear("remembered")?;
        }
        // What was found out in the same millisecond survives a purge.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let purged = Instant::now();
        entitlements.purge(user).await?;
        for listener in &mut listeners {
            listener.hear("forgotten")?;
        }
        slowest = slowest.max(purged.elapsed());
    }
    Ok(slowest)
}

/// Another process that remembers; killed when dropped.
struct Listener {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Listener {
    fn start(address: &str) -> Result<Listener, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["listen", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        Ok(Listener { child, said })
    }

    fn say(&mut self, word: &str) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut().ok_or("no pipe")?;
        writeln!(stdin, "{word}")?;
        Ok(stdin.flush()?)
    }

    fn hear(&mut self, expected: &str) -> Result<(), Failure> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        if line.trim_end() == expected {
            return Ok(());
        }
        Err(format!("a process said \"{}\" and not \"{expected}\"", line.trim_end()).into())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other process: remembers whom it is told to, and says when it has forgotten them.
async fn listen(address: &str) -> Result<(), Failure> {
    let entitlements = open(Store::open(address).await?).await?;
    let mut out = std::io::stdout();
    let mut say = |word: &str| {
        writeln!(out, "{word}")?;
        out.flush()
    };
    say("ready")?;
    for line in std::io::stdin().lines() {
        let user = UserSub::new(line?)?;
        entitlements.lookup(&user, "pro").await?;
        say("remembered")?;
        let told = Instant::now();
        while entitlements.lookup_local(&user, "pro").is_some() {
            if told.elapsed() > PATIENCE {
                return Err("a purge did not arrive".into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        say("forgotten")?;
    }
    Ok(())
}
