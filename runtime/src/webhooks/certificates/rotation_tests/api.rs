//! An API server in memory behind a bad network: one Secret and two configurations. It checks, at every write, that whatever certificate a
//! replica serves is trusted by whatever bundle an API server may use.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::client::Body;
use parking_lot::Mutex;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use rustls::{
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    server::ParsedCertificate,
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};

use super::{LAG, SECRET_PATH, SERVER_NAME};
use crate::{
    Clock,
    webhooks::certificates::{authority::Authority, serving::ServingCertificate, validity::unix_time},
};

pub(super) const CONFIGURATION_PATHS: [&str; 2] = [
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/shop",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.demo.dev",
];

pub(super) type SharedApi = Arc<Mutex<Api>>;

pub(super) struct Api {
    pub(super) random: StdRng,
    clock: Clock,
    version: u64,
    /// All versions of the Secret.
    secrets: Vec<Value>,
    configurations: [Value; 2],
    /// The bundles that each configuration had, and until when.
    old_bundles: [Vec<(Timestamp, String)>; 2],
    watchers: Vec<(usize, mpsc::UnboundedSender<Bytes>)>,
    /// Until when the network of a replica is cut.
    pub(super) cut_until: Vec<Timestamp>,
    pub(super) has_faults: bool,
    /// Whether to check what each replica serves.
    pub(super) checks: bool,
    pub(super) serving: Vec<Option<Arc<ServingCertificate>>>,
    pub(super) violation: Option<String>,
    pub(super) requests: Vec<String>,
    pub(super) conflicts: usize,
}

impl Api {
    pub(super) fn new(seed: u64, clock: Clock, replicas: usize) -> Self {
        let configuration = |config: Value| json!({"metadata": {"name": "shop", "resourceVersion": "1"}, "webhooks": [{"name": "a", "clientConfig": config}]});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop", "namespace": "default", "resourceVersion": "1"}});
        Self {
            random: StdRng::seed_from_u64(seed),
            cut_until: vec![Timestamp::MIN; replicas],
            serving: vec![None; replicas],
            clock,
            version: 1,
            secrets: vec![secret],
            configurations: [
                configuration(json!({})),
                json!({"metadata": {"name": "foos.demo.dev", "resourceVersion": "1"}, "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {}}}}}),
            ],
            old_bundles: [vec![], vec![]],
            watchers: Vec::new(),
            has_faults: false,
            checks: false,
            violation: None,
            requests: Vec::new(),
            conflicts: 0,
        }
    }

    /// An entry of the Secret; empty if it has none.
    pub(super) fn entry(&self, key: &str) -> String {
        let data = self.secrets.last().map_or(&Value::Null, |secret| &secret["data"]);
        serde_json::from_value::<ByteString>(data[key].clone())
            .map(|value| String::from_utf8_lossy(&value.0).into_owned())
            .unwrap_or_default()
    }

    /// Changes the Secret, as a user does.
    pub(super) fn edit_secret(&mut self, data: Value) {
        let mut secret = self.secrets.last().cloned().unwrap_or_default();
        secret["data"] = data;
        self.store_secret(secret);
    }

    pub(super) fn secret_data(&self) -> Value {
        self.secrets
            .last()
            .map_or(Value::Null, |secret| secret["data"].clone())
    }

    /// Changes a bundle, as a user does.
    pub(super) fn edit_bundle(&mut self, index: usize, bundle: &str) {
        let mut configuration = self.configurations[index].clone();
        *bundle_of(&mut configuration) = json!(ByteString(bundle.as_bytes().to_vec()));
        self.store_configuration(index, configuration);
    }

    /// Changes the conversion of the definition, as a user does; returns the one before.
    pub(super) fn edit_conversion(&mut self, conversion: Value) -> Value {
        let mut definition = self.configurations[1].clone();
        let before = std::mem::replace(&mut definition["spec"]["conversion"], conversion);
        self.store_configuration(1, definition);
        before
    }

    pub(super) fn bundle(&self, index: usize) -> String {
        let value = bundle_of(&mut self.configurations[index].clone()).clone();
        serde_json::from_value::<ByteString>(value)
            .map(|value| String::from_utf8_lossy(&value.0).into_owned())
            .unwrap_or_default()
    }

    fn store_secret(&mut self, mut secret: Value) -> Value {
        self.version += 1;
        secret["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.secrets.push(secret.clone());
        let event = event(&secret);
        let cut = self.cut_until.clone();
        let now = self.clock.now();
        // A watch that is cut stays open, and is silent.
        self.watchers
            .retain(|(replica, watcher)| cut[*replica] > now || watcher.send(event.clone()).is_ok());
        self.check();
        secret
    }

    fn store_configuration(&mut self, index: usize, mut configuration: Value) -> Value {
        self.version += 1;
        configuration["metadata"]["resourceVersion"] = self.version.to_string().into();
        let (now, old) = (self.clock.now(), self.bundle(index));
        self.old_bundles[index].push((now, old));
        self.configurations[index] = configuration.clone();
        self.check();
        configuration
    }

    /// Checks that each replica's certificate is trusted by each bundle that an API server may use.
    pub(super) fn check(&mut self) {
        let now = self.clock.now();
        if !self.checks || self.violation.is_some() {
            return;
        }
        for index in 0..2 {
            self.old_bundles[index].retain(|(until, _)| now.duration_since(*until) < LAG);
            let mut bundles: Vec<String> = self.old_bundles[index]
                .iter()
                .map(|(_, bundle)| bundle.clone())
                .collect();
            bundles.push(self.bundle(index));
            for (replica, serving) in self.serving.iter().enumerate() {
                let Some(served) = serving.as_ref().and_then(|serving| serving.current()) else {
                    continue;
                };
                for bundle in &bundles {
                    if !accepts(bundle, &served.cert[0], now) {
                        self.violation = Some(format!(
                            "at {now} replica {replica} serves what a bundle of configuration {index} rejects"
                        ));
                    }
                }
            }
        }
    }

    fn process(&mut self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let refusal = |code: u16, reason: &str| {
            (
                code,
                json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}),
            )
        };
        self.requests.push(format!("{method} {path}"));
        if path == SECRET_PATH {
            let stored = self.secrets.last().cloned().unwrap_or_default();
            return match *method {
                Method::GET => (200, stored),
                Method::PUT
                    if stored["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] =>
                {
                    self.conflicts += 1;
                    refusal(409, "Conflict")
                }
                Method::PUT => (200, self.store_secret(body.clone())),
                _ => refusal(405, "MethodNotAllowed"),
            };
        }
        let Some(index) = CONFIGURATION_PATHS.iter().position(|known| *known == path) else {
            return refusal(404, "NotFound");
        };
        if *method == Method::GET {
            return (200, self.configurations[index].clone());
        }
        let mut patched = self.configurations[index].clone();
        for operation in body.as_array().into_iter().flatten() {
            let path = operation["path"].as_str().unwrap_or_default();
            if path == "/metadata/resourceVersion" {
                if operation["value"] != patched["metadata"]["resourceVersion"] {
                    self.conflicts += 1;
                    return refusal(409, "Conflict");
                }
            } else {
                *bundle_of(&mut patched) = operation["value"].clone();
            }
        }
        (200, self.store_configuration(index, patched))
    }

    /// The events after a version, and then those to come.
    fn watch(&mut self, replica: usize, version: &str) -> mpsc::UnboundedReceiver<Bytes> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let after: u64 = version.parse().unwrap_or_default();
        let version = |secret: &Value| {
            secret["metadata"]["resourceVersion"]
                .as_str()
                .and_then(|version| version.parse::<u64>().ok())
        };
        for secret in self.secrets.iter().filter(|secret| version(secret) > Some(after)) {
            let _ = sender.send(event(secret));
        }
        self.watchers.push((replica, sender));
        receiver
    }

    fn delay(&mut self) -> Duration {
        let longest = if self.has_faults && self.random.random_bool(0.05) {
            15_000
        } else {
            300
        };
        Duration::from_millis(self.random.random_range(0..longest))
    }

    fn is_lost(&mut self, replica: usize) -> bool {
        self.cut_until[replica] > self.clock.now() || (self.has_faults && self.random.random_bool(0.05))
    }
}

fn event(secret: &Value) -> Bytes {
    Bytes::from(json!({"type": "MODIFIED", "object": secret}).to_string() + "\n")
}

fn bundle_of(configuration: &mut Value) -> &mut Value {
    let config = if configuration.get("webhooks").is_some() {
        &mut configuration["webhooks"][0]["clientConfig"]
    } else {
        &mut configuration["spec"]["conversion"]["webhook"]["clientConfig"]
    };
    &mut config["caBundle"]
}

/// Whether a client with this bundle accepts a certificate. As Go does, and rustls does not, it checks the period of the CA, too.
pub(super) fn accepts(bundle: &str, certificate: &CertificateDer<'_>, now: Timestamp) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()).flatten() {
        if Authority::read(authority.clone()).is_some_and(|authority| !authority.validity.has_ended(now)) {
            roots.add(authority).unwrap();
        }
    }
    let certificate = ParsedCertificate::try_from(certificate).unwrap();
    let algorithms = rustls::crypto::ring::default_provider()
        .signature_verification_algorithms
        .all;
    let verified = rustls::client::verify_server_cert_signed_by_trust_anchor(
        &certificate,
        &roots,
        &[],
        unix_time(now),
        algorithms,
    );
    verified.is_ok()
        && rustls::client::verify_server_name(&certificate, &ServerName::try_from(SERVER_NAME).unwrap())
            .is_ok()
}

/// Returns the client of one replica.
pub(super) fn client(api: &SharedApi, replica: usize) -> kube::Client {
    let api = api.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let api = api.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = serde_json::from_slice(&body.collect().await?.to_bytes()).unwrap_or(Value::Null);
            let (to, back) = {
                let mut api = api.lock();
                (api.delay(), api.delay())
            };
            let lost = || tower::BoxError::from("connection reset");
            sleep(to).await;
            if api.lock().is_lost(replica) {
                return Err(lost());
            }
            let query = parts.uri.query().unwrap_or_default();
            if query.contains("watch=true") {
                assert!(query.contains("fieldSelector=metadata.name%3Dshop"), "{query}");
                let version = query
                    .split('&')
                    .find_map(|part| part.strip_prefix("resourceVersion="))
                    .unwrap_or_default();
                let mut receiver = api.lock().watch(replica, version);
                let events = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
                let frames = events.map(|event| Ok::<_, Infallible>(Frame::data(event)));
                return Ok(Response::new(StreamBody::new(frames).boxed_unsync()));
            }
            let (code, response) = api.lock().process(&parts.method, parts.uri.path(), &body);
            sleep(back).await;
            // The request may have been carried out.
            if api.lock().is_lost(replica) {
                return Err(lost());
            }
            Ok(Response::builder()
                .status(code)
                .body(Full::from(serde_json::to_vec(&response)?).boxed_unsync())?)
        }
    });
    kube::Client::new(service, "default")
}
