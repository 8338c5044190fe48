//! TLS as cheaply as it goes. All connections receive into one piece of memory, which stays in the processor's cache, and what is decrypted
//! is looked at where it lies.

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

/// How much is received at once.
const READ: usize = 256 * 1024;
/// More than a record adds to what is in it.
const OVERHEAD: usize = 64;
const RECORD: usize = 16 * 1024;

thread_local! {
    static RECEIVED: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// A connection over which bytes go.
pub(crate) struct Tls {
    socket: TcpStream,
    session: UnbufferedClientConnection,
    /// What was received of a record that is not whole.
    rest: Vec<u8>,
    /// What is to be sent.
    sent: Vec<u8>,
    agreed: bool,
}

impl Tls {
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
            rest: vec![],
            sent: vec![],
            agreed: false,
        };
        tls.process(&mut [], &mut |_| {})?;
        tls.flush().await?;
        while !tls.agreed {
            tls.receive(|_| {}).await?;
        }
        Ok(tls)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut []);
        let ConnectionState::WriteTraffic(mut traffic) = state? else {
            bail!("nothing can be sent now");
        };
        let records = bytes.len().div_ceil(RECORD);
        self.sent.resize(bytes.len() + records * OVERHEAD, 0);
        let many = traffic.encrypt(bytes, &mut self.sent)?;
        self.sent.truncate(many);
        self.flush().await
    }

    /// Waits for something and gives it to `data`, piece by piece. It may be nothing that is data.
    ///
    /// # Errors
    ///
    /// When the connection is at its end.
    pub(crate) async fn receive(&mut self, mut data: impl FnMut(&[u8])) -> Result<()> {
        poll_fn(|context| {
            RECEIVED.with_borrow_mut(|buffer| {
                let rest = self.rest.len();
                let mut free = ReadBuf::new(&mut buffer[rest..]);
                ready!(Pin::new(&mut self.socket).poll_read(context, &mut free))?;
                let many = free.filled().len();
                buffer[..rest].copy_from_slice(&self.rest);
                self.rest.clear();
                Poll::Ready(self.process_received(&mut buffer[..rest + many], many, &mut data))
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
        ensure!(new > 0, "the server ended the connection");
        let used = self.process(received, data)?;
        self.rest.extend_from_slice(&received[used..]);
        Ok(())
    }

    /// Looks at records, and says how many bytes these were.
    fn process(&mut self, received: &mut [u8], data: &mut impl FnMut(&[u8])) -> Result<usize> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state } = self.session.process_tls_records(&mut received[used..]);
            let mut waits = false;
            match state? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        data(record?.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut message) => {
                    let start = self.sent.len();
                    if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
                        message.encode(&mut [])
                    {
                        self.sent.resize(start + required_size, 0);
                    }
                    message.encode(&mut self.sent[start..])?;
                }
                // It is sent before anything else is done.
                ConnectionState::TransmitTlsData(message) => message.done(),
                ConnectionState::BlockedHandshake => waits = true,
                ConnectionState::WriteTraffic(_) => (self.agreed, waits) = (true, true),
                _ => bail!("the server ended the connection"),
            }
            used += discard;
            if waits {
                return Ok(used);
            }
        }
    }

    async fn flush(&mut self) -> Result<()> {
        if !self.sent.is_empty() {
            self.socket.write_all(&self.sent).await?;
            self.sent.clear();
        }
        Ok(())
    }
}
