//! The table of settings.

/// A setting: the name it goes by everywhere, and what it is for.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The key in the file; the flag is `--key` and the variable `KEYRACK_KEY`.
    pub(crate) key: &'static str,
    /// What to write as its value.
    pub(crate) value_name: &'static str,
    /// What it is for, in a line.
    pub(crate) help: &'static str,
    /// What holds when nothing is said.
    pub(crate) default: Option<&'static str>,
    /// Which commands take it as a flag.
    pub(crate) flag: FlagScope,
    /// Whether its value must never be shown.
    pub(crate) secret: bool,
}

/// Which commands take a setting as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagScope {
    /// All of them.
    Every,
    /// Only `keyrack serve`.
    Serve,
    /// None: other users of the machine can read a command line.
    None,
}

pub(crate) static STORE: Setting = Setting {
    key: "store",
    value_name: "URL",
    help: "The store: embedded:DIR, embedded:memory, redis://HOST:PORT/DB, rediss://, redis+unix://, \
           redis+sentinel://HOST,…/NAME or redis+cluster://HOST,…",
    default: None,
    flag: FlagScope::Every,
    secret: false,
};

pub(crate) static DATA: Setting = Setting {
    key: "data",
    value_name: "DIR",
    help: "The folder of the embedded store, used unless --store names another",
    default: Some("./keyrack-data"),
    flag: FlagScope::Every,
    secret: false,
};

pub(crate) static HTTP: Setting = Setting {
    key: "http",
    value_name: "ADDR",
    help: "Where to serve HTTP; port 0 takes any free one",
    default: Some("127.0.0.1:7700"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RESP: Setting = Setting {
    key: "resp",
    value_name: "ADDR|off",
    help: "Where Redis clients reach the embedded store",
    default: Some("127.0.0.1:7701"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RESP_PASSWORD: Setting = Setting {
    key: "resp-password",
    value_name: "TEXT",
    help: "The password that Redis clients of the embedded store have to give",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static TIMINGS: Setting = Setting {
    key: "timings",
    value_name: "keyrack|bee",
    help: "When a silent worker loses its jobs: as its lock ends, or after three minutes as with Node workers",
    default: Some("keyrack"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HOT: Setting = Setting {
    key: "hot",
    value_name: "on|off",
    help: "Whether to work on the hot queue, jobs:hot, as far as progress bars go; other jobs are left to others",
    default: Some("on"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_ISSUER: Setting = Setting {
    key: "auth-issuer",
    value_name: "URL",
    help: "Who signs the tokens that users sign in with, as their \"iss\" says",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_CLIENT_ID: Setting = Setting {
    key: "auth-client-id",
    value_name: "TEXT",
    help: "For whom they are signed, as their \"aud\" says",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_JWKS_URL: Setting = Setting {
    key: "auth-jwks-url",
    value_name: "URL",
    help: "Where the keys are published that they are signed with",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_DEV_SECRET: Setting = Setting {
    key: "auth-dev-secret",
    value_name: "TEXT",
    help: "The secret that they are signed with instead, in development",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static LOG: Setting = Setting {
    key: "log",
    value_name: "FILTER",
    help: "What to log: error, warn, info, debug, trace, or by part as in \"warn,keyrack_http=debug\"",
    default: Some("warn"),
    flag: FlagScope::None,
    secret: false,
};

/// Every setting there is.
pub(super) static SETTINGS: &[&Setting] = &[
    &STORE,
    &DATA,
    &HTTP,
    &RESP,
    &RESP_PASSWORD,
    &TIMINGS,
    &HOT,
    &AUTH_ISSUER,
    &AUTH_CLIENT_ID,
    &AUTH_JWKS_URL,
    &AUTH_DEV_SECRET,
    &LOG,
];

impl Setting {
    /// The environment variable.
    pub(crate) fn env(&self) -> String {
        format!("KEYRACK_{}", self.key.replace('-', "_").to_uppercase())
    }

    /// Every way to set it, for hints.
    pub(crate) fn ways(&self) -> String {
        let flag = match self.flag {
            FlagScope::None => String::new(),
            FlagScope::Every | FlagScope::Serve => format!("--{} {}, ", self.key, self.value_name),
        };
        format!("{flag}{} or \"{}\" in keyrack.toml", self.env(), self.key)
    }
}
