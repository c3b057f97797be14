//! The table of settings; those of single services are in [`services`].

mod services;

pub(crate) use services::*;

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

pub(crate) static PASSWORD_FILE: Setting = Setting {
    key: "password-file",
    value_name: "FILE",
    help: "File whose first line is the password of the Redis server; read again at each reconnect",
    default: None,
    flag: FlagScope::Every,
    secret: false,
};

pub(crate) static REPLICAS_ACKNOWLEDGE: Setting = Setting {
    key: "replicas-acknowledge",
    value_name: "N",
    help: "Acknowledge a submitted or resolved job when N replicas have it; N,within=TIME sets the time limit (100ms)",
    default: None,
    flag: FlagScope::Every,
    secret: false,
};

pub(crate) static KEYS: Setting = Setting {
    key: "keys",
    value_name: "FILES",
    help: "Keys files of other programs, for the key browser and \"keyrack keys\"; with commas between them",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static DATA: Setting = Setting {
    key: "data",
    value_name: "DIR",
    help: "Data folder of the embedded store; not used with --store",
    default: Some("./keyrack-data"),
    flag: FlagScope::Every,
    secret: false,
};

pub(crate) static HTTP: Setting = Setting {
    key: "http",
    value_name: "ADDR",
    help: "Address of the HTTP server; port 0 takes any free port",
    default: Some("127.0.0.1:7700"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_CONNECTIONS: Setting = Setting {
    key: "http-connections",
    value_name: "N|auto",
    help: "Maximum number of HTTP connections; auto: about half of the open-file limit",
    default: Some("auto"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_HEAD_TIMEOUT: Setting = Setting {
    key: "http-head-timeout",
    value_name: "TIME",
    help: "Time limit for a client to send the head of a request",
    default: Some("10s"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_BODY_TIMEOUT: Setting = Setting {
    key: "http-body-timeout",
    value_name: "TIME",
    help: "Time limit for a client to send the body, and for a pause in reading the response",
    default: Some("60s"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_IDLE_TIMEOUT: Setting = Setting {
    key: "http-idle-timeout",
    value_name: "TIME",
    help: "Close an HTTP connection after this time without a request",
    default: Some("75s"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static TLS_CERT: Setting = Setting {
    key: "tls-cert",
    value_name: "FILE",
    help: "Certificate chain (PEM) for HTTPS, and for TLS on the port for Redis clients",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static TLS_KEY: Setting = Setting {
    key: "tls-key",
    value_name: "FILE",
    help: "Private key of the certificate (PEM)",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RESP: Setting = Setting {
    key: "resp",
    value_name: "ADDR|off",
    help: "Address at which Redis clients reach the embedded store",
    default: Some("127.0.0.1:7701"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RESP_TLS: Setting = Setting {
    key: "resp-tls",
    value_name: "on|off",
    help: "Require TLS from Redis clients of the embedded store [default: on if tls-cert is set]",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RESP_PASSWORD: Setting = Setting {
    key: "resp-password",
    value_name: "TEXT",
    help: "Password that Redis clients of the embedded store must send",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static TIMINGS: Setting = Setting {
    key: "timings",
    value_name: "keyrack|bee",
    help: "When a silent worker loses its jobs: keyrack: when its lock expires; bee: after 3 minutes, as Node workers expect",
    default: Some("keyrack"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static METRICS_QUEUES: Setting = Setting {
    key: "metrics-queues",
    value_name: "N",
    help: "Export metrics of at most N queues in /metrics, and the sum of all others as queue \"(others)\"",
    default: Some("200"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static METRICS_PREFIXES: Setting = Setting {
    key: "metrics-prefixes",
    value_name: "TEXTS",
    help: "Export metrics of queues whose names begin with one of these texts first, separated by commas; then of the busiest",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static LINT_WATCH: Setting = Setting {
    key: "lint-watch",
    value_name: "N|off",
    help: "Check the store against the declared keys all the time, N keys a second at most; /metrics has what it finds",
    default: Some("off"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HOT: Setting = Setting {
    key: "hot",
    value_name: "on|off",
    help: "Run jobs of progress bars and files from the hot queue (the list jobs:hot)",
    default: Some("on"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH: Setting = Setting {
    key: "auth",
    value_name: "local|required",
    help: "local: callers need no token, and only this machine can connect; required: every caller needs a token",
    default: Some("local"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HOSTS: Setting = Setting {
    key: "hosts",
    value_name: "NAMES",
    help: "Host names under which browsers may reach the server, separated by commas; its addresses are always allowed",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static ORIGINS: Setting = Setting {
    key: "origins",
    value_name: "URLS",
    help: "Other sites whose pages may open WebSockets, separated by commas, such as https://app.example.com",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static PUBLIC_TRACES: Setting = Setting {
    key: "public-traces",
    value_name: "on|off",
    help: "Let anybody watch a trace who knows its names [default: on, or off if auth is \"required\"]",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static URL_TOKENS: Setting = Setting {
    key: "url-tokens",
    value_name: "on|off",
    help: "Accept project tokens in URLs of /api/1.0, where logs may record them [default: on, or off if auth is \"required\"]",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static TRUSTED_PROXIES: Setting = Setting {
    key: "trusted-proxies",
    value_name: "ADDRS",
    help: "Proxies whose X-Forwarded-For or Forwarded header is trusted, separated by commas: 127.0.0.1, 10.0.0.0/8",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static READ_ONLY: Setting = Setting {
    key: "read-only",
    value_name: "on|off",
    help: "Refuse all changes over HTTP",
    default: Some("off"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_LIMITS: Setting = Setting {
    key: "quota-limits",
    value_name: "N",
    help: "Maximum number of stored rate limits per user",
    default: Some("100000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_BARS: Setting = Setting {
    key: "quota-bars",
    value_name: "N",
    help: "Maximum number of progress bars per user",
    default: Some("10000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_TRACES: Setting = Setting {
    key: "quota-traces",
    value_name: "N",
    help: "Maximum number of stored traces (running or recently ended) per user",
    default: Some("10000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_SESSIONS: Setting = Setting {
    key: "quota-sessions",
    value_name: "N",
    help: "Maximum number of journey sessions a user may start per day",
    default: Some("1000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_ISSUER: Setting = Setting {
    key: "auth-issuer",
    value_name: "URL",
    help: "Issuer (\"iss\") of the sign-in tokens of users",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_CLIENT_ID: Setting = Setting {
    key: "auth-client-id",
    value_name: "TEXT",
    help: "Audience (\"aud\") of the sign-in tokens",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_JWKS_URL: Setting = Setting {
    key: "auth-jwks-url",
    value_name: "URL",
    help: "URL of the public keys that verify sign-in tokens",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH_DEV_SECRET: Setting = Setting {
    key: "auth-dev-secret",
    value_name: "TEXT",
    help: "Secret that verifies sign-in tokens instead, for development",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static LOG: Setting = Setting {
    key: "log",
    value_name: "FILTER",
    help: "Log level: error, warn, info, debug, trace, or per crate as in \"warn,keyrack_web=debug\"",
    default: Some("warn"),
    flag: FlagScope::None,
    secret: false,
};

/// Every setting there is.
pub(super) static SETTINGS: &[&Setting] = &[
    &STORE,
    &PASSWORD_FILE,
    &REPLICAS_ACKNOWLEDGE,
    &DATA,
    &KEYS,
    &HTTP,
    &HTTP_CONNECTIONS,
    &HTTP_HEAD_TIMEOUT,
    &HTTP_BODY_TIMEOUT,
    &HTTP_IDLE_TIMEOUT,
    &TLS_CERT,
    &TLS_KEY,
    &RESP,
    &RESP_TLS,
    &RESP_PASSWORD,
    &TIMINGS,
    &METRICS_QUEUES,
    &METRICS_PREFIXES,
    &LINT_WATCH,
    &HOT,
    &AUTH,
    &HOSTS,
    &ORIGINS,
    &PUBLIC_TRACES,
    &URL_TOKENS,
    &TRUSTED_PROXIES,
    &READ_ONLY,
    &QUOTA_LIMITS,
    &QUOTA_BARS,
    &QUOTA_TRACES,
    &QUOTA_SESSIONS,
    &AUTH_ISSUER,
    &AUTH_CLIENT_ID,
    &AUTH_JWKS_URL,
    &AUTH_DEV_SECRET,
    &ENTITLEMENTS,
    &REVENUE_CAT_URL,
    &REVENUE_CAT_KEY,
    &REVENUE_CAT_STRIPE_KEY,
    &STRIPE_URL,
    &STRIPE_KEY,
    &STRIPE_PRICE,
    &STRIPE_WEBHOOK_SECRET,
    &FRONTEND_URL,
    &CHECKOUT_PATHS,
    &FILES,
    &FILES_SWEEP,
    &JOURNEY_SECRET,
    &JOURNEY_ISSUER,
    &RECOMMEND_FROM,
    &RECOMMEND_RENAME,
    &RECOMMEND_MAP,
    &RECOMMEND_ZONE,
    &RECOMMEND_DATABASE_ZONE,
    &RECOMMEND_BREAK_TEXT,
    &DEPLOY_SECRET,
    &DEPLOY_REPOS,
    &WEBHOOKS_ALLOW_PRIVATE,
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
