//! An operator's admission webhooks, called by both API servers: denials, defaults, dry runs, and what happens when a webhook fails.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(missing_docs, reason = "a kind of the tests")]

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Method;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::LabelSelector};
use kube::core::Status;
use kubewright::{
    CustomKind, CustomResource, Informer, Manager,
    controller::Setup,
    testing::Harness,
    webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator},
};
use kubewright_testkit::{Cluster, ClusterError, eventually};
use kubewright_tests::on_both_servers;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinHandle};

on_both_servers!(
    webhooks_validate_and_default,
    failing_webhooks_fail_their_own_request_only
);

const TIMEOUT: Duration = Duration::from_secs(30);

/// The namespace of the operator in the printed configurations.
const OWN_NAMESPACE: &str = "test-system";

#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "admission.dev", version = "v1", kind = "Foo", namespaced)]
pub struct FooSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default)]
    keep: bool,
}

/// The webhooks of the tests. Some names make it fail.
#[derive(Clone, Default)]
struct Rules {
    /// Operation, name and dry run of each validated request.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Rules {
    fn record(&self, entry: String) {
        self.seen.lock().unwrap().push(entry);
    }

    async fn check(&self, foo: &Foo, request: &AdmissionRequest) -> Validation {
        self.record(format!(
            "{} {} {}",
            request.operation, request.name, request.dry_run
        ));
        match foo.spec.name.as_deref() {
            Some("panic") => panic!("no such name"),
            Some("slow") => std::future::pending().await,
            _ => {}
        }
        let mut validation = Validation::new();
        if let Some(size) = foo.spec.size.filter(|size| *size < 1) {
            validation.invalid("spec.size", size, "must be at least 1");
        }
        validation
    }
}

impl Validator<Foo> for Rules {
    async fn create(&self, foo: &Foo, request: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        Ok(self.check(foo, request).await)
    }

    async fn update(
        &self,
        foo: &Foo,
        old: &Foo,
        request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        if foo.spec.name != old.spec.name {
            return Err(AdmissionError::forbidden("the name cannot be changed"));
        }
        Ok(self.check(foo, request).await)
    }

    async fn delete(&self, foo: &Foo, request: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        let mut validation = self.check(foo, request).await;
        if foo.spec.keep {
            validation.forbidden("spec.keep", "set it to false first");
        }
        Ok(validation)
    }
}

impl Defaulter<Foo> for Rules {
    async fn set_defaults(&self, foo: &mut Foo, _request: &AdmissionRequest) -> Result<(), AdmissionError> {
        if foo.spec.name.as_deref() == Some("undefaulted") {
            return Err(AdmissionError::new("no default for it"));
        }
        foo.spec.size.get_or_insert(3);
        Ok(())
    }
}

impl Defaulter<Pod> for Rules {
    async fn set_defaults(&self, pod: &mut Pod, request: &AdmissionRequest) -> Result<(), AdmissionError> {
        let user = request.user.username.clone().unwrap_or_default();
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert("demo.dev/created-by".to_owned(), user);
        Ok(())
    }
}

/// Registers the webhooks for one namespace, and the operator's own.
fn register(setup: &mut Setup, rules: &Rules, namespace: &str) {
    let selector = LabelSelector {
        match_labels: Some([("team".to_owned(), namespace.to_owned())].into()),
        ..LabelSelector::default()
    };
    let foos = setup.validator::<Foo>(rules.clone()).fail_closed();
    foos.namespace_selector(selector.clone())
        .timeout(Duration::from_secs(2));
    setup
        .defaulter::<Foo>(rules.clone())
        .namespace_selector(selector.clone());
    setup.defaulter::<Pod>(rules.clone()).namespace_selector(selector);
}

/// An operator whose webhooks an API server calls.
struct World<'c> {
    cluster: &'c Cluster,
    namespace: String,
    rules: Rules,
    operator: JoinHandle<()>,
    /// Runs the operator until it is dropped.
    _runtime: Runtime,
}

impl<'c> World<'c> {
    /// Starts an operator and applies its configurations, with the address and the CA bundle of this process.
    fn start(cluster: &'c Cluster, namespace: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        for name in [namespace, OWN_NAMESPACE] {
            let labels = json!({"team": namespace});
            let metadata = json!({"name": name, "labels": labels});
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
            cluster.apply(&object).unwrap();
        }
        // The operator's type does not have this field yet.
        let mut definition = json!(Foo::definition());
        let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"]["later"] = json!({"type": "string"});
        cluster.install_crd(&definition).unwrap();

        let (rules, port) = (Rules::default(), free_port());
        let (authority, certificate, key) = certificate();
        let config = runtime.block_on(cluster.admin().config()).unwrap();
        let address = format!("--webhook-bind-address=127.0.0.1:{port}");
        let args = [
            &*address,
            "--leader-elect=false",
            "--health-bind-address=0",
            "--metrics-bind-address=0",
        ];
        let (registered, own_namespace) = (rules.clone(), namespace.to_owned());
        let manager = Manager::new("test")
            .with_config(config)
            .with_args(args)
            .webhook_certificate(certificate, key)
            .register(move |setup| register(setup, &registered, &own_namespace));
        let operator = runtime.spawn(async move { manager.run().await.unwrap() });

        let manifests = {
            let _context = runtime.enter();
            let harness = Harness::new(|setup| register(setup, &rules, namespace));
            json!(harness.setup().webhook_manifests())
        };
        for mut configuration in [manifests["validating"].clone(), manifests["mutating"].clone()] {
            configuration["metadata"]["name"] = json!(namespace);
            for webhook in configuration["webhooks"].as_array_mut().unwrap() {
                let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
                let url = format!("https://127.0.0.1:{port}{path}");
                webhook["clientConfig"] = json!({"url": url, "caBundle": BASE64_STANDARD.encode(&authority)});
            }
            cluster.apply(&configuration).unwrap();
        }
        let world = Self {
            cluster,
            namespace: namespace.to_owned(),
            rules,
            operator,
            _runtime: runtime,
        };
        // A real API server notices the configurations after a while.
        eventually("the webhooks are called", TIMEOUT, || {
            let denied = world.create("probe?dryRun=All", &json!({"size": 0})).is_err();
            let defaulted = world.create("probe?dryRun=All", &json!({}));
            denied && defaulted.is_ok_and(|foo| foo["spec"]["size"] == 3)
        });
        world.rules.seen.lock().unwrap().clear();
        world
    }

    fn path(&self) -> String {
        format!("/apis/admission.dev/v1/namespaces/{}/foos", self.namespace)
    }

    /// Creates an object; a query may follow the name.
    fn create(&self, name: &str, spec: &Value) -> Result<Value, Box<Status>> {
        let (name, query) = name.split_once('?').unwrap_or((name, ""));
        let foo = json!({"apiVersion": "admission.dev/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec});
        self.send(Method::POST, &format!("{}?{query}", self.path()), Some(&foo))
    }

    fn patch(&self, name: &str, spec: &Value) -> Result<Value, Box<Status>> {
        let path = format!("{}/{name}", self.path());
        self.send(Method::PATCH, &path, Some(&json!({"spec": spec})))
    }

    fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Box<Status>> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let sent = self.cluster.request(method, path, content_type, body);
        sent.map_err(|error| match error {
            ClusterError::Request { source, .. } => match *source {
                kube::Error::Api(status) => status,
                other => panic!("{other}"),
            },
            other => panic!("{other}"),
        })
    }

    /// Returns the reviews since the last call. The real API server reviews a write again when its cache was behind the stored object:
    /// such a repetition is left out.
    fn seen(&self) -> Vec<String> {
        let mut seen = std::mem::take(&mut *self.rules.seen.lock().unwrap());
        seen.dedup();
        seen
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        // Later tests on the same API server would wait for the webhooks.
        for kind in ["validating", "mutating"] {
            let path = format!(
                "/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{}",
                self.namespace
            );
            let _ = self
                .cluster
                .request(Method::DELETE, &path, "application/json", None);
        }
        let is_running = !self.operator.is_finished();
        self.operator.abort();
        assert!(is_running || std::thread::panicking(), "the operator failed");
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Returns the certificate of an authority, and one of it for this host with its key, in PEM.
fn certificate() -> (String, String, String) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (
        authority_certificate.pem(),
        certificate.pem(),
        key.serialize_pem(),
    )
}

fn webhooks_validate_and_default(cluster: &Cluster) {
    let world = World::start(cluster, "validated");
    let denied_by = "admission webhook \"validate-v1-foo.admission.dev\" denied the request: ";

    let denied = world.create("bad", &json!({"size": 0})).unwrap_err();
    let invalid = "Foo.admission.dev \"bad\" is invalid: spec.size: Invalid value: 0: must be at least 1";
    assert_eq!((denied.code, &*denied.reason), (422, "Invalid"));
    assert_eq!(denied.message, format!("{denied_by}{invalid}"));
    let cause = &denied.details.unwrap().causes[0];
    assert_eq!(
        (&*cause.field, &*cause.message),
        ("spec.size", "Invalid value: 0: must be at least 1")
    );

    // The default is in the stored object, and so is the field that the operator does not know.
    let created = world
        .create("good", &json!({"later": "kept", "keep": true, "name": "n"}))
        .unwrap();
    let spec = json!({"later": "kept", "keep": true, "name": "n", "size": 3});
    assert_eq!(created["spec"], spec);

    let denied = world.patch("good", &json!({"name": "m"})).unwrap_err();
    assert_eq!(denied.message, format!("{denied_by}the name cannot be changed"));
    assert_eq!((denied.code, &*denied.reason), (403, "Forbidden"));
    let updated = world.patch("good", &json!({"size": null})).unwrap();
    assert_eq!(updated["spec"], spec);

    let path = format!("{}/good", world.path());
    let denied = world.send(Method::DELETE, &path, None).unwrap_err();
    let kept = "Foo.admission.dev \"good\" is invalid: spec.keep: Forbidden: set it to false first";
    assert_eq!(denied.message, format!("{denied_by}{kept}"));
    world.patch("good", &json!({"keep": false})).unwrap();
    world.send(Method::DELETE, &path, None).unwrap();
    let seen = [
        "CREATE bad false",
        "CREATE good false",
        "UPDATE good false",
        "DELETE good false",
        "UPDATE good false",
        "DELETE good false",
    ];
    assert_eq!(world.seen(), seen);

    let dry = world.create("dry?dryRun=All", &json!({})).unwrap();
    assert_eq!(dry["spec"]["size"], 3);
    assert_eq!(world.seen(), ["CREATE dry true"]);
    assert_eq!(cluster.get(&dry).unwrap(), None);

    // Kinds of others.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": world.namespace, "name": "default"}});
    cluster.apply(&account).unwrap();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": world.namespace},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    });
    let pods = format!("/api/v1/namespaces/{}/pods", world.namespace);
    let created = world.send(Method::POST, &pods, Some(&pod)).unwrap();
    let annotation = &created["metadata"]["annotations"]["demo.dev/created-by"];
    assert!(
        annotation.as_str().is_some_and(|user| !user.is_empty()),
        "{created}"
    );

    // The operator's own namespace is never reviewed.
    let own = json!({"apiVersion": "admission.dev/v1", "kind": "Foo", "metadata": {"name": "own"}, "spec": {"size": 0}});
    let path = format!("/apis/admission.dev/v1/namespaces/{OWN_NAMESPACE}/foos");
    world.send(Method::POST, &path, Some(&own)).unwrap();
    assert!(world.seen().is_empty());
    world.send(Method::DELETE, &format!("{path}/own"), None).unwrap();
}

fn failing_webhooks_fail_their_own_request_only(cluster: &Cluster) {
    let world = World::start(cluster, "failing");
    let failed = world.create("torn", &json!({"name": "panic"})).unwrap_err();
    assert_eq!(failed.code, 500);
    let expected = "failed calling webhook \"validate-v1-foo.admission.dev\": failed to call webhook: an error on the server \
         (\"the webhook panicked: no such name\") has prevented the request from succeeding";
    assert!(failed.message.ends_with(expected), "{}", failed.message);

    // Others are answered while one waits for its timeout.
    let slow = std::thread::scope(|scope| {
        let slow = scope.spawn(|| world.create("slow", &json!({"name": "slow"})));
        for number in 0..5 {
            world.create(&format!("quick-{number}"), &json!({})).unwrap();
        }
        slow.join().unwrap().unwrap_err()
    });
    assert_eq!(slow.code, 500);
    let expected = "failed calling webhook \"validate-v1-foo.admission.dev\": ";
    assert!(slow.message.contains(expected), "{}", slow.message);

    // The defaulter's failure is ignored: nobody asked it to fail closed.
    let undefaulted = world
        .create("undefaulted", &json!({"name": "undefaulted"}))
        .unwrap();
    assert_eq!(undefaulted["spec"].get("size"), None);
}
