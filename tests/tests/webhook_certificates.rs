//! The certificate of the webhook server, as a service account with only its permissions keeps it: on the embedded API server, and on the
//! real one, whose Go code verifies the certificates.

#[allow(dead_code, reason = "other suites read more of it")]
#[path = "support/webhook.rs"]
mod webhook;

use std::{
    collections::BTreeSet,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kubewright::{
    Clock, NamespacedName,
    client::Connection,
    k8s_openapi::{
        api::apps::v1::Deployment,
        jiff::{SignedDuration, Timestamp},
    },
    testing::Harness,
    tokio_util::sync::CancellationToken,
    unstable::{
        BundleTarget, CertificateKeeper, CertificateSource, ConfigurationKeeper, ConfigurationTiming,
        RotationTiming, ServerNames, ServingCertificate, certificate_permissions, secret_manifest,
    },
    webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validator},
};
use kubewright_testkit::{Cluster, Identity, until};
use kubewright_tests::on_both_servers;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
        time_provider::TimeProvider,
    },
};
use webhook::WebhookServer;

on_both_servers!(
    replicas_started_at_once_make_one_ca,
    applied_manifests_keep_data_and_bundles,
    edited_and_late_bundles_are_set,
    edited_webhooks_are_put_back,
    rotation_fails_no_review,
    certificate_of_others_is_served,
);

/// How long a bundle must be published; longer than a real API server needs to use it.
const PUBLICATION: SignedDuration = SignedDuration::from_secs(5);

/// An operator with replicas that keep a certificate, and serve webhooks with it.
struct Operator {
    namespace: String,
    identity: Identity,
    secret: NamespacedName,
    servers: Vec<WebhookServer>,
    serving: Vec<Arc<ServingCertificate>>,
    clock: Clock,
    timing: RotationTiming,
    /// A ValidatingWebhookConfiguration, a MutatingWebhookConfiguration and a CustomResourceDefinition.
    objects: [Value; 3],
    stop: CancellationToken,
    keepers: JoinSet<()>,
}

impl Operator {
    /// Makes the namespace, the service account and the empty Secret, and starts the servers, which have no certificate yet.
    async fn new(cluster: &Cluster, name: &str, replicas: usize) -> Self {
        let namespace = format!("{name}-system");
        let secret = NamespacedName::namespaced(&namespace, "certificate");
        let permissions = certificate_permissions(&source(&secret, name));
        let identity = cluster.operator(name, &permissions).unwrap();
        cluster.apply(&secret_manifest(&secret)).unwrap();
        let mut operator = Self {
            objects: [Value::Null, Value::Null, Value::Null],
            namespace,
            identity,
            secret,
            servers: vec![],
            serving: vec![],
            clock: Clock::system(),
            timing: RotationTiming {
                check_interval: Duration::from_millis(200),
                publication: PUBLICATION,
            },
            stop: CancellationToken::new(),
            keepers: JoinSet::new(),
        };
        let mut keepers = Vec::new();
        for _ in 0..replicas {
            keepers.push(operator.keeper(name).await);
        }
        let ports: Vec<u16> = operator.servers.iter().map(|server| server.port).collect();
        operator.objects = objects(name, &operator.namespace, &ports);
        let stop = operator.stop.clone();
        for keeper in keepers {
            operator.keepers.spawn(keeper.run(stop.clone()));
        }
        operator
    }

    async fn keeper(&mut self, name: &str) -> CertificateKeeper {
        let connection = Connection::connect(self.identity.config().await.unwrap(), name).unwrap();
        let names = ServerNames::of_service(name, &self.namespace)
            .with("127.0.0.1")
            .unwrap();
        let source = source(&self.secret, name);
        let keeper =
            CertificateKeeper::new(connection, source, names, self.clock.clone()).with_timing(self.timing);
        self.servers
            .push(WebhookServer::serve(server_config(&keeper.serving()), false).await);
        self.serving.push(keeper.serving());
        keeper
    }

    fn apply_objects(&self, cluster: &Cluster) {
        for object in &self.objects {
            cluster.apply(object).unwrap();
        }
    }

    fn secret_data(&self, cluster: &Cluster) -> Value {
        cluster.get(&secret_manifest(&self.secret)).unwrap().unwrap()["data"].clone()
    }

    /// The bundle of the Secret in base64.
    fn bundle(&self, cluster: &Cluster) -> String {
        self.secret_data(cluster)["ca.crt"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until all replicas have a certificate, and all webhooks the bundle; returns it.
    async fn wait_until_published(&self, cluster: &Cluster) -> String {
        for serving in &self.serving {
            serving.ready().await;
        }
        until("the bundles are published", async || {
            let bundle = self.bundle(cluster);
            for object in &self.objects {
                let object = cluster.get(object).unwrap().ok_or("an object is missing")?;
                let bundles = bundles(&object);
                if bundles.is_empty() || bundles.iter().any(|found| *found != bundle) {
                    return Err(format!("{object}"));
                }
            }
            Ok(bundle)
        })
        .await
    }

    /// Waits until a new CA alone is in the bundle.
    async fn wait_for_other_ca(&self, cluster: &Cluster, old: &str) -> String {
        let rotated = until("the CA is rotated", async || {
            let bundle = self.bundle(cluster);
            let key = self.secret_data(cluster)["ca.key"]
                .as_str()
                .map(decoded)
                .unwrap_or_default();
            // The old CA stays for its last certificate.
            let is_rotated = certificates(&bundle) == 2
                && key.matches("BEGIN").count() == 1
                && self.secret_data(cluster)["retired.crt"].is_string();
            if is_rotated && bundle != old {
                Ok(bundle)
            } else {
                Err(decoded(&bundle))
            }
        });
        rotated.await
    }
}

fn source(secret: &NamespacedName, name: &str) -> CertificateSource {
    CertificateSource::Generated {
        secret: secret.clone(),
        bundles: vec![
            BundleTarget::Validating(name.to_owned()),
            BundleTarget::Mutating(name.to_owned()),
            BundleTarget::Definition(format!("foos.{name}.dev")),
        ],
    }
}

fn server_config(serving: &Arc<ServingCertificate>) -> ServerConfig {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(serving.clone())
}

/// The objects of an operator with webhooks, one for each replica, without a bundle, as manifests contain them.
fn objects(name: &str, namespace: &str, ports: &[u16]) -> [Value; 3] {
    let configuration = |kind: &str| {
        let webhooks = ports.iter().map(|port| {
            json!({
                "name": format!("port-{port}.{name}.dev"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 30,
                "clientConfig": {"url": format!("https://127.0.0.1:{port}/{kind}")},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            })
        });
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": name}, "webhooks": webhooks.collect::<Vec<_>>(),
        })
    };
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("foos.{name}.dev")},
        "spec": {
            "group": format!("{name}.dev"), "scope": "Namespaced",
            "names": {"kind": "Foo", "plural": "foos", "singular": "foo", "listKind": "FooList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": name, "namespace": namespace, "path": "/convert"}},
            }},
        },
    });
    [configuration("Validating"), configuration("Mutating"), definition]
}

/// The bundles of an object.
fn bundles(object: &Value) -> Vec<String> {
    let webhooks = object["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|webhook| &webhook["clientConfig"]);
    let conversion = object.pointer("/spec/conversion/webhook/clientConfig");
    webhooks
        .chain(conversion)
        .map(|config| config["caBundle"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn decoded(base64: &str) -> String {
    String::from_utf8(BASE64_STANDARD.decode(base64).unwrap()).unwrap()
}

/// The number of certificates in a bundle.
fn certificates(bundle: &str) -> usize {
    decoded(bundle).matches("BEGIN CERTIFICATE").count()
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

fn replicas_started_at_once_make_one_ca(cluster: &Cluster) {
    run(async {
        let operator = Operator::new(cluster, "once", 3).await;
        operator.apply_objects(cluster);
        let bundle = operator.wait_until_published(cluster).await;
        assert_eq!(certificates(&bundle), 1);
        for server in &operator.servers {
            handshake(server.port, &decoded(&bundle), &Clock::system())
                .await
                .unwrap();
        }
        cluster.assert_exact_permissions(&operator.identity).await;
        // Nobody wrote another one.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(operator.bundle(cluster), bundle);
    });
}

fn applied_manifests_keep_data_and_bundles(cluster: &Cluster) {
    run(async {
        let mut operator = Operator::new(cluster, "again", 2).await;
        operator.apply_objects(cluster);
        let bundle = operator.wait_until_published(cluster).await;
        let data = operator.secret_data(cluster);
        // From here on nothing else repairs it.
        operator.stop.cancel();
        while operator.keepers.join_next().await.is_some() {}

        // Server-side apply, unchanged and changed.
        let manifest = secret_manifest(&operator.secret);
        let [mut validating, mutating, mut definition] = operator.objects.clone();
        for object in [&manifest, &validating, &mutating, &definition] {
            cluster.apply(object).unwrap();
        }
        validating["webhooks"][0]["failurePolicy"] = json!("Ignore");
        definition["spec"]["names"]["shortNames"] = json!(["f"]);
        let kept = |object: &Value, webhooks: usize| {
            let stored = cluster.get(object).unwrap().unwrap();
            assert_eq!(bundles(&stored), vec![bundle.clone(); webhooks], "{stored}");
            stored
        };
        cluster.apply(&validating).unwrap();
        cluster.apply(&definition).unwrap();
        assert_eq!(kept(&validating, 2)["webhooks"][0]["failurePolicy"], "Ignore");
        assert_eq!(kept(&definition, 1)["spec"]["names"]["shortNames"], json!(["f"]));

        // The patches of `kubectl apply` for the same kind of change: built-in kinds are merged by key, others are not.
        let patch = |object: &Value, content_type: &str, patch: &Value| {
            let (group, plural) = match object["kind"].as_str().unwrap() {
                "CustomResourceDefinition" => ("apiextensions.k8s.io", "customresourcedefinitions"),
                _ => ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
            };
            let path = format!(
                "/apis/{group}/v1/{plural}/{}",
                object["metadata"]["name"].as_str().unwrap()
            );
            cluster
                .request(http::Method::PATCH, &path, content_type, Some(patch))
                .unwrap();
        };
        let [first, second] = [0, 1].map(|index| mutating["webhooks"][index]["name"].clone());
        let strategic = "application/strategic-merge-patch+json";
        let change = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "$setElementOrder/webhooks": [{"name": first}, {"name": second}], "webhooks": [{"name": first, "failurePolicy": "Ignore"}]});
        patch(&mutating, strategic, &change);
        assert_eq!(kept(&mutating, 2)["webhooks"][0]["failurePolicy"], "Ignore");
        patch(
            &definition,
            "application/merge-patch+json",
            &json!({"spec": {"names": {"shortNames": ["g"]}}}),
        );
        assert_eq!(kept(&definition, 1)["spec"]["names"]["shortNames"], json!(["g"]));

        // A webhook that the manifests no longer have goes away, with its bundle.
        patch(
            &mutating,
            strategic,
            &json!({"$setElementOrder/webhooks": [{"name": first}], "webhooks": [{"$patch": "delete", "name": second}]}),
        );
        kept(&mutating, 1);
        validating["webhooks"].as_array_mut().unwrap().pop();
        cluster.apply(&validating).unwrap();
        kept(&validating, 1);

        assert_eq!(operator.secret_data(cluster), data);
    });
}

fn edited_and_late_bundles_are_set(cluster: &Cluster) {
    run(async {
        let operator = Operator::new(cluster, "edited", 1).await;
        operator.serving[0].ready().await;
        // The objects come later than the operator.
        operator.apply_objects(cluster);
        let bundle = operator.wait_until_published(cluster).await;

        let CertifiedKey { cert, .. } = generate_simple_self_signed(vec!["foreign".to_owned()]).unwrap();
        let foreign = BASE64_STANDARD.encode(cert.pem());
        let mut edited = operator.objects[0].clone();
        edited["webhooks"][0]["clientConfig"]["caBundle"] = json!(foreign);
        cluster.apply(&edited).unwrap();
        assert_eq!(operator.wait_until_published(cluster).await, bundle);

        // A foreign CA in the Secret, and a key that does not fit, are replaced.
        cluster
            .merge_patch(
                &secret_manifest(&operator.secret),
                &json!({"data": {"ca.crt": foreign, "tls.key": "AAAA"}}),
            )
            .unwrap();
        let bundle = until("the Secret is put right", async || {
            let data = operator.secret_data(cluster);
            if data["tls.key"] != "AAAA" && data["ca.crt"] != foreign.as_str() {
                Ok(())
            } else {
                Err(data.to_string())
            }
        });
        bundle.await;
        let bundle = operator.wait_until_published(cluster).await;
        until("the new certificate is served", async || {
            handshake(operator.servers[0].port, &decoded(&bundle), &Clock::system())
                .await
                .map(drop)
        })
        .await;
    });
}

struct Accept;

impl Validator<Deployment> for Accept {}

impl Defaulter<Deployment> for Accept {
    async fn set_defaults(&self, _: &mut Deployment, _: &AdmissionRequest) -> Result<(), AdmissionError> {
        Ok(())
    }
}

/// What the code decides of a webhook.
fn decided(configuration: &Value) -> Value {
    let webhook = &configuration["webhooks"][0];
    let fields = [
        "admissionReviewVersions",
        "matchPolicy",
        "reinvocationPolicy",
        "rules",
        "sideEffects",
    ];
    let fields = fields.map(|field| webhook[field].clone());
    json!([fields, webhook["clientConfig"]["service"]["path"]])
}

fn edited_webhooks_are_put_back(cluster: &Cluster) {
    run(async {
        let test = Harness::new(|setup| {
            setup.validator::<Deployment>(Accept);
            setup.defaulter::<Deployment>(Accept).reinvoke_if_needed();
        });
        let manifests = test.setup().webhook_manifests().unwrap();
        let objects = [json!(manifests.validating), json!(manifests.mutating)];
        for object in &objects {
            cluster.apply(object).unwrap();
        }
        let name = objects[0]["metadata"]["name"].as_str().unwrap().to_owned();
        let permissions = certificate_permissions(&CertificateSource::Generated {
            secret: NamespacedName::namespaced("put-back-system", "certificate"),
            bundles: vec![
                BundleTarget::Validating(name.clone()),
                BundleTarget::Mutating(name.clone()),
            ],
        });
        let identity = cluster.operator("put-back", &permissions).unwrap();
        let connection = Connection::connect(identity.config().await.unwrap(), "put-back").unwrap();
        let stop = CancellationToken::new();
        let keeper = ConfigurationKeeper::new(connection, &manifests).with_timing(ConfigurationTiming {
            check_interval: Duration::from_millis(100),
            grace: Duration::from_secs(1),
        });
        let running = tokio::spawn(keeper.run(stop.clone()));

        let read = |object: &Value| cluster.get(object).unwrap().unwrap();
        let overlay = json!({
            "failurePolicy": "Fail", "timeoutSeconds": 3, "namespaceSelector": {"matchLabels": {"a": "b"}},
            "objectSelector": {"matchLabels": {"c": "d"}}, "matchConditions": [{"name": "e", "expression": "true"}],
        });
        for object in &objects {
            let mut webhook = read(object)["webhooks"][0].clone();
            let others = json!({
                "name": "webhook.others.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1"}, "failurePolicy": "Ignore",
            });
            webhook["rules"][0]["operations"] = json!(["DELETE"]);
            webhook["admissionReviewVersions"] = json!(["v1", "v1beta1"]);
            webhook["sideEffects"] = json!("NoneOnDryRun");
            webhook["matchPolicy"] = json!("Exact");
            webhook["clientConfig"]["service"] =
                json!({"name": "other", "namespace": "other", "port": 8443, "path": "/other"});
            if object["kind"] == "MutatingWebhookConfiguration" {
                webhook["reinvocationPolicy"] = json!("Never");
            }
            for (field, value) in overlay.as_object().unwrap() {
                webhook[field] = value.clone();
            }
            cluster
                .merge_patch(object, &json!({"webhooks": [others, webhook]}))
                .unwrap();
        }
        for object in &objects {
            let stored = until("the webhooks are put back", async || {
                let mut stored = read(object);
                let others = stored["webhooks"].as_array_mut().unwrap().remove(0);
                assert_eq!(others["name"], "webhook.others.dev");
                if decided(&stored) == decided(object) {
                    Ok(stored)
                } else {
                    Err(stored.to_string())
                }
            })
            .await;
            let webhook = &stored["webhooks"][0];
            for (field, value) in overlay.as_object().unwrap() {
                assert_eq!(webhook[field], *value, "an overlay may set it");
            }
            let service = &webhook["clientConfig"]["service"];
            assert_eq!(
                (&service["name"], &service["namespace"], &service["port"]),
                (&json!("other"), &json!("other"), &json!(8443))
            );
        }

        // A missing webhook stays away: the manifests of another release may have removed it.
        cluster
            .merge_patch(&objects[0], &json!({"webhooks": []}))
            .unwrap();
        let version = read(&objects[0])["metadata"]["resourceVersion"].clone();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(read(&objects[0])["metadata"]["resourceVersion"], version);
        stop.cancel();
        running.await.unwrap();
    });
}

/// How many objects each writer creates at least while the CA is rotated.
const MIN_CREATED: usize = 25;
const WRITERS: usize = 8;

/// Two rotations of the CA while the API server calls the webhooks of both replicas, with a handshake for each review.
fn rotation_fails_no_review(cluster: &Cluster) {
    run(async {
        let operator = Operator::new(cluster, "rotated", 2).await;
        operator.apply_objects(cluster);
        let mut bundle = operator.wait_until_published(cluster).await;
        let config_map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": operator.namespace, "name": name}});
        // Until then the API server may use the configurations without bundle.
        until("a review succeeds", async || {
            cluster.apply(&config_map("first")).map(drop)
        })
        .await;
        for server in &operator.servers {
            server.take_reviews();
        }

        let (is_running, created, rotations) =
            (AtomicBool::new(true), AtomicUsize::new(0), AtomicUsize::new(0));
        // The requests block their threads.
        let write = |writer: usize| {
            let mut number = 0;
            // A slow machine creates few during the rotations.
            while is_running.load(Ordering::Relaxed) || number < MIN_CREATED {
                cluster
                    .apply(&config_map(&format!("load-{writer}-{number}")))
                    .unwrap();
                number += 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            created.fetch_add(number, Ordering::Relaxed);
        };
        let rotate = async {
            for _ in 0..2 {
                // A CA without its key is replaced, in the same order as one that is due.
                cluster
                    .merge_patch(
                        &secret_manifest(&operator.secret),
                        &json!({"data": {"ca.key": null, "retired.crt": null}}),
                    )
                    .unwrap();
                bundle = operator.wait_for_other_ca(cluster, &bundle).await;
                rotations.fetch_add(1, Ordering::Relaxed);
                operator.wait_until_published(cluster).await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        let runtime = tokio::runtime::Handle::current();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let write = &write;
                    scope.spawn(move || write(writer))
                })
                .collect();
            // Also if it panics, the writers end.
            let rotated = tokio::task::block_in_place(|| {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(rotate)))
            });
            is_running.store(false, Ordering::Relaxed);
            let written: Vec<_> = writers
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect();
            rotated.unwrap();
            written.into_iter().for_each(Result::unwrap);
        });
        let reviews: usize = operator
            .servers
            .iter()
            .map(|server| server.take_reviews().as_array().unwrap().len())
            .sum();
        let created = created.load(Ordering::Relaxed);
        assert!(created >= WRITERS * MIN_CREATED, "{created}");
        assert_eq!(
            (reviews, rotations.load(Ordering::Relaxed)),
            (4 * created, 2),
            "each ConfigMap is reviewed by four webhooks"
        );
    });
}

/// As with cert-manager: the Secret is only read.
fn certificate_of_others_is_served(cluster: &Cluster) {
    run(async {
        let secret = NamespacedName::namespaced("others-system", "certificate");
        let source = || CertificateSource::Secret(secret.clone());
        let names = ServerNames::of_service("others", "others-system");
        let permissions = certificate_permissions(&source());
        let identity = cluster.operator("others", &permissions).unwrap();
        let connection = Connection::connect(identity.config().await.unwrap(), "others").unwrap();
        let keeper = CertificateKeeper::new(connection, source(), names, Clock::system());
        let (serving, stop) = (keeper.serving(), CancellationToken::new());
        let server = WebhookServer::serve(server_config(&serving), true).await;
        let running = tokio::spawn(keeper.run(stop.clone()));
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!serving.is_ready());
        let mut connected = None;
        for _ in 0..2 {
            let CertifiedKey { cert, signing_key } =
                generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
            let text = |text: String| BASE64_STANDARD.encode(text);
            cluster
                .apply(&json!({
                    "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
                    "metadata": {"name": "certificate", "namespace": "others-system"},
                    "data": {"tls.crt": text(cert.pem()), "tls.key": text(signing_key.serialize_pem())},
                }))
                .unwrap();
            let stream = until("the certificate is served", async || {
                handshake(server.port, &cert.pem(), &Clock::system()).await
            })
            .await;
            // The connection of the first certificate goes on.
            request(connected.get_or_insert(stream)).await;
        }
        cluster.assert_exact_permissions(&identity).await;
        stop.cancel();
        running.await.unwrap();
    });
}

/// Sends a review on a connection, and reads the response.
async fn request(stream: &mut tokio_rustls::client::TlsStream<TcpStream>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let body = json!({"kind": "AdmissionReview", "request": {"uid": "1"}}).to_string();
    let head = format!(
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut response = [0; 1024];
    let length = stream.read(&mut response).await.unwrap();
    assert!(response[..length].starts_with(b"HTTP/1.1 200 OK"));
}

/// The time at which a client verifies.
#[derive(Debug)]
struct ClientTime(Clock, SignedDuration);

impl TimeProvider for ClientTime {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = (self.0.now() + self.1).as_second();
        Some(UnixTime::since_unix_epoch(Duration::from_secs(
            u64::try_from(seconds).unwrap(),
        )))
    }
}

async fn handshake(
    port: u16,
    bundle: &str,
    clock: &Clock,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
    handshake_at(port, bundle, ClientTime(clock.clone(), SignedDuration::ZERO)).await
}

async fn handshake_at(
    port: u16,
    bundle: &str,
    time: ClientTime,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(authority.unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(time))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .map_err(|error| error.to_string())?;
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .map_err(|error| error.to_string())
}

/// Fourteen years with two rotations of the CA: a client that connects all the time, with the bundle that is published, is never refused.
#[test]
fn two_rotations_in_fourteen_years_fail_no_handshake() {
    const JUMP: SignedDuration = SignedDuration::from_hours(24 * 100);
    /// How old a bundle may be that an API server uses.
    const LAG: SignedDuration = SignedDuration::from_mins(9);
    let cluster = kubewright_tests::embedded();
    run(async {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut operator = Operator::new(&cluster, "years", 0).await;
        operator.clock = Clock::starting_at(start);
        operator.timing.publication = SignedDuration::from_mins(10);
        for _ in 0..2 {
            let keeper = operator.keeper("years").await;
            operator.keepers.spawn(keeper.run(operator.stop.clone()));
        }
        let ports: Vec<u16> = operator.servers.iter().map(|server| server.port).collect();
        operator.objects = objects("years", "years-system", &ports);
        operator.apply_objects(&cluster);
        operator.wait_until_published(&cluster).await;

        let (operator, cluster) = (&operator, &cluster);
        let (is_running, handshakes) = (AtomicBool::new(true), AtomicUsize::new(0));
        let mut failures = Vec::new();
        let mut authorities = BTreeSet::new();
        let load = async {
            let mut replica = 0;
            while is_running.load(Ordering::Relaxed) {
                let read = operator.clock.now();
                let bundle = bundles(&cluster.get(&operator.objects[0]).unwrap().unwrap()).remove(0);
                authorities.extend(
                    decoded(&bundle)
                        .split_inclusive("-----END CERTIFICATE-----\n")
                        .map(str::to_owned),
                );
                replica = 1 - replica;
                match handshake(operator.servers[replica].port, &decoded(&bundle), &operator.clock).await {
                    // Years passed since it read the bundle.
                    Err(_) if operator.clock.now().duration_since(read) > LAG => {}
                    Err(error) => failures.push(format!("{}: {error}", operator.clock.now())),
                    Ok(_) => drop(handshakes.fetch_add(1, Ordering::Relaxed)),
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let years = async {
            while operator.clock.now().duration_since(start) < SignedDuration::from_hours(24 * 365 * 14) {
                operator.clock.set(operator.clock.now() + JUMP);
                // What is due must be done before more time passes.
                until("the certificates are valid until the next jump", async || {
                    let bundle = decoded(&operator.bundle(cluster));
                    for server in &operator.servers {
                        handshake_at(server.port, &bundle, ClientTime(operator.clock.clone(), JUMP)).await?;
                    }
                    Ok::<_, String>(())
                })
                .await;
                operator.wait_until_published(cluster).await;
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            is_running.store(false, Ordering::Relaxed);
        };
        tokio::join!(load, years);
        assert_eq!(failures, Vec::<String>::new());
        assert_eq!(authorities.len(), 3, "two rotations");
        assert!(handshakes.load(Ordering::Relaxed) > 200);
    });
}
