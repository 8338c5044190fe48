//! The handshake, after which a connection is a WebSocket.

use crate::render::{ApiResponse, respond};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;
use http::header::{
    CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

/// What the key of a handshake is hashed with.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION: &str = "13";

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
pub(in crate::http) fn is_requested(parts: &Parts) -> bool {
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

/// Returns the response that accepts the upgrade, or the one that refuses it.
pub(super) fn handshake(parts: &Parts) -> Result<ApiResponse, Box<ApiResponse>> {
    let headers = &parts.headers;
    if parts.method != Method::GET {
        return Err(Box::new(refusal(405, "bad method")));
    }
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
    let mut response = respond::status(StatusCode::SWITCHING_PROTOCOLS);
    let accepted = response.headers_mut();
    accepted.insert(UPGRADE, HeaderValue::from_static("websocket"));
    accepted.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(value) = HeaderValue::from_str(&accept_key(key.as_bytes())) {
        accepted.insert(SEC_WEBSOCKET_ACCEPT, value);
    }
    Ok(response)
}

/// Returns a response that refuses the upgrade.
pub(super) fn refusal(code: u16, why: &'static str) -> ApiResponse {
    let mut response = respond::bytes(code, "text/plain", why);
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

/// Runs a session on the connection when it is upgraded. An error in it means that the client has gone.
pub(super) fn serve<S>(parts: &Parts, session: impl FnOnce(TokioIo<Upgraded>) -> S + Send + 'static)
where
    S: Future<Output = io::Result<()>> + Send,
{
    let upgrade = parts.extensions.get::<OnUpgrade>().cloned();
    let slot = parts.extensions.get::<UpgradedSession>();
    if let Some((upgrade, slot)) = upgrade.zip(slot) {
        *slot.0.lock() = Some(Box::pin(async move {
            if let Ok(upgraded) = upgrade.await {
                let _ = session(TokioIo::new(upgraded)).await;
            }
        }));
    }
}

fn accept_key(key: &[u8]) -> String {
    // The protocol demands this hash; nothing depends on its strength.
    let mut hash = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key);
    hash.update(KEY_SUFFIX.as_bytes());
    BASE64_STANDARD.encode(hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hashed_as_the_standard_says() {
        assert_eq!(
            accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn handshakes_need_a_key_and_the_version() {
        let code = |method: Method, removed: HeaderName| {
            let mut request = http::Request::builder().method(method);
            for (name, value) in [(SEC_WEBSOCKET_KEY, "a"), (SEC_WEBSOCKET_VERSION, VERSION)] {
                if name != removed {
                    request = request.header(name, value);
                }
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let response = handshake(&parts).unwrap_or_else(|refusal| *refusal);
            assert!(!response.headers().contains_key(CONTENT_TYPE));
            response.status().as_u16()
        };
        assert_eq!(code(Method::GET, UPGRADE), 101);
        assert_eq!(code(Method::POST, UPGRADE), 405);
        assert_eq!(code(Method::GET, SEC_WEBSOCKET_KEY), 400);
        assert_eq!(code(Method::GET, SEC_WEBSOCKET_VERSION), 400);
    }
}
