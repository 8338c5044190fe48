//! Loopback ports.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Returns unused ports. Another process may take one before it is used; then the start is retried.
pub(super) fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut ports = [0; N];
    let mut listeners = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

/// Whether a server listens on the port; the error is the connection error.
pub(super) fn is_listening(port: u16) -> Result<(), String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).and_then(|stream| {
        // A client that is assigned this very port connects to itself.
        let connected_to_itself = stream.local_addr()? == stream.peer_addr()?;
        if connected_to_itself {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok(())
    });
    connected.map_err(|error| format!("port {port}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_are_distinct_and_unused() {
        let ports = free_ports::<8>().unwrap();
        for (index, port) in ports.iter().enumerate() {
            assert!(!ports[..index].contains(port), "{ports:?}");
            TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).unwrap();
        }
    }

    #[test]
    fn is_listening_detects_a_listener() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(is_listening(port), Ok(()));
        // The port of the client's end has no listener.
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let port = client.local_addr().unwrap().port();
        assert!(
            is_listening(port)
                .unwrap_err()
                .starts_with(&format!("port {port}: "))
        );
    }
}
