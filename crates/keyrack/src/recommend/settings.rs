//! What the settings say about recommendations.

use std::path::Path;

use jiff::tz::TimeZone;
use keyrack_recommender::{Mapping, Names, Settings as Goes};

use crate::{
    Exit, Failure,
    settings::{
        RECOMMEND_BREAK_TEXT, RECOMMEND_DATABASE_ZONE, RECOMMEND_MAP, RECOMMEND_RENAME,
        RECOMMEND_ZONE, Setting, Settings,
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

/// Which tables of an app are what, as a file says it.
pub(super) fn read_map(path: &Path) -> Result<Mapping, Failure> {
    let wrong = |reason: String| {
        let failure = Failure::new(Exit::Usage, format!("\"{}\": {reason}", path.display()));
        failure.hint("docs/recommender.md has examples of a shop, a forum and a podcast app")
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mapping: Mapping = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    mapping.names().map_err(|error| wrong(error.to_string()))?;
    Ok(mapping)
}

/// The file that the settings name, if they name one.
pub(super) fn map(settings: &Settings) -> Result<Option<Mapping>, Failure> {
    let path = settings.get(&RECOMMEND_MAP).value.as_deref();
    path.map(|path| read_map(Path::new(path))).transpose()
}

/// What the app's tables and columns are called.
pub(super) fn names(settings: &Settings) -> Result<Names, Failure> {
    if let Some(mapping) = map(settings)? {
        return mapping.names().map_err(|error| wrong(&RECOMMEND_MAP, &error.to_string()));
    }
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
