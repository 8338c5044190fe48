//! Disruptions of a control plane: restarts of the API server, and compaction of the history.

use super::start::{self, StartError};
use super::{ControlPlane, etcd};
use crate::binaries::KUBE_APISERVER;
use serde_json::{Value, json};
use std::io;
use std::sync::PoisonError;
use std::time::Instant;

/// Number of attempts to restart while the port is in use.
const MAX_RESTART_ATTEMPTS: usize = 20;

/// etcd did not compact its history. `Debug` prints the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// etcd cannot be reached.
    #[error("etcd: {0}")]
    Unreachable(#[from] io::Error),
    /// etcd responded unexpectedly.
    #[error("etcd: unexpected response to {path}: {response}")]
    UnexpectedResponse {
        /// The path of the request.
        path: &'static str,
        /// The response.
        response: String,
    },
}

impl std::fmt::Debug for CompactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ControlPlane {
    /// Kills the API server and starts it again with the same port, certificates, tokens and objects. Returns when it is ready, after about
    /// 5 seconds. Concurrent calls are serialized.
    ///
    /// Whether it accepts a watch from an earlier version depends on whether its watch cache is filled in time. After
    /// [`ControlPlane::compact_history`] it rejects such a watch as expired.
    pub fn restart_api_server(&self) -> Result<(), StartError> {
        let mut api_server = self.api_server.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let mut attempt = 1;
        loop {
            let log_before = api_server.log().len();
            api_server.restart()?;
            let ready = start::wait_until(start, &mut [(KUBE_APISERVER, &mut api_server)], || {
                start::check_ok(&self.kubectl(), "/readyz")
            });
            // While the server was down, a client's outgoing connection may have taken the port.
            let log = api_server.log();
            let port_in_use = log[log_before.min(log.len())..].contains("address already in use");
            match ready {
                Err(StartError::Ended { .. }) if port_in_use && attempt < MAX_RESTART_ATTEMPTS => {
                    attempt += 1;
                }
                ready => return ready,
            }
        }
    }

    /// Compacts etcd's history, as it does itself every five minutes. Returns the oldest version that is left.
    ///
    /// The API server may still serve older versions from its watch cache, until [`ControlPlane::restart_api_server`], unless the resource
    /// has no cache (`--watch-cache-sizes=secrets#0`).
    pub fn compact_history(&self) -> Result<u64, CompactError> {
        // No object has this key; the write creates a new revision.
        let path = "/v3/kv/put";
        let response = etcd_request(self.etcd_port, path, &json!({ "key": "AA==", "value": "" }))?;
        let revision = response["header"]["revision"].as_str();
        let revision: u64 = revision
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| unexpected_response(path, &response))?;
        let path = "/v3/kv/compaction";
        let response = etcd_request(
            self.etcd_port,
            path,
            &json!({ "revision": revision.to_string(), "physical": true }),
        )?;
        let done = response["header"].is_object() || response.to_string().contains("has been compacted");
        if done {
            Ok(revision)
        } else {
            Err(unexpected_response(path, &response))
        }
    }
}

fn etcd_request(port: u16, path: &'static str, body: &Value) -> Result<Value, CompactError> {
    let response = etcd::request(port, path, body)?;
    serde_json::from_str(&response).map_err(|_| unexpected_response(path, &response))
}

fn unexpected_response(path: &'static str, response: &impl ToString) -> CompactError {
    let response = response.to_string();
    CompactError::UnexpectedResponse { path, response }
}
