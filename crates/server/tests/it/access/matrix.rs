//! `docs/access-matrix.md`: what each route gives to each kind of caller. Written from what a server answers.

use std::{env, fmt::Write as _, fs, path::Path};

use keyrack_identity::{NewToken, Role, TokenScope};
use keyrack_keys::UserSub;
use keyrack_store::Store;
use keyrack_web::{Access, Auth};

use super::{
    head_and_refusal,
    table::{Asks, Route, described, pages},
};
use crate::{entitlements::billing_of_nobody, site::Site};

const HEAD: &str = "\
# Access matrix

What each route gives to each kind of caller when `auth` is `required`. A test writes this page from what a server answers, and fails when it
is not current; `KEYRACK_WRITE_DOCS=1 cargo test -p keyrack-server --test it access::matrix` writes it anew.

*in*: let in. *own*: let in, to what belongs to the token's own user and nothing else. *sign in*: sent to the sign-in page. A number: refused with that status.
The requests are about the user of the \"own token\". The last column is an admin on a server that was started with `--read-only`. Routes of calculations take the
token of a project, which none of these callers has.

| route | none | own token | other user's token | viewer | operator | admin | read-only |
|---|---|---|---|---|---|---|---|
";

/// Who asks, in the order of the columns.
struct Callers {
    site: Site,
    tokens: [Option<String>; 6],
}

impl Callers {
    async fn at(read_only: bool) -> Callers {
        let store = Store::open("embedded:memory").await.expect("a store");
        let access = Access { auth: Auth::Required, read_only, ..Access::default() };
        let billing = billing_of_nobody(&store);
        let site = Site::guarded(store, Vec::new(), Some(billing), access).await;
        let own = own_token(&site, "somebody").await;
        let other = own_token(&site, "other").await;
        let viewer = site.token_of("staff", Role::Viewer).await;
        let operator = site.token_of("staff", Role::Operator).await;
        let admin = site.token_of("staff", Role::Admin).await;
        let tokens = [None, Some(own), Some(other), Some(viewer), Some(operator), Some(admin)];
        Callers { site, tokens }
    }

    /// What a caller gets, in a word.
    async fn word(&self, route: &Route, caller: usize, accept: &str) -> String {
        let bearer = self.tokens[caller].as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = vec![("Accept", accept)];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        let body =
            route.body.replace("{token}", self.tokens[caller].as_deref().unwrap_or_default());
        let stream = self.site.open(route.method, &route.path(), &headers, &body).await;
        let (status, text) = head_and_refusal(stream).await;
        match status {
            303 if text.contains("location: /sign-in?next=") => "sign in".into(),
            401 | 403 => status.to_string(),
            400 if route.asks == Asks::Signature => status.to_string(),
            422 if matches!(route.asks, Asks::Project) => status.to_string(),
            _ if matches!(route.asks, Asks::User(_)) => "own".into(),
            _ => "in".into(),
        }
    }
}

async fn own_token(site: &Site, sub: &str) -> String {
    let new = NewToken {
        name: "test".into(),
        role: Role::Operator,
        reach: TokenScope::Own,
        expires_at: None,
    };
    let sub = UserSub::new(sub).expect("a subject");
    site.identity.create_token("test", &sub, new).await.expect("a token").secret
}

#[tokio::test]
async fn the_committed_matrix_is_what_the_server_does() {
    let (open, read_only) = (Callers::at(false).await, Callers::at(true).await);
    let mut text = HEAD.to_owned();
    let all = described().into_iter().map(|route| (route, "*/*"));
    let all = all.chain(pages().into_iter().map(|route| (route, "text/html")));
    for (route, accept) in all {
        write!(text, "| {} `{}` |", route.method, route.template).expect("a string");
        for caller in 0..open.tokens.len() {
            write!(text, " {} |", open.word(&route, caller, accept).await).expect("a string");
        }
        let admin = open.tokens.len() - 1;
        writeln!(text, " {} |", read_only.word(&route, admin, accept).await).expect("a string");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access-matrix.md");
    if env::var_os("KEYRACK_WRITE_DOCS").is_some() {
        fs::write(path, text).expect("written");
        return;
    }
    let committed = fs::read_to_string(path).expect("the page");
    let differing = text.lines().zip(committed.lines()).find(|(now, then)| now != then);
    assert!(
        text == committed,
        "docs/access-matrix.md is not current; KEYRACK_WRITE_DOCS=1 writes it anew: {differing:?}"
    );
}
