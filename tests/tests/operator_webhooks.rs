//! An operator that keeps its own certificate, converts versions, validates, and migrates what is stored to the hub, with exactly its
//! permissions, on both API servers.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{
    fs,
    net::TcpListener,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::tokio_util::sync::CancellationToken;
use kubewright::{
    Convert, CustomKind, CustomResource, Informer, Manager, NamespacedName,
    cache::Lister,
    client::{Get, TypedClient},
    controller::Setup,
    testing::{Harness, TestOperator},
    webhooks::{AdmissionError, AdmissionRequest, Defaulter, Validation, Validator},
};
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::{new_object, on_both_servers};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

on_both_servers!(
    operator_keeps_its_certificate_converts_validates_and_migrates,
    test_operator_converts_and_denies_large_defaults,
    operator_serves_certificates_of_files,
);

/// As the tests' registrations are named.
const NAME: &str = "test";
const TIMEOUT: Duration = Duration::from_mins(1);

// ANCHOR: versions
mod v1 {
    use super::*;

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "served.dev", version = "v1", kind = "Cup", namespaced)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct CupSpec {
        pub(super) size: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) color: Option<String>,
    }
}

mod v1alpha1 {
    use super::*;

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "served.dev", version = "v1alpha1", kind = "Cup", namespaced)]
    #[convert(hub = v1::CupSpec, hub_only(color))]
    pub(super) struct CupSpec {
        #[convert(renamed = "size")]
        pub(super) volume: i32,
    }
}
// ANCHOR_END: versions

struct Sizes;

impl Validator<v1::Cup> for Sizes {
    async fn create(&self, cup: &v1::Cup, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        if cup.spec.size < 1 {
            validation.invalid("spec.size", cup.spec.size, "must be at least 1");
        }
        Ok(validation)
    }
}

fn register(setup: &mut Setup) {
    setup.versions::<v1::Cup>().other::<v1alpha1::Cup>();
    setup.storage_migration::<v1::Cup>();
    setup.validator::<v1::Cup>(Sizes).fail_closed();
}

mod converted {
    use super::*;

    pub(super) mod v1 {
        use super::*;

        #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "converted.dev", version = "v1", kind = "Mug", namespaced)]
        pub(in super::super) struct MugSpec {
            pub(in super::super) size: i32,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub(in super::super) color: Option<String>,
        }
    }

    pub(super) mod v1alpha1 {
        use super::*;

        #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "converted.dev", version = "v1alpha1", kind = "Mug", namespaced)]
        #[convert(hub = super::v1::MugSpec, hub_only(color))]
        pub(in super::super) struct MugSpec {
            #[convert(renamed = "size")]
            pub(in super::super) volume: i32,
        }
    }

    /// Sets a color of as many bytes as the size says.
    pub(super) struct Colors;

    impl Defaulter<v1::Mug> for Colors {
        async fn set_defaults(&self, mug: &mut v1::Mug, _: &AdmissionRequest) -> Result<(), AdmissionError> {
            if mug.spec.size > 1000 {
                mug.spec.color = Some("x".repeat(usize::try_from(mug.spec.size)?));
            }
            Ok(())
        }
    }
}

mod files {
    use super::*;

    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "files.dev", version = "v1", kind = "Plate", namespaced)]
    pub(super) struct PlateSpec {
        pub(super) size: i32,
    }

    /// Reads the least size from the API server, and the greatest from a cache.
    pub(super) struct Sizes {
        pub(super) client: TypedClient<ConfigMap, (Get,)>,
        pub(super) lister: Lister<ConfigMap>,
    }

    impl Validator<Plate> for Sizes {
        async fn create(&self, plate: &Plate, _: &AdmissionRequest) -> Result<Validation, AdmissionError> {
            let name = NamespacedName::namespaced("default", "plates");
            let limits = self.client.get(&name).await?;
            let limit = |limits: &ConfigMap, key: &str| {
                let data = limits.data.as_ref().and_then(|data| data.get(key));
                data.map_or(Ok(0), |text| text.parse::<i32>())
            };
            let least = limit(&limits, "least")?;
            let greatest = limit(&*self.lister.get(&name)?, "greatest")?;
            let mut validation = Validation::new();
            if plate.spec.size < least {
                validation.invalid("spec.size", plate.spec.size, &format!("must be at least {least}"));
            }
            if plate.spec.size > greatest {
                validation.invalid(
                    "spec.size",
                    plate.spec.size,
                    &format!("must be at most {greatest}"),
                );
            }
            Ok(validation)
        }
    }
}

/// Sets the version that is stored in a definition.
fn store(definition: &mut Value, stored: &str) {
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = json!(version["name"] == stored);
    }
}

fn cup(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("served.dev/{version}"), "kind": "Cup",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// Calls the operator by a URL in place of the Service, which no Pod backs here.
fn call_by_url(config: &mut Value, port: u16) {
    let path = config["service"]["path"].as_str().unwrap();
    *config = json!({"url": format!("https://127.0.0.1:{port}{path}")});
}

/// As the tests of a project do it.
#[tokio::test(flavor = "multi_thread")]
async fn test_operator_is_called_by_its_url() {
    let cluster = Cluster::embedded().unwrap();
    cluster.install_crd(&v1::Cup::definition()).unwrap();
    let register = |setup: &mut Setup| {
        setup.validator::<v1::Cup>(Sizes);
    };
    let identity = cluster
        .operator(NAME, &TestOperator::permissions(register))
        .unwrap();
    let operator = TestOperator::start(identity.config().await.unwrap(), register);
    cluster.install_webhooks(&operator.webhooks().await).await;
    let denied = cluster.apply(&cup("v1", "bad", &json!({"size": 0}))).unwrap_err();
    assert!(denied.to_string().contains("must be at least 1"), "{denied}");
    cluster.assert_exact_permissions(&identity).await;

    let others = TestOperator::start(identity.config().await.unwrap(), |_| {});
    assert!(others.webhooks().await.is_empty());
}

fn test_operator_converts_and_denies_large_defaults(cluster: &Cluster) {
    let runtime = Runtime::new().unwrap();
    let _guard = runtime.enter();
    let register = |setup: &mut Setup| {
        setup
            .versions::<converted::v1::Mug>()
            .other::<converted::v1alpha1::Mug>();
        setup
            .defaulter::<converted::v1::Mug>(converted::Colors)
            .fail_closed();
    };
    let start = async {
        // ANCHOR: converting
        let permissions = TestOperator::permissions(TestOperator::converting(register));
        let identity = cluster.operator("converting", &permissions).unwrap();
        let config = identity.config().await.unwrap();
        let operator = TestOperator::start(config, TestOperator::converting(register));
        cluster.install_webhooks(&operator.webhooks().await).await;
        // ANCHOR_END: converting
        (identity, operator)
    };
    let (identity, _operator) = runtime.block_on(start);

    let mug = |version: &str, name: &str, spec: Value| {
        let mut mug = cup(version, name, &spec);
        mug["apiVersion"] = json!(format!("converted.dev/{version}"));
        mug["kind"] = json!("Mug");
        mug
    };
    // A real API server notices each bundle after a while.
    eventually("the operator is called", TIMEOUT, || {
        cluster
            .apply(&mug("v1", "first", json!({"size": 2, "color": "red"})))
            .map_err(|error| format!("{error:?}"))
    });
    let old = eventually("the operator converts", TIMEOUT, || {
        let read = cluster.get(&mug("v1alpha1", "first", json!({})));
        read.map_err(|error| format!("{error:?}"))
    });
    assert_eq!(old.unwrap()["spec"], json!({"volume": 2}));

    // The object is reviewed in the version of the write: the defaulter's color is in the annotation of its patch.
    cluster
        .apply(&mug("v1alpha1", "old", json!({"volume": 1500})))
        .unwrap();
    let defaulted = cluster.get(&mug("v1", "old", json!({}))).unwrap().unwrap();
    assert_eq!(
        defaulted["spec"],
        json!({"size": 1500, "color": "x".repeat(1500)})
    );
    assert_eq!(defaulted["metadata"]["annotations"], Value::Null);

    let refused = |size: u32| {
        let refused = cluster.apply(&mug("v1", "large", json!({"size": size})));
        format!("{:?}", refused.unwrap_err())
    };
    let denied = refused(3 << 20);
    let expected = "denied the request: Mug.converted.dev \\\"large\\\" becomes too large: its defaults are a JSON patch of 3145";
    assert!(denied.contains(expected) && denied.contains("413"), "{denied}");
    // Below this limit the API server itself refuses what etcd does not store.
    let too_large = refused(2 << 20);
    assert!(
        too_large.contains("trying to send message larger than max"),
        "{too_large}"
    );
    runtime.block_on(cluster.assert_exact_permissions(&identity));
}

/// Writes a new certificate for this machine into a folder, as a mounted Secret is replaced; returns the CA bundle.
fn write_certificate(folder: &Path) -> String {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    for (name, text) in [("tls.key", signing_key.serialize_pem()), ("tls.crt", cert.pem())] {
        let new = folder.join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, folder.join(name)).unwrap();
    }
    BASE64_STANDARD.encode(cert.pem())
}

/// With `--webhook-cert-dir` others keep the certificate and the CA bundle.
fn operator_serves_certificates_of_files(cluster: &Cluster) {
    let runtime = Runtime::new().unwrap();
    let _guard = runtime.enter();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let folder = tempfile::tempdir().unwrap();
    let mut bundle = write_certificate(folder.path());
    let register = |setup: &mut Setup| {
        let lister = setup.informers().of::<ConfigMap>().lister();
        let client = setup.client();
        let sizes = files::Sizes { client, lister };
        setup.validator::<files::Plate>(sizes).fail_closed();
    };
    cluster.install_crd(&files::Plate::definition()).unwrap();
    let mut limits = new_object("v1", "ConfigMap", "default", "plates");
    limits["data"] = json!({"least": "1", "greatest": "9"});
    cluster.apply(&limits).unwrap();
    let mut permissions = TestOperator::permissions(register);
    permissions.retain(|permission| permission.why != "webhook certificate");
    let identity = cluster.operator("files", &permissions).unwrap();
    let config = runtime.block_on(identity.config()).unwrap();
    let stop = CancellationToken::new();
    let manager = Manager::new("files")
        .with_config(config)
        .with_args([
            &*format!("--webhook-bind-address=127.0.0.1:{port}"),
            &format!("--webhook-cert-dir={}", folder.path().display()),
            "--leader-elect=false",
            "--health-bind-address=0",
            "--metrics-bind-address=0",
        ])
        .stop_on(&stop)
        .register(register);
    let running = runtime.spawn(async move { manager.run().await });

    let mut validating = json!(Harness::new(register).setup().webhook_manifests())["validating"].clone();
    validating["metadata"]["name"] = json!("files");
    call_by_url(&mut validating["webhooks"][0]["clientConfig"], port);
    let plate = |name: &str, size: i32| {
        let mut plate = cup("v1", name, &json!({"size": size}));
        plate["apiVersion"] = json!("files.dev/v1");
        plate["kind"] = json!("Plate");
        plate
    };
    for name in ["first", "renewed"] {
        validating["webhooks"][0]["clientConfig"]["caBundle"] = json!(bundle);
        cluster.apply(&validating).unwrap();
        eventually(
            "the operator is called with the certificate of the files",
            TIMEOUT,
            || {
                cluster
                    .apply(&plate(name, 1))
                    .map_err(|error| format!("{error:?}"))
            },
        );
        for (size, reason) in [(0, "must be at least 1"), (10, "must be at most 9")] {
            let denied = cluster.apply(&plate("bad", size)).unwrap_err();
            assert!(format!("{denied:?}").contains(reason), "{denied:?}");
        }
        let stored = cluster.get(&validating).unwrap().unwrap();
        assert_eq!(stored["webhooks"][0]["clientConfig"]["caBundle"], json!(bundle));
        bundle = write_certificate(folder.path());
    }
    runtime.block_on(cluster.assert_exact_permissions(&identity));
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
}

/// Has the operator make a new CA while objects are written, each with a review and conversions.
fn rotate_under_load(cluster: &Cluster, secret: &Value) {
    let data = || cluster.get(secret).unwrap().unwrap()["data"].clone();
    let (before, is_running) = (data(), AtomicBool::new(true));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let is_running = &is_running;
                scope.spawn(move || {
                    let mut volume = 1;
                    while is_running.load(Ordering::Relaxed) || volume < 25 {
                        let loaded = cup(
                            "v1alpha1",
                            &format!("loaded-{writer}"),
                            &json!({"volume": volume}),
                        );
                        cluster.apply(&loaded).unwrap();
                        volume += 1;
                        thread::sleep(Duration::from_millis(50));
                    }
                })
            })
            .collect();
        // A CA without its key is replaced, in the same order as one that is due.
        cluster
            .merge_patch(secret, &json!({"data": {"ca.key": null}}))
            .unwrap();
        let rotated = catch_unwind(AssertUnwindSafe(|| {
            eventually("the CA is rotated", TIMEOUT, || {
                let now = data();
                let is_rotated = now["ca.crt"] != before["ca.crt"] && now["ca.key"].is_string();
                is_rotated.then_some(()).ok_or(now["ca.crt"].to_string())
            });
        }));
        // Writes with the new bundle.
        thread::sleep(Duration::from_secs(1));
        is_running.store(false, Ordering::Relaxed);
        for writer in writers {
            writer.join().unwrap();
        }
        rotated.unwrap();
    });
}

fn operator_keeps_its_certificate_converts_validates_and_migrates(cluster: &Cluster) {
    let runtime = Runtime::new().unwrap();
    let _guard = runtime.enter();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();

    // As the manifests are applied: without certificates.
    let manifests = json!(Harness::new(register).setup().webhook_manifests());
    let identity = cluster
        .operator(NAME, &TestOperator::permissions(register))
        .unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": format!("{NAME}-webhooks"), "namespace": format!("{NAME}-system")},
    });
    cluster.apply(&secret).unwrap();
    let mut definition = json!(TestOperator::definitions(register)[0]);
    call_by_url(
        &mut definition["spec"]["conversion"]["webhook"]["clientConfig"],
        port,
    );
    store(&mut definition, "v1alpha1");
    cluster.install_crd(&definition).unwrap();
    let mut validating = manifests["validating"].clone();
    call_by_url(&mut validating["webhooks"][0]["clientConfig"], port);
    cluster.apply(&validating).unwrap();

    let stop = CancellationToken::new();
    let mut config = runtime.block_on(identity.config()).unwrap();
    config.default_namespace = format!("{NAME}-system");
    let address = format!("--webhook-bind-address=127.0.0.1:{port}");
    let manager = Manager::new(NAME)
        .with_config(config)
        .with_args([
            &*address,
            "--leader-elect=false",
            "--health-bind-address=0",
            "--metrics-bind-address=0",
        ])
        .stop_on(&stop)
        .register(register);
    let running = runtime.spawn(async move { manager.run().await });

    // Until the CA bundle is there, the failure policy refuses every write.
    eventually("the operator is called", TIMEOUT, || {
        cluster
            .apply(&cup("v1", "first", &json!({"size": 2, "color": "red"})))
            .map_err(|error| format!("{error:?}"))
    });
    // A real API server notices each bundle after a while.
    let old = eventually("the operator converts", TIMEOUT, || {
        let read = cluster.get(&cup("v1alpha1", "first", &json!({})));
        read.map_err(|error| format!("{error:?}"))
    });
    assert_eq!(old.unwrap()["spec"], json!({"volume": 2}));
    let denied = cluster
        .apply(&cup("v1alpha1", "bad", &json!({"volume": 0})))
        .unwrap_err();
    let denied = format!("{denied:?}");
    assert!(
        denied.contains("spec.size: Invalid value: 0: must be at least 1"),
        "{denied}"
    );
    cluster
        .merge_patch(
            &cup("v1alpha1", "first", &json!({})),
            &json!({"spec": {"volume": 3}}),
        )
        .unwrap();
    let new = cluster.get(&cup("v1", "first", &json!({}))).unwrap().unwrap();
    assert_eq!(new["spec"], json!({"size": 3, "color": "red"}));

    rotate_under_load(cluster, &secret);

    // The next manifests store the hub: the operator has all objects rewritten, and then the old version can be removed.
    cluster.apply(&cup("v1", "second", &json!({"size": 1}))).unwrap();
    let mut stored = cluster.get(&definition).unwrap().unwrap();
    store(&mut stored, "v1");
    let versions = json!({"spec": {"versions": stored["spec"]["versions"]}});
    cluster.merge_patch(&definition, &versions).unwrap();
    eventually("all objects are stored as v1", TIMEOUT, || {
        let found = cluster.get(&definition).unwrap().unwrap();
        let stored = &found["status"]["storedVersions"];
        if *stored == json!(["v1"]) {
            Ok(())
        } else {
            Err(stored.to_string())
        }
    });
    let rewritten = cluster.get(&cup("v1", "first", &json!({}))).unwrap().unwrap();
    assert_ne!(
        rewritten["metadata"]["resourceVersion"],
        new["metadata"]["resourceVersion"]
    );
    assert_eq!(
        (&rewritten["spec"], &rewritten["metadata"]["generation"]),
        (&new["spec"], &new["metadata"]["generation"])
    );

    runtime.block_on(cluster.assert_exact_permissions(&identity));

    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
    cluster.delete(&validating).unwrap();

    // The last other version is removed. An apply leaves the bundle that the operator wrote, which is refused without a webhook: the
    // definition is replaced, as `kubewright remove version` prints it.
    let mut single = json!(TestOperator::definitions(|setup| _ = setup.versions::<v1::Cup>())[0]);
    assert_eq!(single["spec"]["conversion"], Value::Null);
    let refused = format!("{:?}", cluster.apply(&single).unwrap_err());
    let reasons = [
        "spec.conversion.strategy: Required value",
        "spec.conversion.webhookClientConfig: Forbidden",
    ];
    assert!(reasons.iter().all(|reason| refused.contains(reason)), "{refused}");
    let current = cluster.get(&single).unwrap().unwrap();
    single["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cups.served.dev";
    let replaced = cluster
        .request(Method::PUT, path, "application/json", Some(&single))
        .unwrap();
    assert_eq!(replaced["spec"]["conversion"], json!({"strategy": "None"}));
    single["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    cluster.apply(&single).unwrap();
    let read = cluster.get(&cup("v1", "first", &json!({}))).unwrap().unwrap();
    assert_eq!(read["spec"], json!({"size": 3, "color": "red"}));
    let read = cluster.get(&cup("v1", "second", &json!({}))).unwrap().unwrap();
    assert_eq!(read["spec"], json!({"size": 1}));
}
