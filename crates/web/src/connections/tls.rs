//! TLS, for those who put no proxy before the server.

use std::{fmt, path::Path, sync::Arc};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

/// A certificate and its key.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads a certificate with its chain, and its key, from PEM files.
    ///
    /// # Errors
    /// When a file cannot be read, or the two do not belong together.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let wrong = |path: &Path, reason: &dyn fmt::Display| {
            format!("\"{}\" cannot be used for TLS: {reason}", path.display())
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(certificate, &"there is no certificate in it"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map(|config| config.with_no_client_auth().with_single_cert(chain, secret))
            .and_then(|config| config)
            .map_err(|error| wrong(certificate, &error))?;
        Ok(Tls(Arc::new(config)))
    }

    /// The same for another port.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.0.clone()
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.clone())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
