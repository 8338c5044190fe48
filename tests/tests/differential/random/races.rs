//! Sends racing requests to one object, on each server, and compares what must not depend on their order: the status codes and reasons,
//! sorted, and the final object.

use super::{MAX_REPORTED_DIFFERENCES, examples, post};
use crate::case::Step;
use crate::compare;
use crate::normalize::Normalizer;
use crate::server::TestServer;
use futures::future::join_all;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Clients that race.
const CLIENTS: usize = 8;

/// What the clients do to one object.
#[derive(Clone, Copy, Debug)]
enum Race {
    /// All create it; one succeeds.
    Create,
    /// Each patches another annotation without a resource version; all succeed.
    MergePatch,
    /// Each adds another annotation by a JSON patch; all succeed.
    JsonPatch,
    /// Each applies another annotation as another field manager; all succeed, and one of them creates the object.
    ApplyNew,
    /// As [`ApplyNew`](Self::ApplyNew), to an object that exists.
    Apply,
    /// Half of them create it, half apply it: one request creates it, and no apply answers that it exists.
    CreateAndApply,
    /// Each updates it with the same resource version; one succeeds.
    UpdateVersion,
    /// Each replaces it without a resource version, by the same object; all succeed if the kind allows that.
    UpdateUnconditionally,
    /// All delete it; one succeeds.
    Delete,
    /// Half of them patch it, half delete it: patches succeed before the deletion and do not find the object after it.
    PatchAndDelete,
}

const RACES: [Race; 10] = [
    Race::Create,
    Race::MergePatch,
    Race::JsonPatch,
    Race::ApplyNew,
    Race::Apply,
    Race::CreateAndApply,
    Race::UpdateVersion,
    Race::UpdateUnconditionally,
    Race::Delete,
    Race::PatchAndDelete,
];

impl Race {
    fn begins_with_object(self) -> bool {
        !matches!(self, Self::Create | Self::ApplyNew | Self::CreateAndApply)
    }

    /// Returns the request of one client. `existing` is the object as the server returned it.
    fn request(self, client: usize, all: &str, object: &Value, existing: &Value) -> Step {
        let one = format!("{all}/raced");
        let annotations = json!({ (format!("client-{client}")): "x" });
        let patch = json!({ "metadata": { "annotations": annotations } });
        let step = |method: &str, path: String, body: Option<Value>, content_type: Option<&str>| Step {
            method: method.to_owned(),
            path,
            body,
            content_type: content_type.map(str::to_owned),
            ..Step::default()
        };
        let merge_patch = || {
            step(
                "PATCH",
                one.clone(),
                Some(patch.clone()),
                Some("application/merge-patch+json"),
            )
        };
        match self {
            Self::Create => post(all, object.clone()),
            Self::CreateAndApply if client.is_multiple_of(2) => post(all, object.clone()),
            Self::MergePatch => merge_patch(),
            Self::JsonPatch => {
                let operations = json!([{ "op": "add", "path": format!("/metadata/annotations/client-{client}"), "value": "x" }]);
                step(
                    "PATCH",
                    one,
                    Some(operations),
                    Some("application/json-patch+json"),
                )
            }
            Self::ApplyNew | Self::Apply | Self::CreateAndApply => {
                let mut applied = object.clone();
                applied["metadata"] = json!({ "name": "raced", "annotations": annotations });
                let one = format!("{one}?fieldManager=client-{client}");
                step("PATCH", one, Some(applied), Some("application/apply-patch+yaml"))
            }
            Self::UpdateVersion => {
                let mut updated = existing.clone();
                updated["metadata"]["annotations"] = annotations;
                step("PUT", one, Some(updated), None)
            }
            Self::UpdateUnconditionally => {
                let mut updated = existing.clone();
                if let Some(metadata) = updated["metadata"].as_object_mut() {
                    metadata.remove("resourceVersion");
                    metadata.insert("annotations".to_owned(), json!({ "raced": "x" }));
                }
                step("PUT", one, Some(updated), None)
            }
            Self::PatchAndDelete if client.is_multiple_of(2) => merge_patch(),
            Self::Delete | Self::PatchAndDelete => step("DELETE", one, None, None),
        }
    }

    /// Runs the race on a server. Returns the outcomes and the final object, normalized.
    async fn run(self, server: &TestServer, namespace: &str, example: &(&str, &str, Value)) -> Value {
        let (group, plural, object) = example;
        server
            .run_step(&post(
                "/api/v1/namespaces",
                json!({ "metadata": { "name": namespace } }),
            ))
            .await;
        let all = format!("{group}/namespaces/{namespace}/{plural}");
        let mut object = object.clone();
        object["metadata"] = json!({ "name": "raced", "annotations": { "first": "x" } });
        let mut existing = Value::Null;
        if self.begins_with_object() {
            existing = server.run_step(&post(&all, object.clone())).await.1;
        }
        let requests = (0..CLIENTS).map(|client| self.request(client, &all, &object, &existing));
        let requests: Vec<Step> = requests.collect();
        let responses = join_all(requests.iter().map(|step| server.run_step(step))).await;
        let mut outcomes: Vec<String> = requests
            .iter()
            .zip(&responses)
            .map(|(step, (result, raw))| {
                let reason = raw["reason"].as_str().unwrap_or_default();
                format!("{} {} {reason}", step.method, result.0)
            })
            .collect();
        outcomes.sort_unstable();
        match self {
            // How many patches come before the deletion is luck.
            Self::PatchAndDelete => {
                outcomes.dedup();
                outcomes.retain(|outcome| outcome.starts_with("DELETE") || !is_usual_patch(outcome));
            }
            // Which request creates the object is luck, and with that which applies conflict.
            Self::CreateAndApply => {
                let created = outcomes
                    .iter()
                    .filter(|outcome| outcome.ends_with(" 201 "))
                    .count();
                outcomes.retain(|outcome| !is_usual_create(outcome));
                return json!({ "created": created, "others": outcomes });
            }
            // Of pods, the real server answers 200 as long as the first deletion has not ended.
            Self::Delete => {
                outcomes.dedup();
                outcomes.retain(|outcome| outcome != "DELETE 404 NotFound");
            }
            _ => {}
        }
        let read = Step {
            method: "GET".to_owned(),
            path: format!("{all}/raced"),
            ..Step::default()
        };
        let (_, mut last) = server.run_step(&read).await;
        // Which client won is luck, where not all succeed: applies that set what the server stores elsewhere conflict.
        let is_apply = matches!(self, Self::Apply | Self::ApplyNew);
        let has_loser = outcomes.iter().any(|outcome| outcome.contains(" 409 "));
        if matches!(self, Self::UpdateVersion) || is_apply && has_loser {
            let annotations = last["metadata"]["annotations"]
                .as_object()
                .map_or(0, serde_json::Map::len);
            last["metadata"]["annotations"] = json!(annotations);
            last["metadata"]["managedFields"] = Value::Null;
        }
        json!({ "outcomes": outcomes, "last": Normalizer::default().body(last) })
    }
}

fn is_usual_patch(outcome: &str) -> bool {
    ["PATCH 200 ", "PATCH 404 NotFound"].contains(&outcome)
}

fn is_usual_create(outcome: &str) -> bool {
    let usual = [
        "POST 201 ",
        "POST 409 AlreadyExists",
        "PATCH 200 ",
        "PATCH 201 ",
        "PATCH 409 Conflict",
    ];
    usual.contains(&outcome)
}

/// Runs all races on both servers, and returns a report of their differences; empty if there are none.
pub(crate) async fn compare(ours: &TestServer, theirs: &TestServer) -> String {
    super::install_definition(&[ours, theirs], super::definition()).await;
    let (mut report, mut reported) = (String::new(), 0);
    for (kind, example) in examples().iter().enumerate() {
        for (number, race) in RACES.into_iter().enumerate() {
            let namespace = format!("race-{kind}-{number}");
            let here = race.run(ours, &namespace, example).await;
            let there = race.run(theirs, &namespace, example).await;
            if here == there || reported == MAX_REPORTED_DIFFERENCES {
                continue;
            }
            reported += 1;
            let _ = writeln!(report, "{race:?} of {CLIENTS} clients, {}", example.1);
            compare::write_diff(&there, &here, "", &mut report);
        }
    }
    report
}
