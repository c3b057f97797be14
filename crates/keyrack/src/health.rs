//! `keyrack health`: whether a server is ready, for whoever has no HTTP client at hand, such as a container.

use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Context as _, bail};

use crate::{
    Exit, Globals,
    settings::{HTTP, Settings, TLS_CERT},
};

/// As long as orchestrators wait for a probe by default, and some seconds more than a slow store takes.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The arguments of `keyrack health`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Base URL of the server, such as https://keyrack.example.com; without it, the address in the settings
    url: Option<String>,
}

/// Runs `keyrack health`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    // Its own certificate need not be for the address that it listens on, and nothing secret is sent.
    let is_own = args.url.is_none();
    let base = match args.url {
        Some(url) => url,
        None => own_url(&globals.settings)?,
    };
    let url = format!("{}/readyz", base.trim_end_matches('/'));
    // Without this, rustls would not know which of its cryptographic back-ends to use; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy();
    let client = client.tls_danger_accept_invalid_certs(is_own).build()?;
    let answer = client.get(&url).send().await;
    let answer = answer.with_context(|| format!("no answer from {url}; is the server running?"))?;
    let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
    if !status.is_success() {
        bail!("{url} answers {status}: {}", text.trim());
    }
    if !globals.quiet {
        writeln!(globals.out(), "ready")?;
    }
    Ok(Exit::Ok)
}

/// Where the server of these settings is reached from its own machine.
fn own_url(settings: &Settings) -> anyhow::Result<String> {
    let scheme = if settings.value(&TLS_CERT).is_empty() { "http" } else { "https" };
    let address = settings.value(&HTTP);
    let address = match address.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => {
            bail!("the setting \"http\" is \"{address}\", any free port; give the server's URL")
        }
        Ok(mut address) => {
            match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                _ => {}
            }
            address.to_string()
        }
        // A host name.
        Err(_) => address.to_owned(),
    };
    Ok(format!("{scheme}://{address}"))
}
