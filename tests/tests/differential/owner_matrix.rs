//! Generates a suite about garbage collection: owners of every kind that clients can create and delete, dependents whose own default
//! policies differ, and dependents with the finalizers of a policy.

use crate::case::{Case, Step, Suite};
use crate::subresource_matrix::{Resource, definition_of, examples, recorded_steps};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "owner-matrix";

/// What the name of the examples begins with, and what replaces it.
const RENAMED: (&str, &str) = ("matrix", "owner");
/// Kinds whose owners get every policy: those with controllers, one without, and custom ones.
const WITH_ALL_POLICIES: [&str; 10] = [
    "boxes",
    "configmaps",
    "cronjobs",
    "daemonsets",
    "deployments",
    "jobs",
    "pods",
    "replicasets",
    "replicationcontrollers",
    "statefulsets",
];
/// The dependents of owners of these kinds, and of the others.
const DEPENDENTS: [&str; 4] = ["plain", "job", "orphans", "first"];
const FEW_DEPENDENTS: [&str; 2] = ["plain", "orphans"];
/// Kinds whose dependents are orphaned unless a request says otherwise.
const ORPHANING: [&str; 2] = ["jobs", "replicationcontrollers"];
/// Kinds whose owners are not compared.
const LEFT_OUT: [&str; 8] = [
    // Created and deleted with definitions, by a controller.
    "apiservices",
    // A finalizer keeps them until a controller has deleted the custom resources.
    "customresourcedefinitions",
    // The embedded server refuses them.
    "mutatingadmissionpolicybindings",
    // The namespace controller deletes their content first.
    "namespaces",
    // Finalizers protect those in use.
    "persistentvolumeclaims",
    "persistentvolumes",
    "volumeattributesclasses",
    // A finalizer protects those whose addresses are in use.
    "servicecidrs",
];

/// Returns the suite, generated from the other suites and their recordings. The custom kind is defined first: kube-controller-manager's collector
/// looks for new kinds every 30 seconds.
pub(crate) fn suite(suites: &[Suite]) -> Suite {
    let mut cases = vec![definition_of_boxes()];
    cases.extend(owners(suites).iter().map(case));
    cases.push(case(&Resource {
        group: "/apis/random.dev/v1".to_owned(),
        plural: "boxes".to_owned(),
        is_namespaced: true,
        object: json!({ "apiVersion": "random.dev/v1", "kind": "Box", "metadata": { "name": RENAMED.1 }, "spec": { "size": 3 } }),
        subresources: vec![],
    }));
    Suite {
        name: NAME.to_owned(),
        cases,
    }
}

fn definition_of_boxes() -> Case {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let define = Step {
        status_only: true,
        ..step("POST", definitions, Some(definition_of("boxes", "Box")))
    };
    let served = Step {
        until: Some(200),
        status_only: true,
        ..step("GET", "/apis/random.dev/v1/boxes", None)
    };
    Case {
        name: "definition of custom owners".to_owned(),
        about: 4,
        steps: vec![define, served],
    }
}

/// The resources of recorded discovery documents that can be created and deleted, each with an example.
fn owners(suites: &[Suite]) -> Vec<Resource> {
    let examples = examples(suites);
    let mut owners: Vec<Resource> = vec![];
    for (step, _, document) in recorded_steps(suites, &["discovery"]) {
        if document["kind"] != "APIResourceList" {
            continue;
        }
        for entry in document["resources"].as_array().unwrap() {
            let plural = entry["name"].as_str().unwrap();
            let has = |verb: &str| entry["verbs"].as_array().unwrap().contains(&json!(verb));
            let path = format!("{}/{plural}", step.path);
            let is_new = !owners.iter().any(|owner| owner.plural == plural);
            if !has("create") || !has("delete") || LEFT_OUT.contains(&plural) || !is_new {
                continue;
            }
            let Some(object) = examples.get(&path) else {
                continue;
            };
            let text = object.to_string().replace(RENAMED.0, RENAMED.1);
            let mut object: Value = serde_json::from_str(&text).unwrap();
            object["apiVersion"] = document["groupVersion"].clone();
            object["kind"] = entry["kind"].clone();
            owners.push(Resource {
                group: step.path.clone(),
                plural: plural.to_owned(),
                is_namespaced: entry["namespaced"] == true,
                object,
                subresources: vec![],
            });
        }
    }
    owners
}

/// For each policy: creates an owner, its dependents and theirs, deletes the owner, waits for the collector, and reads what is left.
fn case(owner: &Resource) -> Case {
    let (policies, dependents): (&[&str], _) = if WITH_ALL_POLICIES.contains(&&*owner.plural) {
        (&["", "Background", "Foreground", "Orphan"], &DEPENDENTS[..])
    } else {
        (&[""], &FEW_DEPENDENTS[..])
    };
    let mut steps = vec![];
    for policy in policies {
        steps.extend(steps_of(owner, policy, dependents));
    }
    Case {
        name: format!("{} as owners", owner.plural),
        about: 4,
        steps,
    }
}

fn steps_of(owner: &Resource, policy: &str, dependents: &[&str]) -> Vec<Step> {
    let prefix = if policy.is_empty() { "default" } else { policy }.to_lowercase();
    let namespace = if owner.is_namespaced {
        "/namespaces/${ns}"
    } else {
        ""
    };
    let collection = format!("{}{namespace}/{}", owner.group, owner.plural);
    let name = owner.object["metadata"]["name"].as_str().unwrap();
    let owner_path = format!("{collection}/{name}");
    let of_owner = json!({
        "apiVersion": owner.object["apiVersion"], "kind": owner.object["kind"], "name": name, "uid": "${owner}",
    });
    let mut blocking = of_owner.clone();
    blocking["blockOwnerDeletion"] = json!(true);

    let mut steps = vec![saving(
        "owner",
        step("POST", &collection, Some(owner.object.clone())),
    )];
    let dependents = dependents.iter().map(|variable| {
        let name = format!("{prefix}-{variable}");
        let dependent = match *variable {
            "plain" => config_map(&name, &of_owner, &[]),
            "orphans" => config_map(&name, &blocking, &["orphan"]),
            "first" => config_map(&name, &of_owner, &["foregroundDeletion"]),
            _ => job(&name, &blocking),
        };
        (*variable, dependent)
    });
    let dependents: Vec<(&str, (String, Value))> = dependents.collect();
    for (variable, (path, object)) in &dependents {
        steps.push(saving(variable, step("POST", path, Some(object.clone()))));
        let parent = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
            "uid": format!("${{{variable}}}"),
        });
        let (path, child) = config_map(&format!("{prefix}-below-{variable}"), &parent, &[]);
        steps.push(summary(step("POST", &path, Some(child))));
    }
    let query = match policy {
        "" => String::new(),
        policy => format!("?propagationPolicy={policy}"),
    };
    let is_orphaned = policy == "Orphan" || policy.is_empty() && ORPHANING.contains(&&*owner.plural);
    steps.push(Step {
        after_collector: is_orphaned,
        ..summary(step("DELETE", &format!("{owner_path}{query}"), None))
    });
    steps.push(gone(&owner_path));
    for (variable, (path, object)) in &dependents {
        let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
        let below = format!("/api/v1/namespaces/${{ns}}/configmaps/{prefix}-below-{variable}");
        if is_orphaned {
            steps.push(metadata(&path));
            steps.push(metadata(&below));
            continue;
        }
        steps.push(gone(&path));
        steps.push(if *variable == "orphans" {
            metadata(&below)
        } else {
            gone(&below)
        });
    }
    steps
}

fn config_map(name: &str, owner: &Value, finalizers: &[&str]) -> (String, Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "ownerReferences": [owner], "finalizers": finalizers },
    });
    ("/api/v1/namespaces/${ns}/configmaps".to_owned(), object)
}

/// A kind whose dependents are orphaned by default: the collector asks for another policy.
fn job(name: &str, owner: &Value) -> (String, Value) {
    let object = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": name, "ownerReferences": [owner] },
        "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } },
    });
    ("/apis/batch/v1/namespaces/${ns}/jobs".to_owned(), object)
}

fn step(method: &str, path: &str, body: Option<Value>) -> Step {
    Step {
        method: method.to_owned(),
        path: path.to_owned(),
        body,
        ..Step::default()
    }
}

fn summary(step: Step) -> Step {
    Step {
        summary: true,
        ..step
    }
}

fn saving(variable: &str, step: Step) -> Step {
    Step {
        save: [(variable.to_owned(), "/metadata/uid".to_owned())].into(),
        ..summary(step)
    }
}

/// Waits until the object does not exist.
fn gone(path: &str) -> Step {
    Step {
        until: Some(404),
        ..summary(step("GET", path, None))
    }
}

/// Reads finalizers and owners.
fn metadata(path: &str) -> Step {
    Step {
        pick: Some("/metadata".to_owned()),
        ..step("GET", path, None)
    }
}
