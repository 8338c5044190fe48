//! Reviews (access, rules, self subject, token): virtual resources that are answered and not stored.

use super::Registry;
use super::review_selectors::{ignored_selector, validate_selector_attributes};
use crate::auth::{self, AuthenticatedToken, Authenticator, ResourceAttributes, TokenUse, User};
use crate::kinds::Kind;
use crate::meta::text;
use crate::status::{ApiError, Cause};
use serde_json::{Value, json};

/// Sets the status of a review, and adds to `token_use` what follows from the token of a TokenReview.
pub(crate) fn answer_review(
    registry: &Registry,
    authenticator: &Authenticator,
    user: &User,
    kind: &Kind,
    namespace: &str,
    review: &mut Value,
    token_use: &mut TokenUse,
) -> Result<(), ApiError> {
    let spec = &review["spec"];
    let status = match kind.kind.as_str() {
        "SelfSubjectAccessReview" => {
            validate_access_review(kind, review, namespace)?;
            access_status(registry, user, spec)
        }
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            validate_access_review(kind, review, namespace)?;
            let about = User {
                name: text(spec, "user").to_owned(),
                uid: text(spec, "uid").to_owned(),
                groups: texts(&spec["groups"]),
                ..User::default()
            };
            access_status(registry, &about, spec)
        }
        "SelfSubjectRulesReview" => {
            let namespace = text(spec, "namespace");
            if namespace.is_empty() {
                return Err(ApiError::bad_request("no namespace on request"));
            }
            let rules = rules_status(registry, user, namespace);
            // kube-apiserver answers with a new object.
            review["metadata"] = json!({});
            review["spec"] = json!({});
            rules
        }
        "SelfSubjectReview" => {
            review["metadata"] = json!({ "creationTimestamp": crate::meta::now() });
            json!({ "userInfo": user.to_json() })
        }
        "TokenReview" if text(spec, "token").is_empty() => {
            let why = "token is required for TokenReview in authentication";
            return Err(ApiError::bad_request(why));
        }
        "TokenReview" => token_status(registry, authenticator, spec, token_use),
        other => return Err(ApiError::internal(format!("no such review: {other}"))),
    };
    review["status"] = status;
    Ok(())
}

/// Validates an access review.
fn validate_access_review(kind: &Kind, review: &Value, namespace: &str) -> Result<(), ApiError> {
    const PATH: &str = "spec.nonResourceAttributes";
    let (spec, mut errors) = (&review["spec"], vec![]);
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let (local, own) = (
        kind.kind == "LocalSubjectAccessReview",
        kind.kind == "SelfSubjectAccessReview",
    );
    // The Go struct has no JSON tags: its fields appear with their Go names.
    let attributes = json!({ "Path": text(path, "path"), "Verb": text(path, "verb") });
    match (resource.is_null(), path.is_null()) {
        (false, false) => {
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(Cause::invalid(PATH, &attributes, why));
        }
        (true, true) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(Cause::invalid("spec.resourceAttributes", &Value::Null, why));
        }
        _ => {}
    }
    if !own && text(spec, "user").is_empty() && texts(&spec["groups"]).is_empty() {
        let why = "at least one of user or group must be specified";
        errors.push(Cause::invalid("spec.user", &json!(""), why));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        validate_selector_attributes(&resource[selector], selector, &mut errors);
    }
    let mut metadata = review["metadata"].clone();
    if let Value::Object(fields) = &mut metadata {
        fields.remove("managedFields");
        if local {
            fields.remove("namespace");
        }
        if !fields.is_empty() {
            let but = if local { " except for namespace" } else { "" };
            let why = format!("must be empty{but}");
            errors.push(Cause::invalid("metadata", &review["metadata"], why));
        }
    }
    if local && !resource.is_null() && resource["namespace"] != namespace {
        let value = json!(text(resource, "namespace"));
        let field = "spec.resourceAttributes.namespace";
        errors.push(Cause::invalid(field, &value, "must match metadata.namespace"));
    }
    if local && !path.is_null() {
        errors.push(Cause::invalid(
            PATH,
            &attributes,
            "disallowed on this kind of request",
        ));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        // kube-apiserver does not know the kind any more at this point.
        Err(ApiError::invalid_of(&kind.group, "", "", &errors))
    }
}

fn access_status(registry: &Registry, user: &User, spec: &Value) -> Value {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let reason = if resource.is_null() {
        let (verb, path) = (text(path, "verb"), text(path, "path"));
        registry
            .authorizer
            .allow_reason_for_path(&registry.store, user, verb, path)
    } else {
        let access = ResourceAttributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
        };
        registry.authorizer.allow_reason(&registry.store, user, &access)
    };
    let mut status = match reason {
        None => json!({ "allowed": false }),
        Some(reason) if reason.is_empty() => json!({ "allowed": true }),
        Some(reason) => json!({ "allowed": true, "reason": reason }),
    };
    let ignored: Vec<String> = ["fieldSelector", "labelSelector"]
        .into_iter()
        .filter_map(|name| ignored_selector(&resource[name], name))
        .collect();
    if !ignored.is_empty() {
        status["evaluationError"] = ignored.join("; ").into();
    }
    status
}

fn rules_status(registry: &Registry, user: &User, namespace: &str) -> Value {
    let rules = auth::rules(&registry.store, user, namespace);
    let (mut resources, mut paths) = (vec![], vec![]);
    for rule in rules {
        if rule["nonResourceURLs"].is_null() {
            resources.push(rule);
        } else {
            paths.push(rule);
        }
    }
    json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false })
}

fn token_status(
    registry: &Registry,
    authenticator: &Authenticator,
    spec: &Value,
    token_use: &mut TokenUse,
) -> Value {
    let asked = texts(&spec["audiences"]);
    let audiences = if asked.is_empty() {
        authenticator.accounts.audiences()
    } else {
        &asked
    };
    match authenticator.verify_token(&registry.store, text(spec, "token"), audiences, token_use) {
        Ok(AuthenticatedToken { mut user, audiences }) => {
            user.groups.push("system:authenticated".to_owned());
            user.groups.dedup();
            json!({ "authenticated": true, "user": user.to_json(), "audiences": audiences })
        }
        Err(why) => json!({ "user": {}, "error": why }),
    }
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap_or_default().to_owned())
        .collect()
}
