//! HTTP/1.1 over TLS as cheaply as it goes: a request is bytes, an answer is cut off at its end, nothing of it is parsed.

use anyhow::{Context as _, Result, ensure};
use memchr::memmem;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::pki_types::ServerName};

use super::chunks::Chunks;

/// How much is read from the socket at once: two records of TLS. rustls itself reads 4 KB at a time.
const READ: usize = 32 * 1024;

/// A connection to a server.
pub(crate) struct Connection {
    stream: TlsStream<BufReader<TcpStream>>,
    received: Vec<u8>,
    /// What of that was read.
    at: usize,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str, tls: &TlsConnector) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let host = address.rsplit_once(':').context("an address without a port")?.0;
        let name = ServerName::try_from(host.to_owned())?;
        let stream = BufReader::with_capacity(READ, stream);
        Ok(Self {
            stream: tls.connect(name, stream).await?,
            received: vec![],
            at: 0,
            body: vec![],
        })
    }

    /// Sends a request and gives the body of the answer.
    ///
    /// # Errors
    ///
    /// When the connection breaks, or the answer is no success.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        let (status, length) = self.begin(request).await?;
        self.body.clear();
        if let Some(mut left) = length {
            loop {
                let piece = &self.received[self.at..];
                let piece = &piece[..left.min(piece.len())];
                self.body.extend_from_slice(piece);
                self.at += piece.len();
                left -= piece.len();
                if left == 0 {
                    break;
                }
                self.more().await?;
            }
        } else {
            let mut chunks = Chunks::default();
            loop {
                let body = &mut self.body;
                self.at += chunks.cut(&self.received[self.at..], |data| body.extend_from_slice(data));
                if chunks.ended() {
                    break;
                }
                self.more().await?;
            }
        }
        let text = || String::from_utf8_lossy(&self.body[..self.body.len().min(500)]);
        ensure!((200..300).contains(&status), "{status}: {}", text());
        Ok(&self.body)
    }

    /// Sends a request whose answer goes on and on.
    ///
    /// # Errors
    ///
    /// When the connection breaks, or the answer is no success.
    pub(crate) async fn watch(mut self, request: &[u8]) -> Result<Lines> {
        let (status, length) = self.begin(request).await?;
        ensure!(status == 200 && length.is_none(), "a watch: {status}");
        Ok(Lines {
            connection: self,
            chunks: Chunks::default(),
        })
    }

    /// The status of the answer, and how long its body is; without a length it is in chunks.
    async fn begin(&mut self, request: &[u8]) -> Result<(u16, Option<usize>)> {
        self.stream.write_all(request).await?;
        self.stream.flush().await?;
        let head = loop {
            match memmem::find(&self.received[self.at..], b"\r\n\r\n") {
                Some(end) => break &self.received[self.at..self.at + end],
                None => self.more().await?,
            }
        };
        let status = head.get(9..12).context("no status")?;
        let status = std::str::from_utf8(status)?.parse()?;
        let length = header(head, "content-length")
            .map(|value| anyhow::Ok(std::str::from_utf8(value)?.trim().parse()?));
        let length = length.transpose()?;
        self.at += head.len() + 4;
        Ok((status, length))
    }

    async fn more(&mut self) -> Result<()> {
        if self.at == self.received.len() {
            self.received.clear();
            self.at = 0;
        }
        self.received.reserve(READ / 2);
        let many = self.stream.read_buf(&mut self.received).await?;
        ensure!(many > 0, "the server ended the connection");
        Ok(())
    }
}

/// A header's value, as it stands there.
fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        key.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    })
}

/// An answer of lines that come by and by.
pub(crate) struct Lines {
    connection: Connection,
    chunks: Chunks,
}

impl Lines {
    /// Waits for so many lines, at least, and says how many came.
    ///
    /// # Errors
    ///
    /// When the answer ends before.
    pub(crate) async fn read(mut self, lines: usize) -> Result<usize> {
        let (connection, mut seen) = (&mut self.connection, 0);
        loop {
            let count = |data: &[u8]| seen += memchr::memchr_iter(b'\n', data).count();
            self.chunks.cut(&connection.received[connection.at..], count);
            connection.at = connection.received.len();
            if seen >= lines {
                return Ok(seen);
            }
            let last = || String::from_utf8_lossy(&connection.received[..connection.received.len().min(500)]);
            ensure!(!self.chunks.ended(), "a watch ended with {}", last());
            connection.more().await?;
        }
    }
}
