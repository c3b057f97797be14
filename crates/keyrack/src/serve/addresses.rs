//! Where to listen, and where not.

use std::{io, net::SocketAddr};

use keyrack_web::Auth;

use crate::{
    Exit, Failure,
    settings::{AUTH, HTTP, RESP, RESP_PASSWORD, Setting, Settings},
};

/// The addresses of the server, looked up and found harmless.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) http: Vec<SocketAddr>,
    /// `None` when it is off.
    pub(super) resp: Option<Vec<SocketAddr>>,
}

impl Addresses {
    /// Looks the settings' addresses up. Only this machine may reach a port that asks for no token or password.
    pub(super) async fn from_settings(
        settings: &Settings,
        auth: Auth,
    ) -> Result<Addresses, Failure> {
        let http = look_up(settings, &HTTP).await?;
        if auth == Auth::Local {
            let hint =
                format!("have callers show a token with auth = \"required\": {}", AUTH.ways());
            refuse_strangers(&HTTP, &http, &hint)?;
        }
        let resp = match settings.value(&RESP) {
            "off" => None,
            _ => Some(look_up(settings, &RESP).await?),
        };
        if let Some(resp) = &resp
            && settings.get(&RESP_PASSWORD).value.is_none()
        {
            let hint = format!("set a password first: {}", RESP_PASSWORD.ways());
            refuse_strangers(&RESP, resp, &hint)?;
        }
        Ok(Addresses { http, resp })
    }
}

async fn look_up(settings: &Settings, setting: &Setting) -> Result<Vec<SocketAddr>, Failure> {
    let value = settings.value(setting);
    let found = tokio::net::lookup_host(value).await.map(Iterator::collect::<Vec<_>>);
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| {
        let message = format!("\"{value}\" is no address to listen on");
        let hint =
            format!("write HOST:PORT, as in {}; set by {}", default(setting), setting.ways());
        Failure::new(Exit::Usage, message).hint(hint)
    })
}

fn refuse_strangers(
    setting: &Setting,
    addresses: &[SocketAddr],
    hint: &str,
) -> Result<(), Failure> {
    match addresses.iter().find(|address| !address.ip().is_loopback()) {
        None => Ok(()),
        Some(address) => {
            let key = setting.key;
            let message = format!(
                "refusing to open the {key} port on \"{address}\", which other machines may reach, without asking them who they are"
            );
            Err(Failure::new(Exit::Usage, message).hint(hint))
        }
    }
}

/// Why a port could not be opened, and how to choose another.
pub(super) fn bind_failed(settings: &Settings, setting: &Setting, error: &io::Error) -> Failure {
    let address = settings.value(setting);
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => {
            let port = address.rsplit(':').next().unwrap_or(address);
            format!("port {port} is in use by another program")
        }
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address".into(),
        io::ErrorKind::PermissionDenied => "ports below 1024 need more rights".into(),
        _ => error.to_string(),
    };
    Failure::new(Exit::Failed, format!("could not listen on \"{address}\": {reason}"))
        .hint(format!("choose another with {}; port 0 takes any free one", setting.ways()))
}

fn default(setting: &Setting) -> &'static str {
    setting.default.unwrap_or("127.0.0.1:7700")
}
