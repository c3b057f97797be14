//! What webhooks are told of: ends of jobs, rules of calculations, and alerts.
//!
//! Jobs and rules write down what happens in the call in which it happens, so nothing is lost while
//! no server runs: jobs in their outbox, rules in the list of their account. A server moves it to
//! the webhooks, and only then takes it out, or notes how far it has read. If it dies in between,
//! the same is moved again under the same id. Alerts are judged by a server every ten seconds: what
//! comes and goes in between, or while no server runs, is not told of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use keyrack_calculations::{Said, keys::Account};
use keyrack_jobs::bee::{Hive, JobEnd, OUTBOX_STATUSES, OutboxKinds, keys::QueueName};
use keyrack_store::{ErrorInfo, ServiceError};
use keyrack_webhooks::Event;
use serde_json::json;

use crate::{
    Services,
    alerts::{Alert, AlertFacts, AlertPage, single_alerts},
};

/// Ends of jobs that are moved in one call.
const ENDS_AT_ONCE: usize = 200;
/// How often alerts are judged.
const ALERTS_EVERY_MS: u64 = 10_000;
/// The cursor that says that rules are read.
const RULES: &str = "rules";
/// What only one server does.
const FORWARD: &str = "forward";

/// Why events could not be handed to webhooks.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The webhooks failed.
    #[error(transparent)]
    Webhooks(#[from] keyrack_webhooks::Error),
    /// The jobs failed.
    #[error(transparent)]
    Jobs(#[from] keyrack_jobs::Error),
    /// The rules failed.
    #[error(transparent)]
    Calculations(#[from] keyrack_calculations::Error),
}

impl ServiceError for SourceError {
    fn info(&self) -> ErrorInfo {
        match self {
            SourceError::Webhooks(error) => error.info(),
            SourceError::Jobs(error) => error.info(),
            SourceError::Calculations(error) => error.info(),
        }
    }

    fn store_error(&self) -> Option<&keyrack_store::Error> {
        match self {
            SourceError::Webhooks(error) => error.store_error(),
            SourceError::Jobs(error) => error.store_error(),
            SourceError::Calculations(error) => error.store_error(),
        }
    }
}

impl Services {
    /// Lets the sources write down what webhooks ask for, and nothing else. Whoever has created,
    /// changed or deleted a webhook does this before saying so: what happens from then on is
    /// delivered.
    ///
    /// # Errors
    /// When the store fails; a server does it again a second later.
    pub async fn sync_webhooks(&self) -> Result<(), SourceError> {
        let mut wanted = self.webhooks.wanted().await?;
        loop {
            self.jobs().await?.hive.set_outbox_kinds(&outbox_kinds(&wanted)).await?;
            self.sync_rules(is_wanted(&wanted, "rule.")).await?;
            if !is_wanted(&wanted, "alert.") && !self.webhooks.raised_alerts().await?.is_empty() {
                self.webhooks.forget_alerts().await?;
            }
            // Somebody else may have changed a webhook meanwhile, and what was written last has to
            // be what is asked for now.
            let now_wanted = self.webhooks.wanted().await?;
            if now_wanted == wanted {
                return Ok(());
            }
            wanted = now_wanted;
        }
    }

    /// Rules are read from the moment on when the first webhook asks for them.
    async fn sync_rules(&self, is_wanted: bool) -> Result<(), SourceError> {
        let is_read = self.webhooks.cursors().await?.contains_key(RULES);
        if is_read && !is_wanted {
            self.webhooks.forget_cursors().await?;
        }
        if is_read || !is_wanted {
            return Ok(());
        }
        let mut cursors = BTreeMap::from([(RULES.to_owned(), 1)]);
        for (account, _) in self.calculations.list().await? {
            let said = self.calculations.existing(&account).await?.said().await?;
            cursors.insert(cursor_of(&account), said);
        }
        Ok(self.webhooks.set_cursors(&cursors).await?)
    }
}

fn is_wanted(wanted: &BTreeSet<(Option<String>, String)>, of: &str) -> bool {
    wanted.iter().any(|(_, kind)| kind.starts_with(of))
}

fn outbox_kinds(wanted: &BTreeSet<(Option<String>, String)>) -> OutboxKinds {
    let mut kinds = OutboxKinds::new();
    for (queue, kind) in wanted {
        let status = kind.strip_prefix("job.");
        let status = OUTBOX_STATUSES.iter().find(|known| status == Some(**known));
        // What cannot be the name of a queue is none.
        let queue = queue.as_ref().map(|queue| QueueName::new(&**queue)).transpose();
        if let (Some(status), Ok(queue)) = (status, queue) {
            kinds.entry(queue).or_default().insert(*status);
        }
    }
    kinds
}

fn cursor_of(account: &Account) -> String {
    format!("{RULES}:{account}")
}

/// Hands events of all sources to the webhooks.
#[derive(Debug)]
pub struct Forwarder {
    services: Arc<Services>,
    /// The name of this server among others.
    server: String,
    alerts_at: u64,
    /// Whether the sources were last told that no webhook asks for anything.
    is_idle: bool,
}

impl Forwarder {
    /// A forwarder; `server` is a name that no other server has.
    pub fn new(services: Arc<Services>, server: impl Into<String>) -> Forwarder {
        Forwarder { services, server: server.into(), alerts_at: 0, is_idle: false }
    }

    /// Hands on what has happened. Nothing while another server does it.
    ///
    /// # Errors
    /// When the store fails. Nothing is lost: what was not handed on is handed on next time.
    pub async fn round(&mut self) -> Result<(), SourceError> {
        let webhooks = &self.services.webhooks;
        if self.is_idle && webhooks.wanted().await?.is_empty() {
            return Ok(());
        }
        self.services.sync_webhooks().await?;
        let (wanted, hive) = (webhooks.wanted().await?, &self.services.jobs().await?.hive);
        // A store without webhooks is left as it is.
        self.is_idle = wanted.is_empty() && hive.outbox(1).await?.is_empty();
        if self.is_idle || !webhooks.take_duty(FORWARD, &self.server).await? {
            return Ok(());
        }
        self.forward_jobs(hive).await?;
        if is_wanted(&wanted, "rule.") {
            self.forward_rules().await?;
        }
        let now = self.services.store.now_ms();
        if is_wanted(&wanted, "alert.") && now.abs_diff(self.alerts_at) >= ALERTS_EVERY_MS {
            self.alerts_at = now;
            self.forward_alerts(now).await?;
        }
        Ok(())
    }

    async fn forward_jobs(&self, hive: &Hive) -> Result<(), SourceError> {
        loop {
            let pages = hive.outbox(ENDS_AT_ONCE).await?;
            if pages.is_empty() {
                return Ok(());
            }
            for page in pages {
                let events: Vec<Event> = page.ends.iter().map(of_job).collect();
                self.services.webhooks.enqueue(&events).await?;
                hive.handed_on(page).await?;
                // A server that has much to hand on keeps the duty meanwhile.
                self.services.webhooks.take_duty(FORWARD, &self.server).await?;
            }
        }
    }

    async fn forward_rules(&self) -> Result<(), SourceError> {
        let cursors = self.services.webhooks.cursors().await?;
        for (account, _) in self.services.calculations.list().await? {
            let cursor = cursor_of(&account);
            let ledger = self.services.calculations.existing(&account).await?;
            let said = ledger.said_since(cursors.get(&cursor).copied().unwrap_or_default()).await?;
            let Some(last) = said.last() else { continue };
            let read = BTreeMap::from([(cursor, last.number)]);
            let at = self.services.store.now_ms();
            let events: Vec<Event> = said.iter().map(|said| of_rule(&account, said, at)).collect();
            self.services.webhooks.enqueue(&events).await?;
            self.services.webhooks.set_cursors(&read).await?;
        }
        Ok(())
    }

    async fn forward_alerts(&self, now: u64) -> Result<(), SourceError> {
        let facts = AlertFacts::read(&self.services).await;
        if facts.store_error.is_some() {
            return Ok(());
        }
        let webhooks = &self.services.webhooks;
        let mut raised = webhooks.raised_alerts().await?;
        // Rules have events of their own.
        let is_told = |alert: &Alert| !matches!(alert.page, AlertPage::Account(_));
        let alerts = single_alerts(&facts).into_iter().filter(is_told);
        let alerts: BTreeMap<String, Alert> = alerts.map(|alert| (alert.key(), alert)).collect();
        for (key, alert) in alerts {
            if raised.remove(&key).is_none() {
                let data = json!({
                    "severity": alert.severity.word(), "subject": alert.subject, "text": alert.text,
                });
                webhooks.enqueue(&[of_alert("alert.raised", &key, now, data)]).await?;
                webhooks.note_raised(&key, now).await?;
            }
        }
        for (key, raised_at) in raised {
            let data = json!({"raised_at": raised_at});
            webhooks.enqueue(&[of_alert("alert.cleared", &key, now, data)]).await?;
            webhooks.note_cleared(&key).await?;
        }
        Ok(())
    }
}

fn of_job(end: &JobEnd) -> Event {
    let (kind, subject) = (format!("job.{}", end.status), format!("job:{}", end.jid));
    let data = json!(end.fields);
    Event::new(&kind, &end.id(), end.at, subject, data).in_queue(&end.queue)
}

fn of_rule(account: &Account, said: &Said, at: u64) -> Event {
    let field = |name: &str| said.fields.get(name).map(String::as_str).unwrap_or_default();
    let subject = format!("rule:{account}:{}:{}", field("project_id"), field("rule"));
    let unique = format!("{account} {}", said.number);
    Event::new(&format!("rule.{}", said.kind), &unique, at, subject, json!(said.fields))
}

fn of_alert(kind: &str, key: &str, now: u64, data: serde_json::Value) -> Event {
    Event::new(kind, &format!("{key} {now}"), now, format!("alert:{key}"), data)
}

#[cfg(test)]
mod tests;
