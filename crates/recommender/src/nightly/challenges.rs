//! Reading challenges, and keeping those in the store that are going on.

use std::collections::BTreeMap;

use super::{Challenges, Load, PAGE, check::last_id};
use crate::{
    error::Error,
    keys,
    rows::Challenge,
    source::{From, Source, Table},
};

impl Load<'_> {
    /// Reads all challenges: one that becomes private must be known at once, and old ones still count for their members.
    pub(super) async fn challenges(
        &mut self,
        source: &mut impl Source,
    ) -> Result<Challenges, Error> {
        let mut challenges = Challenges::new();
        let (mut after, mut length) = (0, 0);
        loop {
            let page = source.page(Table::Challenges, From::Id(after), PAGE).await?;
            length += page.len() as u64;
            after = last_id(Table::Challenges, after, &page)?;
            for row in &page {
                match Challenge::read(row, &self.zones, self.parameters.categories) {
                    Some(challenge) => drop(challenges.insert(challenge.id, challenge)),
                    None => self.done.skipped += 1,
                }
            }
            if page.len() < PAGE {
                break;
            }
        }
        let (today, age) = (self.today, self.parameters.max_post_age);
        let going_on = challenges.values().filter(|challenge| challenge.is_going_on(today, age));
        let wanted: BTreeMap<String, String> =
            going_on.map(|challenge| (challenge.id.to_string(), challenge.to_text())).collect();
        self.done.challenges = wanted.len() as u64;
        let table = Some((Table::Challenges, length));
        self.replace(&keys::challenges(), &wanted, table, "challenges").await?;
        Ok(challenges)
    }
}
