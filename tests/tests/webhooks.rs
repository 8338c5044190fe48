//! The API servers and webhooks: what a comparison of responses does not show.

#[allow(dead_code, reason = "the differential suite reads the reviews")]
#[path = "support/webhook.rs"]
mod webhook;

use futures::future::join_all;
use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright_apiserver::ApiServer;
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::on_both_servers;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use webhook::WebhookServer;

struct Servers {
    api: ApiServer,
    client: Client,
    webhook: WebhookServer,
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

impl Servers {
    async fn start() -> Self {
        let api = ApiServer::start().await.unwrap();
        let kubeconfig = Kubeconfig::from_yaml(&api.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.unwrap();
        config.default_retry = false;
        Self {
            api,
            client: Client::try_from(config).unwrap(),
            webhook: WebhookServer::start(&[]).await,
        }
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type);
        self.client
            .request(request.body(body.to_string().into_bytes()).unwrap())
            .await
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, kube::Error> {
        self.request("POST", path, "application/json", &body).await
    }

    /// Registers a webhook for creates and updates of a resource, at a path of the same name.
    async fn register(&self, kind: &str, name: &str, resource: &str) {
        let url = format!("https://127.0.0.1:{}/{name}", self.webhook.port);
        let configuration = json!({ "metadata": { "name": name }, "webhooks": [{
            "name": format!("{name}.demo.dev"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": { "url": url, "caBundle": self.webhook.ca_bundle },
            "rules": [{ "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource] }],
        }] });
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
        self.post(&path, configuration).await.unwrap();
    }
}

on_both_servers!(audit_events_have_the_annotations_of_webhooks_and_policies);

fn audit_events_have_the_annotations_of_webhooks_and_policies(cluster: &Cluster) {
    const NAMESPACE: &str = "audited";
    let post = |path: &str, body: &Value| {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{path}");
        cluster
            .request(Method::POST, &path, "application/json", Some(body))
            .unwrap()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let webhook = runtime.block_on(WebhookServer::start(&[]));
    cluster.create_namespace(NAMESPACE).unwrap();
    let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": NAMESPACE } });
    let rules = json!([{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }]);
    for (kind, name) in [("mutating", "label"), ("validating", "check")] {
        let url = format!("https://127.0.0.1:{}/{name}", webhook.port);
        let configuration = json!({ "metadata": { "name": name }, "webhooks": [{
            "name": format!("{name}.demo.dev"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": { "url": url, "caBundle": webhook.ca_bundle },
            "rules": rules, "namespaceSelector": selector,
        }] });
        post(&format!("{kind}webhookconfigurations"), &configuration);
    }
    let policy = json!({ "metadata": { "name": "size" }, "spec": {
        "matchConstraints": { "resourceRules": rules, "namespaceSelector": selector },
        "validations": [{ "expression": "true" }, { "expression": "has(object.data)", "message": "no data" }],
        "auditAnnotations": [{ "key": "name", "valueExpression": "string(object.metadata.generateName)" }],
    } });
    post("validatingadmissionpolicies", &policy);
    let binding = json!({ "metadata": { "name": "sizes" }, "spec": { "policyName": "size", "validationActions": ["Audit", "Warn"] } });
    post("validatingadmissionpolicybindings", &binding);
    let patch = json!([{ "value": { "a": "b" }, "path": "/metadata/labels", "op": "add" }]);
    webhook.respond(
        "label",
        json!({ "allowed": true, "patch": patch, "auditAnnotations": { "why": "default" } }),
    );
    webhook.respond(
        "check",
        json!({ "allowed": true, "auditAnnotations": { "rule": "7" } }),
    );
    // All plugins run again after the change, but this webhook does not ask to be called again.
    let expected = [
        ("check.demo.dev/rule", "7"),
        ("label.demo.dev/why", "default"),
        (
            "mutation.webhook.admission.k8s.io/round_0_index_0",
            r#"{"configuration":"label","webhook":"label.demo.dev","mutated":true}"#,
        ),
        (
            "patch.webhook.admission.k8s.io/round_0_index_0",
            r#"{"configuration":"label","webhook":"label.demo.dev","patch":[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}],"patchType":"JSONPatch"}"#,
        ),
        ("size/name", "m-"),
        (
            "validation.policy.admission.k8s.io/validation_failure",
            r#"[{"message":"no data","policy":"size","binding":"sizes","expressionIndex":1,"validationActions":["Audit","Warn"]}]"#,
        ),
    ];
    let config_maps = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    // Policies and webhooks take effect a moment after they are stored.
    let reviews = eventually("the annotations are complete", Duration::from_secs(30), || {
        webhook.take_reviews();
        let body = json!({ "metadata": { "generateName": "m-" } });
        cluster
            .request(Method::POST, &config_maps, "application/json", Some(&body))
            .unwrap();
        let audit = cluster.audit().unwrap();
        let mut writes = audit
            .iter()
            .filter(|event| event.verb == "create" && event.namespace == NAMESPACE);
        let last = writes.next_back().unwrap();
        let mut annotations: Vec<(&str, &str)> = last
            .annotations
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        annotations.retain(|(key, _)| !key.starts_with("authorization.k8s.io/"));
        if annotations == expected {
            Ok(webhook.take_reviews())
        } else {
            Err(format!("{annotations:#?}"))
        }
    });
    assert_eq!(reviews.as_array().unwrap().len(), 2, "{reviews}");
}

/// All in one thread, so a request that blocked it would never end.
#[tokio::test]
async fn racing_writes_through_slow_webhooks_lose_nothing() {
    const WRITERS: usize = 16;
    let servers = Servers::start().await;
    servers.register("mutating", "slow", "configmaps").await;
    servers
        .webhook
        .respond("slow", json!({ "allowed": true, "delay": 0.02 }));
    servers
        .post(CONFIG_MAPS, json!({ "metadata": { "name": "m" } }))
        .await
        .unwrap();
    let path = format!("{CONFIG_MAPS}/m");
    let writes = (0..WRITERS).map(|writer| {
        let (servers, path) = (&servers, &path);
        async move {
            let body = json!({ "data": { writer.to_string(): "written" } });
            servers
                .request("PATCH", path, "application/merge-patch+json", &body)
                .await
                .unwrap();
        }
    });
    join_all(writes).await;
    let stored = servers
        .request("GET", &path, "application/json", &Value::Null)
        .await
        .unwrap();
    assert_eq!(stored["data"].as_object().unwrap().len(), WRITERS, "{stored}");
    servers.api.stop().await;
}

#[tokio::test]
async fn addresses_are_allocated_once_while_webhooks_are_called() {
    const SERVICES: usize = 8;
    let servers = Servers::start().await;
    servers.register("validating", "slow", "services").await;
    servers
        .webhook
        .respond("slow", json!({ "allowed": true, "delay": 0.1 }));
    let services = (0..SERVICES).map(|at| {
        let spec = json!({ "type": "NodePort", "ports": [{ "port": 80 }] });
        let service = json!({ "metadata": { "name": format!("s{at}") }, "spec": spec });
        servers.post("/api/v1/namespaces/default/services", service)
    });
    let created = join_all(services).await;
    let created: Vec<Value> = created.into_iter().map(Result::unwrap).collect();
    let distinct = |pointer: &str| {
        created
            .iter()
            .map(|service| service.pointer(pointer).unwrap().to_string())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(distinct("/spec/clusterIP").len(), SERVICES);
    assert_eq!(distinct("/spec/ports/0/nodePort").len(), SERVICES);
    // What a refused Service had is free again.
    servers.webhook.respond("slow", json!({ "allowed": false }));
    let taken = created[0]["spec"]["ports"][0]["nodePort"].as_u64().unwrap() + 1000;
    let service = json!({ "metadata": { "name": "fixed" }, "spec": { "type": "NodePort", "ports": [{ "port": 80, "nodePort": taken }] } });
    servers
        .post("/api/v1/namespaces/default/services", service.clone())
        .await
        .unwrap_err();
    servers.webhook.respond("slow", json!({ "allowed": true }));
    servers
        .post("/api/v1/namespaces/default/services", service)
        .await
        .unwrap();
    servers.api.stop().await;
}

#[tokio::test]
async fn server_stops_while_a_webhook_is_called() {
    const DELAY: Duration = Duration::from_secs(9);
    let servers = Servers::start().await;
    servers.register("validating", "stuck", "configmaps").await;
    servers
        .webhook
        .respond("stuck", json!({ "allowed": true, "delay": DELAY.as_secs() }));
    let start = Instant::now();
    let write = servers.post(CONFIG_MAPS, json!({ "metadata": { "name": "m" } }));
    let outcome = tokio::time::timeout(Duration::from_millis(300), write).await;
    assert!(outcome.is_err(), "the webhook did not delay the write");
    servers.api.stop().await;
    assert!(start.elapsed() < DELAY);
}
