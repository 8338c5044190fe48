//! A forwarder of connections that misbehaves on request, as networks do: it cuts, holds back and refuses.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the listener looks whether it is to go on.
const PAUSE: Duration = Duration::from_millis(5);

/// The most that is read at once.
const BUFFER: usize = 16 * 1024;

/// Forwards connections from a loopback port of its own to a target, byte by byte: TLS passes through untouched.
///
/// What is asked of it is done when the call returns. Dropping it cuts all connections. When the target cannot be
/// reached, a new connection is accepted and cut: only [`Proxy::refuse`] refuses.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Client and target, by the number of the connection.
    connections: Vec<(u64, Arc<(TcpStream, TcpStream)>)>,
    accepted: u64,
    held: bool,
    door: Door,
    is_listening: bool,
}

/// What becomes of new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Door {
    #[default]
    Open,
    Shut,
    /// The proxy ends.
    Gone,
}

impl Proxy {
    /// Listens on a free port.
    pub fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared::default());
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections.len()
    }

    /// How many connections there have been.
    pub fn accepted(&self) -> u64 {
        self.shared.lock().accepted
    }

    /// Cuts the connections that are chosen, both ways and at once, and says how many those were. They are numbered
    /// in the order in which they came, from 1.
    pub fn cut(&self, mut choose: impl FnMut(u64) -> bool) -> usize {
        let chosen: Vec<_> = self
            .shared
            .lock()
            .connections
            .extract_if(.., |(number, _)| choose(*number))
            .collect();
        for (_, pair) in &chosen {
            sever(pair);
        }
        // Those that hold bytes back see that they need not.
        self.shared.changed.notify_all();
        chosen.len()
    }

    /// Cuts all connections and says how many there were.
    pub fn cut_all(&self) -> usize {
        self.cut(|_| true)
    }

    /// Holds back what arrives, both ways, until [`Proxy::release`]; connections stay open, and new ones are accepted.
    pub fn hold(&self) {
        self.shared.lock().held = true;
    }

    /// Forwards again, what was held back first.
    pub fn release(&self) {
        self.shared.lock().held = false;
        self.shared.changed.notify_all();
    }

    /// Refuses new connections, as a port does on which nobody listens, until [`Proxy::accept`]. Open ones stay.
    pub fn refuse(&self) {
        self.set(Door::Shut);
    }

    /// Accepts connections again.
    pub fn accept(&self) {
        self.set(Door::Open);
    }

    fn set(&self, door: Door) {
        let mut state = self.shared.lock();
        state.door = door;
        while state.is_listening != (door == Door::Open) {
            state = self.shared.wait(state);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().door = Door::Gone;
        if let Some(listener) = self.listener.take() {
            // It panics in no case that would be worth telling here.
            let _ = listener.join();
        }
        self.cut_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let state = self.changed.wait(state);
        state.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn listen(self: Arc<Self>, listener: TcpListener, address: SocketAddr, target: SocketAddr) {
        let mut listener = Some(listener);
        loop {
            let mut state = self.lock();
            match state.door {
                Door::Gone => return,
                Door::Shut => listener = None,
                Door::Open if listener.is_some() => {}
                // A client's own end of a connection may have the port for a moment.
                Door::Open => {
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
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// When the target is not there, the client's connection is dropped, and so cut.
    fn connect(self: Arc<Self>, client: TcpStream, target: SocketAddr) {
        let Ok(target) = TcpStream::connect(target) else {
            return;
        };
        // Bytes are passed on as they come. An accepted stream may have inherited that it does not block.
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
        for forth in [true, false] {
            let (shared, pair) = (self.clone(), pair.clone());
            std::thread::spawn(move || shared.pump(number, &pair, forth));
        }
    }

    /// Ends with the connection: an end of one direction is one of both.
    fn pump(&self, number: u64, pair: &(TcpStream, TcpStream), forth: bool) {
        let (mut from, mut to) = if forth {
            (&pair.0, &pair.1)
        } else {
            (&pair.1, &pair.0)
        };
        let mut buffer = vec![0; BUFFER];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let mut state = self.lock();
            while state.held && state.connections.iter().any(|(known, _)| *known == number) {
                state = self.wait(state);
            }
            drop(state);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        sever(pair);
        self.lock().connections.retain(|(known, _)| *known != number);
        self.changed.notify_all();
    }
}

/// An error means that it is severed already.
fn sever((client, target): &(TcpStream, TcpStream)) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = target.shutdown(Shutdown::Both);
}
