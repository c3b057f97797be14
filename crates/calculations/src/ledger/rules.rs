//! Making, listing and deleting rules, and reading what they have said.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures_util::future::try_join_all;
use keyrack_store::{Script, script};

use super::{Ledger, commit::tag, key::KeyId};
use crate::{
    error::Error,
    keys::{self, EventNumber, Project, RuleNumber, RuleType},
    rule::{NumberedRule, Rule},
};

static CREATE_RULE: Script = script!("create_rule.lua");
static DELETE_RULE: Script = script!("delete_rule.lua");

/// Events and rules that are read at once.
const READS_AT_ONCE: usize = 16;

/// What a rule said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputEvent {
    /// Its number; later ones are higher.
    pub number: u64,
    /// What it says.
    pub fields: BTreeMap<String, String>,
}

impl Ledger {
    /// Makes a rule and returns its number.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn create_rule(&self, project: &Project, rule: &Rule) -> Result<RuleNumber, Error> {
        if rule.waits() {
            // Before there is such a rule, so that no death in between keeps it from being looked at.
            self.announce_due(self.store().now_ms()).await?;
        }
        let fields: Vec<String> =
            rule.fields().into_iter().flat_map(|(name, value)| [name, value]).collect();
        let number: u64 = CREATE_RULE
            .call(self.store())
            .key("rule_counter", &keys::rule_counter(self.account()))
            .key("rules", &keys::rules(project, self.account()))
            .key("interval_rules", &keys::interval_rules(project, &rule.interval, self.account()))
            .arg("tag", tag(self.store(), self.account()))
            .arg("prefix", self.rule_prefix(project, rule.kind())?)
            .args("fields", fields)
            .run()
            .await?;
        Ok(RuleNumber::new(number)?)
    }

    /// The rules of a project, by number.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn rules(&self, project: &Project) -> Result<Vec<NumberedRule>, Error> {
        let key = keys::rules(project, self.account());
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(&*self.store().place(&key));
        let names: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        let known: Vec<(RuleType, RuleNumber)> =
            names.iter().filter_map(|name| parts(name)).collect();
        let mut rules = Vec::with_capacity(known.len());
        for chunk in known.chunks(READS_AT_ONCE) {
            let reads = chunk.iter().map(async |(kind, number)| {
                self.hash(&keys::rule(project, kind, number, self.account())).await
            });
            for ((kind, number), fields) in chunk.iter().zip(try_join_all(reads).await?) {
                // A rule that another program has written and that makes no sense here does not keep others from working.
                let rule = Rule::from_fields(*kind, &fields).ok();
                rules.extend(rule.map(|rule| NumberedRule { number: *number, rule }));
            }
        }
        rules.sort_by_key(|rule| rule.number);
        Ok(rules)
    }

    /// Deletes a rule.
    ///
    /// # Errors
    /// When there is none of that number, or the store failed.
    pub async fn delete_rule(&self, project: &Project, number: RuleNumber) -> Result<(), Error> {
        let rules = self.rules(project).await?;
        let found = rules.iter().find(|rule| rule.number == number);
        let not_found = || Error::NotFound { what: "rule", name: number.to_string() };
        let rule = &found.ok_or_else(not_found)?.rule;
        let key = keys::rule(project, &rule.kind(), &number, self.account());
        let () = DELETE_RULE
            .call(self.store())
            .key("rule", &key)
            .key("state", &keys::rule_state(project, &number, self.account()))
            .key("rules", &keys::rules(project, self.account()))
            .key("interval_rules", &keys::interval_rules(project, &rule.interval, self.account()))
            .arg("name", key.name())
            .run()
            .await?;
        Ok(())
    }

    /// What rules have said about a key, in order.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn output_events(&self, id: &KeyId) -> Result<Vec<OutputEvent>, Error> {
        let numbers = self.event_numbers(id).await?;
        self.events_of(id, &numbers).await
    }

    /// The last that rules have said about a key, in order, and how much they have said in all.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn last_output_events(
        &self,
        id: &KeyId,
        max: usize,
    ) -> Result<(Vec<OutputEvent>, usize), Error> {
        let numbers = self.event_numbers(id).await?;
        let last = &numbers[numbers.len().saturating_sub(max)..];
        Ok((self.events_of(id, last).await?, numbers.len()))
    }

    async fn event_numbers(&self, id: &KeyId) -> Result<Vec<EventNumber>, Error> {
        let mut cmd = redis::cmd("SMEMBERS");
        cmd.arg(&*self.store().place(&id.events()));
        let numbers: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        let mut numbers: Vec<EventNumber> =
            numbers.iter().filter_map(|number| number.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    async fn events_of(
        &self,
        id: &KeyId,
        numbers: &[EventNumber],
    ) -> Result<Vec<OutputEvent>, Error> {
        let mut events = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(READS_AT_ONCE) {
            let reads = chunk.iter().map(async |number| {
                let key = keys::event(&id.project, &id.dimension, &id.key, number, &id.account);
                let fields = self.hash(&key).await?.into_iter().collect();
                Ok::<_, Error>(OutputEvent { number: number.get(), fields })
            });
            events.extend(try_join_all(reads).await?);
        }
        Ok(events)
    }

    /// The rules as they were when the mark was read.
    pub(super) async fn rules_at(
        &self,
        project: &Project,
        mark: &(String, String),
    ) -> Result<Arc<Vec<NumberedRule>>, Error> {
        if mark.1 == "0" {
            return Ok(Arc::default());
        }
        if let Some((known, rules)) = self.inner.rules.lock().get(project)
            && known == mark
        {
            return Ok(rules.clone());
        }
        let rules = Arc::new(self.rules(project).await?);
        self.inner.rules.lock().insert(project.clone(), (mark.clone(), rules.clone()));
        Ok(rules)
    }

    async fn hash(&self, key: &keyrack_keys::Key) -> Result<HashMap<String, String>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(key));
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// What the documented names of a project's rules of a kind begin with.
    fn rule_prefix(&self, project: &Project, kind: RuleType) -> Result<String, Error> {
        let first = keys::rule(project, &kind, &RuleNumber::new(1)?, self.account());
        Ok(first.name().strip_suffix('1').unwrap_or_default().to_owned())
    }
}

/// The kind and number in `hash:2:comparator:rule:3`.
fn parts(name: &str) -> Option<(RuleType, RuleNumber)> {
    let mut words = name.rsplit(':');
    let number = words.next()?.parse().ok()?;
    let kind = words.nth(1)?.parse().ok()?;
    Some((kind, number))
}
