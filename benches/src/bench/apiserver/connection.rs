//! HTTP/1.1 over TLS with as little CPU time as possible: requests are prepared bytes, and responses are delimited but not parsed.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use memchr::memmem;
use tokio_rustls::rustls::{ClientConfig, pki_types::ServerName};

use super::{chunks::ChunkDecoder, tls::TlsConnection};

/// A connection to an API server.
pub(crate) struct Connection {
    tls: TlsConnection,
    received: Vec<u8>,
    /// The number of bytes of `received` that were consumed.
    consumed: usize,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str, config: Arc<ClientConfig>) -> Result<Self> {
        let host = address.rsplit_once(':').context("the address has no port")?.0;
        let name = ServerName::try_from(host.to_owned())?;
        Ok(Self {
            tls: TlsConnection::open(address, name, config).await?,
            received: vec![],
            consumed: 0,
            body: vec![],
        })
    }

    /// Sends a request and returns the response body.
    ///
    /// # Errors
    ///
    /// If the connection breaks or the response is not a success.
    pub(crate) async fn send_request(&mut self, request: &[u8]) -> Result<&[u8]> {
        let (status, length) = self.send_and_read_head(request).await?;
        self.body.clear();
        if let Some(mut left) = length {
            loop {
                let piece = &self.received[self.consumed..];
                let piece = &piece[..left.min(piece.len())];
                self.body.extend_from_slice(piece);
                self.consumed += piece.len();
                left -= piece.len();
                if left == 0 {
                    break;
                }
                self.receive_more().await?;
            }
        } else {
            let mut decoder = ChunkDecoder::default();
            loop {
                let body = &mut self.body;
                self.consumed += decoder.decode(&self.received[self.consumed..], |data| {
                    body.extend_from_slice(data);
                });
                if decoder.is_finished() {
                    break;
                }
                self.receive_more().await?;
            }
        }
        let text = || String::from_utf8_lossy(&self.body[..self.body.len().min(500)]);
        ensure!((200..300).contains(&status), "{status}: {}", text());
        Ok(&self.body)
    }

    /// Sends a watch request and returns its lines.
    ///
    /// # Errors
    ///
    /// If the connection breaks or the response is not a success.
    pub(crate) async fn watch(mut self, request: &[u8]) -> Result<WatchLines> {
        let (status, length) = self.send_and_read_head(request).await?;
        ensure!(
            status == 200 && length.is_none(),
            "the watch failed with status {status}"
        );
        Ok(WatchLines {
            connection: self,
            decoder: ChunkDecoder::default(),
        })
    }

    /// Sends a request and reads the response head. Returns status code and content length; without a length, the body is chunked.
    async fn send_and_read_head(&mut self, request: &[u8]) -> Result<(u16, Option<usize>)> {
        self.tls.send(request).await?;
        let head = loop {
            match memmem::find(&self.received[self.consumed..], b"\r\n\r\n") {
                Some(end) => break &self.received[self.consumed..self.consumed + end],
                None => self.receive_more().await?,
            }
        };
        let status = head.get(9..12).context("the response has no status code")?;
        let status = std::str::from_utf8(status)?.parse()?;
        let length = header(head, "content-length")
            .map(|value| anyhow::Ok(std::str::from_utf8(value)?.trim().parse()?));
        let length = length.transpose()?;
        self.consumed += head.len() + 4;
        Ok((status, length))
    }

    async fn receive_more(&mut self) -> Result<()> {
        if self.consumed == self.received.len() {
            self.received.clear();
            self.consumed = 0;
        }
        let received = &mut self.received;
        self.tls.receive(|data| received.extend_from_slice(data)).await
    }
}

/// Returns a header's value, untrimmed.
fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        key.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    })
}

/// The lines of a watch.
pub(crate) struct WatchLines {
    connection: Connection,
    decoder: ChunkDecoder,
}

impl WatchLines {
    /// Waits for at least `lines` lines and returns how many were received.
    ///
    /// # Errors
    ///
    /// If the watch ends before that.
    pub(crate) async fn read(self, lines: usize) -> Result<usize> {
        let (mut connection, mut decoder) = (self.connection, self.decoder);
        // The start of the last data, which may contain the reason for the watch's end.
        let (mut seen, mut last) = (0, vec![]);
        let mut count = |decoder: &mut ChunkDecoder, received: &[u8]| {
            decoder.decode(received, |data| {
                seen += memchr::memchr_iter(b'\n', data).count();
                last.clear();
                last.extend_from_slice(&data[..data.len().min(200)]);
            });
            seen
        };
        let mut seen = count(&mut decoder, &connection.received[connection.consumed..]);
        while seen < lines && !decoder.is_finished() {
            let read = |data: &[u8]| seen = count(&mut decoder, data);
            connection.tls.receive(read).await?;
        }
        let last = String::from_utf8_lossy(&last);
        ensure!(seen >= lines, "a watch ended early with {last}");
        Ok(seen)
    }
}
