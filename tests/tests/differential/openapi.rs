//! Compares the OpenAPI documents of both servers: both publish the same paths and types.

use crate::case::Step;
use crate::compare;
use crate::server::{StepResult, TestServer};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Upper limit of the reported differences.
const MAX_REPORTED: usize = 40;

/// Returns the differences of the documents of both versions, of the groups and versions that the embedded server has.
pub(crate) async fn compare_documents(ours: &TestServer, theirs: &TestServer) -> String {
    let mut report = String::new();
    let mut reported = 0;
    let (own, real) = (get(ours, "/openapi/v2").await, get(theirs, "/openapi/v2").await);
    for part in ["paths", "definitions", "parameters"] {
        compare_parts(part, (&own[part], &real[part]), &mut reported, &mut report);
    }
    let index = get(ours, "/openapi/v3").await;
    for path in index["paths"].as_object().unwrap().keys() {
        let url = format!("/openapi/v3/{path}");
        let (own, real) = (get(ours, &url).await, get(theirs, &url).await);
        compare_parts(&url, (&own["paths"], &real["paths"]), &mut reported, &mut report);
        let (own, real) = (&own["components"], &real["components"]);
        compare_parts(
            &url,
            (&own["schemas"], &real["schemas"]),
            &mut reported,
            &mut report,
        );
    }
    report
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
    // The key that signs tokens is not published: apiserver/DIFFERENCES.md.
    let is_left_out = |name: &str| name.contains("openid");
    let others = real.as_object().into_iter().flatten();
    for (name, _) in others.filter(|(name, _)| !fields.contains_key(*name) && !is_left_out(name)) {
        let _ = writeln!(report, "{title}: {name} is missing");
    }
}

async fn get(server: &TestServer, path: &str) -> Value {
    let step = Step {
        method: "GET".to_owned(),
        path: path.to_owned(),
        ..Step::default()
    };
    let (StepResult(code, _), mut body) = server.run_step(&step).await;
    assert_eq!(code, 200, "{path}: {body}");
    // The index has an unusual content type, which is part of the result.
    let mut document = match body.get_mut("body") {
        Some(body) => body.take(),
        None => body,
    };
    drop_list_types_of_texts(&mut document);
    document
}

/// Drops the list type of fields that are texts: the CA bundle of an APIService has one, without a meaning.
fn drop_list_types_of_texts(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|kind| kind == "string") {
                fields.remove("x-kubernetes-list-type");
            }
            fields.values_mut().for_each(drop_list_types_of_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_list_types_of_texts),
        _ => {}
    }
}
