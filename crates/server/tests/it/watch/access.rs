//! Who may watch.

use super::*;

#[tokio::test]
async fn unknown_users_and_unknown_traces_look_alike() {
    let stage = Stage::new().await;
    let mut seen = Vec::new();
    for sub in ["alice", "nobody"] {
        let mut events = stage.site.stream(&EVENTS.replace("alice", sub), &[]).await;
        let mut client = Client::connect(&stage.site).await;
        client.say(json!({"sub": sub, "pbar_name": "import", "uid": "t"})).await;
        client.is_ready().await;
        seen.push((events.next().await.data, client.hear().await));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_bar_of_the_command_line_is_watched_though_its_user_never_had_a_token() {
    let site = Site::start().await;
    let local = keyrack_keys::UserSub::new("local").expect("a subject");
    let progress = site.progress();
    let (pbar_name, uid, step_name) = ("import".to_owned(), "t".to_owned(), "load".to_owned());
    let now = progress.now();
    let trace = NewTrace { pbar_name, uid, step_name, iterations: None, now, reports_every: None };
    progress.create_trace(&local, &trace).await.expect("begun");
    let mut client = Client::connect(&site).await;
    client.say(json!({"sub": "local", "pbar_name": "import", "uid": "t"})).await;
    client.is_ready().await;
    check(&client.hear().await, "load", false);
}

/// A server that asks everybody for a token.
async fn locked(public_traces: Option<bool>) -> Stage {
    let access = Access { auth: Auth::Required, public_traces, ..Access::default() };
    let stage = Stage { site: Site::letting_in(access).await };
    stage.begin().await;
    stage
}

#[tokio::test]
async fn watching_takes_a_token_where_everything_does() {
    let stage = locked(None).await;
    let (alice, bob) = (jwt("alice"), jwt("bob"));
    let staff = stage.site.token_of("staff", Role::Viewer).await;
    for (token, refusal) in [
        (None, Some((401, "not_set"))),
        (Some("ep_ut_wrong"), Some((403, "invalid"))),
        (Some(&*bob), Some((403, "forbidden"))),
        (Some(&*alice), None),
        (Some(&*staff), None),
    ] {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> =
            bearer.iter().map(|value| ("Authorization", value.as_str())).collect();
        for sub in ["alice", "nobody"] {
            let mut client = Client::connect(&stage.site).await;
            let mut packet = json!({"sub": sub, "pbar_name": "import", "uid": "t"});
            if let Some(token) = token {
                packet["token"] = token.into();
            }
            client.say(packet).await;
            let path = EVENTS.replace("alice", sub);
            let refusal = match refusal {
                // The token of a user says nothing about other users, whether there are any.
                None if sub == "nobody" && token == Some(&*alice) => Some((403, "forbidden")),
                refusal => refusal,
            };
            match refusal {
                None => {
                    client.is_ready().await;
                    stage.site.stream(&path, &headers).await.next().await;
                }
                Some((status, kind)) => {
                    let told = client.hear().await;
                    assert_eq!(
                        (&told["error_category"], &told["error_type"]),
                        (&status.into(), &kind.into())
                    );
                    assert_eq!(client.closed().await, 1008);
                    stage.site.send("GET", &path, &headers, "").await.problem(status, kind);
                }
            }
        }
    }
}

#[tokio::test]
async fn traces_are_public_for_those_who_ask_for_it() {
    let stage = locked(Some(true)).await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    stage.site.stream(EVENTS, &[]).await.next().await;
    let access = Access { public_traces: Some(false), ..Access::default() };
    let closed = Stage { site: Site::letting_in(access).await };
    // Who is on this machine may do everything anyway.
    closed.site.stream(EVENTS, &[]).await.next().await;
    let relayed = [("Via", "1.1 proxy")];
    closed.site.send("GET", EVENTS, &relayed, "").await.problem(401, "not_set");
}

#[tokio::test]
async fn pages_of_other_sites_open_no_websocket() {
    let origins = vec!["https://app.example.com".to_owned()];
    let site = Site::letting_in(Access { origins, ..Access::default() }).await;
    let own = format!("http://{}", site.addr);
    for path in [PATH, "/api/2/journeys/live", "/api/2/test/ws"] {
        for (origin, passes) in [
            ("https://evil.example.com", false),
            ("null", false),
            ("http://127.0.0.1:1", false),
            ("https://app.example.com", path != "/api/2/test/ws"),
            (own.as_str(), true),
        ] {
            let mut request =
                format!("ws://{}{path}", site.addr).into_client_request().expect("a request");
            request.headers_mut().insert("origin", origin.parse().expect("a value"));
            let opened = connect_async(request).await;
            match (opened, passes) {
                (Ok(_), true) => {}
                (Err(Error::Http(refused)), false) => assert_eq!(refused.status(), 403),
                (opened, _) => panic!("{path} from {origin}: {opened:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_is_answered_with_a_reason() {
    let stage = Stage::new().await;
    let mut stream = TcpStream::connect(stage.site.addr).await.expect("the server answers");
    let request = format!(
        "GET {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut bytes).await.expect("a response") > 0);
    }
    // A masked text frame of five megabytes, of which nothing follows.
    let mut frame = vec![0x81, 0x80 | 127];
    frame.extend(5_000_000_u64.to_be_bytes());
    frame.extend([0; 4]);
    stream.write_all(&frame).await.expect("sent");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("the end");
    assert_eq!((rest[0], u16::from_be_bytes([rest[2], rest[3]])), (0x88, 1009), "{rest:?}");
}
