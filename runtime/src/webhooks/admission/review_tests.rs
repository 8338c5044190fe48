//! Reviews as bytes: what is answered, and what is refused with which message.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::webhooks::Validation;

/// Denies by the object's data; records what it was called with.
#[derive(Clone, Default)]
struct Checked(Arc<Mutex<Vec<String>>>);

impl Checked {
    fn checked(&self, call: &str, map: &ConfigMap) -> Result<Validation, AdmissionError> {
        self.0.lock().push(call.to_owned());
        let data = map.data.clone().unwrap_or_default();
        let mut validation = Validation::new();
        validation.warn(format!("{call} was checked"));
        if let Some(size) = data.get("size") {
            validation.invalid("data.size", size, "must be empty");
        }
        if data.contains_key("forbidden") {
            return Err(AdmissionError::forbidden("not in this namespace"));
        }
        if data.contains_key("broken") {
            return Err(std::io::Error::other("no quota server").into());
        }
        Ok(validation)
    }
}

impl Validator<ConfigMap> for Checked {
    async fn create(
        &self,
        map: &ConfigMap,
        request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let groups = request.user.groups.clone().unwrap_or_default();
        self.checked(&format!("create {} {groups:?}", request.dry_run), map)
    }

    async fn update(
        &self,
        map: &ConfigMap,
        old: &ConfigMap,
        _request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        self.checked(&format!("update from {:?}", old.data.is_some()), map)
    }
}

struct Defaults;

impl Defaulter<ConfigMap> for Defaults {
    async fn set_defaults(
        &self,
        map: &mut ConfigMap,
        request: &AdmissionRequest,
    ) -> Result<(), AdmissionError> {
        let old: Option<ConfigMap> = request.old_object()?;
        let data = map.data.get_or_insert_default();
        if data.contains_key("size") {
            let mut validation = Validation::new();
            validation.forbidden("data.size", "");
            return Err(validation.into());
        }
        data.insert("old".to_owned(), old.is_some().to_string());
        Ok(())
    }
}

#[test]
fn request_has_what_the_api_server_sent() {
    let mut sent = request("UPDATE", &map(&json!({"a": "b"})), &map(&json!({})));
    sent["subResource"] = json!("status");
    let request: AdmissionRequest = serde_json::from_value(sent).unwrap();
    assert_eq!(
        (&*request.uid, request.operation, &*request.name, request.dry_run),
        ("705ab4f5", Operation::Update, "a", true)
    );
    assert_eq!(
        (request.namespace.as_deref(), request.subresource.as_deref()),
        (Some("shop"), Some("status"))
    );
    let user = json!(request.user);
    assert_eq!(
        user,
        json!({"username": "ada", "uid": "7", "groups": ["dev"], "extra": {"a": ["b"]}})
    );
    assert_eq!(request.options["fieldManager"], "kubectl");
    let old: ConfigMap = request.old_object().unwrap().unwrap();
    assert_eq!(old.data, Some([].into()));
}

/// A request as the API server sends it.
fn request(operation: &str, object: &Value, old: &Value) -> Value {
    json!({
        "uid": "705ab4f5", "operation": operation, "name": "a", "namespace": "shop", "dryRun": true, "subResource": "",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "ada", "uid": "7", "groups": ["dev"], "extra": {"a": ["b"]}},
        "object": object, "oldObject": old,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
    })
}

fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "unknown": 1}, "data": data})
}

fn review(request: &Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": KIND, "request": request})
}

async fn answered(handler: &AdmissionHandler, review: &Value) -> Result<Value, String> {
    let answered = handler
        .review(review.to_string().as_bytes(), false, &Converters::default())
        .await;
    let body = answered.map_err(|failure| failure.error.to_string())?.body;
    let mut review: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&review["apiVersion"], &review["kind"]),
        (&json!(API_VERSION), &json!(KIND))
    );
    Ok(review["response"].take())
}

#[tokio::test]
async fn each_operation_calls_its_method_and_delete_accepts_by_default() {
    let validator = Checked::default();
    let handler = AdmissionHandler::validating(validator.clone());
    let (none, map) = (Value::Null, map(&json!({"a": "b"})));
    for (operation, object, old) in [
        ("CREATE", &map, &none),
        ("UPDATE", &map, &map),
        ("DELETE", &none, &map),
    ] {
        let response = answered(&handler, &review(&request(operation, object, old))).await;
        let response = response.unwrap();
        assert_eq!(
            (&response["uid"], &response["allowed"]),
            (&json!("705ab4f5"), &json!(true))
        );
        assert_eq!(response.get("patch"), None);
    }
    assert_eq!(*validator.0.lock(), ["create true [\"dev\"]", "update from true"]);
}

#[tokio::test]
async fn denials_read_like_those_of_the_api_server() {
    let handler = AdmissionHandler::validating(Checked::default());
    let of = |data: Value| review(&request("CREATE", &map(&data), &Value::Null));
    let response = answered(&handler, &of(json!({"size": "3"}))).await.unwrap();
    let cause = json!({"reason": "FieldValueInvalid", "field": "data.size", "message": r#"Invalid value: "3": must be empty"#});
    assert_eq!(
        response["status"],
        json!({
            "status": "Failure", "code": 422, "reason": "Invalid",
            "message": r#"ConfigMap "a" is invalid: data.size: Invalid value: "3": must be empty"#,
            "details": {"name": "a", "kind": "ConfigMap", "causes": [cause]},
        })
    );
    assert_eq!(response["warnings"], json!(["create true [\"dev\"] was checked"]));

    let response = answered(&handler, &of(json!({"forbidden": ""}))).await.unwrap();
    assert_eq!(
        response["status"],
        json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "not in this namespace"})
    );
    // Not a denial: the failure policy decides.
    let failed = answered(&handler, &of(json!({"broken": ""}))).await;
    assert_eq!(failed, Err("no quota server".to_owned()));
}

#[tokio::test]
async fn defaulter_answers_a_patch_or_nothing() {
    let handler = AdmissionHandler::defaulting(Defaults);
    let (none, empty) = (Value::Null, map(&Value::Null));
    let response = answered(&handler, &review(&request("CREATE", &empty, &none))).await;
    let response = response.unwrap();
    assert_eq!(response["patchType"], "JSONPatch");
    let patch = BASE64_STANDARD
        .decode(response["patch"].as_str().unwrap())
        .unwrap();
    let patch: Value = serde_json::from_slice(&patch).unwrap();
    assert_eq!(
        patch,
        json!([{"op": "replace", "path": "/data", "value": {"old": "false"}}])
    );

    let done = map(&json!({"old": "true"}));
    let response = answered(&handler, &review(&request("UPDATE", &done, &empty))).await;
    let response = response.unwrap();
    assert_eq!((response.get("patch"), response.get("patchType")), (None, None));

    let sized = map(&json!({"size": "3"}));
    let response = answered(&handler, &review(&request("CREATE", &sized, &none))).await;
    assert_eq!(
        response.unwrap()["status"]["message"],
        "ConfigMap \"a\" is invalid: data.size: Forbidden"
    );
}

/// Sets a value of this many bytes.
struct Large(usize);

impl Defaulter<ConfigMap> for Large {
    async fn set_defaults(&self, map: &mut ConfigMap, _: &AdmissionRequest) -> Result<(), AdmissionError> {
        map.data = Some([("a".to_owned(), "x".repeat(self.0))].into());
        Ok(())
    }
}

#[tokio::test]
async fn defaults_that_need_a_large_patch_are_denied_by_name() {
    let review = review(&request("CREATE", &map(&Value::Null), &Value::Null));
    let around = r#"[{"op":"replace","path":"/data","value":{"a":""}}]"#.len();
    let handler = AdmissionHandler::defaulting(Large(MAX_PATCH_BYTES - around));
    let response = answered(&handler, &review).await.unwrap();
    assert_eq!(response["allowed"], true);
    let handler = AdmissionHandler::defaulting(Large(MAX_PATCH_BYTES - around + 1));
    let response = answered(&handler, &review).await.unwrap();
    assert_eq!(
        response["status"],
        json!({
            "status": "Failure", "code": 413, "reason": "RequestEntityTooLarge",
            "message": "ConfigMap \"a\" becomes too large: its defaults are a JSON patch of 3145729 bytes, and at most 3145728 are allowed",
        })
    );
}

#[tokio::test]
async fn wrong_reviews_are_denied_with_the_place_of_the_mistake() {
    let handler = AdmissionHandler::validating(Checked::default());
    let right = request("CREATE", &map(&json!({})), &Value::Null);
    let with = |path: &str, value: Value| {
        let mut review = review(&right);
        *review.pointer_mut(path).unwrap() = value;
        review
    };
    let other_resource = "request.resource is apps/v1 deployments, and this webhook is for /v1 configmaps";
    for (review, expected) in [
        (json!([]), "the body is no AdmissionReview: "),
        (
            with("/request", Value::Null),
            "request is missing in the AdmissionReview",
        ),
        (
            with("/apiVersion", json!("admission.k8s.io/v1beta1")),
            "expected apiVersion admission.k8s.io/v1 and kind AdmissionReview, got \"admission.k8s.io/v1beta1\"",
        ),
        (
            with("/kind", json!("ConversionReview")),
            "expected apiVersion admission.k8s.io/v1 and kind AdmissionReview, got",
        ),
        (
            with("/request/operation", json!("CONNECT")),
            "the body is no AdmissionReview: request.operation: unknown variant `CONNECT`",
        ),
        (
            with("/request/userInfo/groups", json!("dev")),
            "the body is no AdmissionReview: request.userInfo.groups: invalid type",
        ),
        (
            with(
                "/request/resource",
                json!({"group": "apps", "version": "v1", "resource": "deployments"}),
            ),
            other_resource,
        ),
        (
            with("/request/object", Value::Null),
            "request.object is missing in a review of CREATE",
        ),
        (
            with("/request/operation", json!("DELETE")),
            "request.oldObject is missing in a review of DELETE",
        ),
        (
            with("/request/object", map(&json!({"size": {"max": 3}}))),
            "ConfigMap \"a\" cannot be decoded: data.size: invalid type: map, expected a string",
        ),
    ] {
        let response = answered(&handler, &review).await.unwrap();
        let status = &response["status"];
        let message = status["message"].as_str().unwrap();
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(
            (&response["allowed"], &status["code"]),
            (&json!(false), &json!(400))
        );
        let uid = review["request"].get("uid").cloned().unwrap_or(json!(""));
        assert_eq!(response["uid"], uid);
    }
    let no_json = handler
        .review(b"{\"kind\":", false, &Converters::default())
        .await
        .unwrap();
    let text = String::from_utf8(no_json.body).unwrap();
    assert!(
        text.contains("the body is no AdmissionReview: EOF while parsing"),
        "{text}"
    );
}

#[tokio::test]
async fn stored_object_that_does_not_decode_is_a_failure_that_quotes_no_value() {
    let handler = AdmissionHandler::validating(Checked::default());
    let stored = map(&json!({"size": ["secret"]}));
    let fixed = map(&json!({}));
    let failed = answered(&handler, &review(&request("UPDATE", &fixed, &stored))).await;
    assert_eq!(
        failed,
        Err("the stored object does not decode at `data.size`".to_owned())
    );
}

#[tokio::test]
async fn object_of_a_sensitive_kind_that_does_not_decode_is_not_quoted() {
    let handler = AdmissionHandler::defaulting(Defaults);
    let undecodable = map(&json!({"size": 4711}));
    let review = review(&request("CREATE", &undecodable, &Value::Null)).to_string();
    for (is_sensitive, problem) in [
        (
            false,
            "data.size: invalid type: integer `4711`, expected a string",
        ),
        (true, "the reason is hidden because the kind is sensitive"),
    ] {
        let answered = handler
            .review(review.as_bytes(), is_sensitive, &Converters::default())
            .await
            .unwrap();
        let answered: Value = serde_json::from_slice(&answered.body).unwrap();
        assert_eq!(
            answered["response"]["status"]["message"],
            format!("ConfigMap \"a\" cannot be decoded: {problem}")
        );
    }
}

#[tokio::test]
async fn generated_names_are_named_by_their_prefix() {
    let handler = AdmissionHandler::validating(Checked::default());
    let mut request = request("CREATE", &map(&json!({"size": "3"})), &Value::Null);
    request["name"] = json!("");
    request["object"]["metadata"] = json!({"generateName": "a-"});
    let response = answered(&handler, &review(&request)).await.unwrap();
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("ConfigMap \"a-\" is invalid"), "{message}");
}
