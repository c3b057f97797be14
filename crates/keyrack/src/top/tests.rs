//! What `top` shows, beside the dashboard.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
};

use keyrack_jobs::{
    bee::{Hive, Submission, keys::QueueName},
    hot,
};
use keyrack_server::Server;
use keyrack_services::{Options, Services, alerts::alerts};
use keyrack_store::Store;
use tokio::net::TcpListener;

use super::snapshot::SnapshotReader;

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_and_top_show_the_same_alerts() {
    let store = Store::open("embedded:memory").await.expect("a store");
    let hive = Hive::open(store.clone()).await.expect("opened");
    for queue in ["mail/send", "archive/old"] {
        hive.submit(Submission::new(queue).expect("a queue")).await.expect("submitted");
    }
    hive.pause(&QueueName::new("archive/old").expect("a name")).await.expect("paused");
    let unknown = hot::keys::unknown();
    for (command, args) in
        [("RPUSH", [&*store.place(&unknown), "no handler"]), ("SET", ["a key of nobody", "1"])]
    {
        redis::cmd(command).arg(&args).exec_async(&mut store.connection()).await.expect(command);
    }

    let mut reader = SnapshotReader::new(store.clone());
    let on_top = alerts(&reader.read().await.expect("a look").facts);
    let on_top: Vec<(String, String)> =
        on_top.into_iter().map(|alert| (alert.subject, alert.text)).collect();
    assert_eq!(on_top.len(), 3, "{on_top:?}");

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let services = Arc::new(Services::new(store, Options::default()));
    let serving = tokio::spawn(Server::new(services).run(listener, std::future::pending()));
    let page = tokio::task::spawn_blocking(move || first_page(address)).await.expect("a page");
    serving.abort();
    let rows = page.split("<span class=\"severity\">").skip(1).map(|row| {
        let between = |from: &str, to| row.split_once(from)?.1.split_once(to).map(|(text, _)| text);
        let subject = between("<strong>", "</strong>").expect("a subject");
        (subject.to_owned(), between("<span>", "</span>").expect("a text").to_owned())
    });
    assert_eq!(rows.collect::<Vec<_>>(), on_top);
}

fn first_page(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(
        stream,
        "GET / HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}
