//! TLS with as little CPU time as possible. All connections receive into one buffer, which stays in the processor's cache, and data is
//! decrypted in place.

use std::{
    cell::RefCell,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Poll, ready},
};

use anyhow::{Result, bail, ensure};
use tokio::{
    io::{AsyncRead as _, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::rustls::{
    ClientConfig,
    client::UnbufferedClientConnection,
    pki_types::ServerName,
    unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus},
};

/// Size of the receive buffer.
const RECEIVE_BUFFER_BYTES: usize = 256 * 1024;
/// Upper bound of what a TLS record adds to its payload.
const RECORD_OVERHEAD_BYTES: usize = 64;
const MAX_RECORD_BYTES: usize = 16 * 1024;

thread_local! {
    static RECEIVE_BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; RECEIVE_BUFFER_BYTES]);
}

/// A TLS connection.
pub(crate) struct TlsConnection {
    socket: TcpStream,
    session: UnbufferedClientConnection,
    /// The received part of an incomplete record.
    incomplete_record: Vec<u8>,
    /// Encrypted bytes to send.
    send_buffer: Vec<u8>,
    handshake_done: bool,
}

impl TlsConnection {
    pub(crate) async fn open(
        address: &str,
        host: ServerName<'static>,
        config: Arc<ClientConfig>,
    ) -> Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let mut tls = Self {
            socket,
            session: UnbufferedClientConnection::new(config, host)?,
            incomplete_record: vec![],
            send_buffer: vec![],
            handshake_done: false,
        };
        tls.process(&mut [], &mut |_| {})?;
        tls.flush().await?;
        while !tls.handshake_done {
            tls.receive(|_| {}).await?;
        }
        Ok(tls)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut []);
        let ConnectionState::WriteTraffic(mut traffic) = state? else {
            bail!("the TLS connection cannot send data now");
        };
        let records = bytes.len().div_ceil(MAX_RECORD_BYTES);
        self.send_buffer
            .resize(bytes.len() + records * RECORD_OVERHEAD_BYTES, 0);
        let count = traffic.encrypt(bytes, &mut self.send_buffer)?;
        self.send_buffer.truncate(count);
        self.flush().await
    }

    /// Receives once and passes decrypted data to `data`, piece by piece. There may be none.
    ///
    /// # Errors
    ///
    /// If the server closed the connection.
    pub(crate) async fn receive(&mut self, mut data: impl FnMut(&[u8])) -> Result<()> {
        poll_fn(|context| {
            RECEIVE_BUFFER.with_borrow_mut(|buffer| {
                let start = self.incomplete_record.len();
                let mut free = ReadBuf::new(&mut buffer[start..]);
                ready!(Pin::new(&mut self.socket).poll_read(context, &mut free))?;
                let count = free.filled().len();
                buffer[..start].copy_from_slice(&self.incomplete_record);
                self.incomplete_record.clear();
                Poll::Ready(self.process_received(&mut buffer[..start + count], count, &mut data))
            })
        })
        .await?;
        self.flush().await
    }

    fn process_received(
        &mut self,
        received: &mut [u8],
        new: usize,
        data: &mut impl FnMut(&[u8]),
    ) -> Result<()> {
        ensure!(new > 0, "the server closed the connection");
        let used = self.process(received, data)?;
        self.incomplete_record.extend_from_slice(&received[used..]);
        Ok(())
    }

    /// Processes complete records and returns how many bytes they had.
    fn process(&mut self, received: &mut [u8], data: &mut impl FnMut(&[u8])) -> Result<usize> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state } = self.session.process_tls_records(&mut received[used..]);
            let mut blocked = false;
            match state? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        data(record?.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut message) => {
                    let start = self.send_buffer.len();
                    if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
                        message.encode(&mut [])
                    {
                        self.send_buffer.resize(start + required_size, 0);
                    }
                    message.encode(&mut self.send_buffer[start..])?;
                }
                // The caller flushes the send buffer next.
                ConnectionState::TransmitTlsData(message) => message.done(),
                ConnectionState::BlockedHandshake => blocked = true,
                ConnectionState::WriteTraffic(_) => (self.handshake_done, blocked) = (true, true),
                _ => bail!("the server closed the connection"),
            }
            used += discard;
            if blocked {
                return Ok(used);
            }
        }
    }

    async fn flush(&mut self) -> Result<()> {
        if !self.send_buffer.is_empty() {
            self.socket.write_all(&self.send_buffer).await?;
            self.send_buffer.clear();
        }
        Ok(())
    }
}
