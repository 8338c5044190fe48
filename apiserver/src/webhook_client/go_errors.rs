//! The messages of Go's HTTP client and of client-go's REST client.

use rustls::{CertificateError, Error as TlsError};
use std::io;

/// Describes a failed connection to an address.
pub(super) fn dial_error(host: &str, port: u16, error: &io::Error) -> String {
    let address = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused"),
        io::ErrorKind::ConnectionReset => format!("dial tcp {address}: connect: connection reset by peer"),
        // The resolver's error has no kind of its own.
        _ if error.raw_os_error().is_none() => format!("dial tcp: lookup {host}: no such host"),
        _ => format!("dial tcp {address}: {error}"),
    }
}

/// Describes a failed TLS handshake.
pub(super) fn handshake_error(server_name: &str, error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
    let why = match tls {
        Some(TlsError::InvalidCertificate(why)) => why,
        Some(TlsError::InvalidMessage(_)) => {
            return "tls: first record does not look like a TLS handshake".to_owned();
        }
        _ if error.kind() == io::ErrorKind::UnexpectedEof => return "EOF".to_owned(),
        _ => return error.to_string(),
    };
    let why = match why {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => wrong_name(server_name, presented),
        CertificateError::NotValidForName => wrong_name(server_name, &[]),
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// Describes a certificate for other names than the host.
fn wrong_name(server_name: &str, presented: &[String]) -> String {
    let is_address = server_name.parse::<std::net::IpAddr>().is_ok();
    let mut names: Vec<&str> = vec![];
    for name in presented {
        // rustls writes `DnsName("a.dev")` and `IpAddress(127.0.0.1)`.
        let (kind, name) = name.split_once('(').unwrap_or(("", name));
        if (kind == "IpAddress") == is_address {
            names.push(name.trim_end_matches(')').trim_matches('"'));
        }
    }
    match (names.as_slice(), is_address) {
        ([], true) => {
            format!("cannot validate certificate for {server_name} because it doesn't contain any IP SANs")
        }
        ([], false) => format!("certificate is not valid for any names, but wanted to match {server_name}"),
        (names, _) => format!("certificate is valid for {}, not {server_name}", names.join(", ")),
    }
}

/// Describes a response that is not a success.
pub(super) fn status_error(code: u16, body: &str) -> String {
    let text = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if body.is_empty() || body == UNKNOWN_BODY => {
            "the server was unable to respond with a content type that the client supports"
        }
        403 | 406 | 415 => body,
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            return format!("an error on the server ({body:?}) has prevented the request from succeeding");
        }
        _ => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    text.to_owned()
}

/// What client-go calls a body that is not text.
pub(super) const UNKNOWN_BODY: &str = "unknown";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_go() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(
            dial_error("::1", 1, &refused),
            "dial tcp [::1]:1: connect: connection refused"
        );
        let invalid = |why| {
            let error = io::Error::other(TlsError::InvalidCertificate(why));
            handshake_error("a.dev", &error)
        };
        let prefix = "tls: failed to verify certificate: x509: certificate";
        assert_eq!(
            invalid(CertificateError::UnknownIssuer),
            format!("{prefix} signed by unknown authority")
        );
        let presented = vec!["DnsName(\"b.dev\")".to_owned(), "IpAddress(127.0.0.1)".to_owned()];
        let error = wrong_name("a.dev", &presented);
        assert_eq!(error, "certificate is valid for b.dev, not a.dev");
        let error = wrong_name("::1", &presented);
        assert_eq!(error, "certificate is valid for 127.0.0.1, not ::1");
        assert_eq!(
            status_error(500, "x\"y"),
            r#"an error on the server ("x\"y") has prevented the request from succeeding"#
        );
    }
}
