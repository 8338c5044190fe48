//! HTTP/1.1 over TLS as cheaply as it goes: a request is bytes, an answer is cut off at its end, nothing of it is parsed.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use memchr::memmem;
use tokio_rustls::rustls::{ClientConfig, pki_types::ServerName};

use super::{chunks::Chunks, tls::Tls};

/// A connection to a server.
pub(crate) struct Connection {
    tls: Tls,
    received: Vec<u8>,
    /// What of that was read.
    at: usize,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str, config: Arc<ClientConfig>) -> Result<Self> {
        let host = address.rsplit_once(':').context("an address without a port")?.0;
        let name = ServerName::try_from(host.to_owned())?;
        Ok(Self {
            tls: Tls::open(address, name, config).await?,
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
        self.tls.send(request).await?;
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
        let received = &mut self.received;
        self.tls.receive(|data| received.extend_from_slice(data)).await
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
    pub(crate) async fn read(self, lines: usize) -> Result<usize> {
        let (mut connection, mut chunks) = (self.connection, self.chunks);
        // The beginning of what came last, which may say why the watch ended.
        let (mut seen, mut last) = (0, vec![]);
        let mut count = |chunks: &mut Chunks, received: &[u8]| {
            chunks.cut(received, |data| {
                seen += memchr::memchr_iter(b'\n', data).count();
                last.clear();
                last.extend_from_slice(&data[..data.len().min(200)]);
            });
            seen
        };
        let mut seen = count(&mut chunks, &connection.received[connection.at..]);
        while seen < lines && !chunks.ended() {
            let read = |data: &[u8]| seen = count(&mut chunks, data);
            connection.tls.receive(read).await?;
        }
        let last = String::from_utf8_lossy(&last);
        ensure!(seen >= lines, "a watch ended with {last}");
        Ok(seen)
    }
}
