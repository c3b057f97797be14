//! What users have given to each category, counted anew from who takes part in what.

use std::collections::BTreeMap;

use super::{Challenges, Load, PAGE};
use crate::{
    error::Error,
    keys,
    rows::{CATEGORIES_MAX, Member, numbers, numbers_text},
    source::{From, Source, Table},
};

impl Load<'_> {
    /// Writes `user_contribution`: the planned days of a user's challenges, less the days on break.
    pub(super) async fn members(
        &mut self,
        source: &mut impl Source,
        challenges: &Challenges,
    ) -> Result<(), Error> {
        let mut days: BTreeMap<String, [u64; CATEGORIES_MAX]> = BTreeMap::new();
        let mut length = 0;
        loop {
            let page = source.page(Table::Members, From::Row(length), PAGE).await?;
            length += page.len() as u64;
            for row in &page {
                let member = Member::read(row);
                let challenge =
                    member.as_ref().and_then(|member| challenges.get(&member.challenge));
                let (Some(member), Some(challenge)) = (&member, challenge) else {
                    self.done.skipped += 1;
                    continue;
                };
                self.done.members += 1;
                let days = days.entry(member.user.to_string()).or_default();
                days[challenge.category] += u64::from(challenge.duration);
            }
            if page.len() < PAGE {
                break;
            }
        }
        let breaks = self.service.read_map(&keys::breaks()).await?;
        let contribution = |(user, mut days): (String, [u64; CATEGORIES_MAX])| {
            let breaks = breaks.get(&user).and_then(|text| numbers(text)).unwrap_or_default();
            for (days, breaks) in days.iter_mut().zip(breaks) {
                *days = days.saturating_sub(breaks);
            }
            (user, numbers_text(&days))
        };
        let wanted = days.into_iter().map(contribution).collect();
        self.replace(&keys::contributions(), &wanted, Some((Table::Members, length)), "members")
            .await
    }
}
