//! Watches: each event is a message.

use super::frames::{Opcode, close, frame, read_until_close};
use super::handshake::{self, handshake, refusal};
use crate::render::{ApiResponse, Body, PROTOBUF};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ORIGIN, SEC_WEBSOCKET_PROTOCOL};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt as _;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// Upgrades the connection, and sends the events of a watch, the response to the same request over HTTP.
pub(in crate::http) fn upgrade(parts: &Parts, watch: ApiResponse) -> ApiResponse {
    let mut response = match handshake(parts) {
        Ok(response) => response,
        Err(refusal) => return *refusal,
    };
    let protocol = match protocol(&parts.headers) {
        Ok(protocol) => protocol.cloned(),
        Err(refusal) => return *refusal,
    };
    let protocol = protocol.map(|protocol| (SEC_WEBSOCKET_PROTOCOL, protocol));
    response.headers_mut().extend(protocol);
    let content_type = watch.headers().get(CONTENT_TYPE);
    let is_binary = content_type.is_some_and(|value| value.as_bytes().starts_with(PROTOBUF.as_bytes()));
    let events = watch.into_body();
    handshake::serve(parts, move |connection| {
        send_events(connection, events, is_binary)
    });
    response
}

/// Returns the subprotocol, which may be any.
fn protocol(headers: &HeaderMap) -> Result<Option<&HeaderValue>, Box<ApiResponse>> {
    if headers.get(ORIGIN).is_none_or(HeaderValue::is_empty) {
        return Err(Box::new(refusal(403, "")));
    }
    let protocol = headers.get(SEC_WEBSOCKET_PROTOCOL);
    if protocol.is_some_and(|protocol| protocol.as_bytes().contains(&b',')) {
        return Err(Box::new(refusal(400, "")));
    }
    Ok(protocol)
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
                return close(&mut writer).await;
            }
            Some(payload) = received.recv() => writer.write_all(&frame(Opcode::Pong, &payload)).await?,
            event = events.frame() => {
                let Some(Ok(data)) = event.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default())) else {
                    return close(&mut writer).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt as _, duplex};

    #[test]
    fn watches_need_an_origin_and_at_most_one_protocol() {
        let code = |origin: Option<&'static str>, protocol: Option<&'static str>| {
            let origin = origin.map(|origin| (ORIGIN, HeaderValue::from_static(origin)));
            let protocol = protocol.map(|name| (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(name)));
            let headers: HeaderMap = origin.into_iter().chain(protocol).collect();
            super::protocol(&headers)
                .map(Option::<&HeaderValue>::cloned)
                .map_err(|refusal| refusal.status().as_u16())
        };
        let origin = Some("https://a.dev");
        assert_eq!(code(origin, None), Ok(None));
        assert_eq!(code(origin, Some("a")), Ok(Some(HeaderValue::from_static("a"))));
        assert_eq!(code(origin, Some("a, b")), Err(400));
        assert_eq!(code(None, None), Err(403));
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
