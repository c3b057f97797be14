//! Where events go: webhooks, created, changed, listed and deleted.

use std::collections::BTreeMap;

use keyrack_store::Script;
use reqwest::Url;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::{
    body::Format,
    error::Error,
    event::{Event, KINDS, hex},
    keys::{self, HookId},
    send::address_in,
    webhooks::Webhooks,
};

static STORE_HOOK: Script = keyrack_store::script!("hook/store_hook.lua");
static DELETE_HOOK: Script = keyrack_store::script!("hook/delete_hook.lua");
static DELETE_SOME: Script = keyrack_store::script!("hook/delete_some.lua");

/// The most webhooks: each event is compared with all of them.
pub const HOOKS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 255;
const URL_BYTES_MAX: usize = 2_048;
const QUEUES_MAX: usize = 100;
const SECRET_CHARS_MIN: usize = 16;
const SECRET_CHARS_MAX: usize = 256;
/// Where PagerDuty takes events.
const PAGER_DUTY_URL: &str = "https://events.pagerduty.com/v2/enqueue";

/// What a new webhook is to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookDraft))]
pub struct Draft {
    /// Where to send events: an http or https URL. That of PagerDuty unless given, if that is the
    /// format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Which kinds of events to send.
    pub events: Vec<String>,
    /// Of which queues, if they are about jobs; none is all queues.
    #[serde(default)]
    pub queues: Vec<String>,
    /// In which form: `json` by default, `slack` or `pagerduty`.
    #[serde(default)]
    pub format: Format,
    /// A name, for people.
    #[serde(default)]
    pub name: String,
    /// What signs the events, 16 to 256 characters; a random one unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The integration key of a PagerDuty service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_key: Option<String>,
}

/// A change to a webhook; what is not given stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookChange))]
pub struct Change {
    /// Where to send events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Which kinds of events to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Of which queues; none is all queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
    /// In which form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// A name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What signs the events from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The integration key of a PagerDuty service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_key: Option<String>,
    /// Whether it gets events. One that does not gets none of that time later; what waits already,
    /// waits on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// A webhook, without its secrets.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Webhook))]
pub struct Hook {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: HookId,
    /// What it is.
    #[serde(flatten)]
    pub settings: HookSettings,
    /// How it is doing.
    pub health: Health,
}

/// What is stored of a webhook besides its secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookSettings))]
pub struct HookSettings {
    /// Its name, for people.
    pub name: String,
    /// Scheme, host and port of its URL. The rest may be secret and is not shown.
    pub site: String,
    /// Which kinds of events it gets.
    pub events: Vec<String>,
    /// Of which queues; none is all queues.
    pub queues: Vec<String>,
    /// In which form.
    pub format: Format,
    /// Whether it gets events.
    pub enabled: bool,
    /// When it was created, in unix milliseconds.
    pub created_at: u64,
}

/// How a webhook is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookHealth))]
pub struct Health {
    /// Deliveries that have not ended.
    pub waiting: u64,
    /// Deliveries that were given up, as far as they are kept.
    pub failed: u64,
    /// How often it has failed in a row.
    pub failures: u64,
    /// Until when it is left alone, in unix milliseconds, if it fails.
    pub paused_until: Option<u64>,
    /// When it last answered with 2xx, in unix milliseconds.
    pub delivered_at: Option<u64>,
    /// Events that were dropped because too many waited.
    pub dropped: u64,
}

/// A webhook that was created.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CreatedWebhook))]
pub struct CreatedHook {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: HookId,
    /// What signs its events. It is shown only now.
    pub secret: String,
}

/// The secrets of a webhook, as they are stored.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Secrets {
    pub(crate) url: String,
    pub(crate) secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) routing_key: Option<String>,
}

/// What is needed to send something.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) secret: String,
    pub(crate) routing_key: Option<String>,
    pub(crate) format: Format,
}

impl HookSettings {
    /// Whether it asks for an event.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        let is_of_queue = |queue: &String| self.queues.is_empty() || self.queues.contains(queue);
        self.enabled
            && self.events.contains(&event.kind)
            && event.queue.as_ref().is_none_or(is_of_queue)
    }
}

impl Webhooks {
    /// Creates a webhook.
    ///
    /// # Errors
    /// When something about it is wrong, or there are too many.
    pub async fn create(&self, draft: Draft) -> Result<CreatedHook, Error> {
        let Draft { url, events, queues, format, name, secret, routing_key } = draft;
        let url = match (url, format) {
            (Some(url), _) => url,
            (None, Format::PagerDuty) => PAGER_DUTY_URL.to_owned(),
            (None, Format::Json | Format::Slack) => {
                return Err(Error::invalid("url", "give an http or https URL to send events to"));
            }
        };
        let secret = match secret {
            Some(secret) => secret,
            None => format!("whsec_{}", random_hex(32)?),
        };
        let secrets = Secrets { url, secret: secret.clone(), routing_key };
        let created_at = self.store().now_ms();
        let site = self.check_url(&secrets.url)?;
        let settings =
            HookSettings { name, site, events, queues, format, enabled: true, created_at };
        check(&settings, &secrets)?;
        let id = HookId::new(format!("wh_{}", random_hex(8)?))?;
        self.store_hook(&id, &settings, &secrets, "new").await?;
        Ok(CreatedHook { id, secret })
    }

    /// Changes a webhook.
    ///
    /// # Errors
    /// When something about it is wrong, or there is no such webhook.
    pub async fn change(&self, id: &HookId, change: Change) -> Result<(), Error> {
        let (mut settings, mut secrets) = self.stored(id).await?;
        let Change { url, events, queues, format, name, secret, routing_key, enabled } = change;
        if let Some(url) = url {
            settings.site = self.check_url(&url)?;
            secrets.url = url;
        }
        settings.events = events.unwrap_or(settings.events);
        settings.queues = queues.unwrap_or(settings.queues);
        settings.format = format.unwrap_or(settings.format);
        settings.name = name.unwrap_or(settings.name);
        settings.enabled = enabled.unwrap_or(settings.enabled);
        secrets.secret = secret.unwrap_or(secrets.secret);
        secrets.routing_key = routing_key.or(secrets.routing_key);
        check(&settings, &secrets)?;
        self.store_hook(id, &settings, &secrets, "known").await
    }

    async fn store_hook(
        &self,
        id: &HookId,
        settings: &HookSettings,
        secrets: &Secrets,
        which: &str,
    ) -> Result<(), Error> {
        let call = STORE_HOOK.call(self.store());
        let call = call.key("hooks", &keys::hooks()).key("secrets", &keys::secrets());
        let call = call.arg("hook", id.as_str()).arg("settings", json(settings));
        let call =
            call.arg("secrets_text", json(secrets)).arg("which", which).arg("max", HOOKS_MAX);
        match call.run::<String>().await?.as_str() {
            "ok" => Ok(()),
            "TOO_MANY" => Err(Error::TooManyHooks { max: HOOKS_MAX }),
            _ => Err(no_such(id)),
        }
    }

    /// Lists the webhooks, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self) -> Result<Vec<Hook>, Error> {
        let mut hooks = Vec::new();
        for (id, settings) in self.all().await? {
            let health = self.health(&id).await?;
            hooks.push(Hook { id, settings, health });
        }
        hooks.sort_by_key(|hook| hook.settings.created_at);
        Ok(hooks)
    }

    /// One webhook.
    ///
    /// # Errors
    /// When there is no such webhook.
    pub async fn hook(&self, id: &HookId) -> Result<Hook, Error> {
        let (settings, _) = self.stored(id).await?;
        Ok(Hook { id: id.clone(), settings, health: self.health(id).await? })
    }

    /// Deletes a webhook, with all that waits for it.
    ///
    /// # Errors
    /// When there is no such webhook.
    pub async fn delete(&self, id: &HookId) -> Result<(), Error> {
        let call = DELETE_HOOK.call(self.store()).key("hooks", &keys::hooks());
        let call = call.key("secrets", &keys::secrets()).key("deleted", &keys::deleted());
        if !call.arg("hook", id.as_str()).run::<bool>().await? {
            return Err(no_such(id));
        }
        self.finish_deletions().await
    }

    /// Deletes what is left of deleted webhooks.
    pub(crate) async fn finish_deletions(&self) -> Result<(), Error> {
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(&*self.store().place(&keys::deleted()));
        let deleted: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        for id in deleted.into_iter().filter_map(|id| HookId::new(id).ok()) {
            while !self.delete_some(&id).await? {}
        }
        Ok(())
    }

    async fn delete_some(&self, id: &HookId) -> Result<bool, Error> {
        let call = DELETE_SOME.call(self.store()).key("deleted", &keys::deleted());
        let call = call.key("due", &keys::due(id)).key("health", &keys::health(id));
        let call = call.key("waiting", &keys::waiting(id)).key("done", &keys::done(id));
        let call = call.key("failed", &keys::failed(id)).arg("hook", id.as_str());
        let call = call.arg("delivery_prefix", self.delivery_prefix(id));
        Ok(call.arg("lane_prefix", self.lane_prefix(id)).run().await?)
    }

    /// All webhooks. What another version has written and this one cannot read is left out.
    pub(crate) async fn all(&self) -> Result<BTreeMap<HookId, HookSettings>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::hooks()));
        let stored: BTreeMap<String, String> =
            cmd.query_async(&mut self.store().connection()).await?;
        let read = |(id, text): (String, String)| {
            Some((HookId::new(id).ok()?, serde_json::from_str(&text).ok()?))
        };
        Ok(stored.into_iter().filter_map(read).collect())
    }

    /// What is needed to send something; nothing while the webhook is off.
    pub(crate) async fn target(&self, id: &HookId) -> Result<Option<Target>, Error> {
        let (settings, Secrets { url, secret, routing_key }) = self.stored(id).await?;
        let target = Target { url, secret, routing_key, format: settings.format };
        Ok(Some(target).filter(|_| settings.enabled))
    }

    async fn stored(&self, id: &HookId) -> Result<(HookSettings, Secrets), Error> {
        let mut both = redis::pipe();
        both.cmd("HGET").arg(&*self.store().place(&keys::hooks())).arg(id.as_str());
        both.cmd("HGET").arg(&*self.store().place(&keys::secrets())).arg(id.as_str());
        let (settings, secrets): (Option<String>, Option<String>) =
            both.query_async(&mut self.store().connection()).await?;
        let settings = settings.and_then(|text| serde_json::from_str(&text).ok());
        let secrets = secrets.and_then(|text| serde_json::from_str(&text).ok());
        settings.zip(secrets).ok_or_else(|| no_such(id))
    }

    pub(crate) async fn health(&self, id: &HookId) -> Result<Health, Error> {
        let mut all = redis::pipe();
        all.cmd("ZCARD").arg(&*self.store().place(&keys::waiting(id)));
        all.cmd("ZCARD").arg(&*self.store().place(&keys::failed(id)));
        all.cmd("HGETALL").arg(&*self.store().place(&keys::health(id)));
        let (waiting, failed, stored): (u64, u64, BTreeMap<String, u64>) =
            all.query_async(&mut self.store().connection()).await?;
        let number = |name: &str| stored.get(name).copied();
        Ok(Health {
            waiting,
            failed,
            failures: number("failures").unwrap_or_default(),
            paused_until: number("paused_until").filter(|at| *at > self.store().now_ms()),
            delivered_at: number("delivered_at"),
            dropped: number("dropped").unwrap_or_default(),
        })
    }

    /// Checks a URL. Returns what may be shown of it.
    fn check_url(&self, text: &str) -> Result<String, Error> {
        let wrong = |reason: String| Error::invalid("url", reason);
        if text.len() > URL_BYTES_MAX {
            return Err(wrong(format!("it has more than {URL_BYTES_MAX} bytes")));
        }
        let url: Url = text.parse().map_err(|error| wrong(format!("it is no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("\"{}:\" is not called; use http or https", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "it holds a password; receivers know the sender by its signature".into(),
            ));
        }
        let objection =
            address_in(&url).and_then(|ip| self.settings().allow_private.objection("", ip));
        match objection {
            Some(objection) => Err(wrong(objection)),
            None => Ok(url.origin().ascii_serialization()),
        }
    }
}

fn check(settings: &HookSettings, secrets: &Secrets) -> Result<(), Error> {
    if settings.name.chars().count() > NAME_CHARS_MAX {
        return Err(Error::invalid(
            "name",
            format!("it has more than {NAME_CHARS_MAX} characters"),
        ));
    }
    if settings.events.is_empty() {
        return Err(Error::invalid("events", format!("give at least one of {}", KINDS.join(", "))));
    }
    if let Some(unknown) = settings.events.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        let reason = format!("\"{unknown}\" is none of {}", KINDS.join(", "));
        return Err(Error::invalid("events", reason));
    }
    if settings.queues.len() > QUEUES_MAX {
        return Err(Error::invalid(
            "queues",
            format!("give at most {QUEUES_MAX}, or none for all"),
        ));
    }
    if settings.queues.iter().any(|queue| queue.is_empty() || queue.len() > 256) {
        return Err(Error::invalid("queues", "the name of a queue has 1 to 256 bytes"));
    }
    let chars = secrets.secret.chars().count();
    if !(SECRET_CHARS_MIN..=SECRET_CHARS_MAX).contains(&chars) {
        let allowed = format!("give {SECRET_CHARS_MIN} to {SECRET_CHARS_MAX}");
        return Err(Error::invalid("secret", format!("it has {chars} characters; {allowed}")));
    }
    let has_key = secrets.routing_key.as_ref().is_some_and(|key| !key.is_empty());
    match (settings.format, has_key) {
        (Format::PagerDuty, false) => {
            Err(Error::invalid("routing_key", "PagerDuty needs the integration key of a service"))
        }
        _ => Ok(()),
    }
}

fn no_such(id: &HookId) -> Error {
    Error::NoSuchHook { hook: id.to_string() }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("settings are JSON")
}

pub(crate) fn random_hex(n_bytes: usize) -> Result<String, Error> {
    let mut bytes = vec![0; n_bytes];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::NoRandom)?;
    Ok(hex(&bytes))
}
