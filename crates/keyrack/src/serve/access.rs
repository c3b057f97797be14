//! Whom the server lets in, as the settings say, and the token for the first of them.

use keyrack_identity::Identity;
use keyrack_web::{Access, Auth, Network};

use crate::{
    Exit, Failure, Globals,
    settings::{
        AUTH, HOSTS, ORIGINS, PUBLIC_TRACES, READ_ONLY, Setting, Settings, TRUSTED_PROXIES,
        URL_TOKENS,
    },
};

/// Whom the server lets in.
pub(super) fn access(settings: &Settings) -> Result<Access, Failure> {
    let auth = match settings.value(&AUTH) {
        "local" => Auth::Local,
        "required" => Auth::Required,
        other => return Err(wrong(&AUTH, other)),
    };
    let read_only = match settings.value(&READ_ONLY) {
        "on" => true,
        "off" => false,
        other => return Err(wrong(&READ_ONLY, other)),
    };
    let trusted_proxies = listed(settings, &TRUSTED_PROXIES).map(|text| {
        text.parse::<Network>().map_err(|reason| {
            let message = format!("\"trusted-proxies\": {reason}");
            Failure::new(Exit::Usage, message).hint(format!("set it by {}", TRUSTED_PROXIES.ways()))
        })
    });
    Ok(Access {
        auth,
        read_only,
        hosts: listed(settings, &HOSTS).map(str::to_owned).collect(),
        origins: listed(settings, &ORIGINS)
            .map(|origin| origin.trim_end_matches('/').to_owned())
            .collect(),
        public_traces: switch(settings, &PUBLIC_TRACES)?,
        url_tokens: switch(settings, &URL_TOKENS)?,
        trusted_proxies: trusted_proxies.collect::<Result<_, _>>()?,
    })
}

/// Whether a setting is on, if it is set at all.
fn switch(settings: &Settings, setting: &'static Setting) -> Result<Option<bool>, Failure> {
    match settings.get(setting).value.as_deref() {
        None => Ok(None),
        Some("on") => Ok(Some(true)),
        Some("off") => Ok(Some(false)),
        Some(other) => Err(wrong(setting, other)),
    }
}

/// What commas set apart in a setting.
pub(super) fn listed<'a>(
    settings: &'a Settings,
    setting: &Setting,
) -> impl Iterator<Item = &'a str> {
    settings.value(setting).split(',').map(str::trim).filter(|text| !text.is_empty())
}

fn wrong(setting: &Setting, value: &str) -> Failure {
    let message = format!("\"{}\" cannot be \"{value}\"", setting.key);
    Failure::new(Exit::Usage, message).hint(format!("set it by {}", setting.ways()))
}

/// Prints an admin token at the first start on a store, and never again.
pub(super) async fn greet_first_admin(identity: &Identity, globals: &Globals) {
    if globals.quiet {
        // Nobody would read it, and it is shown only once.
        return;
    }
    match identity.first_admin().await {
        Ok(None) => {}
        Ok(Some(created)) => globals.say(format_args!(
            "  admin  {} (sign in with this token; it is shown only once)",
            created.secret
        )),
        // The server can do without; the next start tries again.
        Err(error) => globals.say(format_args!("  admin  no token was made: {error}")),
    }
}
