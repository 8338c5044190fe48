//! An HTTPS connection that sends reviews one after the other, and the certificate of the server.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use rcgen::{CertificateParams, KeyPair};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, RootCertStore, pki_types::ServerName},
};

const HOST: &str = "webhooks.bench";

/// Writes `tls.crt` and `tls.key` into the folder, and returns a connector that trusts them.
pub(crate) fn certificate(folder: &Path) -> Result<TlsConnector> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([HOST.to_owned()])?.self_signed(&key)?;
    fs::write(folder.join("tls.crt"), certificate.pem())?;
    fs::write(folder.join("tls.key"), key.serialize_pem())?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone())?;
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

/// One connection. It parses only HTTP responses with status 200 and a Content-Length.
pub(crate) struct ReviewClient {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

impl ReviewClient {
    pub(crate) async fn connect(address: SocketAddr, connector: &TlsConnector) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream = connector.connect(ServerName::try_from(HOST)?, stream).await?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// Sends a body, and returns the body of the answer.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Result<String> {
        let length = body.len();
        let head = format!(
            "POST {path}?timeout=10s HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        self.stream
            .write_all(&[head.as_bytes(), body.as_bytes()].concat())
            .await?;
        self.stream.flush().await?;
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await?;
            ensure!(read > 0, "the server closed the connection");
            if let Some(answer) = body_of(&self.buffer)? {
                return Ok(answer);
            }
        }
    }
}

/// Returns the body of a whole response; none if a part is missing.
fn body_of(response: &[u8]) -> Result<Option<String>> {
    let Some(end) = memchr::memmem::find(response, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = str::from_utf8(&response[..end])?;
    ensure!(head.starts_with("HTTP/1.1 200"), "the server answered {head}");
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    };
    let length: usize = header("content-length")
        .context("the answer has no length")?
        .parse()?;
    let body = &response[end + 4..];
    Ok((body.len() >= length).then(|| String::from_utf8_lossy(body).into_owned()))
}
