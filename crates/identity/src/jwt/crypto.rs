//! The cryptography behind signed tokens: `ring`, which the connections use too, so that there is one.

use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind, Result},
};
use ring::{
    hmac,
    signature::{self as signing, RsaParameters, RsaPublicKeyComponents, VerificationAlgorithm},
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this the cryptography of signed tokens in this process; once is enough, and more does no harm.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

/// Checks signatures of one algorithm with one key.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if key.family() != algorithm.family() {
        return Err(Error::from(ErrorKind::InvalidKeyFormat));
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }))
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(
        &self,
        message: &[u8],
        signature: &Vec<u8>,
    ) -> core::result::Result<(), signature::Error> {
        let is_good = match (method(self.algorithm), self.key.kind()) {
            (Method::Hmac(method), DecodingKeyKind::SecretOrDer(secret)) => {
                hmac::verify(&hmac::Key::new(method, secret), message, signature).is_ok()
            }
            (Method::Rsa(method), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(method, message, signature).is_ok()
            }
            (Method::Curve(method), DecodingKeyKind::SecretOrDer(point)) => {
                signing::UnparsedPublicKey::new(method, point).verify(message, signature).is_ok()
            }
            _ => false,
        };
        if is_good { Ok(()) } else { Err(signature::Error::new()) }
    }
}

/// How a signature is checked.
enum Method {
    Hmac(hmac::Algorithm),
    Rsa(&'static RsaParameters),
    Curve(&'static dyn VerificationAlgorithm),
    None,
}

fn method(algorithm: Algorithm) -> Method {
    match algorithm {
        Algorithm::HS256 => Method::Hmac(hmac::HMAC_SHA256),
        Algorithm::RS256 => Method::Rsa(&signing::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Method::Rsa(&signing::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Method::Rsa(&signing::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Method::Rsa(&signing::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Method::Rsa(&signing::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Method::Rsa(&signing::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Method::Curve(&signing::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Method::Curve(&signing::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Method::Curve(&signing::ED25519),
        _ => Method::None,
    }
}

/// Signs with a secret; nothing else is ever signed here.
struct HmacSigner(hmac::Key);

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match algorithm {
        Algorithm::HS256 if key.family() == algorithm.family() => {
            Ok(Box::new(HmacSigner(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))))
        }
        _ => Err(Error::from(ErrorKind::InvalidAlgorithm)),
    }
}

impl JwtSigner for HmacSigner {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Signer<Vec<u8>> for HmacSigner {
    fn try_sign(&self, message: &[u8]) -> core::result::Result<Vec<u8>, signature::Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}
