//! An identity provider: keys, tokens signed with them, and a real HTTP server that publishes the keys and counts who asks.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
        RsaPublicKeyComponents,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Mutex, Notify},
};

/// A key pair of 2048 bits that signs nothing outside these tests.
const RSA: &[u8] = include_bytes!("provider/rsa.pk8");

/// A key that signs tokens.
pub(crate) enum SigningKey {
    Rsa(Box<RsaKeyPair>),
    Curve(Box<EcdsaKeyPair>),
}

impl SigningKey {
    /// The one RSA key.
    pub(crate) fn rsa() -> SigningKey {
        SigningKey::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA).expect("a key pair")))
    }

    /// A new key on P-256.
    pub(crate) fn curve() -> SigningKey {
        let random = SystemRandom::new();
        let method = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::generate_pkcs8(method, &random).expect("a key pair");
        let pair = EcdsaKeyPair::from_pkcs8(method, pair.as_ref(), &random).expect("a key pair");
        SigningKey::Curve(Box::new(pair))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            SigningKey::Rsa(_) => "RS256",
            SigningKey::Curve(_) => "ES256",
        }
    }

    /// The public half, as providers publish it.
    pub(crate) fn jwk(&self, kid: &str) -> Value {
        match self {
            SigningKey::Rsa(pair) => {
                let RsaPublicKeyComponents::<Vec<u8>> { n, e } = pair.public_key().into();
                json!({"kid": kid, "use": "sig", "alg": "RS256", "kty": "RSA", "n": base64(&n), "e": base64(&e)})
            }
            SigningKey::Curve(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kid": kid, "use": "sig", "alg": "ES256", "kty": "EC", "crv": "P-256", "x": base64(x), "y": base64(y)})
            }
        }
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, kid: &str, claims: &Value) -> String {
        self.sign_as(&json!({"kid": kid, "alg": self.algorithm(), "typ": "JWT"}), claims)
    }

    /// A token with a header of one's own.
    pub(crate) fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let message = format!(
            "{}.{}",
            base64(header.to_string().as_bytes()),
            base64(claims.to_string().as_bytes())
        );
        let random = SystemRandom::new();
        let signature = match self {
            SigningKey::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature)
                    .expect("signed");
                signature
            }
            SigningKey::Curve(pair) => {
                pair.sign(&random, message.as_bytes()).expect("signed").as_ref().to_vec()
            }
        };
        format!("{message}.{}", base64(&signature))
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What the server does when it is asked for the keys.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Publishes these.
    Keys(Vec<Value>),
    /// Answers with this status and body.
    Raw(u16, String),
    /// Answers with these keys once it is let go.
    Slow(Vec<Value>),
    /// Hangs up.
    HangUp,
}

/// A running server.
pub(crate) struct Provider {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    answer: Mutex<Answer>,
    asked: AtomicUsize,
    was_asked: Notify,
    let_go: Notify,
}

impl Provider {
    pub(crate) async fn start(answer: Answer) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/jwks.json", listener.local_addr().expect("an address"));
        let state = Arc::new(State {
            answer: Mutex::new(answer),
            asked: AtomicUsize::new(0),
            was_asked: Notify::new(),
            let_go: Notify::new(),
        });
        let serving = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, serving.clone()));
            }
        });
        Provider { url, state }
    }

    /// How often it was asked for the keys.
    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Says how to answer from now on.
    pub(crate) async fn answers(&self, answer: Answer) {
        *self.state.answer.lock().await = answer;
    }

    /// Waits for somebody to ask.
    pub(crate) async fn was_asked(&self) {
        self.state.was_asked.notified().await;
    }

    /// Lets a slow answer go.
    pub(crate) fn let_go(&self) {
        self.state.let_go.notify_one();
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => head.extend_from_slice(&buffer[..read]),
        }
    }
    state.asked.fetch_add(1, Ordering::SeqCst);
    state.was_asked.notify_one();
    let answer = state.answer.lock().await.clone();
    let (status, body) = match answer {
        Answer::Keys(keys) => (200, json!({ "keys": keys }).to_string()),
        Answer::Raw(status, body) => (status, body),
        Answer::Slow(keys) => {
            state.let_go.notified().await;
            (200, json!({ "keys": keys }).to_string())
        }
        Answer::HangUp => return,
    };
    let response = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(response.as_bytes()).await;
}
