//! One direction of a proxied connection, with delay, throttle and black hole.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::Faults;

const CHUNK_BYTES: usize = 16 * 1024;
/// Chunks that wait out their delay. More than this and the sender feels back pressure.
const CHUNKS_IN_FLIGHT: usize = 256;
/// A throttled chunk goes out in pieces that take this long each, so that the rate is even.
const THROTTLE_STEP: Duration = Duration::from_millis(20);

/// Whether a black hole has taken bytes from a connection, which can then never be whole again.
#[derive(Default)]
pub(super) struct Lost(AtomicBool);

impl Lost {
    pub(super) fn anything(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Whether there is a black hole now; if so, what is at hand counts as lost.
    fn if_black_hole(&self, faults: &watch::Receiver<Faults>) -> bool {
        // Held until the loss is noted, so that whoever lifts the black hole finds the note.
        let now = faults.borrow();
        if now.black_hole {
            self.0.store(true, Ordering::SeqCst);
        }
        now.black_hole
    }
}

struct Chunk {
    bytes: Vec<u8>,
    due: Instant,
}

/// Carries bytes until `source` ends, then ends `target`.
///
/// Reading and writing run side by side: a delay shifts the stream in time and does not also slow
/// it down, as sleeping between a read and its write would.
pub(super) async fn pipe(
    source: ReadHalf<'_>,
    target: WriteHalf<'_>,
    faults: watch::Receiver<Faults>,
    lost: &Lost,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel(CHUNKS_IN_FLIGHT);
    let reading = read(source, sender, faults.clone(), lost);
    let writing = write(target, receiver, faults, lost);
    tokio::try_join!(reading, writing).map(|_| ())
}

async fn read(
    mut source: ReadHalf<'_>,
    chunks: mpsc::Sender<Chunk>,
    faults: watch::Receiver<Faults>,
    lost: &Lost,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let count = source.read(&mut buffer).await?;
        let swallowed = lost.if_black_hole(&faults);
        if count == 0 {
            if swallowed {
                // Nobody hears of the end either; lifting the black hole ends the connection.
                std::future::pending::<()>().await;
            }
            return Ok(());
        }
        if swallowed {
            continue;
        }
        let due = Instant::now() + faults.borrow().delay;
        if chunks.send(Chunk { bytes: buffer[..count].to_vec(), due }).await.is_err() {
            return Ok(());
        }
    }
}

async fn write(
    mut target: WriteHalf<'_>,
    mut chunks: mpsc::Receiver<Chunk>,
    faults: watch::Receiver<Faults>,
    lost: &Lost,
) -> io::Result<()> {
    while let Some(chunk) = chunks.recv().await {
        sleep_until(chunk.due).await;
        let mut rest = &chunk.bytes[..];
        while !rest.is_empty() && !lost.if_black_hole(&faults) {
            let rate = faults.borrow().bytes_per_second;
            let (piece, after) = rest.split_at(piece_len(rest.len(), rate));
            target.write_all(piece).await?;
            rest = after;
            if let Some(rate) = rate {
                sleep(Duration::from_secs_f64(piece.len() as f64 / f64::from(rate))).await;
            }
        }
    }
    target.shutdown().await
}

fn piece_len(remaining: usize, bytes_per_second: Option<u32>) -> usize {
    let Some(rate) = bytes_per_second else { return remaining };
    let per_step = f64::from(rate) * THROTTLE_STEP.as_secs_f64();
    remaining.min((per_step as usize).max(1))
}
