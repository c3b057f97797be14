//! Who may announce updates and take part in journeys over HTTP, as the settings say.

use keyrack_journeys::Tickets;
use keyrack_services::Deploys;
use keyrack_updates::{Secret, keys::Repo};

use crate::{
    Exit, Failure,
    settings::{DEPLOY_REPOS, DEPLOY_SECRET, JOURNEY_ISSUER, JOURNEY_SECRET, Setting, Settings},
};

/// Nobody may announce updates, unless there is a secret.
pub(super) fn deploys(settings: &Settings) -> Result<Option<Deploys>, Failure> {
    let Some(secret) = &settings.get(&DEPLOY_SECRET).value else { return Ok(None) };
    let secret = Secret::new(secret).map_err(|error| wrong(&DEPLOY_SECRET, &error))?;
    let names = settings.get(&DEPLOY_REPOS).value.as_deref().ok_or_else(|| {
        let message = "\"deploy-repos\" is not set: which repositories may be announced";
        Failure::new(Exit::Usage, message).hint(format!("set it by {}", DEPLOY_REPOS.ways()))
    })?;
    let names = names.split(',').map(str::trim);
    let repos = names.filter(|name| !name.is_empty()).map(Repo::new).collect::<Result<_, _>>();
    Ok(Some(Deploys { secret, repos: repos.map_err(|error| wrong(&DEPLOY_REPOS, &error))? }))
}

/// Nobody may take part in journeys, unless there is a secret.
pub(super) fn tickets(settings: &Settings) -> Result<Option<Tickets>, Failure> {
    let secret = settings.get(&JOURNEY_SECRET).value.as_deref();
    let tickets = secret.map(Tickets::new).transpose();
    let tickets = tickets.map_err(|error| wrong(&JOURNEY_SECRET, &error))?;
    Ok(tickets.map(|tickets| tickets.with_issuer(settings.value(&JOURNEY_ISSUER))))
}

fn wrong(setting: &Setting, error: &dyn std::error::Error) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("\"{}\": {error}", setting.key));
    failure.hint(format!("set it by {}", setting.ways()))
}
