//! What a cluster goes through: an API server that dies and comes back, and a history that is forgotten.

use super::ControlPlane;
use super::start::{self, StartError};
use crate::binaries::KUBE_APISERVER;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long etcd may take over one request.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a taken port is waited for.
const ATTEMPTS: usize = 20;

/// etcd did not compact its history. `Debug` shows the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// It cannot be spoken to.
    #[error("etcd: {0}")]
    Unreachable(#[from] io::Error),
    /// It answers something else than expected.
    #[error("etcd answers {path} with: {answer}")]
    Refused {
        /// What was asked for.
        path: &'static str,
        /// The answer.
        answer: String,
    },
}

impl std::fmt::Debug for CompactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ControlPlane {
    /// Kills the API server without a chance to say goodbye, and starts it again: same port, certificates, tokens and
    /// objects. Returns when it is ready, after some 5 seconds. One restart at a time; a second caller waits.
    ///
    /// Whether it answers a watch from a version of before depends on whether its cache is filled by then. After
    /// [`ControlPlane::compact_history`] it surely refuses that as expired.
    pub fn restart_api_server(&self) -> Result<(), StartError> {
        let mut api_server = self.api_server.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let mut attempt = 1;
        loop {
            let log_before = api_server.log().len();
            api_server.restart()?;
            let ready = start::wait_until(start, &mut [(KUBE_APISERVER, &mut api_server)], || {
                start::answers_ok(&self.kubectl(), "/readyz")
            });
            // While it was away, a client's own end of a connection may have got the port.
            let log = api_server.log();
            let taken = log[log_before.min(log.len())..].contains("address already in use");
            match ready {
                Err(StartError::Ended { .. }) if taken && attempt < ATTEMPTS => attempt += 1,
                ready => return ready,
            }
        }
    }

    /// Makes etcd forget every version that anybody has seen, as it does by itself every five minutes, and returns the version that is the
    /// oldest one now.
    ///
    /// The API server may still answer for older versions out of its own cache: until [`ControlPlane::restart_api_server`], and not at all
    /// where it has none (`--watch-cache-sizes=secrets#0`).
    pub fn compact_history(&self) -> Result<u64, CompactError> {
        // No object has this key, but a version it makes.
        let path = "/v3/kv/put";
        let answer = self.ask_etcd(path, &json!({ "key": "AA==", "value": "" }))?;
        let revision = answer["header"]["revision"].as_str();
        let revision: u64 = revision
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| refused(path, &answer))?;
        let path = "/v3/kv/compaction";
        let answer = self.ask_etcd(
            path,
            &json!({ "revision": revision.to_string(), "physical": true }),
        )?;
        let done = answer["header"].is_object() || answer.to_string().contains("has been compacted");
        if done {
            Ok(revision)
        } else {
            Err(refused(path, &answer))
        }
    }

    /// etcd speaks JSON too. In HTTP/1.0 the answer ends with the connection and is not cut into chunks.
    fn ask_etcd(&self, path: &'static str, body: &Value) -> Result<Value, CompactError> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.etcd_port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = body.to_string();
        write!(
            stream,
            "POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        serde_json::from_str(body).map_err(|_| refused(path, &answer))
    }
}

fn refused(path: &'static str, answer: &impl ToString) -> CompactError {
    let answer = answer.to_string();
    CompactError::Refused { path, answer }
}
