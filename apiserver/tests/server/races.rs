//! Racing writers: writes without a resource version never answer 409, as on the real server.

use crate::client::{CONFIG_MAPS, FOOS, Response, TestServer, config_map, foo};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// A request of a racing writer.
#[derive(Clone)]
struct Write {
    method: &'static str,
    path: String,
    content_type: &'static str,
    body: Value,
}

impl Write {
    fn new(method: &'static str, path: &str, content_type: &'static str, body: Value) -> Self {
        Self {
            method,
            path: path.to_owned(),
            content_type,
            body,
        }
    }
}

async fn send(server: &TestServer, write: &Write) -> Response {
    let content = ("Content-Type", write.content_type);
    let body = if write.body.is_null() {
        String::new()
    } else {
        write.body.to_string()
    };
    let token = server.api.admin_token();
    server
        .send(token, write.method, &write.path, &[content], body.as_bytes())
        .await
}

/// Sends each writer's requests in order, all writers at the same time. Returns the responses of each writer.
async fn race(server: &Arc<TestServer>, writers: Vec<Vec<Write>>) -> Vec<Vec<Response>> {
    let run = |queue: Vec<Write>| {
        let server = server.clone();
        tokio::spawn(async move {
            let mut responses = vec![];
            for write in queue {
                responses.push(send(&server, &write).await);
            }
            responses
        })
    };
    let tasks: Vec<_> = writers.into_iter().map(run).collect();
    let mut responses = vec![];
    for task in tasks {
        responses.push(task.await.unwrap_or_else(|error| panic!("{error}")));
    }
    responses
}

/// Sends `total` requests, spread over the writers.
async fn race_numbered(
    server: &Arc<TestServer>,
    writers: usize,
    total: usize,
    write: impl Fn(usize) -> Write,
) -> Vec<Response> {
    let numbers = |writer| (writer..total).step_by(writers);
    let queues = (0..writers).map(|writer| numbers(writer).map(&write).collect());
    race(server, queues.collect())
        .await
        .into_iter()
        .flatten()
        .collect()
}

/// Counts the responses of each status code.
fn codes(responses: &[Response]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for response in responses {
        *counts.entry(response.code).or_default() += 1;
    }
    counts
}

#[track_caller]
fn assert_codes(responses: &[Response], expected: &[(u16, usize)]) {
    let first_error = responses.iter().find(|response| response.code >= 400);
    assert_eq!(
        codes(responses),
        expected.iter().copied().collect(),
        "{first_error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_patches_of_every_type_all_succeed_and_none_is_lost() {
    let server = Arc::new(TestServer::start().await);
    for writers in [2, 16] {
        for (name, media_type) in [
            ("json", JSON_PATCH),
            ("merge", MERGE_PATCH),
            ("strategic", STRATEGIC_PATCH),
            ("apply", APPLY_PATCH),
        ] {
            // Each apply has a field manager of its own, and each manager makes the next write slower.
            let total = if media_type == APPLY_PATCH { 64 } else { 200 };
            let name = format!("{name}-{writers}");
            let mut object = config_map(&name);
            object["data"] = json!({ "first": "" });
            server.create(CONFIG_MAPS, object).await;
            let path = format!("{CONFIG_MAPS}/{name}");
            let responses = race_numbered(&server, writers, total, |number| {
                let key = format!("k{number}");
                let body = match media_type {
                    JSON_PATCH => json!([{ "op": "add", "path": format!("/data/{key}"), "value": "v" }]),
                    APPLY_PATCH => json!({
                        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { key: "v" },
                    }),
                    _ => json!({ "data": { key: "v" } }),
                };
                let manager = if media_type == APPLY_PATCH { number } else { 0 };
                let path = format!("{path}?fieldManager=m{manager}");
                Write::new("PATCH", &path, media_type, body)
            })
            .await;
            assert_codes(&responses, &[(200, total)]);
            let data = server.get(&path).await.expect(200)["data"].clone();
            assert_eq!(data.as_object().unwrap().len(), total + 1, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_writes_without_resource_version_to_subresources_all_succeed() {
    let server = Arc::new(TestServer::start().await);
    server.define_foo().await;
    server.create(FOOS, foo("a", json!({}))).await;
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let deployment = json!({
        "metadata": { "name": "a" }, "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template },
    });
    server.create(DEPLOYMENTS, deployment).await;
    for path in [FOOS, DEPLOYMENTS] {
        let (status, scale) = (format!("{path}/a/status"), format!("{path}/a/scale"));
        let responses = race_numbered(&server, 16, 192, |number| match number % 3 {
            0 => Write::new(
                "PATCH",
                &status,
                MERGE_PATCH,
                json!({ "status": { "replicas": number } }),
            ),
            1 => Write::new(
                "PATCH",
                &scale,
                MERGE_PATCH,
                json!({ "spec": { "replicas": number } }),
            ),
            _ => {
                let metadata = json!({ "name": "a", "namespace": "default" });
                let replaced = json!({
                    "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": { "replicas": number },
                });
                Write::new("PUT", &scale, JSON, replaced)
            }
        })
        .await;
        assert_codes(&responses, &[(200, 192)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_applies_create_once_and_never_answer_already_exists() {
    let server = Arc::new(TestServer::start().await);
    for round in 0..20 {
        let path = format!("{CONFIG_MAPS}/a{round}");
        let responses = race_numbered(&server, 16, 16, |number| {
            let body = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("a{round}") },
                "data": { format!("k{number}"): "v" },
            });
            Write::new(
                "PATCH",
                &format!("{path}?fieldManager=m{number}"),
                APPLY_PATCH,
                body,
            )
        })
        .await;
        assert_codes(&responses, &[(200, 15), (201, 1)]);
        let data = server.get(&path).await.expect(200)["data"].clone();
        assert_eq!(data.as_object().unwrap().len(), 16);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_puts_create_once_or_replace() {
    let server = Arc::new(TestServer::start().await);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let path = format!("{leases}/a");
    let replacement = |number: usize| {
        let lease =
            json!({ "metadata": { "name": "a" }, "spec": { "holderIdentity": format!("h{number}") } });
        Write::new("PUT", &path, JSON, lease)
    };
    let responses = race_numbered(&server, 16, 16, replacement).await;
    // Leases can be created by an update, but not replaced without a resource version.
    assert_codes(&responses, &[(201, 1), (422, 15)]);
    server.create(CONFIG_MAPS, config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let replace = |number: usize| {
        let mut object = config_map("a");
        object["data"] = json!({ "k": number.to_string() });
        Write::new("PUT", &path, JSON, object)
    };
    assert_codes(&race_numbered(&server, 16, 160, replace).await, &[(200, 160)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_the_racing_writes_with_the_same_resource_version_succeeds() {
    let server = Arc::new(TestServer::start().await);
    server.create(CONFIG_MAPS, config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    for (method, media_type) in [
        ("PUT", JSON),
        ("PATCH", MERGE_PATCH),
        ("PATCH", APPLY_PATCH),
        ("DELETE", JSON),
    ] {
        let object = server.get(&path).await.expect(200);
        let version = &object["metadata"]["resourceVersion"];
        let responses = race_numbered(&server, 16, 16, |number| {
            let mut body = config_map("a");
            body["metadata"]["resourceVersion"] = version.clone();
            body["data"] = json!({ format!("k{number}"): format!("{method}{media_type}") });
            if method == "DELETE" {
                body = json!({ "preconditions": { "resourceVersion": version } });
            }
            let path = match media_type {
                APPLY_PATCH => format!("{path}?fieldManager=m{number}&force=true"),
                _ => path.clone(),
            };
            Write::new(method, &path, media_type, body)
        })
        .await;
        let lost = if method == "DELETE" { 404 } else { 409 };
        assert_codes(&responses, &[(200, 1), (lost, 15)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_removals_of_the_last_finalizer_answer_200_or_404() {
    let server = Arc::new(TestServer::start().await);
    for round in 0..10 {
        let name = format!("a{round}");
        let mut object = config_map(&name);
        object["metadata"]["finalizers"] = json!(["demo.dev/hold"]);
        server.create(CONFIG_MAPS, object).await;
        let path = format!("{CONFIG_MAPS}/{name}");
        server.request("DELETE", &path, None).await.expect(200);
        let removal = json!({ "metadata": { "finalizers": null } });
        let responses = race_numbered(&server, 16, 16, |_| {
            Write::new("PATCH", &path, MERGE_PATCH, removal.clone())
        })
        .await;
        let counts = codes(&responses);
        assert!(counts.keys().all(|code| [200, 404].contains(code)), "{counts:?}");
        server.get(&path).await.expect(404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_the_racing_bindings_of_a_pod_succeeds() {
    let server = Arc::new(TestServer::start().await);
    for round in 0..10 {
        let name = format!("a{round}");
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        server
            .create(PODS, json!({ "metadata": { "name": name }, "spec": spec }))
            .await;
        let responses = race_numbered(&server, 8, 8, |number| {
            let target = json!({ "kind": "Node", "name": format!("n{number}") });
            let binding = json!({ "metadata": { "name": name }, "target": target });
            Write::new("POST", &format!("{PODS}/{name}/binding"), JSON, binding)
        })
        .await;
        assert_codes(&responses, &[(201, 1), (409, 7)]);
    }
}

#[tokio::test]
async fn binding_of_a_pod_that_is_deleted_or_gated_answers_409() {
    let server = TestServer::start().await;
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    let mut gated = json!({ "metadata": { "name": "gated" }, "spec": spec });
    gated["spec"]["schedulingGates"] = json!([{ "name": "demo.dev/gate" }]);
    server.create(PODS, gated).await;
    let metadata = json!({ "name": "a", "finalizers": ["demo.dev/hold"] });
    server
        .create(PODS, json!({ "metadata": metadata, "spec": spec }))
        .await;
    server
        .request("DELETE", &format!("{PODS}/a"), None)
        .await
        .expect(200);
    for (name, why) in [
        ("a", "pod a is being deleted, cannot be assigned to a host"),
        ("gated", "pod gated has non-empty .spec.schedulingGates"),
    ] {
        let binding = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": "n" } });
        let path = format!("{PODS}/{name}/binding");
        let refused = server.request("POST", &path, Some(binding)).await.expect(409);
        let message = format!("Operation cannot be fulfilled on pods/binding \"{name}\": {why}");
        assert_eq!(refused["message"], message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_services_never_share_an_address_or_a_node_port() {
    let server = Arc::new(TestServer::start().await);
    let service = |number: usize, port: Value| {
        let spec = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": port }] });
        let service = json!({ "metadata": { "name": format!("s{number}") }, "spec": spec });
        Write::new("POST", SERVICES, JSON, service)
    };
    let responses = race_numbered(&server, 16, 16, |number| service(number, json!(30_080))).await;
    assert_codes(&responses, &[(201, 1), (422, 15)]);
    let address = json!({ "clusterIP": "10.0.0.77", "ports": [{ "port": 80 }] });
    let responses = race_numbered(&server, 16, 16, |number| {
        let metadata = json!({ "name": format!("t{number}") });
        let service = json!({ "metadata": metadata, "spec": address });
        Write::new("POST", SERVICES, JSON, service)
    })
    .await;
    assert_codes(&responses, &[(201, 1), (422, 15)]);
    race_numbered(&server, 16, 64, |number| service(number + 100, Value::Null)).await;
    let services = server.get(SERVICES).await.expect(200);
    let specs = services["items"].as_array().unwrap().iter();
    let specs = specs.map(|service| service["spec"].clone());
    let addresses: Vec<String> = specs.clone().map(|spec| spec["clusterIP"].to_string()).collect();
    let distinct: BTreeSet<&String> = addresses.iter().collect();
    assert_eq!(distinct.len(), addresses.len());
    let ports = specs.filter_map(|spec| spec["ports"][0]["nodePort"].as_u64());
    let ports: Vec<u64> = ports.collect();
    let distinct: BTreeSet<&u64> = ports.iter().collect();
    assert_eq!((distinct.len(), ports.len()), (65, 65));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_creates_never_exceed_a_quota() {
    let server = Arc::new(TestServer::start().await);
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let hard = json!({ "count/configmaps": "10" });
    let mut quota = json!({ "metadata": { "name": "q" }, "spec": { "hard": hard } });
    server.create(quotas, quota.clone()).await;
    quota["status"] = json!({ "hard": hard, "used": { "count/configmaps": "0" } });
    let status = format!("{quotas}/q/status");
    server.request("PUT", &status, Some(quota)).await.expect(200);
    // Every third request changes the quota beside the creates.
    let responses = race_numbered(&server, 16, 48, |number| match number % 3 {
        0 => Write::new(
            "PATCH",
            &format!("{quotas}/q"),
            MERGE_PATCH,
            json!({ "metadata": { "labels": { "n": number.to_string() } } }),
        ),
        _ => Write::new("POST", CONFIG_MAPS, JSON, config_map(&format!("c{number}"))),
    })
    .await;
    assert_codes(&responses, &[(200, 16), (201, 10), (403, 22)]);
    let used = &server.get(&format!("{quotas}/q")).await.expect(200)["status"]["used"];
    assert_eq!(used, &json!({ "count/configmaps": "10" }));
}
