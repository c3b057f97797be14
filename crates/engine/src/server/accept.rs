//! The task that listens: takes in clients, looks after them, and sees them off.

use std::{collections::HashMap, fs::File, io, net::IpAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{Id, JoinSet},
    time::{MissedTickBehavior, interval, timeout},
};

use super::{
    auth_throttle::AuthThrottle,
    busy::DeferredList,
    connection::{Connection, Times},
    files,
    input::Input,
    lookout::{Lookout, Traffic},
    output::Output,
    peer::Peer,
    registration::Registration,
};
use crate::{
    config::Config,
    engine::Shared,
    resp::Limits,
    session::{ClientInfo, Delivery, Mailbox, mailbox},
    state::State,
};

/// How often idle clients are looked for.
const ROUND_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait before accepting again when the system is out of files or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// After this much silence the system asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// How far a listener is on its way to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Running,
    /// Closes connections once they have sent their answers.
    Stopping,
    /// Cuts connections off.
    Forced,
}

impl Phase {
    pub(super) fn next(self) -> Phase {
        match self {
            Phase::Running => Phase::Stopping,
            Phase::Stopping | Phase::Forced => Phase::Forced,
        }
    }
}

/// Whether clients are spoken to in secret.
pub(super) enum Security {
    Plain,
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// Everything a listener looks after.
pub(super) struct Acceptor {
    shared: Arc<Shared>,
    listener: TcpListener,
    security: Security,
    phases: watch::Receiver<Phase>,
    connections: JoinSet<()>,
    mailboxes: HashMap<Id, Mailbox>,
    /// As they were when the state could last be read.
    config: Config,
    auth_throttle: Arc<AuthThrottle>,
    traffic: Arc<Traffic>,
    /// More cannot be let in whatever the settings say.
    room: usize,
    /// Given up for a moment to tell a client that there is no room.
    spare: Option<File>,
}

impl Acceptor {
    pub(super) fn new(
        shared: Arc<Shared>,
        config: Config,
        listener: TcpListener,
        security: Security,
        phases: watch::Receiver<Phase>,
    ) -> Acceptor {
        Acceptor {
            config,
            shared,
            listener,
            security,
            phases,
            connections: JoinSet::new(),
            mailboxes: HashMap::new(),
            auth_throttle: Arc::default(),
            traffic: Arc::default(),
            room: files::clients_max(),
            spare: files::spare(),
        }
    }

    /// Serves clients until told to stop.
    pub(super) async fn run(mut self) {
        let mut rounds = interval(ROUND_INTERVAL);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.admit(stream),
                    Err(_) => self.turn_one_away().await,
                },
                Some(ended) = self.connections.join_next_with_id() => {
                    self.mailboxes.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                _ = rounds.tick() => self.look_round(),
                _ = self.phases.changed() => break,
            }
        }
        self.see_off().await;
    }

    fn admit(&mut self, stream: TcpStream) {
        let Ok((about, address)) = prepare(&stream) else { return };
        let mut state = self.shared.lock_briefly().ok();
        if let Some(state) = &state {
            self.config = state.config.clone();
        }
        if self.connections.len() >= self.config.clients_max.min(self.room) {
            if let Some(state) = &mut state {
                state.stats.rejected_connections += 1;
            }
            return self.turn_away(&stream);
        }
        let (mailbox, inbox) = mailbox(self.config.pending_output_max);
        let mut registration = Registration::new(self.shared.clone(), mailbox.clone(), about);
        if let Some(state) = &mut state {
            registration.take(state);
        }
        drop(state);
        let peer = Peer {
            registration,
            inbox,
            output: Output::default(),
            limits: Limits {
                bulk_len_max: self.config.bulk_len_max,
                authenticated: self.config.password.is_none(),
            },
            query_buffer_max: self.config.query_buffer_max,
            resp: 2,
            blocked: false,
            closing: false,
            in_transaction: false,
            late: DeferredList::default(),
            auth_throttle: self.auth_throttle.clone(),
            address,
            auth_delay_max: Duration::from_millis(self.config.auth_delay_max_ms),
            request_timeout_s: self.config.request_timeout_s,
            n_received: 0,
            n_commands: 0,
        };
        let times = Times::new(self.config.auth_timeout_s);
        let shared = self.shared.clone();
        let lookout = Lookout::new(self.traffic.clone());
        let connection =
            Connection { shared, stream, input: Input::default(), peer, times, lookout };
        let task = match &self.security {
            Security::Plain => self.connections.spawn(connection.run()),
            #[cfg(feature = "tls")]
            Security::Tls(acceptor) => {
                self.connections.spawn(connection.run_over_tls(acceptor.clone()))
            }
        };
        self.mailboxes.insert(task.id(), mailbox);
    }

    /// Answers a client though the system has no more files, and lets some time pass.
    async fn turn_one_away(&mut self) {
        self.spare = None;
        if let Ok(Ok((stream, _))) = timeout(ACCEPT_PAUSE, self.listener.accept()).await {
            self.turn_away(&stream);
        }
        self.spare = files::spare();
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }

    fn turn_away(&self, stream: &TcpStream) {
        if matches!(self.security, Security::Plain) {
            // A fresh socket has room for a line.
            let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
        }
    }

    /// Does what is due from time to time.
    fn look_round(&mut self) {
        // While a script runs too long there is nothing to do.
        let Ok(mut state) = self.shared.lock_briefly() else { return };
        self.config = state.config.clone();
        hang_up_on_idle(&mut state);
    }

    async fn see_off(mut self) {
        drop(self.listener);
        self.mailboxes.values().for_each(Mailbox::close);
        tokio::select! {
            () = all_ended(&mut self.connections) => {}
            () = forced(self.phases) => {
                self.mailboxes.values().for_each(|mailbox| mailbox.send(Delivery::Close));
                all_ended(&mut self.connections).await;
            }
        }
    }
}

async fn all_ended(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// Resolves when the end can not wait any longer.
async fn forced(mut phases: watch::Receiver<Phase>) {
    // An error says that the handle was dropped, which is as good as a second call.
    let _ = phases.wait_for(|phase| *phase == Phase::Forced).await;
}

/// Sets a new socket up and reads its addresses.
fn prepare(stream: &TcpStream) -> io::Result<(ClientInfo, IpAddr)> {
    stream.set_nodelay(true)?;
    socket2::SockRef::from(stream)
        .set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(KEEPALIVE))?;
    let address = stream.peer_addr()?;
    let local_address = stream.local_addr()?.to_string();
    let about = ClientInfo { address: address.to_string(), local_address, ..ClientInfo::default() };
    Ok((about, address.ip()))
}

/// Hangs up on clients that have been silent for longer than `timeout` allows, except those who wait for something.
pub(super) fn hang_up_on_idle(state: &mut State) {
    if state.config.timeout_s == 0 {
        return;
    }
    state.freeze_time();
    let silent_since = state.now_us().saturating_sub(state.config.timeout_s * 1_000_000);
    for session in state.clients.iter() {
        let is_remote = !session.about.address.is_empty();
        let is_waiting =
            session.wait.is_some() || session.is_monitor || !session.subscriptions.is_empty();
        if is_remote && !is_waiting && session.about.active_us < silent_since {
            session.mailbox.send(Delivery::Close);
        }
    }
}
