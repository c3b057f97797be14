//! A plain RESP client that sees every byte's meaning: what differs on the wire must differ here.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// One reply as it stood on the wire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Frame {
    Status(String),
    Error(String),
    Int(i64),
    Bulk(Vec<u8>),
    Nil(&'static str),
    Double(String),
    Bool(bool),
    Verbatim(Vec<u8>),
    BigNumber(String),
    Array(Vec<Frame>),
    Set(Vec<Frame>),
    Push(Vec<Frame>),
    Map(Vec<(Frame, Frame)>),
}

/// A connection to one server.
pub(crate) struct Wire {
    reader: BufReader<TcpStream>,
}

impl Wire {
    pub(crate) fn connect(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP option");
        let mut wire = Wire { reader: BufReader::new(stream) };
        wire.patience(Duration::from_secs(5));
        wire
    }

    /// How long [`Wire::read`] waits.
    pub(crate) fn patience(&mut self, patience: Duration) {
        self.reader.get_ref().set_read_timeout(Some(patience)).expect("a TCP option");
    }

    pub(crate) fn call(&mut self, args: &[impl AsRef<[u8]>]) -> Frame {
        self.send(args);
        self.read().unwrap_or_else(|error| Frame::Error(format!("(no answer: {error})")))
    }

    pub(crate) fn send(&mut self, args: &[impl AsRef<[u8]>]) {
        self.try_send(args).expect("the server reads");
    }

    /// Sends to a server that may be gone.
    pub(crate) fn try_send(&mut self, args: &[impl AsRef<[u8]>]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            let arg = arg.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            bytes.extend_from_slice(arg);
            bytes.extend_from_slice(b"\r\n");
        }
        self.reader.get_mut().write_all(&bytes)
    }

    pub(crate) fn read(&mut self) -> io::Result<Frame> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        if line.len() < 3 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&line[1..line.len() - 2]).into_owned();
        let n = || text.parse::<i64>().expect("a number on the wire");
        Ok(match line[0] {
            b'+' => Frame::Status(text),
            b'-' => Frame::Error(text),
            b':' => Frame::Int(n()),
            b'_' => Frame::Nil("_"),
            b',' => Frame::Double(text),
            b'#' => Frame::Bool(text == "t"),
            b'(' => Frame::BigNumber(text),
            b'$' if text == "-1" => Frame::Nil("$"),
            b'*' if text == "-1" => Frame::Nil("*"),
            b'$' => Frame::Bulk(self.read_bytes(n())?),
            b'=' => Frame::Verbatim(self.read_bytes(n())?),
            b'*' => Frame::Array(self.read_frames(n())?),
            b'~' => Frame::Set(self.read_frames(n())?),
            b'>' => Frame::Push(self.read_frames(n())?),
            b'%' => {
                let mut items = self.read_frames(2 * n())?.into_iter();
                let mut pairs = Vec::new();
                while let (Some(field), Some(value)) = (items.next(), items.next()) {
                    pairs.push((field, value));
                }
                Frame::Map(pairs)
            }
            other => panic!("no reply starts with {:?}", char::from(other)),
        })
    }

    /// Whether an answer has begun to arrive.
    pub(crate) fn is_ready(&self) -> bool {
        let stream = self.reader.get_ref();
        stream.set_nonblocking(true).expect("a TCP option");
        let ready = !self.reader.buffer().is_empty() || stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).expect("a TCP option");
        ready
    }

    fn read_bytes(&mut self, n: i64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(n).expect("a length") + 2];
        self.reader.read_exact(&mut bytes)?;
        bytes.truncate(bytes.len() - 2);
        Ok(bytes)
    }

    fn read_frames(&mut self, n: i64) -> io::Result<Vec<Frame>> {
        (0..n).map(|_| self.read()).collect()
    }
}

impl Frame {
    /// Sorts what has no order: members, and pairs by their field.
    pub(crate) fn unordered(mut self) -> Frame {
        match &mut self {
            Frame::Array(items) | Frame::Set(items) => items.sort(),
            Frame::Map(pairs) => pairs.sort(),
            _ => {}
        }
        self
    }

    /// Sorts a flat list of fields and values by field.
    pub(crate) fn unordered_pairs(self) -> Frame {
        let Frame::Array(items) = self else { return self.unordered() };
        let mut pairs: Vec<[Frame; 2]> =
            items.chunks_exact(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
        pairs.sort();
        Frame::Array(pairs.into_iter().flatten().collect())
    }

    /// What kind of reply this is, and how many items it has.
    pub(crate) fn shape(&self) -> (std::mem::Discriminant<Frame>, usize) {
        let n = match self {
            Frame::Array(items) | Frame::Set(items) | Frame::Push(items) => items.len(),
            Frame::Map(pairs) => pairs.len(),
            _ => 0,
        };
        (std::mem::discriminant(self), n)
    }

    pub(crate) fn items(self) -> Vec<Frame> {
        match self {
            Frame::Array(items) | Frame::Set(items) | Frame::Push(items) => items,
            _ => Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Frame::Bulk(bytes) => bytes,
            Frame::Status(text) => text.as_bytes(),
            _ => b"",
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Frame::Error(_))
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, mark: &str, items: &[Frame]| {
            write!(f, "{mark}[")?;
            for (i, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if i > 0 { " " } else { "" })?;
            }
            write!(f, "]")
        };
        match self {
            Frame::Status(text) => write!(f, "+{text}"),
            Frame::Error(text) => write!(f, "-{text}"),
            Frame::Int(n) => write!(f, ":{n}"),
            Frame::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Frame::Nil(mark) => write!(f, "{mark}nil"),
            Frame::Double(text) => write!(f, ",{text}"),
            Frame::Bool(yes) => write!(f, "#{yes}"),
            Frame::Verbatim(bytes) => write!(f, "=\"{}\"", bytes.escape_ascii()),
            Frame::BigNumber(text) => write!(f, "({text}"),
            Frame::Array(items) => list(f, "*", items),
            Frame::Set(items) => list(f, "~", items),
            Frame::Push(items) => list(f, ">", items),
            Frame::Map(pairs) => {
                write!(f, "%[")?;
                for (field, value) in pairs {
                    write!(f, "{field}={value} ")?;
                }
                write!(f, "]")
            }
        }
    }
}
