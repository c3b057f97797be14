//! Settings: one table from which the flags, the environment variables, the file's keys and `config show` come.
//!
//! A flag wins over the environment, the environment over the file, the file over the default. [`table`] lists what
//! there is, [`flags`] and [`file`] read it, [`Settings`] is what came of it.

mod file;
mod flags;
mod table;

use std::{ffi::OsString, path::PathBuf};

use keyrack_jobs::recurring::Definition;

pub(crate) use self::{
    file::File,
    flags::{Flags, GLOBAL, GlobalFlags, ServeFlags},
    table::{
        AUTH, AUTH_CLIENT_ID, AUTH_DEV_SECRET, AUTH_ISSUER, AUTH_JWKS_URL, CHECKOUT_PATHS, DATA,
        DEPLOY_REPOS, DEPLOY_SECRET, ENTITLEMENTS, FILES, FILES_SWEEP, FRONTEND_URL, HOSTS, HOT,
        HTTP, HTTP_BODY_TIMEOUT, HTTP_CONNECTIONS, HTTP_HEAD_TIMEOUT, HTTP_IDLE_TIMEOUT,
        JOURNEY_ISSUER, JOURNEY_SECRET, KEYS, LINT_WATCH, LOG, METRICS_PREFIXES, METRICS_QUEUES,
        ORIGINS, PASSWORD_FILE, PUBLIC_TRACES, QUOTA_BARS, QUOTA_LIMITS, QUOTA_SESSIONS,
        QUOTA_TRACES, READ_ONLY, RECOMMEND_BREAK_TEXT, RECOMMEND_DATABASE_ZONE, RECOMMEND_FROM,
        RECOMMEND_MAP, RECOMMEND_RENAME, RECOMMEND_ZONE, REPLICAS_ACKNOWLEDGE, RESP, RESP_PASSWORD,
        RESP_TLS, REVENUE_CAT_KEY, REVENUE_CAT_STRIPE_KEY, REVENUE_CAT_URL, STORE, STRIPE_KEY,
        STRIPE_PRICE, STRIPE_URL, STRIPE_WEBHOOK_SECRET, Setting, TIMINGS, TLS_CERT, TLS_KEY,
        TRUSTED_PROXIES, URL_TOKENS, WEBHOOKS_ALLOW_PRIVATE,
    },
};
use crate::{Exit, Failure};
use table::SETTINGS;

/// Every setting with its value and where that came from.
pub(crate) struct Settings {
    all: Vec<ResolvedSetting>,
    recurring: Vec<Definition>,
    recurring_text: String,
    recurring_version: u64,
}

/// One setting with its value.
pub(crate) struct ResolvedSetting {
    pub(crate) setting: &'static Setting,
    /// `None` when it is not set and has no default.
    pub(crate) value: Option<String>,
    pub(crate) origin: Origin,
}

/// Where a value came from, the weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    Default,
    File(PathBuf),
    Env,
    Flag,
}

impl Settings {
    /// Settles every setting.
    pub(crate) fn resolve(
        flags: &Flags,
        env: impl Fn(&str) -> Option<OsString>,
        file: Option<&File>,
    ) -> Result<Settings, Failure> {
        let resolve = |setting: &'static Setting| {
            let (value, origin) = if let Some(value) = flags.get(setting) {
                (Some(value.to_owned()), Origin::Flag)
            } else if let Some(value) = from_env(setting, &env)? {
                (Some(value), Origin::Env)
            } else if let Some((file, value)) =
                file.and_then(|file| Some((file, file.get(setting)?)))
            {
                (Some(value.to_owned()), Origin::File(file.path().to_owned()))
            } else {
                (setting.default.map(str::to_owned), Origin::Default)
            };
            Ok(ResolvedSetting { setting, value, origin })
        };
        Ok(Settings {
            all: SETTINGS.iter().copied().map(resolve).collect::<Result<_, Failure>>()?,
            recurring: file.map(|file| file.recurring().to_vec()).unwrap_or_default(),
            recurring_text: file.map(|file| file.recurring_text().to_owned()).unwrap_or_default(),
            recurring_version: file.map(File::changed_at).unwrap_or_default(),
        })
    }

    /// All settings, in the order of the table.
    pub(crate) fn all(&self) -> &[ResolvedSetting] {
        &self.all
    }

    /// One setting.
    pub(crate) fn get(&self, setting: &Setting) -> &ResolvedSetting {
        let found = self.all.iter().find(|resolved| resolved.setting.key == setting.key);
        found.expect("every setting is in the table")
    }

    /// The jobs that run by the calendar. Only the file can define them.
    pub(crate) fn recurring(&self) -> &[Definition] {
        &self.recurring
    }

    /// When the list was last changed, in unix seconds; 0 if no file defines it.
    pub(crate) fn recurring_version(&self) -> u64 {
        self.recurring_version
    }

    /// The same in the form of a settings file.
    pub(crate) fn recurring_text(&self) -> &str {
        &self.recurring_text
    }

    /// Keeps data in memory, unless somebody has said where it is to be.
    pub(crate) fn use_memory_unless_set(&mut self) {
        if [&STORE, &DATA].iter().any(|setting| self.get(setting).origin != Origin::Default) {
            return;
        }
        for resolved in self.all.iter_mut().filter(|resolved| resolved.setting.key == STORE.key) {
            (resolved.value, resolved.origin) = (Some("embedded:memory".to_owned()), Origin::Flag);
        }
    }

    /// The value of a setting that has a default.
    pub(crate) fn value(&self, setting: &Setting) -> &str {
        self.get(setting).value.as_deref().unwrap_or_default()
    }

    /// The store's URL: what `store` says, or the folder that `data` names, whichever was said more strongly.
    pub(crate) fn store_url(&self) -> Result<String, Failure> {
        let (store, data) = (self.get(&STORE), self.get(&DATA));
        match &store.value {
            Some(url) if store.origin > data.origin => Ok(url.clone()),
            Some(_) if store.origin == data.origin => Err(Failure::new(
                Exit::Usage,
                format!("\"store\" and \"data\" are both set {}", store.whence()),
            )
            .hint("\"data\" is short for an embedded store in that folder; keep one of the two")),
            _ => folder_url(data.value.as_deref().unwrap_or_default()),
        }
    }
}

fn from_env(
    setting: &Setting,
    env: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, Failure> {
    let name = setting.env();
    // An empty variable is how shells and containers unset one.
    let Some(value) = env(&name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let unreadable = |_| Failure::new(Exit::Usage, format!("{name} is not valid UTF-8"));
    value.into_string().map(Some).map_err(unreadable)
}

/// The URL of the embedded store in a folder.
fn folder_url(dir: &str) -> Result<String, Failure> {
    if dir.is_empty() || dir.contains('?') {
        return Err(Failure::new(
            Exit::Usage,
            format!("\"{dir}\" cannot be the data folder's name"),
        )
        .hint("give a path without question marks"));
    }
    // A folder called "memory" is no store in memory.
    let is_plain = !dir.starts_with(['/', '.']);
    Ok(format!("embedded:{}{dir}", if is_plain { "./" } else { "" }))
}

impl ResolvedSetting {
    /// Where the value came from, in words.
    pub(crate) fn whence(&self) -> String {
        match &self.origin {
            Origin::Default => "by default".into(),
            Origin::File(path) => format!("in {}", path.display()),
            Origin::Env => format!("in the environment, {}", self.setting.env()),
            Origin::Flag => "on the command line".into(),
        }
    }

    /// The value as it may be shown: no passwords, not even inside a URL.
    pub(crate) fn shown(&self) -> Option<String> {
        let value = self.value.as_deref()?;
        Some(match self.setting.key {
            _ if self.setting.secret => "***".into(),
            "store" => shown_url(value),
            _ => value.to_owned(),
        })
    }
}

/// A store URL without its password. One that cannot be read might hold it anywhere, so nothing of it is shown.
fn shown_url(url: &str) -> String {
    url.parse::<keyrack_store::StoreUrl>().map_or_else(|_| "***".into(), |url| url.to_string())
}

#[cfg(test)]
mod tests;
