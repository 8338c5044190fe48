//! Conversion of custom resources between their versions by a webhook.

use crate::builtin;
use crate::meta;
use crate::storage::Store;
use crate::types;
use crate::webhook_client::{ClientConfig, WebhookCaller, root_certificates};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kubewright_apimachinery::go_format;
use serde_json::{Value, json};
use std::time::Duration;

/// The timeout of a review.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Limit of the objects of one review, in bytes of JSON, since webhook servers limit requests. A larger object is sent alone. kube-apiserver sends
/// each object alone, which takes long for a list.
const MAX_REVIEW_BYTES: usize = 2 << 20;

/// The conversion webhook of a definition.
#[derive(Clone, Debug)]
pub(crate) struct ConversionWebhook {
    client: ClientConfig,
    review_versions: Vec<String>,
}

impl ConversionWebhook {
    /// Returns the webhook of a valid definition; None if its versions differ only in `apiVersion`.
    pub(super) fn parse(conversion: &Value) -> Option<Self> {
        let webhook = &conversion["webhook"];
        let versions = webhook["conversionReviewVersions"]
            .as_array()
            .into_iter()
            .flatten();
        (conversion["strategy"] == "Webhook").then(|| Self {
            client: ClientConfig::parse(&webhook["clientConfig"]),
            review_versions: versions.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// Converts objects to a version with group; those that have it stay as they are. Blocks until the webhook responds.
    ///
    /// # Errors
    ///
    /// Returns kube-apiserver's message if the webhook fails, or returns something else than the objects in the version. Then some of the objects
    /// may have been converted.
    pub(crate) fn convert(
        &self,
        objects: &mut [Value],
        version: &str,
        store: &Store,
        caller: &dyn WebhookCaller,
    ) -> Result<(), String> {
        let mut different: Vec<&mut Value> = objects
            .iter_mut()
            .filter(|object| object["apiVersion"] != version)
            .collect();
        let mut rest = &mut different[..];
        while !rest.is_empty() {
            let (review, others) = rest.split_at_mut(review_len(rest));
            self.convert_review(review, version, store, caller)?;
            rest = others;
        }
        Ok(())
    }

    /// Converts objects, none of which has the version, by one review.
    fn convert_review(
        &self,
        objects: &mut [&mut Value],
        version: &str,
        store: &Store,
        caller: &dyn WebhookCaller,
    ) -> Result<(), String> {
        let Some(first) = objects.first() else {
            return Ok(());
        };
        let source = described(first);
        let known = |review: &&String| matches!(review.as_str(), "v1" | "v1beta1");
        let review_version = self.review_versions.iter().find(known);
        let review_version = review_version.ok_or("no supported conversion review versions")?;
        let uid = meta::new_uid();
        let review = json!({
            "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{review_version}"),
            "request": { "uid": uid, "desiredAPIVersion": version, "objects": objects },
        });
        let call = caller.start(&self.client.resolve(store), &review, TIMEOUT);
        let failed = |why: String| format!("conversion webhook for {source} failed: {why}");
        let mut review = call.wait().map_err(failed)?;
        check_response(&review, review_version, &uid).map_err(failed)?;
        let converted = match review["response"]["convertedObjects"].take() {
            Value::Array(converted) => converted,
            _ => vec![],
        };
        if converted.len() != objects.len() {
            return Err(format!(
                "conversion webhook for {source} returned {} objects, expected {}",
                converted.len(),
                objects.len()
            ));
        }
        for (at, (original, converted)) in objects.iter_mut().zip(converted).enumerate() {
            let converted = checked(original, converted, version, at);
            **original =
                converted.map_err(|why| format!("conversion webhook for {source} returned {why}"))?;
        }
        Ok(())
    }
}

/// How many of the objects one review has: at least one.
fn review_len(objects: &[&mut Value]) -> usize {
    let mut bytes = 0;
    let fits = objects.iter().take_while(|object| {
        bytes += types::json_length(object);
        bytes <= MAX_REVIEW_BYTES
    });
    fits.count().max(1)
}

/// Returns why the `caBundle` of a definition's webhook is invalid.
pub(crate) fn invalid_ca_bundle(spec: &Value) -> Option<String> {
    let bundle = &spec["conversion"]["webhook"]["clientConfig"]["caBundle"];
    // The decoder of requests has refused other texts.
    let bundle = BASE64_STANDARD.decode(bundle.as_str()?).ok()?;
    root_certificates(&bundle).err()
}

/// Group, version and kind of an object, as Go prints them.
fn described(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let version = Some(text("apiVersion")).filter(|version| !version.is_empty());
    format!("{}, Kind={}", version.unwrap_or("/"), text("kind"))
}

fn check_response(review: &Value, version: &str, uid: &str) -> Result<(), String> {
    let response = &review["response"];
    if version == "v1"
        && (review["kind"] != "ConversionReview" || review["apiVersion"] != "apiextensions.k8s.io/v1")
    {
        return Err(format!(
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got {}",
            described(review)
        ));
    }
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    let responded = response["uid"].as_str().unwrap_or_default();
    if version == "v1" && responded != uid {
        return Err(format!("expected response.uid={uid:?}, got {responded:?}"));
    }
    let result = |key: &str| response["result"][key].as_str().unwrap_or_default();
    match (result("status"), result("message")) {
        ("Success", _) => Ok(()),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

/// Checks a converted object, and restores its metadata but labels and annotations.
fn checked(original: &Value, mut converted: Value, version: &str, at: usize) -> Result<Value, String> {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let found = text(&converted, "apiVersion");
    if found != version {
        return Err(format!(
            "invalid object at index {at}: invalid groupVersion (expected {version}, received {found})"
        ));
    }
    let (expected, found) = (text(original, "kind"), text(&converted, "kind"));
    if found != expected {
        return Err(format!(
            "invalid object at index {at}: invalid kind (expected {expected}, received {found})"
        ));
    }
    for (what, key) in [("name", "name"), ("namespace", "namespace"), ("UID", "uid")] {
        let before = meta::text(&original["metadata"], key);
        let after = meta::text(&converted["metadata"], key);
        if before != after {
            return Err(format!(
                "invalid object: must have the same {what}: {before} != {after}"
            ));
        }
    }
    let Value::Object(mut responded) = converted["metadata"].take() else {
        return Err("invalid metadata: missing metadata in converted object".to_owned());
    };
    let mut metadata = original["metadata"].clone();
    for field in ["labels", "annotations"] {
        match responded.remove(field) {
            None | Some(Value::Null) => {
                if let Value::Object(metadata) = &mut metadata {
                    metadata.remove(field);
                }
            }
            Some(Value::Object(entries)) => {
                if let Some((key, value)) = entries.iter().find(|(_, value)| !value.is_string()) {
                    let found = go_format::type_name(value);
                    return Err(format!(
                        "invalid metadata: metadata.{field}[{key}] must be a string, but is {found} in converted object"
                    ));
                }
                let entries = json!({ field: entries });
                if metadata[field] != entries[field]
                    && let Some(why) = invalid_metadata(&entries)
                {
                    return Err(format!("invalid metadata: {why}"));
                }
                metadata[field] = entries[field].clone();
            }
            Some(_) => {
                return Err(format!(
                    "invalid metadata: invalid metadata.{field} in converted object"
                ));
            }
        }
    }
    converted["metadata"] = metadata;
    Ok(converted)
}

/// Returns the errors of labels or annotations, as kube-apiserver joins them.
fn invalid_metadata(metadata: &Value) -> Option<String> {
    let errors = builtin::validate_metadata(metadata, "metadata");
    // kube-apiserver calls the field of annotations so.
    let errors = errors.iter().map(|error| {
        error
            .to_string()
            .replacen("metadata.annotations:", "metadata.annotation:", 1)
    });
    let errors: Vec<String> = errors.collect();
    match errors.as_slice() {
        [] => None,
        [error] => Some(error.clone()),
        errors => Some(format!("[{}]", errors.join(", "))),
    }
}

#[cfg(test)]
#[path = "conversion_tests.rs"]
mod tests;
