//! Whom the server lets in, as the settings say, and the token for the first of them.

use keyrack_http::{Access, Auth};
use keyrack_identity::Identity;

use crate::{
    Exit, Failure, Globals,
    settings::{AUTH, HOSTS, READ_ONLY, Setting, Settings},
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
    let names = settings.value(&HOSTS).split(',').map(str::trim);
    let hosts = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Ok(Access { auth, read_only, hosts })
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
            "  admin  {} (sign in with this token; it is shown this once)",
            created.secret
        )),
        // The server can do without; the next start tries again.
        Err(error) => globals.say(format_args!("  admin  no token was made: {error}")),
    }
}
