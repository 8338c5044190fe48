use super::*;
use crate::webhook_client::{Endpoint, PendingCall};
use std::sync::{Mutex, mpsc};

type Convert = fn(Value) -> Value;

/// Answers each review with the objects that a function makes of its objects.
#[derive(Debug)]
struct Converter {
    convert: Convert,
    reviews: Mutex<Vec<Value>>,
}

impl WebhookCaller for Converter {
    fn start(&self, _: &Endpoint, review: &Value, _: Duration) -> PendingCall {
        self.reviews.lock().unwrap().push(review.clone());
        let objects = review["request"]["objects"].as_array().unwrap().iter().cloned();
        let converted: Vec<Value> = objects
            .map(self.convert)
            .filter(|object| !object.is_null())
            .collect();
        let response = json!({
            "kind": review["kind"], "apiVersion": review["apiVersion"],
            "response": { "uid": review["request"]["uid"], "result": { "status": "Success" }, "convertedObjects": converted },
        });
        let (sender, receiver) = mpsc::sync_channel(1);
        sender.send(Ok(response)).unwrap();
        PendingCall::new(receiver)
    }
}

fn convert(objects: &mut [Value], convert: Convert) -> (Result<(), String>, usize) {
    let conversion = json!({
        "strategy": "Webhook", "webhook": { "clientConfig": { "url": "https://a.dev" }, "conversionReviewVersions": ["v1"] },
    });
    let webhook = ConversionWebhook::parse(&conversion).unwrap();
    let caller = Converter {
        convert,
        reviews: Mutex::default(),
    };
    let outcome = webhook.convert(objects, "demo.dev/v2", &Store::default(), &caller);
    let calls = caller.reviews.lock().unwrap().len();
    (outcome, calls)
}

fn object(version: &str) -> Value {
    json!({
        "apiVersion": format!("demo.dev/{version}"), "kind": "Foo", "spec": { "a": 1 },
        "metadata": { "name": "x", "uid": "u", "labels": { "l": "m" }, "generation": 3 },
    })
}

fn to_v2(mut object: Value) -> Value {
    object["apiVersion"] = json!("demo.dev/v2");
    object["spec"] = json!({ "b": object["spec"]["a"] });
    object["metadata"]["generation"] = json!(9);
    object["metadata"]["annotations"] = json!({ "kept": "c" });
    object
}

#[test]
fn only_other_versions_are_sent_and_only_labels_and_annotations_change() {
    let mut objects = [object("v1"), object("v2")];
    assert_eq!(convert(&mut objects, to_v2), (Ok(()), 1));
    let mut expected = to_v2(object("v1"));
    expected["metadata"]["generation"] = json!(3);
    assert_eq!(objects, [expected, object("v2")]);
    assert_eq!(convert(&mut [object("v2")], to_v2), (Ok(()), 0));
}

#[test]
fn wrong_results_are_errors() {
    let cases: [(Convert, &str); 5] = [
        (|_| Value::Null, "returned 0 objects, expected 1"),
        (
            |object| object,
            "returned invalid object at index 0: invalid groupVersion (expected demo.dev/v2, received demo.dev/v1)",
        ),
        (
            |object| {
                let mut object = to_v2(object);
                object["kind"] = json!("Bar");
                object
            },
            "returned invalid object at index 0: invalid kind (expected Foo, received Bar)",
        ),
        (
            |object| {
                let mut object = to_v2(object);
                object["metadata"]["name"] = json!("y");
                object
            },
            "returned invalid object: must have the same name: x != y",
        ),
        (
            |object| {
                let mut object = to_v2(object);
                object["metadata"]["labels"] = json!({ "l": 1 });
                object
            },
            "returned invalid metadata: metadata.labels[l] must be a string, but is int64 in converted object",
        ),
    ];
    for (converter, why) in cases {
        let (outcome, _) = convert(&mut [object("v1")], converter);
        assert_eq!(
            outcome,
            Err(format!("conversion webhook for demo.dev/v1, Kind=Foo {why}"))
        );
    }
}

#[test]
fn large_list_is_converted_by_several_reviews() {
    const OBJECTS: usize = 50;
    let mut objects: Vec<Value> = (0..OBJECTS)
        .map(|at| {
            let mut object = object("v1");
            object["metadata"]["name"] = json!(at.to_string());
            // One is larger than a review may be.
            let length = if at == 7 { MAX_REVIEW_BYTES + 1 } else { 200 << 10 };
            object["spec"]["a"] = json!("x".repeat(length));
            object
        })
        .collect();
    let (outcome, reviews) = convert(&mut objects, to_v2);
    assert_eq!(outcome, Ok(()));
    // Seven objects, the large one, and the others by tens.
    assert_eq!(reviews, 2 + 42_usize.div_ceil(10));
    for (at, object) in objects.iter().enumerate() {
        assert_eq!(object["metadata"]["name"], at.to_string());
        assert!(object["spec"]["b"].is_string(), "{at}");
    }
}
