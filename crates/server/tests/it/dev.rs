//! What only a server of development answers.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use keyrack_server::Server;
use keyrack_services::{Options, Services};
use keyrack_store::Store;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, Message},
};

use crate::site::Site;

const LOGIN: &str = "/api/1/test/dev_login";
const SOCKET: &str = "/api/2/test/ws";

#[tokio::test]
async fn in_development_anybody_signs_in_as_anybody() {
    let site = Site::start().await;
    let answer = site.post(&format!("{LOGIN}?sub=zo%C3%AB"), json!({})).await.ok();
    let token = answer["id"].as_str().expect("a token");
    assert_eq!(answer, json!({ "id": token }));
    assert_eq!(site.post_as(token, "/api/1/users/", json!({})).await.status, 204);
    let made = site.post_as(token, "/api/1/users/tokens/", json!({"name": "mine"})).await;
    assert_eq!(made.status, 201, "{made:?}");
    site.post(LOGIN, json!({})).await.problem(422, "invalid");
    let nobody = site.post(&format!("{LOGIN}?sub="), json!({})).await;
    nobody.problem(422, "bad_name");
    assert_eq!(nobody.field().as_deref(), Some("sub"));
}

#[tokio::test]
async fn pages_of_other_sites_sign_nobody_in() {
    let site = Site::start().await;
    let origin = [("Origin", "https://evil.example.com")];
    let answer = site.send("POST", &format!("{LOGIN}?sub=alice"), &origin, "").await;
    answer.problem(403, "foreign_page");
}

#[tokio::test]
async fn the_socket_repeats_what_it_hears() {
    let site = Site::start().await;
    let (mut socket, _) =
        connect_async(format!("ws://{}{SOCKET}", site.addr)).await.expect("a socket");
    for text in ["hello", "", "grüße 🎶"] {
        socket.send(Message::text(text)).await.expect("sent");
        let heard = socket.next().await.expect("an answer").expect("a message");
        assert_eq!(heard, Message::text(format!("Message text was: {text}")));
    }
    site.get(SOCKET).await.problem(426, "no_websocket");
}

#[tokio::test]
async fn where_users_are_real_there_is_none_of_it() {
    let store = Store::open("embedded:memory").await.expect("a store");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let addr = listener.local_addr().expect("an address");
    tokio::spawn(
        Server::new(Arc::new(Services::new(store, Options::default())))
            .run(listener, std::future::pending()),
    );
    let mut stream = TcpStream::connect(addr).await.expect("the server answers");
    let request = format!("POST {LOGIN}?sub=alice HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.0 403"), "{answer}");
    assert!(answer.contains(r#""type":"not_in_development""#), "{answer}");
    let refused = connect_async(format!("ws://{addr}{SOCKET}")).await.expect_err("no socket");
    assert!(matches!(refused, Error::Http(answer) if answer.status() == 403));
}
