//! Compares the OpenAPI documents of both servers: both publish the same paths and types, as JSON and as protobuf, of built-in kinds and of
//! custom resources.

use crate::case::{Step, Suite};
use crate::compare;
use crate::openapi_protobuf;
use crate::server::{StepResult, TestServer};
use crate::subresource_matrix::recorded_steps;
use crate::yaml;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Upper limit of the reported differences.
const MAX_REPORTED: usize = 40;

/// Longest time until a server publishes definitions.
const PUBLICATION_TIMEOUT: Duration = Duration::from_mins(3);

/// A group whose definitions share short names: not all are served.
const AMBIGUOUS_GROUP: &str = "short.dev";

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The suites whose definitions are compared.
const SUITES: [&str; 3] = ["definitions", "openapi", "served-definitions"];

/// Returns the differences of the documents of both versions.
pub(crate) async fn compare_documents(suites: &[Suite], ours: &TestServer, theirs: &TestServer) -> String {
    let definitions = definitions(suites);
    for server in [ours, theirs] {
        define(server, &definitions).await;
    }
    let mut report = String::new();
    let mut reported = 0;
    let index = names(&get(ours, "/openapi/v3").await["paths"]);
    let real_index = names(&get(theirs, "/openapi/v3").await["paths"]);
    compare_parts("/openapi/v3", (&index, &real_index), &mut reported, &mut report);
    let mut urls = vec!["/openapi/v2".to_owned()];
    let paths = index.as_object().unwrap().keys();
    urls.extend(paths.map(|path| format!("/openapi/v3/{path}")));
    for url in urls {
        let own = (get(ours, &url).await, get_protobuf(ours, &url).await);
        let real = (get(theirs, &url).await, get_protobuf(theirs, &url).await);
        for (encoding, own, real) in [("JSON", own.0, real.0), ("protobuf", own.1, real.1)] {
            let title = format!("{url} in {encoding}");
            compare_parts(&title, (&parts(own), &parts(real)), &mut reported, &mut report);
        }
    }
    report
}

/// Returns definitions of custom resources: those of other projects, those with all keywords of schemas, and those that the real server
/// accepts in other suites.
fn definitions(suites: &[Suite]) -> Vec<Value> {
    let imported = include_str!("../../imported/definitions.yaml").split("\n---\n");
    let mut all: Vec<Value> = imported.filter_map(yaml::read).collect();
    assert!(all.len() > 5);
    all.push(serde_json::from_str(include_str!("openapi_keywords.json")).unwrap());
    for (step, code, _) in recorded_steps(suites, &SUITES) {
        let Some(definition) = step
            .body
            .as_ref()
            .filter(|_| step.path == DEFINITIONS && code == 201)
        else {
            continue;
        };
        let is_known = |known: &Value| known["metadata"]["name"] == definition["metadata"]["name"];
        if definition["spec"]["group"] != AMBIGUOUS_GROUP && !all.iter().any(is_known) {
            all.push(definition.clone());
        }
    }
    all
}

/// Creates the definitions, and waits until the documents of both versions have their kinds.
async fn define(server: &TestServer, definitions: &[Value]) {
    let mut expected = vec![];
    for definition in definitions {
        let step = Step {
            method: "POST".to_owned(),
            path: DEFINITIONS.to_owned(),
            body: Some(approved(definition)),
            ..Step::default()
        };
        let (StepResult(code, body), _) = server.run_step(&step).await;
        assert_eq!(code, 201, "{}: {body}", definition["metadata"]["name"]);
        let group = definition["spec"]["group"].as_str().unwrap();
        let reversed: Vec<&str> = group.split('.').rev().collect();
        for version in definition["spec"]["versions"].as_array().unwrap() {
            if version["served"] == true {
                let version = version["name"].as_str().unwrap();
                let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
                let name = format!("{}.{version}.{kind}", reversed.join("."));
                expected.push((format!("/openapi/v3/apis/{group}/{version}"), name));
            }
        }
    }
    let start = Instant::now();
    loop {
        let document = get(server, "/openapi/v2").await;
        let index = get(server, "/openapi/v3").await;
        let mut missing = vec![];
        for (url, name) in &expected {
            let path = url.trim_start_matches("/openapi/v3/");
            if document["definitions"].get(name).is_none()
                || index["paths"].get(path).is_none()
                || get(server, url).await["components"]["schemas"]
                    .get(name)
                    .is_none()
            {
                missing.push(name);
            }
        }
        if missing.is_empty() {
            return;
        }
        assert!(
            start.elapsed() < PUBLICATION_TIMEOUT,
            "not published: {missing:?}"
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Definitions of groups of Kubernetes need the annotation.
fn approved(definition: &Value) -> Value {
    let mut definition = definition.clone();
    let annotation =
        json!({ "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/78458" });
    definition["metadata"]["annotations"] = annotation;
    definition
}

fn compare_parts(title: &str, (own, real): (&Value, &Value), reported: &mut usize, report: &mut String) {
    let empty = Map::new();
    let fields = own.as_object().unwrap_or(&empty);
    for (name, own) in fields.iter().filter(|(name, own)| real.get(*name) != Some(*own)) {
        *reported += 1;
        if *reported <= MAX_REPORTED {
            let _ = writeln!(report, "{title}: {name}");
            compare::write_diff(&real[name], own, "", report);
        }
    }
    let others = real.as_object().into_iter().flatten();
    for (name, _) in others.filter(|(name, _)| !fields.contains_key(*name)) {
        let _ = writeln!(report, "{title}: {name} is missing");
    }
}

async fn get(server: &TestServer, path: &str) -> Value {
    let bytes = server.get_bytes(path, "application/json").await;
    serde_json::from_slice(&bytes).unwrap()
}

async fn get_protobuf(server: &TestServer, path: &str) -> Value {
    let is_of = |version: &str| path.starts_with(&format!("/openapi/{version}"));
    let mut media_types = openapi_protobuf::MEDIA_TYPES.into_iter();
    let (version, media_type) = media_types.find(|(version, _)| is_of(version)).unwrap();
    openapi_protobuf::decode(version, &server.get_bytes(path, media_type).await)
}

/// Returns the paths of the index, without their hashes.
fn names(paths: &Value) -> Value {
    let paths = paths.as_object().unwrap().keys();
    paths
        .map(|path| (path.clone(), Value::Null))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns the parts of a document, by place.
fn parts(document: Value) -> Value {
    let mut parts = Map::new();
    // Documents have components, these have schemas.
    add_parts("", document, 3, &mut parts);
    parts.into()
}

fn add_parts(name: &str, part: Value, depth: usize, parts: &mut Map<String, Value>) {
    match part {
        Value::Object(fields) if depth > 0 && !fields.is_empty() => {
            for (field, part) in fields {
                add_parts(&format!("{name}/{field}"), part, depth - 1, parts);
            }
        }
        part => {
            parts.insert(name.to_owned(), part);
        }
    }
}
