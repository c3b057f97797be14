//! A throw-away server that speaks S3.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use crate::{Port, Process, clients, wait_for};

/// A server with buckets in memory, on a port of its own. It takes any credentials.
#[derive(Debug)]
pub struct S3Server {
    process: Process,
    port: Port,
}

impl S3Server {
    /// Starts one and waits until it answers.
    ///
    /// # Panics
    /// When the set-up has not run, or when it does not come up.
    #[track_caller]
    pub fn start() -> S3Server {
        let port = Port::lease();
        let process = spawn(&port);
        let server = S3Server { process, port };
        server.wait();
        server
    }

    /// The endpoint.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number())
    }

    /// Makes a bucket.
    ///
    /// # Panics
    /// When the server does not.
    #[track_caller]
    pub fn create_bucket(&self, name: &str) {
        let answer = self.ask("PUT", &format!("/{name}")).expect("the S3 server answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "the bucket \"{name}\": {answer}");
    }

    /// The names of all objects in a bucket, sorted.
    ///
    /// # Panics
    /// When the server does not answer, or has more to tell than it does at once.
    #[track_caller]
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let answer = self.ask("GET", &format!("/{bucket}?list-type=2&max-keys=1000"));
        let answer = answer.expect("the S3 server answers");
        assert!(answer.contains("<IsTruncated>false</IsTruncated>"), "{answer}");
        let keys = answer.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let mut keys: Vec<String> = keys.map(str::to_owned).collect();
        keys.sort();
        keys
    }

    /// Ends it, and everything it holds. What is asked of it from now on fails.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    #[track_caller]
    fn wait(&self) {
        wait_for("the S3 server to answer", || self.ask("GET", "/"));
    }

    /// The answer to a request without a body; none if nobody listens.
    fn ask(&self, method: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port.number())).ok()?;
        // The header tells moto which of Amazon's services is meant.
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        (!answer.is_empty()).then_some(answer)
    }
}

#[track_caller]
fn spawn(port: &Port) -> Process {
    let mut command = Process::command(clients::s3_python());
    command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.number().to_string()]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Process::spawn("the S3 server", command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_made_and_gone_with_the_server() {
        let mut server = S3Server::start();
        server.create_bucket("shelf");
        assert!(server.ask("GET", "/").expect("an answer").contains("<Name>shelf</Name>"));
        server.kill();
        assert_eq!(server.ask("GET", "/"), None);
    }
}
