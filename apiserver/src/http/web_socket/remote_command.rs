//! Commands in pods: `exec` and `attach` with the protocol that kubectl uses.
//!
//! kube-apiserver accepts the upgrade before it connects to the kubelet, and sends a failure of that connection as a message. It passes requests with
//! older protocols to the kubelet, and returns a failure as an HTTP response.

use super::frames::{Opcode, close, frame, read_until_close};
use super::handshake::{self, handshake, serve};
use crate::go_json;
use crate::render::ApiResponse;
use crate::status::ApiError;
use http::HeaderValue;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use http::request::Parts;
use serde_json::Value;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// The protocol whose messages kube-apiserver reads and writes itself.
const PROTOCOL: &str = "v5.channel.k8s.io";
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
/// How long the client may take to close the connection after the messages.
const MAX_CLOSING: Duration = Duration::from_secs(5);

/// Whether the request asks for a WebSocket with this protocol.
pub(in crate::http) fn is_requested(parts: &Parts) -> bool {
    let protocols = parts.headers.get(SEC_WEBSOCKET_PROTOCOL);
    let protocols = protocols.and_then(|value| value.to_str().ok());
    let mut protocols = protocols.unwrap_or_default().split(',');
    handshake::is_requested(parts) && protocols.any(|protocol| protocol.trim() == PROTOCOL)
}

/// Upgrades the connection, and sends an error over it. The options are those of the request.
pub(in crate::http) fn refuse(parts: &Parts, options: &Value, error: &ApiError) -> ApiResponse {
    let mut response = match handshake(parts) {
        Ok(response) => response,
        Err(refusal) => return *refusal,
    };
    let protocol = HeaderValue::from_static(PROTOCOL);
    response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    let messages = messages(options, error);
    serve(parts, move |connection| send(connection, messages));
    response
}

/// Returns the messages: an empty one on the first channel that the server writes, which tells the client that the connection is open, and the
/// error. The first byte of a message is its channel.
fn messages(options: &Value, error: &ApiError) -> [Vec<u8>; 2] {
    let is_open = |stream: &str| options[stream].as_bool().unwrap_or_default();
    let first = match (is_open("stdout"), is_open("stderr")) {
        (true, _) => STDOUT,
        (false, true) => STDERR,
        (false, false) => ERROR,
    };
    let mut second = vec![ERROR];
    go_json::write_without_kind(&mut second, &error.status());
    [vec![first], second]
}

/// Sends the messages, and ends the connection.
async fn send(connection: impl AsyncRead + AsyncWrite, messages: [Vec<u8>; 2]) -> io::Result<()> {
    let (reader, mut writer) = tokio::io::split(connection);
    for message in messages {
        writer.write_all(&frame(Opcode::Binary, &message)).await?;
    }
    close(&mut writer).await?;
    // A connection that ends with unread input is reset, and the client may lose the messages.
    let (pings, _) = mpsc::channel(1);
    let closed = tokio::time::timeout(MAX_CLOSING, read_until_close(reader, pings)).await;
    closed.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, duplex};

    #[test]
    fn the_first_message_is_on_the_first_channel_that_is_written() {
        let error = ApiError::internal("no kubelet");
        for (options, channel) in [
            (json!({ "stdin": true, "stdout": true, "stderr": true }), 1),
            (json!({ "stderr": true }), 2),
            (json!({ "stdin": true }), 3),
        ] {
            let [first, second] = messages(&options, &error);
            assert_eq!(first, [channel]);
            let expected = "\x03{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Internal error occurred: no kubelet\",\
                \"reason\":\"InternalError\",\"details\":{\"causes\":[{\"message\":\"no kubelet\"}]},\"code\":500}";
            assert_eq!(String::from_utf8_lossy(&second), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn messages_are_followed_by_the_end_of_the_connection() {
        let (mut client, server) = duplex(1 << 10);
        // Standard input, which nobody reads.
        client.write_all(b"\x82\x82\0\0\0\0\0a").await.unwrap();
        let session = tokio::spawn(send(server, [vec![1], vec![3, b'{', b'}']]));
        let mut sent = vec![];
        client.read_to_end(&mut sent).await.unwrap();
        assert_eq!(sent, b"\x82\x01\x01\x82\x03\x03{}\x88\x02\x03\xe8");
        client.write_all(b"\x88\x80\0\0\0\0").await.unwrap();
        session.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_do_not_close_are_not_waited_for_without_end() {
        let (client, server) = duplex(1 << 10);
        send(server, [vec![1], vec![3]]).await.unwrap();
        drop(client);
    }
}
