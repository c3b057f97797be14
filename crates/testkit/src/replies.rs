//! A proxy that answers chosen commands with an error of the test's choice.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Error replies by the command they answer, in capitals.
type Errors = Arc<Mutex<HashMap<String, String>>>;

/// A running proxy in front of one server; gone when dropped.
///
/// It passes on one command at a time, so it suits everything but subscriptions. A command that is answered here does not reach
/// the server; inside MULTI the server gets a bad one in its place, so that it aborts the transaction as it would have.
#[derive(Debug)]
pub struct ReplyProxy {
    addr: SocketAddr,
    errors: Errors,
    acceptor: JoinHandle<()>,
}

impl ReplyProxy {
    /// Starts a proxy that passes everything on. Needs a tokio runtime, which it runs on.
    ///
    /// # Panics
    /// When no port can be opened.
    pub async fn start(upstream: SocketAddr) -> ReplyProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let addr = listener.local_addr().expect("a bound port has an address");
        let errors = Errors::default();
        let acceptor = tokio::spawn(accept(listener, upstream, errors.clone()));
        ReplyProxy { addr, errors, acceptor }
    }

    /// `redis://…` of the proxy.
    pub fn redis_url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Answers every command of this name with an error from now on, such as `OOM command not allowed`.
    pub fn answer(&self, command: &str, error: &str) {
        self.lock().insert(command.to_uppercase(), error.to_owned());
    }

    /// Passes everything on again.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReplyProxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, errors: Errors) {
    while let Ok((client, _)) = listener.accept().await {
        let errors = errors.clone();
        tokio::spawn(async move {
            // A connection ends when either side does.
            let _ = serve(client, upstream, errors).await;
        });
    }
}

async fn serve(client: TcpStream, upstream: SocketAddr, errors: Errors) -> io::Result<()> {
    let mut server = BufReader::new(TcpStream::connect(upstream).await?);
    let mut client = BufReader::new(client);
    let mut in_transaction = false;
    loop {
        let command = read_value(&mut client).await?;
        let name = command_name(&command);
        let error = errors.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        let reply = match error {
            None => ask(&mut server, &command).await?,
            Some(error) => {
                if in_transaction {
                    let instead: &[u8] = match name.as_str() {
                        "EXEC" => b"*1\r\n$7\r\nDISCARD\r\n",
                        _ => b"*1\r\n$10\r\nNO_COMMAND\r\n",
                    };
                    ask(&mut server, instead).await?;
                }
                format!("-{error}\r\n").into_bytes()
            }
        };
        in_transaction = match name.as_str() {
            "MULTI" => true,
            "EXEC" | "DISCARD" => false,
            _ => in_transaction,
        };
        client.write_all(&reply).await?;
    }
}

async fn ask(server: &mut BufReader<TcpStream>, command: &[u8]) -> io::Result<Vec<u8>> {
    server.write_all(command).await?;
    read_value(server).await
}

/// Reads one RESP value as it was sent.
async fn read_value(from: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut raw = Vec::new();
    let mut values_left = 1_usize;
    while values_left > 0 {
        values_left -= 1;
        let start = raw.len();
        if from.read_until(b'\n', &mut raw).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = String::from_utf8_lossy(&raw[start..]).trim_end().to_owned();
        let count = || line[1..].parse::<i64>().ok().and_then(|n| usize::try_from(n).ok());
        match line.as_bytes().first() {
            // A length of -1 is a missing value, and has nothing after it.
            Some(b'$') => {
                if let Some(length) = count() {
                    let at = raw.len();
                    raw.resize(at + length + 2, 0);
                    from.read_exact(&mut raw[at..]).await?;
                }
            }
            Some(b'*' | b'~' | b'>') => values_left += count().unwrap_or(0),
            Some(b'%') => values_left += count().unwrap_or(0) * 2,
            _ => {}
        }
    }
    Ok(raw)
}

/// The first word of `*N\r\n$L\r\nNAME\r\n…`, in capitals.
fn command_name(command: &[u8]) -> String {
    let text = String::from_utf8_lossy(command);
    text.split("\r\n").nth(2).unwrap_or_default().to_uppercase()
}
