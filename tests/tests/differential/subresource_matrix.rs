//! Generates a suite: every subresource that the real server's discovery documents name, and one that does not exist, with every method.
//! All writes are dry runs.

use crate::case::{Case, Step, Suite};
use crate::random::definition;
use crate::recording;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const NAME: &str = "subresource-matrix";

/// The suites with an object of each kind: the first that the real server created is used.
const EXAMPLES: [&str; 2] = ["kinds", "served-kinds"];
/// The name of the objects in these suites, and what replaces it: the suites share a server.
const RENAMED: (&str, &str) = ("kind-s", "matrix");

/// A resource, with an object of it.
pub(crate) struct Resource {
    /// The path of its group and version, for example `/apis/apps/v1`.
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
    pub(crate) object: Value,
    /// The subresources that are requested.
    pub(crate) subresources: Vec<Subresource>,
}

pub(crate) struct Subresource {
    name: String,
    api_version: String,
    kind: String,
}

/// Returns the suite, generated from the other suites and their recordings.
pub(crate) fn suite(suites: &[Suite]) -> Suite {
    let mut cases: Vec<Case> = resources(suites).iter().map(case).collect();
    cases.push(custom_resource_case());
    Suite {
        name: NAME.to_owned(),
        cases,
    }
}

/// Returns the built-in resources that have subresources.
fn resources(suites: &[Suite]) -> Vec<Resource> {
    let examples = examples(suites);
    let mut resources = vec![];
    for (step, _, document) in recorded_steps(suites, &["discovery"]) {
        if document["kind"] != "APIResourceList" {
            continue;
        }
        let group_version = document["groupVersion"].as_str().unwrap();
        let entries = document["resources"].as_array().unwrap();
        for entry in entries {
            let plural = entry["name"].as_str().unwrap();
            let subresources: Vec<Subresource> = entries
                .iter()
                .filter_map(|entry| subresource(plural, group_version, entry))
                .collect();
            if subresources.is_empty() {
                continue;
            }
            let path = format!("{}/{plural}", step.path);
            let object = match plural {
                "customresourcedefinitions" => definition_of("dolls", "Doll"),
                _ => examples
                    .get(&path)
                    .cloned()
                    .unwrap_or_else(|| panic!("{path}: no example")),
            };
            resources.push(Resource {
                group: step.path.clone(),
                plural: plural.to_owned(),
                is_namespaced: entry["namespaced"] == true,
                object,
                subresources,
            });
        }
    }
    resources
}

/// Returns the entry of a discovery document as a subresource of the resource, if it is one.
fn subresource(plural: &str, group_version: &str, entry: &Value) -> Option<Subresource> {
    let name = entry["name"].as_str()?.strip_prefix(plural)?.strip_prefix('/')?;
    let api_version = match (entry["group"].as_str(), entry["version"].as_str()) {
        (Some(group), Some(version)) => format!("{group}/{version}"),
        (None, Some(version)) => version.to_owned(),
        _ => group_version.to_owned(),
    };
    Some(Subresource {
        name: name.to_owned(),
        api_version,
        kind: entry["kind"].as_str()?.to_owned(),
    })
}

/// Returns the first object of each kind that the real server created, by the path of its collection without the namespace.
pub(crate) fn examples(suites: &[Suite]) -> BTreeMap<String, Value> {
    let mut examples = BTreeMap::new();
    for (step, code, _) in recorded_steps(suites, &EXAMPLES) {
        let (path, _) = step.path.split_once('?').unwrap_or((&step.path, ""));
        if let ("POST", 201, Some(body)) = (&*step.method, code, &step.body) {
            let object = body.to_string().replace(RENAMED.0, RENAMED.1);
            let object = serde_json::from_str(&object).unwrap();
            examples
                .entry(path.replace("/namespaces/${ns}", ""))
                .or_insert(object);
        }
    }
    examples
}

/// Returns the steps of the suites of these names, with the real server's status codes and bodies.
pub(crate) fn recorded_steps<'s>(suites: &'s [Suite], names: &[&str]) -> Vec<(&'s Step, u16, Value)> {
    let mut steps = vec![];
    for suite in suites.iter().filter(|suite| names.contains(&&*suite.name)) {
        let mut recording = recording::read(suite);
        for case in &suite.cases {
            let recorded = recording.remove(&case.name).unwrap_or_default();
            let recorded = case.steps.iter().zip(recorded);
            steps.extend(recorded.map(|(step, (code, body))| (step, code, body)));
        }
    }
    steps
}

/// Returns the definition of another kind than that of the custom resource.
pub(crate) fn definition_of(plural: &str, kind: &str) -> Value {
    let text = definition().to_string();
    serde_json::from_str(&text.replace("toys", plural).replace("Toy", kind)).unwrap()
}

/// Creates the object, requests each subresource with each method, and deletes the object, which must still exist.
fn case(resource: &Resource) -> Case {
    let namespace = if resource.is_namespaced {
        "/namespaces/${ns}"
    } else {
        ""
    };
    let collection = format!("{}{namespace}/{}", resource.group, resource.plural);
    let name = resource.object["metadata"]["name"].as_str().unwrap();
    let object_path = format!("{collection}/{name}");
    let step = |method: &str, path: &str, body: Option<Value>| Step {
        method: method.to_owned(),
        path: path.to_owned(),
        body,
        status_only: true,
        ..Step::default()
    };
    let (_, version) = resource.group.rsplit_once('/').unwrap();
    let mut steps = vec![step("POST", &collection, Some(resource.object.clone()))];
    for subresource in &resource.subresources {
        steps.extend(requests(
            &object_path,
            &subresource.name,
            subresource,
            &resource.object,
        ));
    }
    // A name that is not a subresource, with the bodies of one that is.
    let last = resource.subresources.last().unwrap();
    steps.extend(requests(&object_path, "nope", last, &resource.object));
    steps.push(step("GET", &object_path, None));
    steps.push(step("DELETE", &object_path, None));
    Case {
        name: format!("subresources of {} {version}", resource.plural),
        about: 1,
        steps,
    }
}

/// Returns a request with each method to a subresource. Bodies are of the subresource's kind.
fn requests(object_path: &str, path: &str, subresource: &Subresource, object: &Value) -> Vec<Step> {
    let metadata = json!({ "name": object["metadata"]["name"] });
    let minimal =
        json!({ "apiVersion": subresource.api_version, "kind": subresource.kind, "metadata": metadata });
    let whole = if subresource.kind == object["kind"] {
        object
    } else {
        &minimal
    };
    let change = json!({ "metadata": { "annotations": { "matrix": "x" } } });
    let methods = [
        ("GET", "", None, ""),
        ("POST", "?dryRun=All", Some(whole), "application/json"),
        ("PUT", "?dryRun=All", Some(whole), "application/json"),
        (
            "PATCH",
            "?dryRun=All",
            Some(&change),
            "application/merge-patch+json",
        ),
        (
            "PATCH",
            "?dryRun=All&fieldManager=matrix",
            Some(&minimal),
            "application/apply-patch+yaml",
        ),
        ("DELETE", "?dryRun=All", None, ""),
    ];
    let request = |(method, query, body, content_type): (&str, &str, Option<&Value>, &str)| Step {
        method: method.to_owned(),
        path: format!("{object_path}/{path}{query}"),
        body: body.cloned(),
        content_type: body.map(|_| content_type.to_owned()),
        summary: true,
        ..Step::default()
    };
    methods.into_iter().map(request).collect()
}

/// The subresources of a custom resource. Its definition stays.
fn custom_resource_case() -> Case {
    let toy = json!({ "apiVersion": "random.dev/v1", "kind": "Toy", "metadata": { "name": RENAMED.1 }, "spec": { "size": 3 } });
    let subresource = |name: &str, api_version: &str, kind: &str| Subresource {
        name: name.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    };
    let mut case = case(&Resource {
        group: "/apis/random.dev/v1".to_owned(),
        plural: "toys".to_owned(),
        is_namespaced: true,
        object: toy,
        subresources: vec![
            subresource("status", "random.dev/v1", "Toy"),
            subresource("scale", "autoscaling/v1", "Scale"),
        ],
    });
    let define = Step {
        method: "POST".to_owned(),
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
        body: Some(definition()),
        status_only: true,
        ..Step::default()
    };
    let served = Step {
        method: "GET".to_owned(),
        path: "/apis/random.dev/v1/toys".to_owned(),
        until: Some(200),
        status_only: true,
        ..Step::default()
    };
    case.steps.splice(..0, [define, served]);
    case
}
