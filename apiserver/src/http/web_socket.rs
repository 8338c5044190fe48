//! Watches over WebSockets (RFC 6455), by which fabric8's client for Java watches: each event is a message.
//!
//! A WebSocket library would bring a dozen crates into every build that embeds this server, and nearly all of them for clients: this server
//! only sends messages, answers pings, and notices that the client closes. The handshake is that of golang.org/x/net/websocket.

use crate::render::{ApiResponse, Body, PROTOBUF, respond};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{
    CONNECTION, CONTENT_TYPE, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::BodyExt as _;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// The status of a close frame.
const NORMAL_CLOSURE: u16 = 1000;
/// What the key of a handshake is hashed with.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION: &str = "13";
/// The longest payload of a ping.
const MAX_CONTROL_BYTES: u64 = 125;
/// Frames from the client that are larger end the connection: clients of a watch have nothing to send.
const MAX_RECEIVED_BYTES: u64 = 1 << 20;

/// What is done on a connection after it was upgraded. The connection's task runs it, so that it ends with the server.
#[derive(Clone, Default)]
pub(crate) struct UpgradedSession(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl UpgradedSession {
    /// Takes the session of a connection that was upgraded.
    pub(crate) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.0.lock().take()
    }
}

/// Whether the request asks for a WebSocket, over a connection that can become one.
pub(super) fn is_requested(parts: &Parts) -> bool {
    let has = |name: HeaderName, wanted: &str| {
        let values = parts.headers.get_all(name).iter();
        let texts = values.filter_map(|value| value.to_str().ok());
        texts
            .flat_map(|text| text.split(','))
            .any(|text| text.trim().eq_ignore_ascii_case(wanted))
    };
    has(CONNECTION, "upgrade")
        && has(UPGRADE, "websocket")
        && parts.extensions.get::<OnUpgrade>().is_some()
        && parts.extensions.get::<UpgradedSession>().is_some()
}

/// Upgrades the connection, and sends the events of a watch, the response to the same request over HTTP.
pub(super) fn upgrade(parts: &Parts, watch: ApiResponse) -> ApiResponse {
    let mut response = match handshake(&parts.headers) {
        Ok(response) => response,
        Err(refusal) => return *refusal,
    };
    let upgrade = parts.extensions.get::<OnUpgrade>().cloned();
    let session = parts.extensions.get::<UpgradedSession>();
    if let Some((upgrade, session)) = upgrade.zip(session) {
        let content_type = watch.headers().get(CONTENT_TYPE);
        let is_binary = content_type.is_some_and(|value| value.as_bytes().starts_with(PROTOBUF.as_bytes()));
        let events = watch.into_body();
        *session.0.lock() = Some(Box::pin(async move {
            if let Ok(upgraded) = upgrade.await {
                // The client has gone, or the watch has ended.
                let _ = send_events(TokioIo::new(upgraded), events, is_binary).await;
            }
        }));
    }
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

/// Returns the response that accepts the upgrade, or the one that refuses it.
fn handshake(headers: &HeaderMap) -> Result<ApiResponse, Box<ApiResponse>> {
    let refusal = |code: u16, text: &'static str| {
        let mut response = respond::bytes(code, "text/plain", text);
        response.headers_mut().remove(CONTENT_TYPE);
        response
    };
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY).filter(|key| !key.is_empty()) else {
        return Err(Box::new(refusal(400, "mismatch challenge/response")));
    };
    if headers
        .get(SEC_WEBSOCKET_VERSION)
        .is_none_or(|version| version != VERSION)
    {
        let mut response = refusal(400, "missing or bad WebSocket Version");
        let version = HeaderValue::from_static(VERSION);
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, version);
        return Err(Box::new(response));
    }
    if headers.get(ORIGIN).is_none_or(HeaderValue::is_empty) {
        return Err(Box::new(refusal(403, "")));
    }
    let protocol = headers.get(SEC_WEBSOCKET_PROTOCOL);
    if protocol.is_some_and(|protocol| protocol.as_bytes().contains(&b',')) {
        return Err(Box::new(refusal(400, "")));
    }
    let mut response = respond::status(StatusCode::SWITCHING_PROTOCOLS);
    let accepted = response.headers_mut();
    accepted.insert(UPGRADE, HeaderValue::from_static("websocket"));
    accepted.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(value) = HeaderValue::from_str(&accept_key(key.as_bytes())) {
        accepted.insert(SEC_WEBSOCKET_ACCEPT, value);
    }
    accepted.extend(protocol.map(|protocol| (SEC_WEBSOCKET_PROTOCOL, protocol.clone())));
    Ok(response)
}

fn accept_key(key: &[u8]) -> String {
    // The protocol demands this hash; nothing depends on its strength.
    let mut hash = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key);
    hash.update(KEY_SUFFIX.as_bytes());
    BASE64_STANDARD.encode(hash.finish())
}

#[derive(Clone, Copy)]
enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Sends events until the watch ends or the client closes.
async fn send_events(
    connection: impl AsyncRead + AsyncWrite + Send,
    mut events: Body,
    is_binary: bool,
) -> io::Result<()> {
    let (reader, mut writer) = tokio::io::split(connection);
    let (pings, mut received) = mpsc::channel(1);
    let mut closed = Box::pin(read_until_close(reader, pings));
    let opcode = if is_binary { Opcode::Binary } else { Opcode::Text };
    loop {
        tokio::select! {
            outcome = &mut closed => {
                outcome?;
                // The client waits for the answer to its close frame.
                writer.write_all(&frame(Opcode::Close, &NORMAL_CLOSURE.to_be_bytes())).await?;
                return writer.shutdown().await;
            }
            Some(payload) = received.recv() => writer.write_all(&frame(Opcode::Pong, &payload)).await?,
            event = events.frame() => {
                let Some(Ok(data)) = event.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default())) else {
                    writer.write_all(&frame(Opcode::Close, &NORMAL_CLOSURE.to_be_bytes())).await?;
                    return writer.shutdown().await;
                };
                for message in messages(&data, is_binary) {
                    writer.write_all(&frame(opcode, message)).await?;
                }
            }
        }
        writer.flush().await?;
    }
}

/// Splits a part of a watch's body, which has whole events, into these: lines of JSON, or protobuf after its length.
fn messages(data: &Bytes, is_binary: bool) -> Vec<&[u8]> {
    if !is_binary {
        return data.split_inclusive(|byte| *byte == b'\n').collect();
    }
    let (mut rest, mut found) = (&data[..], vec![]);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (message, after) = after.split_at(length.min(after.len()));
        found.push(message);
        rest = after;
    }
    found
}

/// Returns a frame with a whole message, unmasked as servers send it.
fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode as u8];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < 126 => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// Reads what the client sends, until it closes. Passes on the payload of pings.
async fn read_until_close(
    mut reader: impl AsyncRead + Unpin,
    pings: mpsc::Sender<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let (first, second) = (reader.read_u8().await?, reader.read_u8().await?);
        let (opcode, is_masked) = (first & 0x0f, second & 0x80 != 0);
        let length = match second & 0x7f {
            126 => u64::from(reader.read_u16().await?),
            127 => reader.read_u64().await?,
            length => u64::from(length),
        };
        if opcode == Opcode::Close as u8 || !is_masked || length > MAX_RECEIVED_BYTES {
            return Ok(());
        }
        let mut mask = [0; 4];
        reader.read_exact(&mut mask).await?;
        let mut payload = vec![];
        (&mut reader).take(length).read_to_end(&mut payload).await?;
        if opcode == Opcode::Ping as u8 && length <= MAX_CONTROL_BYTES {
            let masked = payload.iter_mut().zip(mask.iter().cycle());
            masked.for_each(|(byte, mask)| *byte ^= mask);
            // If one ping is not answered yet, this one need not be.
            let _ = pings.try_send(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use tokio::io::duplex;

    #[test]
    fn keys_are_hashed_as_the_standard_says() {
        assert_eq!(
            accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn handshakes_need_version_and_origin_and_at_most_one_protocol() {
        let code = |removed: HeaderName, protocol: Option<&'static str>| {
            let mut headers = HeaderMap::from_iter([
                (SEC_WEBSOCKET_KEY, HeaderValue::from_static("a")),
                (SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION)),
                (ORIGIN, HeaderValue::from_static("https://a.dev")),
            ]);
            headers.remove(removed);
            headers.extend(protocol.map(|name| (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(name))));
            let response = handshake(&headers).unwrap_or_else(|refusal| *refusal);
            (
                response.status().as_u16(),
                response.headers().contains_key(SEC_WEBSOCKET_PROTOCOL),
            )
        };
        assert_eq!(code(UPGRADE, None), (101, false));
        assert_eq!(code(UPGRADE, Some("a")), (101, true));
        assert_eq!(code(UPGRADE, Some("a, b")), (400, false));
        assert_eq!(code(SEC_WEBSOCKET_KEY, None), (400, false));
        assert_eq!(code(SEC_WEBSOCKET_VERSION, None), (400, false));
        assert_eq!(code(ORIGIN, None), (403, false));
    }

    #[test]
    fn lengths_of_frames_take_one_three_or_nine_bytes() {
        for (length, header) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65535, vec![0x81, 126, 255, 255]),
            (65536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let frame = frame(Opcode::Text, &vec![b'a'; length]);
            assert_eq!(frame.len(), header.len() + length);
            assert_eq!(frame[..header.len()], header);
        }
    }

    #[test]
    fn events_are_messages() {
        let lines = Bytes::from_static(b"{1}\n{2}\n");
        assert_eq!(messages(&lines, false), [b"{1}\n", b"{2}\n"]);
        let binary = Bytes::from_static(b"\0\0\0\x01a\0\0\0\x02bc");
        assert_eq!(messages(&binary, true), [&b"a"[..], b"bc"]);
    }

    fn body(text: &'static str) -> Body {
        Full::new(Bytes::from_static(text.as_bytes()))
            .map_err(|never| match never {})
            .boxed_unsync()
    }

    #[tokio::test]
    async fn a_watch_that_ends_closes_the_connection() {
        let (mut client, server) = duplex(1 << 10);
        send_events(server, body("{}\n"), false).await.unwrap();
        let mut sent = vec![];
        client.read_to_end(&mut sent).await.unwrap();
        assert_eq!(sent, b"\x81\x03{}\n\x88\x02\x03\xe8");
    }

    #[tokio::test]
    async fn pings_are_answered_until_the_client_closes() {
        let (mut client, server) = duplex(1 << 10);
        let endless = futures::stream::pending::<Result<hyper::body::Frame<Bytes>, _>>();
        let endless = http_body_util::StreamBody::new(endless).boxed_unsync();
        let session = tokio::spawn(send_events(server, endless, false));
        // A text, which is ignored, and a ping, both masked with zeros and ones.
        client
            .write_all(b"\x81\x81\0\0\0\0a\x89\x82\x01\x01\x01\x01bc")
            .await
            .unwrap();
        let mut pong = [0; 4];
        client.read_exact(&mut pong).await.unwrap();
        assert_eq!(&pong, b"\x8a\x02cb");
        client.write_all(b"\x88\x80\0\0\0\0").await.unwrap();
        session.await.unwrap().unwrap();
        let mut rest = vec![];
        client.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"\x88\x02\x03\xe8");
    }
}
