//! Clients that should speak TLS, and do not.

use std::sync::Arc;

use tokio_rustls::rustls::{
    ServerConfig,
    crypto::ring,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::Server;
use crate::engine::Engine;

/// Nobody here gets as far as a certificate.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesServerCert for NoCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

async fn server() -> Server {
    let engine = Engine::in_memory();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(NoCertificate));
    let listener = engine.listen_tls("127.0.0.1:0", Arc::new(config)).await.expect("a free port");
    Server { engine, listener }
}

#[tokio::test]
async fn who_speaks_plainly_to_a_tls_port_is_told_so() {
    let server = server().await;
    let mut client = server.connect().await;
    client.send("PING\r\n").await;
    client.expect_last("-ERR this port takes TLS only, as with redis-cli --tls\r\n").await;
    server.until(|state| state.clients.iter().count() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn half_a_handshake_is_cut_after_ten_seconds() {
    let server = server().await;
    for sent in ["", "\x16\x03\x01"] {
        let mut client = server.connect().await;
        client.send(sent).await;
        client.expect_last("").await;
    }
}

#[tokio::test]
async fn half_a_handshake_does_not_hold_up_the_end() {
    let server = server().await;
    let mut client = server.connect().await;
    client.send("\x16\x03\x01").await;
    server.until(|state| state.clients.iter().count() == 1).await;
    server.listener.stop().await;
    client.expect_last("").await;
}
