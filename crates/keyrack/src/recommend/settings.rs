//! What the settings say about recommendations.

use jiff::tz::TimeZone;
use keyrack_recommender::{Names, Settings as Goes};

use crate::{
    Exit, Failure,
    settings::{
        RECOMMEND_BREAK_TEXT, RECOMMEND_DATABASE_ZONE, RECOMMEND_RENAME, RECOMMEND_ZONE, Setting,
        Settings,
    },
};

/// What a recommender goes by.
pub(super) fn of(settings: &Settings) -> Result<Goes, Failure> {
    Ok(Goes {
        zone: zone_of(settings, &RECOMMEND_ZONE)?,
        database_zone: zone_of(settings, &RECOMMEND_DATABASE_ZONE)?,
        break_text: settings.get(&RECOMMEND_BREAK_TEXT).value.clone().unwrap_or_default(),
    })
}

/// What the app's tables and columns are called.
pub(super) fn names(settings: &Settings) -> Result<Names, Failure> {
    let lines = settings.get(&RECOMMEND_RENAME).value.as_deref().unwrap_or_default().split(',');
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    Names::parse(lines).map_err(|error| wrong(&RECOMMEND_RENAME, &error.to_string()))
}

/// A time zone by its name.
pub(super) fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| format!("\"{name}\" is not a time zone; use a name such as \"Europe/Berlin\""))
}

fn zone_of(settings: &Settings, setting: &Setting) -> Result<TimeZone, Failure> {
    zone(settings.value(setting)).map_err(|reason| wrong(setting, &reason))
}

fn wrong(setting: &Setting, reason: &str) -> Failure {
    let failure = Failure::new(Exit::Usage, format!("\"{}\": {reason}", setting.key));
    failure.hint(format!("set it by {}", setting.ways()))
}
