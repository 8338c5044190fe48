//! Questions about access, which are answered and not kept.

use super::{Access, Authenticator, User, rbac};
use crate::kinds::Kind;
use crate::registry::Registry;
use crate::status::{ApiError, Cause};
use serde_json::{Value, json};

/// Answers a review, in place.
pub(crate) fn review(
    registry: &Registry,
    authenticator: &Authenticator,
    user: &User,
    kind: &Kind,
    namespace: &str,
    review: &mut Value,
) -> Result<(), ApiError> {
    if let Value::Object(metadata) = &mut review["metadata"] {
        metadata.retain(|_, value| !value.is_null());
    }
    let status = match kind.kind.as_str() {
        "SelfSubjectAccessReview" => access(registry, user, kind, &review["spec"])?,
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            let spec = &review["spec"];
            if kind.kind == "LocalSubjectAccessReview" && spec["resourceAttributes"]["namespace"] != namespace
            {
                let why = format!("must match metadata.namespace: {namespace}");
                let value = &spec["resourceAttributes"]["namespace"];
                let cause = Cause::invalid("spec.resourceAttributes.namespace", value, why);
                return Err(ApiError::invalid(kind, "", &[cause]));
            }
            let about = User {
                name: text(&spec["user"]),
                uid: text(&spec["uid"]),
                groups: texts(&spec["groups"]),
                ..User::default()
            };
            if about.name.is_empty() && about.groups.is_empty() {
                let why = "at least one of user or group must be specified";
                let cause = Cause::invalid("spec.user", &json!(""), why);
                return Err(ApiError::invalid_of(&kind.group, "", "", &[cause]));
            }
            access(registry, &about, kind, spec)?
        }
        "SelfSubjectRulesReview" => rules(registry, user, &review["spec"]),
        "SelfSubjectReview" => {
            review["metadata"]["creationTimestamp"] = json!(crate::meta::now());
            json!({ "userInfo": user.to_json() })
        }
        "TokenReview" => token(registry, authenticator, &review["spec"]),
        other => return Err(ApiError::internal(format!("no such review: {other}"))),
    };
    review["status"] = status;
    Ok(())
}

fn access(registry: &Registry, user: &User, kind: &Kind, spec: &Value) -> Result<Value, ApiError> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let field = |value: &Value, key: &str| text(&value[key]);
    let reason = match (resource.is_null(), path.is_null()) {
        (false, true) => {
            let (verb, group, name) = (
                field(resource, "verb"),
                field(resource, "group"),
                field(resource, "name"),
            );
            let (plural, part) = (field(resource, "resource"), field(resource, "subresource"));
            let access = Access {
                verb: &verb,
                group: &group,
                resource: &plural,
                subresource: &part,
                namespace: &field(resource, "namespace"),
                name: &name,
            };
            registry.authorizer.reason(&registry.store, user, &access)
        }
        (true, false) => {
            let (verb, path) = (field(path, "verb"), field(path, "path"));
            registry
                .authorizer
                .reason_for_path(&registry.store, user, &verb, &path)
        }
        _ => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            let cause = Cause::invalid("spec.resourceAttributes", resource, why);
            return Err(ApiError::invalid(kind, "", &[cause]));
        }
    };
    Ok(match reason {
        None => json!({ "allowed": false }),
        Some(reason) if reason.is_empty() => json!({ "allowed": true }),
        Some(reason) => json!({ "allowed": true, "reason": reason }),
    })
}

fn rules(registry: &Registry, user: &User, spec: &Value) -> Value {
    let rules = rbac::rules(&registry.store, user, &text(&spec["namespace"]));
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

fn token(registry: &Registry, authenticator: &Authenticator, spec: &Value) -> Value {
    match authenticator.user_of(&registry.store, &text(&spec["token"])) {
        Some(mut user) => {
            user.groups.push("system:authenticated".to_owned());
            user.groups.dedup();
            let audiences = match &spec["audiences"] {
                Value::Array(audiences) if !audiences.is_empty() => json!(audiences),
                _ => json!([super::tokens::ISSUER]),
            };
            json!({ "authenticated": true, "user": user.to_json(), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}
