//! Requests to etcd.

use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Whether etcd answers requests: it listens before it does.
pub(super) fn is_ready(port: u16) -> Result<(), String> {
    let response = request(port, "/v3/kv/range", &json!({ "key": "AA==" }));
    match response {
        Ok(response) if response.contains("\"header\"") => Ok(()),
        Ok(response) => Err(format!("etcd responded {response}")),
        Err(error) => Err(format!("etcd: {error}")),
    }
}

/// Sends a request to the JSON gateway, and returns the body of the response. With HTTP/1.0, the response is not chunked and ends with the
/// connection.
pub(super) fn request(port: u16, path: &str, body: &Value) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (_, body) = response.split_once("\r\n\r\n").unwrap_or_default();
    Ok(body.to_owned())
}
