//! A TCP proxy that can misbehave like a network: it breaks, pauses and refuses connections.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which the listener polls for connections and for its own end.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Buffer size for one read.
const BUFFER_BYTES: usize = 16 * 1024;

/// Forwards TCP connections from its own loopback port to a target, unchanged: TLS passes through.
///
/// Each method takes effect before it returns. Dropping the proxy breaks all connections. If the target cannot be reached, a new connection
/// is accepted and closed; only [`Proxy::refuse`] refuses connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<ProxyShared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct ProxyShared {
    state: Mutex<ProxyState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ProxyState {
    /// The client's and the target's stream, with the number of the connection.
    connections: Vec<(u64, Arc<(TcpStream, TcpStream)>)>,
    accepted: u64,
    paused: bool,
    accept_mode: AcceptMode,
    is_listening: bool,
}

/// What to do with new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AcceptMode {
    #[default]
    Accept,
    Refuse,
    /// The proxy was dropped.
    Stop,
}

impl Proxy {
    /// Listens on a free port.
    pub fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(ProxyShared::default());
        shared.lock().is_listening = true;
        let thread = {
            let shared = shared.clone();
            std::thread::spawn(move || shared.listen(listener, address, target))
        };
        Ok(Self {
            address,
            shared,
            listener: Some(thread),
        })
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections.len()
    }

    /// The number of connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.shared.lock().accepted
    }

    /// Breaks the selected connections in both directions, and returns their number. Connections are numbered from 1 in the order in which
    /// they were accepted.
    pub fn break_connections(&self, mut select: impl FnMut(u64) -> bool) -> usize {
        let selected: Vec<_> = self
            .shared
            .lock()
            .connections
            .extract_if(.., |(number, _)| select(*number))
            .collect();
        for (_, pair) in &selected {
            close_both(pair);
        }
        // Wake paused threads of the broken connections.
        self.shared.changed.notify_all();
        selected.len()
    }

    /// Breaks all connections and returns their number.
    pub fn break_all(&self) -> usize {
        self.break_connections(|_| true)
    }

    /// Pauses forwarding in both directions until [`Proxy::resume`]. Connections stay open, and new ones are accepted.
    pub fn pause(&self) {
        self.shared.lock().paused = true;
    }

    /// Resumes forwarding, held back bytes first.
    pub fn resume(&self) {
        self.shared.lock().paused = false;
        self.shared.changed.notify_all();
    }

    /// Refuses new connections, like a port without listener, until [`Proxy::accept`]. Open ones stay.
    pub fn refuse(&self) {
        self.set_accept_mode(AcceptMode::Refuse);
    }

    /// Accepts connections again.
    pub fn accept(&self) {
        self.set_accept_mode(AcceptMode::Accept);
    }

    fn set_accept_mode(&self, accept_mode: AcceptMode) {
        let mut state = self.shared.lock();
        state.accept_mode = accept_mode;
        while state.is_listening != (accept_mode == AcceptMode::Accept) {
            state = self.shared.wait(state);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().accept_mode = AcceptMode::Stop;
        if let Some(listener) = self.listener.take() {
            // The thread does not panic, or there is nothing to do about it here.
            let _ = listener.join();
        }
        self.break_all();
    }
}

impl ProxyShared {
    fn lock(&self) -> MutexGuard<'_, ProxyState> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, ProxyState>) -> MutexGuard<'a, ProxyState> {
        let state = self.changed.wait(state);
        state.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn listen(self: Arc<Self>, listener: TcpListener, address: SocketAddr, target: SocketAddr) {
        let mut listener = Some(listener);
        loop {
            let mut state = self.lock();
            match state.accept_mode {
                AcceptMode::Stop => return,
                AcceptMode::Refuse => listener = None,
                AcceptMode::Accept if listener.is_some() => {}
                // A client may use the port for its own end of a connection for a moment.
                AcceptMode::Accept => {
                    listener = TcpListener::bind(address)
                        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                        .ok();
                }
            }
            state.is_listening = listener.is_some();
            drop(state);
            self.changed.notify_all();
            match listener.as_ref().map(TcpListener::accept) {
                Some(Ok((client, _))) => self.clone().connect(client, target),
                _ => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// If the target cannot be reached, the client's stream is dropped, which closes it.
    fn connect(self: Arc<Self>, client: TcpStream, target: SocketAddr) {
        let Ok(target) = TcpStream::connect(target) else {
            return;
        };
        // Forward small writes at once. An accepted stream may have inherited non-blocking mode.
        let prepared = client
            .set_nonblocking(false)
            .and_then(|()| client.set_nodelay(true))
            .and_then(|()| target.set_nodelay(true));
        if prepared.is_err() {
            return;
        }
        let pair = Arc::new((client, target));
        let number = {
            let mut state = self.lock();
            state.accepted += 1;
            let number = state.accepted;
            state.connections.push((number, pair.clone()));
            number
        };
        for from_client in [true, false] {
            let (shared, pair) = (self.clone(), pair.clone());
            std::thread::spawn(move || shared.copy_direction(number, &pair, from_client));
        }
    }

    /// Copies one direction until either direction ends.
    fn copy_direction(&self, number: u64, pair: &(TcpStream, TcpStream), from_client: bool) {
        let (mut from, mut to) = if from_client {
            (&pair.0, &pair.1)
        } else {
            (&pair.1, &pair.0)
        };
        let mut buffer = vec![0; BUFFER_BYTES];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let mut state = self.lock();
            while state.paused && state.connections.iter().any(|(known, _)| *known == number) {
                state = self.wait(state);
            }
            drop(state);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        close_both(pair);
        self.lock().connections.retain(|(known, _)| *known != number);
        self.changed.notify_all();
    }
}

/// An error means that the stream is already closed.
fn close_both((client, target): &(TcpStream, TcpStream)) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = target.shutdown(Shutdown::Both);
}
