//! The bind address of the manager's servers.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use tokio::net::TcpListener;

/// A bind address: `host:port`, `:port` for all interfaces, or `0` or empty for off. Port 0 is any free port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BindAddress {
    Off,
    At {
        /// None: all interfaces.
        host: Option<String>,
        port: u16,
    },
}

/// A text that cannot be parsed as a [`BindAddress`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid address {0:?}: write `host:port`, `:port` for all interfaces, or `0` to switch the server off"
)]
pub(crate) struct BindAddressError(String);

impl FromStr for BindAddress {
    type Err = BindAddressError;

    fn from_str(text: &str) -> Result<Self, BindAddressError> {
        if text.is_empty() || text == "0" {
            return Ok(Self::Off);
        }
        let error = || BindAddressError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let port = port.parse().map_err(|_| error())?;
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(bracketed) => bracketed,
            // Without brackets the last group of an IPv6 address would be read as the port.
            None if host.contains(':') => return Err(error()),
            None => host,
        };
        let host = (!host.is_empty()).then(|| host.to_owned());
        Ok(Self::At { host, port })
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::At { host: None, port } => write!(f, ":{port}"),
            Self::At {
                host: Some(host),
                port,
            } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::At {
                host: Some(host),
                port,
            } => write!(f, "{host}:{port}"),
        }
    }
}

impl BindAddress {
    /// Returns the address of a flag; if it is not set, `port` in a cluster, where requests come from outside of the pod, else a free port of
    /// this machine, where `port` may be in use.
    pub(crate) fn or_default(flag: Option<Self>, in_cluster: bool, port: u16) -> Self {
        flag.unwrap_or_else(|| {
            let (host, port) = if in_cluster {
                (None, port)
            } else {
                (Some("127.0.0.1".to_owned()), 0)
            };
            Self::At { host, port }
        })
    }

    /// Whether it names a port, which only one server can have.
    pub(crate) fn has_port(&self) -> bool {
        matches!(self, Self::At { port, .. } if *port != 0)
    }

    /// Whether only this machine, or this pod, can reach it. Other host names than `localhost` count as not.
    pub(crate) fn is_loopback(&self) -> bool {
        let Self::At { host: Some(host), .. } = self else {
            return false;
        };
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Binds the address; returns none if it is off.
    pub(crate) async fn listen(&self) -> std::io::Result<Option<TcpListener>> {
        match self {
            Self::Off => Ok(None),
            Self::At {
                host: Some(host),
                port,
            } => TcpListener::bind((host.as_str(), *port)).await.map(Some),
            // Both address families where the host has IPv6, else IPv4 only.
            Self::At { host: None, port } => {
                let (v6, v4) = (
                    SocketAddr::from(([0u16; 8], *port)),
                    SocketAddr::from(([0u8; 4], *port)),
                );
                TcpListener::bind([v6, v4].as_slice()).await.map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_addresses_parse_to_the_same() {
        for text in ["0", ":8080", "127.0.0.1:0", "localhost:8080", "[::1]:8080"] {
            assert_eq!(text.parse::<BindAddress>().unwrap().to_string(), text);
        }
        assert_eq!("".parse(), Ok(BindAddress::Off));
    }

    #[test]
    fn loopback_addresses_are_known() {
        let is_loopback = |text: &str| text.parse::<BindAddress>().unwrap().is_loopback();
        for text in ["127.0.0.1:0", "127.1.2.3:80", "[::1]:80", "localhost:80"] {
            assert!(is_loopback(text), "{text}");
        }
        for text in [
            "0",
            ":80",
            "0.0.0.0:80",
            "[::]:80",
            "10.0.0.1:80",
            "example.com:80",
        ] {
            assert!(!is_loopback(text), "{text}");
        }
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for text in ["8080", "localhost", "::1:8080", ":http", "127.0.0.1:70000"] {
            assert_eq!(
                text.parse::<BindAddress>(),
                Err(BindAddressError(text.to_owned()))
            );
        }
    }
}
