//! Accepts connections and serves them until told to stop.

use std::{convert::Infallible, future::poll_fn, net::SocketAddr, pin::pin, sync::Arc, task::Poll};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Duration, Instant, sleep, sleep_until, timeout},
};
use tower::{Service as _, ServiceExt as _};

use super::{
    ConnectionLimits,
    body::{BodyOutcome, LastBody, TimedBody},
    io::Watched,
    table::{Connection, Slot, Table},
    tls::Tls,
};
use crate::Problem;

/// How many connections beyond the limit are taken for health checks.
const HEALTH_CONNECTIONS: usize = 16;
/// How long such a connection may take to send its request.
const HEALTH_HEAD_MAX: Duration = Duration::from_secs(2);
/// What is answered there.
const HEALTH_PATHS: [&str; 3] = ["/livez", "/readyz", "/ping"];
/// How long to wait before accepting again when the system is out of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long to wait at most for a connection that has to go for a new one.
const EVICTION_MAX: Duration = Duration::from_secs(1);
/// How soon to come back when there are too many connections.
const RETRY_AFTER_S: u32 = 1;

/// What a connection is there for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Purpose {
    Everything,
    /// Health checks only: there are too many others.
    Health,
}

/// Accepts connections until `stop` resolves, then lets the requests under way come to their end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    tls: Option<Tls>,
    stop: impl Future<Output = ()>,
) {
    let table = Table::new(limits);
    let (stopping, is_stopping) = watch::channel(false);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                // Out of descriptors, most likely: somebody who waits has to make room.
                table.evict();
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(purpose) = make_room(&table).await else { continue };
        // Responses are small and have to leave at once.
        let _ = stream.set_nodelay(true);
        let (table, router, tls) = (table.clone(), router.clone(), tls.clone());
        let slot = table.slot();
        let server = Server { table, router, tls, peer, purpose };
        tokio::spawn(server.serve(stream, slot, is_stopping.clone()));
    }
    drop(listener);
    drop(is_stopping);
    stopping.send_replace(true);
    stopping.closed().await;
}

/// Makes room for one more connection, and says what it may be used for; nothing if there is no room at all.
async fn make_room(table: &Table) -> Option<Purpose> {
    let max = table.limits.connections;
    if table.open() < max {
        return Some(Purpose::Everything);
    }
    if table.evict() {
        let leave = async {
            while table.open() >= max + HEALTH_CONNECTIONS {
                table.freed.notified().await;
            }
        };
        return timeout(EVICTION_MAX, leave).await.ok().map(|()| Purpose::Everything);
    }
    (table.open() < max + HEALTH_CONNECTIONS).then_some(Purpose::Health)
}

/// Serves one connection.
struct Server {
    table: Arc<Table>,
    router: Router,
    tls: Option<Tls>,
    peer: SocketAddr,
    purpose: Purpose,
}

impl Server {
    async fn serve(self, stream: TcpStream, slot: Slot, stopping: watch::Receiver<bool>) {
        let head_max = match self.purpose {
            Purpose::Everything => self.table.limits.head,
            Purpose::Health => HEALTH_HEAD_MAX.min(self.table.limits.head),
        };
        let connection = Connection::new(&self.table, head_max);
        let Some(tls) = &self.tls else {
            let io = Watched::new(stream, connection.clone(), slot);
            return self.talk(io, connection, stopping).await;
        };
        let accept = timeout(head_max, tls.acceptor().accept(stream));
        let accepted = tokio::select! {
            accepted = accept => accepted,
            () = connection.evicted.notified() => return,
        };
        if let Ok(Ok(stream)) = accepted {
            let io = Watched::new(stream, connection.clone(), slot);
            self.talk(io, connection, stopping).await;
        }
    }

    /// Answers requests until the connection ends, has to go, or takes too long.
    async fn talk(
        self,
        io: Watched<impl AsyncRead + AsyncWrite + Unpin + Send + 'static>,
        connection: Arc<Connection>,
        mut stopping: watch::Receiver<bool>,
    ) {
        let (server, answering) = (Arc::new(self), connection.clone());
        let service = service_fn(move |request| {
            let (server, connection) = (server.clone(), answering.clone());
            async move { Ok::<_, Infallible>(server.answer(request, connection).await) }
        });
        let talk = http1::Builder::new().serve_connection(TokioIo::new(io), service);
        let mut talk = pin!(talk.with_upgrades());
        let mut evicted = pin!(connection.evicted.notified());
        let mut stopped = pin!(stopping.wait_for(|stopping| *stopping));
        let mut is_stopping = false;
        let mut alarm = pin!(sleep_until(connection.deadline().unwrap_or_else(Instant::now)));
        poll_fn(|cx| {
            if evicted.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            if !is_stopping && stopped.as_mut().poll(cx).is_ready() {
                is_stopping = true;
                talk.as_mut().graceful_shutdown();
            }
            if talk.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // What was just read or sent may have moved the deadline. A later one is looked at when the alarm rings.
            let deadline = connection.deadline();
            if let Some(deadline) = deadline.filter(|deadline| *deadline < alarm.deadline()) {
                alarm.as_mut().reset(deadline);
            }
            while alarm.as_mut().poll(cx).is_ready() {
                let now = Instant::now();
                match deadline {
                    Some(deadline) if deadline <= now => return Poll::Ready(()),
                    Some(deadline) => alarm.as_mut().reset(deadline),
                    None => alarm.as_mut().reset(now + connection.limits().idle),
                }
            }
            Poll::Pending
        })
        .await;
        connection.leave();
    }

    async fn answer(&self, request: Request<Incoming>, connection: Arc<Connection>) -> Response {
        let has_room = connection.begin_request()
            && (self.purpose == Purpose::Everything
                || HEALTH_PATHS.contains(&request.uri().path()));
        let mut response = match has_room {
            true => self.pass_on(request, &connection).await,
            false => closing(
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections")
                    .title("there are too many connections")
                    .detail("come back in a moment, or raise \"http-connections\"")
                    .retry_after(RETRY_AFTER_S)
                    .into_response(),
            ),
        };
        if self.purpose == Purpose::Health {
            response = closing(response);
        }
        response.map(|body| Body::new(LastBody::new(body, connection)))
    }

    async fn pass_on(&self, request: Request<Incoming>, connection: &Connection) -> Response {
        let expects = request.headers().contains_key(header::EXPECT);
        let fate = Arc::<BodyOutcome>::default();
        let deadline = Instant::now() + connection.limits().body;
        let mut request =
            request.map(|body| Body::new(TimedBody::new(body, deadline, fate.clone(), expects)));
        request.extensions_mut().insert(ConnectInfo(self.peer));
        if self.tls.is_some() {
            // As a proxy with TLS before the server would say it: cookies are for HTTPS only then.
            let https = HeaderValue::from_static("https");
            request.headers_mut().insert("x-forwarded-proto", https);
        }
        let mut router = self.router.clone();
        let response = match router.as_service().ready().await {
            Ok(router) => router.call(request).await,
            Err(never) => match never {},
        };
        let response = response.unwrap_or_else(|never| match never {});
        if fate.is_timed_out() {
            let limit = connection.limits().body;
            return closing(
                Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow")
                    .title("the body did not arrive in time")
                    .detail(format!("a body has to arrive within {} seconds", limit.as_secs()))
                    .into_response(),
            );
        }
        if fate.is_left() { closing(response) } else { response }
    }
}

/// The response, after which the connection is closed.
fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
