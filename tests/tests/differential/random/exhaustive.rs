//! Sends mutations of every field of every example, and unusual metadata values, to both servers. All requests are dry runs.
//!
//! A run sends one in [`SENT_ONE_IN`] mutations, always the same ones; `DIFFERENTIAL_ONE_IN=1` sends all, as `.ci/nightly` does.

use super::examples::{definition, examples, more_examples};
use super::mutations::{Mutation, pointers, unusual_metadata};
use super::rare_fields::{CLUSTER_SCOPED, rare_field_examples};
use super::statuses::statuses;
use super::{MAX_REPORTED_DIFFERENCES, install_definition, post};
use crate::case::Step;
use crate::compare;
use crate::server::{StepResult, TestServer};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::cell::Cell;
use std::fmt::Write as _;

/// Of how many mutations one is sent, unless `DIFFERENTIAL_ONE_IN` is set. A prime number, so that the sample has all kinds of mutations.
const SENT_ONE_IN: usize = 197;
/// Maximum number of concurrent requests per server.
const MAX_CONCURRENT_REQUESTS: usize = 4;
/// The operations that are sent with a mutated object.
const OPERATIONS: [Operation; 4] = [
    Operation::Create,
    Operation::Update,
    Operation::UpdateLive,
    Operation::Apply,
];
/// The operations that are sent with mutated metadata.
const METADATA_OPERATIONS: [Operation; 3] = [Operation::Create, Operation::Update, Operation::Apply];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Create,
    /// Update of the existing object, with the object as the client wrote it.
    Update,
    /// Update of the existing object, with the object as the server returned it.
    UpdateLive,
    Apply,
    /// Update of the status subresource.
    UpdateStatus,
}

/// An example object that exists on both servers.
pub(super) struct StoredExample {
    /// Paths of the resource's collection and of the object.
    pub(super) all: String,
    one: String,
    pub(super) object: Value,
    /// The object as returned by each server.
    live: Vec<Value>,
    /// How many of [`OPERATIONS`] are sent.
    operation_count: usize,
}

/// Creates all examples on the servers. Panics if a server rejects one.
pub(super) async fn create_examples(subjects: &[&TestServer]) -> Vec<StoredExample> {
    let usual = [examples(), more_examples()].concat();
    let usual = usual.into_iter().map(|example| (example, OPERATIONS.len()));
    // The examples have many fields, so only half of the operations are sent for rare ones.
    let rare_count = super::env_number("DIFFERENTIAL_OPERATIONS", 2);
    let rare = rare_field_examples()
        .into_iter()
        .map(|example| (example, rare_count));
    // Select some resources, for work on them.
    let only = std::env::var("DIFFERENTIAL_ONLY").unwrap_or_default();
    let is_chosen = |plural: &str| only.is_empty() || only.split(',').any(|only| only == plural);
    let (mut stored, mut rejected) = (vec![], String::new());
    let examples = usual.chain(rare).enumerate();
    for (number, ((group, plural, mut object), operation_count)) in
        examples.filter(|(_, ((_, plural, _), _))| is_chosen(plural))
    {
        let all = if CLUSTER_SCOPED.contains(&plural) {
            format!("{group}/{plural}")
        } else {
            format!("{group}/namespaces/every-{number}/{plural}")
        };
        let one = format!("{all}/a");
        // An event must be in the namespace of its object.
        for about in ["involvedObject", "regarding"] {
            if let Some(about) = object.get_mut(about) {
                about["namespace"] = json!(format!("every-{number}"));
            }
        }
        object["metadata"] = json!({ "name": "a", "labels": { "app": "x" } });
        let mut live = vec![];
        for server in subjects {
            let namespace = json!({ "metadata": { "name": format!("every-{number}") } });
            server.run_step(&post("/api/v1/namespaces", namespace)).await;
            let (StepResult(code, body), raw) = server.run_step(&post(&all, object.clone())).await;
            if code != 201 {
                let _ = writeln!(rejected, "{all}: {body}");
            }
            live.push(raw);
        }
        stored.push(StoredExample {
            all,
            one,
            object,
            live,
            operation_count,
        });
    }
    assert!(rejected.is_empty(), "\n{rejected}");
    stored
}

/// Compares the servers and returns a report of their differences; empty if there are none.
pub(crate) async fn compare(ours: &TestServer, theirs: &TestServer) -> String {
    install_definition(&[ours, theirs], definition()).await;
    let (mut report, mut reported, mut sent) = (String::new(), 0, 0);
    let sent_one_in = super::env_number("DIFFERENTIAL_ONE_IN", SENT_ONE_IN);
    let counter = Cell::new(0_usize);
    let is_in_sample = || counter.replace(counter.get() + 1).is_multiple_of(sent_one_in);
    for stored in create_examples(&[ours, theirs]).await {
        let StoredExample {
            all,
            one,
            object,
            live,
            operation_count,
        } = &stored;
        let mutations = OPERATIONS
            .into_iter()
            .take(*operation_count)
            .flat_map(|operation| {
                let pointers = pointers(if operation == Operation::UpdateLive {
                    &live[1]
                } else {
                    object
                });
                pointers.into_iter().flat_map(move |pointer| {
                    let sample = Mutation::all().into_iter().filter(move |_| is_in_sample());
                    sample.map(move |mutation| {
                        let step = |live: &Value| {
                            let mut body = if operation == Operation::UpdateLive {
                                live
                            } else {
                                object
                            }
                            .clone();
                            mutation.clone().apply(&mut body, &pointer);
                            operation.step(all, one, body)
                        };
                        (format!("{operation:?} {pointer}"), step(&live[0]), step(&live[1]))
                    })
                })
            });
        let metadata_mutations = METADATA_OPERATIONS.into_iter().flat_map(|operation| {
            let sample = unusual_metadata().into_iter().filter(move |_| is_in_sample());
            sample.map(move |(field, value)| {
                let mut body = object.clone();
                body["metadata"][field] = value;
                let step = operation.step(all, one, body);
                (format!("{operation:?} /metadata/{field}"), step.clone(), step)
            })
        });
        let status_updates = statuses(object["kind"].as_str().unwrap_or_default());
        let status_updates = status_updates.into_iter().flat_map(|status| {
            let status = json!({ "status": status });
            pointers(&status).into_iter().flat_map(move |pointer| {
                let status = status.clone();
                let sample = Mutation::all().into_iter().filter(move |_| is_in_sample());
                sample.map(move |mutation| {
                    let mut status = status.clone();
                    mutation.apply(&mut status, &pointer);
                    let step = |live: &Value| {
                        let mut body = live.clone();
                        body["status"] = status["status"].clone();
                        Operation::UpdateStatus.step(all, one, body)
                    };
                    (
                        format!("{:?} {pointer}", Operation::UpdateStatus),
                        step(&live[0]),
                        step(&live[1]),
                    )
                })
            })
        });
        let mut results = futures::stream::iter(mutations.chain(metadata_mutations).chain(status_updates))
            .map(|(title, here, there)| async move {
                let ((ours, _), (theirs, _)) = futures::join!(ours.run_step(&here), theirs.run_step(&there));
                (title, there, ours, theirs)
            })
            .buffered(MAX_CONCURRENT_REQUESTS);
        while let Some((title, step, StepResult(here, ours), StepResult(there, theirs))) =
            results.next().await
        {
            sent += 1;
            if there == 0 && here != 0 {
                eprintln!("the real server sent no response: {title}");
                continue;
            }
            if (here == there && ours == theirs)
                || reported >= super::env_number("DIFFERENTIAL_MAX_REPORTED", MAX_REPORTED_DIFFERENCES)
            {
                continue;
            }
            reported += 1;
            let body = step.body.unwrap_or_default();
            let _ = writeln!(
                report,
                "{title}: {} {} {body}: {there} {here}",
                step.method, step.path
            );
            compare::write_diff(&theirs, &ours, "", &mut report);
        }
    }
    eprintln!("{sent} requests were sent to each server");
    report
}

impl Operation {
    fn step(self, all: &str, one: &str, mut body: Value) -> Step {
        // The name `a` exists, so creating it would always fail with 409.
        if self == Self::Create && body["metadata"]["name"] == "a" {
            body["metadata"]["name"] = json!("b");
        }
        let (method, path) = match self {
            Self::Create => ("POST", format!("{all}?dryRun=All")),
            Self::Update | Self::UpdateLive => ("PUT", format!("{one}?dryRun=All")),
            Self::UpdateStatus => ("PUT", format!("{one}/status?dryRun=All")),
            Self::Apply => ("PATCH", format!("{one}?dryRun=All&fieldManager=x&force=true")),
        };
        Step {
            method: method.to_owned(),
            path,
            body: Some(body),
            content_type: matches!(self, Self::Apply).then(|| "application/apply-patch+yaml".to_owned()),
            ..Step::default()
        }
    }
}
