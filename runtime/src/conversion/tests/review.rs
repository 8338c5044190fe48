//! Conversion reviews: answers to what can be converted, and to what cannot.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::{convert, converters, hub, kinds::sensitive};
use crate::{
    client::OwnerVersions,
    conversion::{Converters, RegisteredVersions, Versions, review::ReviewError},
};

fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

fn try_review(objects: &Value, desired: &str, deadline: Instant) -> Result<Value, ReviewError> {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u-1", "desiredAPIVersion": desired, "objects": objects},
    });
    let answer = converters().review(review.to_string().as_bytes(), deadline)?;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(
        (&answer["apiVersion"], &answer["kind"], &answer["response"]["uid"]),
        (&review["apiVersion"], &review["kind"], &json!("u-1"))
    );
    Ok(answer["response"].clone())
}

fn review(objects: &Value, desired: &str) -> Value {
    try_review(objects, desired, soon()).unwrap()
}

fn failure(objects: &Value, desired: &str) -> String {
    let response = review(objects, desired);
    assert_eq!(response["result"]["status"], "Failure");
    assert_eq!(response["convertedObjects"], json!([]));
    response["result"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn objects_of_all_versions_are_converted_in_their_order() {
    let converters = converters();
    let original = hub(json!({"owner": "Ann"}));
    let old = convert(&converters, &original, "v1alpha1");
    let beta = convert(&converters, &original, "v1beta1");
    let response = review(&json!([old, original, beta]), "demo.dev/v1");
    assert_eq!(response["result"], json!({"status": "Success"}));
    assert_eq!(
        response["convertedObjects"],
        json!([original, original, original])
    );
}

#[test]
fn what_cannot_be_converted_is_a_failure_that_names_object_and_reason() {
    let old = convert(&converters(), &hub(json!({})), "v1alpha1");
    let changed = |path: &str, value: Value| {
        let mut object = old.clone();
        *object.pointer_mut(path).unwrap() = value;
        object
    };
    let cases = [
        (
            changed("/spec/limit", json!("many")),
            "demo.dev/v1",
            "converting Foo default/first (demo.dev/v1alpha1) to demo.dev/v1 failed: spec.limit: invalid digit found in string",
        ),
        (
            changed("/spec/limit", json!(7)),
            "demo.dev/v1",
            "failed: spec: invalid type: integer `7`, expected a string",
        ),
        (
            changed("/spec/limit", json!("panic")),
            "demo.dev/v1",
            "failed: the conversion panicked: ",
        ),
        (
            changed("/spec", json!(1)),
            "demo.dev/v1",
            "failed: spec: invalid type: integer `1`",
        ),
        (
            old.clone(),
            "other.dev/v1",
            "failed: the desired version has another group than \"demo.dev\"",
        ),
        (old.clone(), "", "failed: the desired version has another group"),
        (
            changed("/metadata", json!(null)),
            "demo.dev/v1",
            "failed: the object has no metadata",
        ),
        (changed("/metadata", json!({})), "demo.dev/v1", ""),
        (
            json!(1),
            "demo.dev/v1",
            "an object of the review is not a JSON object",
        ),
    ];
    for (object, desired, expected) in cases {
        if expected.is_empty() {
            assert_eq!(review(&json!([object]), desired)["result"]["status"], "Success");
            continue;
        }
        let message = failure(&json!([object]), desired);
        assert!(message.contains(expected), "{expected} is not in {message}");
        if desired == "demo.dev/v1" {
            // Another object, which can be converted, changes nothing.
            assert_eq!(failure(&json!([old, object]), desired), message);
        }
    }
    assert_eq!(failure(&json!([]), "demo.dev/v1"), "the review has no objects");
}

/// Another release may know them, so the server asks the API server to repeat the review.
#[test]
fn unknown_versions_and_kinds_are_errors_that_name_the_known_ones() {
    let old = convert(&converters(), &hub(json!({})), "v1alpha1");
    let changed = |field: &str, value: &str| {
        let mut object = old.clone();
        object[field] = json!(value);
        object
    };
    for (object, desired, expected) in [
        (
            old.clone(),
            "demo.dev/v9",
            "converting Foo default/first (demo.dev/v1alpha1) to demo.dev/v9 failed: Foo has no version \"v9\": the versions are v1, \
             v1alpha1, v1beta1",
        ),
        (
            changed("apiVersion", "demo.dev/v9"),
            "demo.dev/v1",
            "failed: Foo has no version \"v9\"",
        ),
        (
            changed("apiVersion", "demo.dev/v9"),
            "demo.dev/v9",
            "failed: Foo has no version \"v9\"",
        ),
        (
            changed("kind", "Bar"),
            "demo.dev/v1",
            "converting Bar default/first (demo.dev/v1alpha1) to demo.dev/v1 failed: this operator does not convert the kind \"Bar\" of group \
             \"demo.dev\", but foos.demo.dev",
        ),
        (json!({}), "demo.dev/v1", "does not convert the kind \"\""),
    ] {
        let error = try_review(&json!([old, object]), desired, soon()).unwrap_err();
        assert!(matches!(error, ReviewError::UnknownVersion { .. }), "{error}");
        assert!(
            error.to_string().contains(expected),
            "{expected} is not in {error}"
        );
    }
}

#[test]
fn review_ends_at_its_deadline_with_the_next_object() {
    let old = convert(&converters(), &hub(json!({})), "v1alpha1");
    let response = try_review(&json!([old, old]), "demo.dev/v1", Instant::now()).unwrap();
    let message = response["result"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("0 of 2 objects were converted in ")
            && message.ends_with("the next one is Foo default/first (demo.dev/v1alpha1)"),
        "{message}"
    );
}

#[test]
fn errors_of_sensitive_kinds_quote_no_values() {
    let mut registered = RegisteredVersions::of::<sensitive::v1::Token>();
    Versions::<sensitive::v1::Token>::new(&mut registered, &mut Vec::new(), OwnerVersions::default())
        .other::<sensitive::v1beta1::Token>();
    let converters = Converters::new([registered.converter]);
    for (number, reason) in [
        (
            json!("secret"),
            "spec: the reason is hidden because the kind is sensitive",
        ),
        (
            json!(4321),
            "the conversion panicked: the message is hidden because the kind is sensitive",
        ),
    ] {
        let token = json!({
            "apiVersion": "demo.dev/v1beta1", "kind": "Token", "metadata": {"name": "a"}, "spec": {"number": number},
        });
        assert_eq!(
            converters.convert(token, "demo.dev/v1").unwrap_err(),
            format!("converting Token a (demo.dev/v1beta1) to demo.dev/v1 failed: {reason}")
        );
    }
}

/// The panic hook, which prints to stderr, belongs to the process: the test above runs in one of its own.
#[test]
fn panic_of_a_sensitive_kind_is_not_printed() {
    let test = "conversion::tests::review::errors_of_sensitive_kinds_quote_no_values";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        output.status.success() && printed.contains("1 passed") && !printed.contains("4321"),
        "{printed}"
    );
}

#[test]
fn what_is_not_a_review_is_an_error() {
    let converters = converters();
    let error = |body: &str| converters.review(body.as_bytes(), soon()).unwrap_err();
    let other =
        error(r#"{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "ConversionReview", "request": {}}"#);
    assert!(
        matches!(&other, ReviewError::NotAReview { found } if found.contains("v1beta1")),
        "{other}"
    );
    assert!(other.to_string().contains("conversionReviewVersions"), "{other}");
    for body in ["", "[]", "no JSON", r#"{"kind": 1}"#] {
        let error = error(body);
        assert!(
            matches!(error, ReviewError::Undecodable { .. }),
            "{body}: {error}"
        );
    }
    let head = r#""apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview""#;
    let missing = error(&format!("{{{head}}}"));
    assert_eq!(
        missing.to_string(),
        "the ConversionReview does not decode: it has no `request`"
    );
    let no_uid = error(&format!(r#"{{{head}, "request": {{"objects": []}}}}"#));
    assert_eq!(
        no_uid.to_string(),
        "the ConversionReview does not decode: missing field `uid`"
    );
    // Deeper than JSON may be nested.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(error(&deep), ReviewError::Undecodable { .. }));
}
