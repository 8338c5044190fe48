//! Sends random requests, valid and invalid ones, to both servers in lockstep. `DIFFERENTIAL_SEED` and `DIFFERENTIAL_STEPS` override CI's
//! choice of requests.
//!
//! Steps of CI's seed that are known to differ are defects. `random.json` lists them by chapter; `UPDATE_DIFFERENTIAL=1` writes it.

mod examples;
mod exhaustive;
mod mutations;
mod persisted;
mod races;
mod rare_fields;
mod statuses;

use crate::case::{Step, folder};
use crate::normalize::Normalizer;
use crate::server::{StepResult, TestServer, substitute};
use crate::{compare, recording};
pub(crate) use examples::definition;
use examples::{examples, more_examples};
pub(crate) use exhaustive::compare as compare_exhaustively;
use mutations::{Mutation, junk_values, pointers, unusual_metadata};
pub(crate) use persisted::compare as compare_persisted;
pub(crate) use races::compare as compare_races;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Number of steps in one namespace (a chapter). A difference affects only the rest of its chapter.
const STEPS_PER_CHAPTER: usize = 40;
/// One in this many chapters ends with a watch of all its events, which takes a second.
const CHAPTERS_PER_WATCH: usize = 10;
/// Maximum number of differences to report.
const MAX_REPORTED_DIFFERENCES: usize = 60;

fn env_number(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Steps that are known to differ, by chapter.
type KnownDifferences = BTreeMap<usize, BTreeSet<usize>>;

fn known_differences_file() -> PathBuf {
    folder().join("random.json")
}

/// Compares the servers and returns a report of their differences; empty if there are none.
pub(crate) async fn compare(ours: &TestServer, theirs: &TestServer) -> String {
    let (seed, steps) = (
        env_number("DIFFERENTIAL_SEED", 1),
        env_number("DIFFERENTIAL_STEPS", 800),
    );
    let known: KnownDifferences = match seed {
        1 if std::env::var_os("DIFFERENTIAL_SHOW").is_none() => {
            serde_json::from_str(&std::fs::read_to_string(known_differences_file()).unwrap()).unwrap()
        }
        _ => KnownDifferences::new(),
    };
    let (mut report, mut reported, mut differing) = (String::new(), 0, KnownDifferences::new());
    install_definition(&[ours, theirs], definition()).await;
    for chapter in 0..steps.div_ceil(STEPS_PER_CHAPTER) {
        let number = u64::try_from(seed * 1_000_003 + chapter).unwrap();
        let mut random = RequestGenerator(StdRng::seed_from_u64(number));
        let namespace = format!("random-{chapter}");
        let mut variables = [BTreeMap::new(), BTreeMap::new()];
        let [mut our_normalizer, mut their_normalizer] = [Normalizer::default(), Normalizer::default()];
        for (server, variables) in [ours, theirs].into_iter().zip(&mut variables) {
            let body = json!({ "metadata": { "name": namespace } });
            let (_, raw) = server.run_step(&post("/api/v1/namespaces", body)).await;
            save_text(variables, "begin", &raw["metadata"]["resourceVersion"]);
            save_text(variables, "continue", &Value::Null);
        }
        for at in 0..STEPS_PER_CHAPTER {
            let step = if at + 1 == STEPS_PER_CHAPTER && chapter % CHAPTERS_PER_WATCH == 0 {
                random.watch(&namespace)
            } else {
                random.step(&namespace)
            };
            let [our_step, their_step] =
                [&variables[0], &variables[1]].map(|variables| substitute(&step, variables));
            let ((our_result, our_raw), (their_result, their_raw)) = futures::join!(
                ours.run_next_step(&our_step, &mut our_normalizer),
                theirs.run_next_step(&their_step, &mut their_normalizer)
            );
            for (variables, raw) in variables.iter_mut().zip([our_raw, their_raw]) {
                save_text(variables, "continue", &raw["metadata"]["continue"]);
            }
            if step.method == "DELETE"
                && our_step
                    .body
                    .is_some_and(|body| body["propagationPolicy"] == "Foreground")
            {
                futures::join!(
                    wait_for_foreground_deletion(ours, &step.path),
                    wait_for_foreground_deletion(theirs, &step.path)
                );
            }
            let (StepResult(here, ours), StepResult(there, theirs)) = (our_result, their_result);
            if there == 0 && here != 0 {
                eprintln!(
                    "chapter {chapter} step {at}: the real server sent no response to {}",
                    step.title()
                );
                continue;
            }
            if here == there && ours == theirs {
                continue;
            }
            differing.entry(chapter).or_default().insert(at);
            if reported >= MAX_REPORTED_DIFFERENCES
                || known.get(&chapter).is_some_and(|known| known.contains(&at))
            {
                continue;
            }
            let body = step.body.as_ref().map(Value::to_string).or(step.text.clone());
            let _ = writeln!(
                report,
                "chapter {chapter} step {at}: {} {:?} {}: {there} {here}",
                step.title(),
                step.content_type,
                body.unwrap_or_default()
            );
            compare::write_diff(&theirs, &ours, "", &mut report);
            reported += 1;
        }
    }
    if recording::is_update_requested() && seed == 1 {
        let lines: Vec<String> = differing
            .iter()
            .map(|(chapter, steps)| format!("\"{chapter}\": {}", json!(steps)))
            .collect();
        std::fs::write(
            known_differences_file(),
            format!("{{\n{}\n}}\n", lines.join(",\n")),
        )
        .unwrap();
        return String::new();
    }
    report
}

/// Saves a string of a response as a variable for later steps.
fn save_text(variables: &mut BTreeMap<String, String>, name: &str, value: &Value) {
    let text = value.as_str().unwrap_or_default().to_owned();
    variables.insert(name.to_owned(), text);
}

/// Waits until the garbage collector has processed an object with foreground deletion. The real one learns of a new kind within 30 s.
async fn wait_for_foreground_deletion(server: &TestServer, path: &str) {
    let step = Step {
        method: "GET".into(),
        path: path.into(),
        ..Step::default()
    };
    for _ in 0..2000 {
        let (_, raw) = server.run_step(&step).await;
        let finalizers = raw["metadata"]["finalizers"].as_array();
        if !finalizers.is_some_and(|names| names.contains(&json!("foregroundDeletion"))) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Installs a CRD on the servers and waits until it is served.
async fn install_definition(subjects: &[&TestServer], definition: Value) {
    for server in subjects {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        server.run_step(&post(path, definition.clone())).await;
        let served = Step {
            method: "GET".into(),
            path: "/apis/random.dev/v1/toys".into(),
            until: Some(200),
            ..Step::default()
        };
        server.run_step(&served).await;
    }
}

fn post(path: &str, body: Value) -> Step {
    Step {
        method: "POST".into(),
        path: path.into(),
        body: Some(body),
        ..Step::default()
    }
}

struct RequestGenerator(StdRng);

impl RequestGenerator {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        from.choose(&mut self.0).unwrap()
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    fn step(&mut self, namespace: &str) -> Step {
        let (group, plural, mut object) = if self.chance(40) {
            self.pick(&more_examples()).clone()
        } else {
            self.pick(&examples()).clone()
        };
        let name = *self.pick(&["a", "b", "c"]);
        object["metadata"] = json!({ "name": name });
        if self.chance(30) {
            object["metadata"]["labels"] = json!({ "app": *self.pick(&["x", "y"]) });
        }
        if self.chance(12) {
            self.mutate_metadata(&mut object);
        }
        if plural == "toys" && self.chance(30) {
            let names = ["x", "y", "z"].into_iter().filter(|_| self.chance(50));
            let names: Vec<&str> = names.collect();
            object["spec"]["parts"] = names.iter().map(|name| json!({ "name": name })).collect();
        }
        let all = format!("{group}/namespaces/{namespace}/{plural}");
        let one = format!("{all}/{name}");
        let write = *self.pick(&[
            "",
            "",
            "?fieldValidation=Strict",
            "?fieldManager=me",
            "?dryRun=All",
            "?fieldValidation=Ignore",
            "?dryRun=Some",
        ]);
        let mut step = Step::default();
        let (method, path) = match self.0.random_range(0..24) {
            20 => self.subresource_request(&mut step, &one, &object),
            21 => {
                let path = *self.pick(&[
                    "?limit=1&continue=${continue}",
                    "?limit=2",
                    "?limit=1",
                    "?limit=1&continue=x",
                    "?resourceVersion=0&limit=1",
                    "?resourceVersion=1&resourceVersionMatch=Exact",
                    "?resourceVersion=0&resourceVersionMatch=Exact",
                    "?resourceVersionMatch=NotOlderThan",
                    "?resourceVersion=x",
                    "?timeoutSeconds=x",
                    "?sendInitialEvents=true",
                ]);
                // Most paged lists are of a resource with several objects.
                let all = if self.chance(70) {
                    format!("/api/v1/namespaces/{namespace}/configmaps")
                } else {
                    all
                };
                ("GET", format!("{all}{path}"))
            }
            22 if self.chance(30) => ("DELETE", format!("{all}?{}", self.random_selection())),
            22 => {
                self.add_directive(&mut object);
                step.body = Some(object);
                step.content_type = Some("application/strategic-merge-patch+json".to_owned());
                ("PATCH", format!("{one}{write}"))
            }
            23 => {
                let metadata = object["metadata"].as_object_mut().unwrap();
                metadata.remove("name");
                metadata.insert("generateName".to_owned(), json!("abc-"));
                self.mutate(&mut object, 30);
                step.body = Some(object);
                // Dry run: stored objects with generated names would differ between the servers.
                ("POST", format!("{all}?dryRun=All"))
            }
            0..=5 => {
                self.mutate(&mut object, 60);
                step.body = Some(object);
                ("POST", format!("{all}{write}"))
            }
            6 | 7 => ("GET", one),
            8 => ("GET", format!("{all}?{}", self.random_selection())),
            9..=11 => {
                self.mutate(&mut object, 60);
                step.body = Some(object);
                ("PUT", format!("{one}{write}"))
            }
            12 | 13 => {
                if let Some(fields) = object.as_object_mut() {
                    fields.remove("metadata");
                }
                self.mutate(&mut object, 80);
                step.body = Some(object);
                let custom = plural == "toys";
                let types = [
                    "application/merge-patch+json",
                    "application/strategic-merge-patch+json",
                ];
                step.content_type = Some(if custom { types[0] } else { *self.pick(&types) }.to_owned());
                ("PATCH", format!("{one}{write}"))
            }
            14 | 15 => {
                self.mutate(&mut object, 30);
                step.body = Some(object);
                step.content_type = Some("application/apply-patch+yaml".to_owned());
                let by = *self.pick(&[
                    "?fieldManager=x",
                    "?fieldManager=y",
                    "?fieldManager=y&force=true",
                    "",
                ]);
                ("PATCH", format!("{one}{by}"))
            }
            16 if self.chance(40) => {
                self.mutate(&mut object, 80);
                step.body =
                    Some(json!({ "status": object["spec"], "spec": { "replicas": self.random_junk() } }));
                step.content_type = Some("application/merge-patch+json".to_owned());
                let subresource = *self.pick(&["status", "scale", "nope"]);
                ("PATCH", format!("{one}/{subresource}"))
            }
            16 => {
                step.body = Some(self.json_patch());
                step.content_type = Some("application/json-patch+json".to_owned());
                ("PATCH", one)
            }
            17 => {
                let options = [
                    json!(null),
                    json!({ "propagationPolicy": "Foreground" }),
                    json!({ "propagationPolicy": "Sometimes" }),
                    json!({ "preconditions": { "uid": "x" } }),
                    json!({ "gracePeriodSeconds": 0, "dryRun": ["All"] }),
                    json!({ "orphanDependents": true, "propagationPolicy": "Orphan" }),
                    json!({ "gracePeriodSeconds": "x" }),
                ];
                step.body = Some(self.pick(&options).clone()).filter(|body| !body.is_null());
                ("DELETE", one)
            }
            18 => {
                let text = object.to_string();
                let cut = self.0.random_range(0..text.len());
                step.text = Some(text[..cut].to_owned());
                ("POST", all)
            }
            _ => {
                let headers = [
                    "application/json;as=Table;v=v1;g=meta.k8s.io",
                    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                    "application/yaml",
                ];
                step.accept = Some((*self.pick(&headers)).to_owned());
                ("GET", all)
            }
        };
        method.clone_into(&mut step.method);
        step.path = path;
        step
    }

    /// Returns a watch from the chapter's first resource version.
    fn watch(&mut self, namespace: &str) -> Step {
        let (group, plural, _) = self.pick(&examples()).clone();
        let selection = *self.pick(&["", "&labelSelector=app%3Dx", "&fieldSelector=metadata.name%3Da"]);
        Step {
            method: "GET".to_owned(),
            path: format!(
                "{group}/namespaces/{namespace}/{plural}?watch=true&timeoutSeconds=1&resourceVersion=${{begin}}{selection}"
            ),
            events: Some(0),
            ..Step::default()
        }
    }

    /// Returns method and path of a request to a subresource of an object, and sets the step's body.
    fn subresource_request(&mut self, step: &mut Step, one: &str, object: &Value) -> (&'static str, String) {
        let scale = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": object["metadata"]["name"] },
            "spec": { "replicas": *self.pick(&[0, 1, 2, 5, 11, -1]) } });
        match self.0.random_range(0..8) {
            0 => ("GET", format!("{one}/scale")),
            1 => {
                step.body = Some(scale);
                self.mutate(step.body.as_mut().unwrap(), 30);
                ("PUT", format!("{one}/scale"))
            }
            2 => {
                step.body = Some(json!({ "spec": scale["spec"] }));
                self.mutate(step.body.as_mut().unwrap(), 30);
                step.content_type = Some("application/merge-patch+json".to_owned());
                ("PATCH", format!("{one}/scale"))
            }
            3 => {
                step.body = Some(scale);
                step.content_type = Some("application/apply-patch+yaml".to_owned());
                let by = *self.pick(&["?fieldManager=x", "?fieldManager=y&force=true"]);
                ("PATCH", format!("{one}/scale{by}"))
            }
            4 => {
                let mut object = object.clone();
                object["status"] = self
                    .pick(&[
                        json!({}),
                        json!({ "replicas": 1 }),
                        json!({ "ready": true }),
                        json!({ "phase": "Running" }),
                        json!({ "conditions": [{ "type": "Ready", "status": "True" }] }),
                        json!("x"),
                    ])
                    .clone();
                step.body = Some(object);
                ("PUT", format!("{one}/status"))
            }
            5 => {
                step.body = Some(
                    json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": object["metadata"]["name"] } }),
                );
                self.mutate(step.body.as_mut().unwrap(), 30);
                ("POST", format!("{one}/eviction"))
            }
            6 => {
                step.body = Some(
                    json!({ "apiVersion": "v1", "kind": "Binding", "target": { "kind": "Node", "name": "n" } }),
                );
                self.mutate(step.body.as_mut().unwrap(), 50);
                ("POST", format!("{one}/binding"))
            }
            _ => {
                step.body = Some(json!({ "spec": { "audiences": ["a"], "expirationSeconds": 900 } }));
                self.mutate(step.body.as_mut().unwrap(), 50);
                ("POST", format!("{one}/token"))
            }
        }
    }

    /// Sets an unusual or invalid metadata field.
    fn mutate_metadata(&mut self, object: &mut Value) {
        let (field, value) = self.pick(&unusual_metadata()).clone();
        object["metadata"][field] = value;
    }

    /// Turns an object into a strategic merge patch with a random directive.
    fn add_directive(&mut self, object: &mut Value) {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("metadata");
        }
        let pointer = self.pick(&pointers(object)).clone();
        let directive = self
            .pick(&[
                ("$patch", json!("delete")),
                ("$patch", json!("replace")),
                ("$patch", json!("merge")),
                ("$patch", json!("nope")),
                ("$retainKeys", json!(["name", "type"])),
                (
                    "$setElementOrder/containers",
                    json!([{ "name": "c" }, { "name": "d" }]),
                ),
                ("$deleteFromPrimitiveList/finalizers", json!(["x.dev/f"])),
            ])
            .clone();
        let items = match object.pointer_mut(&pointer) {
            Some(Value::Array(items)) => items.first_mut(),
            place => place,
        };
        if let Some(Value::Object(fields)) = items {
            fields.insert(directive.0.to_owned(), directive.1);
        }
    }

    fn random_selection(&mut self) -> String {
        let label = *self.pick(&[
            "app",
            "app=x",
            "app!=x",
            "app in (x,y)",
            "!app",
            "app notin (x)",
            "app=",
            "app in x",
            "a=b=c",
            "app>1",
            ",",
            "app=x,,",
        ]);
        let field = *self.pick(&[
            "",
            "metadata.name=a",
            "metadata.name!=a",
            "spec.x=1",
            "metadata.name",
            "metadata.namespace=x",
            "status.phase=Pending",
            "spec.nodeName!=n",
            "type=Opaque",
            "metadata.name=a,metadata.name=b",
        ]);
        let limit = *self.pick(&["", "1", "0", "-1", "x"]);
        let mut query = encode_query(&[("labelSelector", label), ("fieldSelector", field)]);
        if !limit.is_empty() {
            let _ = write!(query, "&limit={limit}");
        }
        query
    }

    fn json_patch(&mut self) -> Value {
        let path = *self.pick(&[
            "/metadata/labels",
            "/metadata/labels/app",
            "/data/a",
            "/spec/replicas",
            "/spec/size",
            "/nope/x",
            "/spec/parts/0",
            "/spec/parts/-",
            "/metadata/finalizers",
            "/metadata/generateName",
            "/status",
            "/spec/template/spec/containers/0/image",
            "",
        ]);
        let op = *self.pick(&["add", "replace", "remove", "test", "move", "nope"]);
        let value = self.random_junk();
        json!([{ "op": op, "path": path, "value": value, "from": "/metadata/annotations" }])
    }

    fn random_junk(&mut self) -> Value {
        self.pick(&junk_values()).clone()
    }

    /// With the given probability, replaces or removes a random value, or adds a field.
    fn mutate(&mut self, value: &mut Value, percent: u32) {
        if !self.chance(percent) {
            return;
        }
        let pointer = self.pick(&pointers(value)).clone();
        let (choice, junk) = (self.0.random_range(0..3), self.random_junk());
        let mutation = match choice {
            0 => Mutation::Remove,
            1 => Mutation::Put(junk),
            _ => Mutation::Add(junk),
        };
        mutation.apply(value, &pointer);
    }
}

/// Encodes pairs as a URL query.
fn encode_query(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| -> String {
        text.bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect()
    };
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key}={}", encode(value)))
        .collect();
    pairs.join("&")
}
