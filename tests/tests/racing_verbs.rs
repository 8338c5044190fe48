//! All pairs of write verbs race about one object: each request gets a response that one of the orders explains. So no patch, apply or
//! delete without a resource version answers that there was a conflict.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::thread;

use http::Method;
use kubewright_testkit::{Cluster, ClusterError};
use kubewright_tests::on_both_servers;
use serde_json::{Value, json};

/// Requests of each writer in a race.
const REQUESTS: usize = 8;

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

on_both_servers!(pairs_of_racing_verbs_answer_what_one_of_their_orders_answers);

/// A request, and the responses that it may get.
struct Write {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Value,
    /// Values of the object in the response, by JSON pointers, whatever the other writers did before.
    written: &'static [(&'static str, &'static str)],
    /// Reasons of errors.
    errors: &'static [&'static str],
}

fn pairs_of_racing_verbs_answer_what_one_of_their_orders_answers(cluster: &Cluster) {
    cluster.create_namespace("races").unwrap();
    let verbs = writes("/api/v1/namespaces/races/configmaps");
    let (create, delete) = (&verbs[0], &verbs[6]);
    for first in &verbs {
        for second in &verbs {
            // A third writer creates and deletes the object, so that the pair meets it in every state.
            let writers = [
                vec![first; REQUESTS],
                vec![second; REQUESTS],
                [create, delete].repeat(REQUESTS / 2),
            ];
            thread::scope(|scope| {
                for writer in writers {
                    scope.spawn(move || {
                        for write in writer {
                            let what = format!("beside {} and {}", first.method, second.method);
                            write.send(cluster, &what);
                        }
                    });
                }
            });
        }
    }
}

const NAME: (&str, &str) = ("/metadata/name", "a");

/// A write of each verb to the object `a`, without a resource version.
fn writes(collection: &str) -> [Write; 8] {
    let one = format!("{collection}/a");
    let object = json!({ "metadata": { "name": "a", "labels": { "name": "a" } }, "data": { "k": "v" } });
    let configuration = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": { "name": "a" } }, "data": { "k": "applied" },
    });
    let label = json!([{ "op": "add", "path": "/metadata/labels/x", "value": "y" }]);
    let write = |method, path: &str, content_type, body, written, errors| Write {
        method,
        path: path.to_owned(),
        content_type,
        body,
        written,
        errors,
    };
    let patch =
        |content_type, body, written| write(Method::PATCH, &one, content_type, body, written, &["NotFound"]);
    let apply = format!("{one}?fieldManager=m&force=true");
    let everything = format!("{collection}?labelSelector=name%3Da");
    [
        write(
            Method::POST,
            collection,
            JSON,
            object.clone(),
            &[NAME, ("/data/k", "v")],
            &["AlreadyExists"],
        ),
        write(
            Method::PUT,
            &one,
            JSON,
            object,
            &[NAME, ("/data/k", "v")],
            &["NotFound"],
        ),
        patch(
            MERGE_PATCH,
            json!({ "data": { "k": "merged" } }),
            &[NAME, ("/data/k", "merged")],
        ),
        patch(
            STRATEGIC_PATCH,
            json!({ "data": { "k": "patched" } }),
            &[NAME, ("/data/k", "patched")],
        ),
        patch(JSON_PATCH, label, &[NAME, ("/metadata/labels/x", "y")]),
        write(
            Method::PATCH,
            &apply,
            APPLY_PATCH,
            configuration,
            &[NAME, ("/data/k", "applied")],
            &[],
        ),
        write(Method::DELETE, &one, JSON, Value::Null, &[], &["NotFound"]),
        write(Method::DELETE, &everything, JSON, Value::Null, &[], &[]),
    ]
}

impl Write {
    fn send(&self, cluster: &Cluster, what: &str) {
        let body = Some(&self.body).filter(|body| !body.is_null());
        let response = cluster.request(self.method.clone(), &self.path, self.content_type, body);
        let error = match response {
            Ok(object) => {
                for (pointer, value) in self.written {
                    let found = object.pointer(pointer).and_then(Value::as_str);
                    assert_eq!(found, Some(*value), "{what}: {pointer} in {object}");
                }
                return;
            }
            Err(error) => error,
        };
        let reason = match &error {
            ClusterError::Request { source, .. } => match &**source {
                kube::Error::Api(status) => status.reason.as_str(),
                _ => "",
            },
            _ => "",
        };
        assert!(self.errors.contains(&reason), "{what}: {error}");
    }
}
