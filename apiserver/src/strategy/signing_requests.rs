//! CertificateSigningRequests: who asks, and which part of a request each write may change.

use crate::auth::User;
use crate::meta::{self, array};
use serde_json::{Map, Value, json};

/// Conditions that only the subresource `approval` changes.
const APPROVAL_CONDITIONS: [&str; 2] = ["Approved", "Denied"];

/// Sets the fields that describe the user who creates the request, whatever the body says.
pub(crate) fn set_requester(request: &mut Value, user: &User) {
    let spec = meta::entry_mut(request, "spec");
    for name in ["username", "uid", "groups", "extra"] {
        spec.remove(name);
    }
    let extra: Map<String, Value> = user
        .extra
        .iter()
        .map(|(name, values)| (name.clone(), json!(values)))
        .collect();
    for (name, value, is_empty) in [
        ("username", json!(user.name), user.name.is_empty()),
        ("uid", json!(user.uid), user.uid.is_empty()),
        ("groups", json!(user.groups), user.groups.is_empty()),
        ("extra", json!(extra), extra.is_empty()),
    ] {
        if !is_empty {
            spec.insert(name.to_owned(), value);
        }
    }
}

/// Restores what a write to this subresource (empty for the whole object) must not change, and completes the times of conditions.
pub(crate) fn keep_writable_part(request: &mut Value, old: &Value, subresource: &str) {
    request["spec"] = old["spec"].clone();
    let sent = request["status"].take();
    let mut status = match subresource {
        "status" => sent,
        "approval" => {
            let mut status = old["status"].clone();
            status["conditions"] = sent["conditions"].clone();
            status
        }
        _ => old["status"].clone(),
    };
    let old_conditions = array(&old["status"]["conditions"]);
    if subresource == "status" {
        for ty in APPROVAL_CONDITIONS {
            preserve_conditions(&mut status, old_conditions, ty);
        }
    }
    if !subresource.is_empty() {
        set_condition_times(&mut status, old_conditions);
    }
    if let Value::Object(fields) = &mut status {
        fields.retain(|_, value| !value.is_null());
    }
    request["status"] = if status.is_null() { json!({}) } else { status };
}

/// Takes the conditions of a type from the old status, if as many were sent.
fn preserve_conditions(status: &mut Value, old: &[Value], ty: &str) {
    let old: Vec<&Value> = old.iter().filter(|condition| condition["type"] == ty).collect();
    let sent = status["conditions"].as_array_mut().into_iter().flatten();
    let sent: Vec<&mut Value> = sent.filter(|condition| condition["type"] == ty).collect();
    if sent.len() == old.len() {
        for (sent, old) in sent.into_iter().zip(old) {
            *sent = old.clone();
        }
    }
}

fn set_condition_times(status: &mut Value, old: &[Value]) {
    let now = json!(meta::now());
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        if condition["lastUpdateTime"].is_null() {
            condition["lastUpdateTime"] = now.clone();
        }
        if condition["lastTransitionTime"].is_null() {
            let same = |other: &&Value| {
                ["type", "status"]
                    .iter()
                    .all(|key| other[*key] == condition[*key])
            };
            let before = old
                .iter()
                .find(same)
                .map(|other| other["lastTransitionTime"].clone());
            condition["lastTransitionTime"] = before
                .filter(|time| !time.is_null())
                .unwrap_or_else(|| now.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(conditions: &Value, certificate: &Value) -> Value {
        json!({ "spec": { "signerName": "a/b" }, "status": { "conditions": conditions, "certificate": certificate } })
    }

    #[test]
    fn each_subresource_changes_its_part_only() {
        let approved = json!([{ "type": "Approved", "status": "True", "lastUpdateTime": "t", "lastTransitionTime": "t" }]);
        let old = request(&approved, &json!("old"));
        let sent = request(
            &json!([{ "type": "Approved", "status": "True", "message": "m" }]),
            &json!("new"),
        );
        let write = |subresource: &str| {
            let mut new = sent.clone();
            new["spec"]["signerName"] = json!("c/d");
            keep_writable_part(&mut new, &old, subresource);
            new
        };
        assert_eq!(write(""), old);
        assert_eq!(write("status"), request(&approved, &json!("new")));
        let new = write("approval");
        assert_eq!(new["status"]["certificate"], "old");
        assert_eq!(new["status"]["conditions"][0]["message"], "m");
        assert_eq!(new["status"]["conditions"][0]["lastTransitionTime"], "t");
    }
}
