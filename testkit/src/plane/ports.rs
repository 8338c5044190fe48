//! Loopback ports.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Ports that nobody has at this moment. Another process may take one before it is used: then we try again.
pub(super) fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Whether somebody listens; the error is the state.
pub(super) fn is_listening(port: u16) -> Result<(), String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).and_then(|stream| {
        // Who is given that very port to connect from meets nobody but themselves.
        let met_itself = stream.local_addr()? == stream.peer_addr()?;
        if met_itself {
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
    fn ports_differ_and_are_free() {
        let ports = free_ports::<8>().unwrap();
        for (index, port) in ports.iter().enumerate() {
            assert!(!ports[..index].contains(port), "{ports:?}");
            TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).unwrap();
        }
    }

    #[test]
    fn listener_is_seen() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(is_listening(port), Ok(()));
        // Its port is nobody else's to listen on.
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let port = client.local_addr().unwrap().port();
        assert!(
            is_listening(port)
                .unwrap_err()
                .starts_with(&format!("port {port}: "))
        );
    }
}
