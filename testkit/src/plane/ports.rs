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
    TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .map(drop)
        .map_err(|error| format!("port {port}: {error}"))
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
        drop(listener);
        assert!(
            is_listening(port)
                .unwrap_err()
                .starts_with(&format!("port {port}: "))
        );
    }
}
