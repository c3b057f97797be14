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

pub(crate) static PASSWORD_FILE: Setting = Setting {
    key: "password-file",
    value_name: "FILE",
    help: "A file whose first line is the password of the store's server; read again at each reconnect",
    default: None,
    flag: FlagScope::Every,
    secret: false,
};

pub(crate) static REPLICAS_ACKNOWLEDGE: Setting = Setting {
    key: "replicas-acknowledge",
    value_name: "N",
    help: "How many replicas must have a submitted or settled job before it is acknowledged; N,within=TIME waits for TIME instead of 100ms",
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

pub(crate) static HTTP_CONNECTIONS: Setting = Setting {
    key: "http-connections",
    value_name: "N|auto",
    help: "How many HTTP connections there may be at once; auto leaves half of the open-file limit to Redis clients, and some files to the log",
    default: Some("auto"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_HEAD_TIMEOUT: Setting = Setting {
    key: "http-head-timeout",
    value_name: "TIME",
    help: "How long an HTTP client may take to send the head of a request",
    default: Some("10s"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_BODY_TIMEOUT: Setting = Setting {
    key: "http-body-timeout",
    value_name: "TIME",
    help: "How long it may take to send the body, and how long it may read nothing of the response",
    default: Some("60s"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HTTP_IDLE_TIMEOUT: Setting = Setting {
    key: "http-idle-timeout",
    value_name: "TIME",
    help: "How long an HTTP connection is kept open between two requests",
    default: Some("75s"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static TLS_CERT: Setting = Setting {
    key: "tls-cert",
    value_name: "FILE",
    help: "The certificate with its chain, as PEM, to serve HTTPS instead of HTTP, and Redis clients over TLS",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static TLS_KEY: Setting = Setting {
    key: "tls-key",
    value_name: "FILE",
    help: "The key of the certificate, as PEM",
    default: None,
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

pub(crate) static RESP_TLS: Setting = Setting {
    key: "resp-tls",
    value_name: "on|off",
    help: "Whether Redis clients of the embedded store have to speak TLS; on when there is a certificate",
    default: None,
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

pub(crate) static METRICS_QUEUES: Setting = Setting {
    key: "metrics-queues",
    value_name: "N",
    help: "How many queues have metrics of their own in /metrics; keyrack_jobs_queues_left_out says how many have none",
    default: Some("200"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HOT: Setting = Setting {
    key: "hot",
    value_name: "on|off",
    help: "Whether to work on the hot queue, jobs:hot, as far as progress bars and files go; other jobs are left to others",
    default: Some("on"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static AUTH: Setting = Setting {
    key: "auth",
    value_name: "local|required",
    help: "What callers may do without a token: everything, as only this machine can reach the port, or nothing",
    default: Some("local"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static HOSTS: Setting = Setting {
    key: "hosts",
    value_name: "NAMES",
    help: "The names under which browsers may reach the server, separated by commas; its addresses always do",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static ORIGINS: Setting = Setting {
    key: "origins",
    value_name: "URLS",
    help: "The other sites whose pages may open WebSockets, separated by commas, such as https://app.example.com",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static PUBLIC_TRACES: Setting = Setting {
    key: "public-traces",
    value_name: "on|off",
    help: "Whether anybody may watch a trace who knows its names; off when auth is \"required\" and on otherwise",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static URL_TOKENS: Setting = Setting {
    key: "url-tokens",
    value_name: "on|off",
    help: "Whether published routes of calculations (/api/1.0) take a project's token from the URL, where logs keep it; off when auth is \"required\" and on otherwise",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static TRUSTED_PROXIES: Setting = Setting {
    key: "trusted-proxies",
    value_name: "ADDRS",
    help: "The proxies whose X-Forwarded-For or Forwarded is believed, separated by commas: 127.0.0.1, 10.0.0.0/8",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static READ_ONLY: Setting = Setting {
    key: "read-only",
    value_name: "on|off",
    help: "Whether nobody may change anything over HTTP",
    default: Some("off"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_LIMITS: Setting = Setting {
    key: "quota-limits",
    value_name: "N",
    help: "How many rate limits one user may keep at a time, over all subjects",
    default: Some("100000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_BARS: Setting = Setting {
    key: "quota-bars",
    value_name: "N",
    help: "How many progress bars one user may have",
    default: Some("10000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_TRACES: Setting = Setting {
    key: "quota-traces",
    value_name: "N",
    help: "How many traces of progress bars one user may have stored: under way, or ended a while ago",
    default: Some("10000"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static QUOTA_SESSIONS: Setting = Setting {
    key: "quota-sessions",
    value_name: "N",
    help: "How many sessions on journeys one user may start within a day",
    default: Some("1000"),
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

pub(crate) static ENTITLEMENTS: Setting = Setting {
    key: "entitlements",
    value_name: "NAMES",
    help: "What users can be entitled to, separated by commas; the checkout sells the first",
    default: Some("pro"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static REVENUE_CAT_URL: Setting = Setting {
    key: "revenue-cat-url",
    value_name: "URL",
    help: "Where RevenueCat is",
    default: Some("https://api.revenuecat.com"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static REVENUE_CAT_KEY: Setting = Setting {
    key: "revenue-cat-key",
    value_name: "TEXT",
    help: "The secret key of the project at RevenueCat, which knows what users have paid for",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static REVENUE_CAT_STRIPE_KEY: Setting = Setting {
    key: "revenue-cat-stripe-key",
    value_name: "TEXT",
    help: "The public key of the project's Stripe app at RevenueCat",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static STRIPE_URL: Setting = Setting {
    key: "stripe-url",
    value_name: "URL",
    help: "Where Stripe is",
    default: Some("https://api.stripe.com"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static STRIPE_KEY: Setting = Setting {
    key: "stripe-key",
    value_name: "TEXT",
    help: "The secret key of the account at Stripe, through which users pay",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static STRIPE_PRICE: Setting = Setting {
    key: "stripe-price",
    value_name: "ID",
    help: "The price at Stripe that the checkout sells",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static STRIPE_WEBHOOK_SECRET: Setting = Setting {
    key: "stripe-webhook-secret",
    value_name: "TEXT",
    help: "The secret with which Stripe signs its webhooks",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static FRONTEND_URL: Setting = Setting {
    key: "frontend-url",
    value_name: "URL",
    help: "The address of the site to which buyers return",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static CHECKOUT_PATHS: Setting = Setting {
    key: "checkout-paths",
    value_name: "PATHS",
    help: "The paths of the site to which buyers may return, separated by commas",
    default: Some("/admin"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static FILES: Setting = Setting {
    key: "files",
    value_name: "URL",
    help: "Where the files are that wait to be deleted: file:DIR, s3: or s3:https://HOST; AWS_* variables say who may",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static FILES_SWEEP: Setting = Setting {
    key: "files-sweep",
    value_name: "CRON|off",
    help: "When to delete the files that are due, as a recurring job; in UTC",
    default: Some("*/10 * * * *"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static JOURNEY_SECRET: Setting = Setting {
    key: "journey-secret",
    value_name: "TEXT",
    help: "The secret that tickets for journeys are signed with",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static RECOMMEND_FROM: Setting = Setting {
    key: "recommend-from",
    value_name: "URL|DIR",
    help: "The tables of the app for which posts are recommended: sqlite:FILE, postgres://…, mysql://… or a folder",
    default: None,
    flag: FlagScope::None,
    // A database's URL may hold a password.
    secret: true,
};

pub(crate) static RECOMMEND_RENAME: Setting = Setting {
    key: "recommend-rename",
    value_name: "NAMES",
    help: "What its tables and columns are called, separated by commas: post=posts,post.written_text=body",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_ZONE: Setting = Setting {
    key: "recommend-zone",
    value_name: "ZONE",
    help: "The time zone of its users, by which days are counted",
    default: Some("Australia/Sydney"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_DATABASE_ZONE: Setting = Setting {
    key: "recommend-database-zone",
    value_name: "ZONE",
    help: "The zone of times that its tables give without one",
    default: Some("UTC"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_BREAK_TEXT: Setting = Setting {
    key: "recommend-break-text",
    value_name: "TEXT",
    help: "What its posts say that only tell of a break; case and punctuation do not matter",
    default: Some("I have a break today"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static DEPLOY_SECRET: Setting = Setting {
    key: "deploy-secret",
    value_name: "TEXT",
    help: "The secret of those who may announce over HTTP that a repository has something new",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static DEPLOY_REPOS: Setting = Setting {
    key: "deploy-repos",
    value_name: "NAMES",
    help: "The repositories that can be announced so, separated by commas",
    default: Some("backend,websocket,frontend-web,jobs"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static LOG: Setting = Setting {
    key: "log",
    value_name: "FILTER",
    help: "What to log: error, warn, info, debug, trace, or by part as in \"warn,keyrack_web=debug\"",
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
    &RECOMMEND_FROM,
    &RECOMMEND_RENAME,
    &RECOMMEND_ZONE,
    &RECOMMEND_DATABASE_ZONE,
    &RECOMMEND_BREAK_TEXT,
    &DEPLOY_SECRET,
    &DEPLOY_REPOS,
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
