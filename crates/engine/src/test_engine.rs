//! A bare state machine for unit tests: commands in as text, replies out as text.

use crate::{
    config::Config,
    host::SimulatedHost,
    reply::Reply,
    resp::encode_reply,
    session::{ClientIndex, ClientInfo, Delivery, Inbox, mailbox},
    state::{CommandOutcome, State},
};

/// An engine without doors, on a clock moved by hand.
pub(crate) struct TestEngine {
    pub(crate) state: State,
    pub(crate) clock: SimulatedHost,
    clients: Vec<(ClientIndex, Inbox)>,
}

impl TestEngine {
    pub(crate) fn new() -> TestEngine {
        let clock = SimulatedHost::new(1_700_000_000_000, 1);
        let state = State::new(Box::new(clock.clone()), Config::default());
        let mut rig = TestEngine { state, clock, clients: Vec::new() };
        rig.connect();
        rig
    }

    /// Adds a client and returns its number; the first one is 0.
    pub(crate) fn connect(&mut self) -> usize {
        self.connect_as(true, ClientInfo::default())
    }

    /// Adds a client that has come over the network, and so may have to give a password.
    pub(crate) fn connect_untrusted(&mut self) -> usize {
        self.connect_as(
            false,
            ClientInfo { address: "127.0.0.1:50000".into(), ..ClientInfo::default() },
        )
    }

    fn connect_as(&mut self, trusted: bool, about: ClientInfo) -> usize {
        let (mailbox, inbox) = mailbox(1 << 20);
        self.clients.push((self.state.connect(0, mailbox, trusted, about), inbox));
        self.clients.len() - 1
    }

    /// Runs a command of words separated by spaces for client 0.
    #[track_caller]
    pub(crate) fn run(&mut self, command: &str) -> Reply {
        self.run_as(0, command).expect("the command had an answer at once")
    }

    /// Runs a command for a client; `None` while it waits for data.
    pub(crate) fn run_as(&mut self, client: usize, command: &str) -> Option<Reply> {
        self.execute(client, command).reply
    }

    /// Runs a command for a client and tells all that became of it.
    pub(crate) fn execute(&mut self, client: usize, command: &str) -> CommandOutcome {
        let args: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        self.state.execute(self.clients[client].0, &args)
    }

    /// What has been delivered to a client outside of its commands' answers.
    pub(crate) fn delivered(&mut self, client: usize) -> Vec<Reply> {
        let inbox = &mut self.clients[client].1;
        let mut replies = Vec::new();
        while let Some(delivery) = inbox.try_next() {
            match delivery {
                Delivery::Push(message) => replies.push((*message).clone()),
                Delivery::Served { reply, .. } => replies.push(reply),
                Delivery::Close => replies.push(Reply::Status("closed".into())),
            }
        }
        replies
    }

    /// Runs a command and answers what it puts into the log: words separated by spaces, commands by `; `, no SELECT.
    #[track_caller]
    pub(crate) fn logged(&mut self, command: &str) -> String {
        self.state.effects.enable();
        self.state.effects.finish(|_| 0);
        self.run(command);
        let mut unit = String::new();
        self.state.effects.finish(|bytes| {
            unit = String::from_utf8_lossy(bytes).into_owned();
            0
        });
        let commands = unit.split('*').skip(1).map(|command| {
            let words = command.split("\r\n").skip(2).step_by(2).map(str::to_owned);
            words.collect::<Vec<_>>().join(" ")
        });
        let commands: Vec<_> = commands.filter(|text| !text.starts_with("SELECT")).collect();
        commands.join("; ")
    }

    /// Runs commands, one a line as `command => reply`, the reply in RESP2 with `\r\n` shown as a space.
    #[track_caller]
    pub(crate) fn check(&mut self, script: &str) {
        self.check_as(0, script);
    }

    /// Like [`TestEngine::check`], for another client than the first.
    #[track_caller]
    pub(crate) fn check_as(&mut self, client: usize, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (command, expected) =
                line.split_once(" => ").expect("a line is `command => reply`");
            let mut bytes = Vec::new();
            let reply = self.run_as(client, command).expect("the command had an answer at once");
            encode_reply(&mut bytes, &reply, 2);
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", " ");
            assert_eq!(text.trim_end(), expected.trim(), "{command}");
        }
    }
}
