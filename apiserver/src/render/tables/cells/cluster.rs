//! The cells of kinds that administrators and components use: certificates, drivers and devices, flow control, admission policies,
//! addresses of services and API services.

use super::{NONE, UNSET, age, age_of, condition, list, name, number, text, text_or};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, status, age) = (&object["spec"], &object["status"], json!(age_of(object)));
    let name = name(object).clone();
    Some(match kind {
        "ComponentStatus" => component_status(name, object),
        "CertificateSigningRequest" => vec![
            name,
            age,
            json!(text_or(text(spec, "signerName"), NONE)),
            json!(text(spec, "username")),
            json!(
                spec["expirationSeconds"]
                    .as_i64()
                    .map_or(NONE.to_owned(), age::human_duration)
            ),
            json!(signing_request_state(status)),
        ],
        "CSINode" => vec![name, json!(list(spec, "drivers").len()), age],
        "CSIDriver" => {
            let audiences = spec["tokenRequests"]
                .as_array()
                .map(|requests| super::join_field(requests, "audience"));
            let modes = list(spec, "volumeLifecycleModes")
                .iter()
                .filter_map(Value::as_str);
            vec![
                name,
                json!(spec["attachRequired"] != false),
                json!(spec["podInfoOnMount"] == true),
                json!(spec["storageCapacity"] == true),
                json!(audiences.unwrap_or_else(|| UNSET.to_owned())),
                json!(spec["requiresRepublish"] == true),
                json!(text_or(&modes.collect::<Vec<_>>().join(","), NONE)),
                age,
            ]
        }
        "VolumeAttachment" => vec![
            name,
            json!(text(spec, "attacher")),
            json!(text(&spec["source"], "persistentVolumeName")),
            json!(text(spec, "nodeName")),
            json!(status["attached"] == true),
            age,
        ],
        "VolumeAttributesClass" => vec![name, json!(text(object, "driverName")), age],
        "RuntimeClass" => vec![name, json!(text(object, "handler")), age],
        "FlowSchema" => flow_schema(name, object),
        "PriorityLevelConfiguration" => priority_level(name, object),
        "ValidatingAdmissionPolicy" => vec![
            name,
            json!(list(spec, "validations").len()),
            param_kind(spec),
            age,
        ],
        "MutatingAdmissionPolicy" => vec![name, json!(list(spec, "mutations").len()), param_kind(spec), age],
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            vec![
                name,
                json!(text(spec, "policyName")),
                json!(param_name(&spec["paramRef"])),
                age,
            ]
        }
        "IPAddress" => vec![name, json!(parent_name(&spec["parentRef"])), age],
        "ServiceCIDR" => {
            let cidrs = list(spec, "cidrs").iter().filter_map(Value::as_str);
            vec![name, json!(cidrs.collect::<Vec<_>>().join(",")), age]
        }
        "DeviceClass" | "ResourceClaimTemplate" => vec![name, age],
        "ResourceClaim" => vec![name, json!(claim_state(object)), age],
        "ResourceSlice" => vec![
            name,
            json!(text(spec, "nodeName")),
            json!(text(spec, "driver")),
            json!(text(&spec["pool"], "name")),
            age,
        ],
        "APIService" => {
            let service = match &spec["service"] {
                Value::Null => "Local".to_owned(),
                service => format!("{}/{}", text(service, "namespace"), text(service, "name")),
            };
            vec![name, json!(service), json!(availability(status)), age]
        }
        _ => return None,
    })
}

fn flow_schema(name: Value, object: &Value) -> Vec<Value> {
    let (spec, status, age) = (&object["spec"], &object["status"], json!(age_of(object)));
    let dangling = condition(status, "Dangling").map_or("?", |condition| text(condition, "status"));
    vec![
        name,
        json!(text(&spec["priorityLevelConfiguration"], "name")),
        json!(number(&spec["matchingPrecedence"])),
        json!(text_or(text(&spec["distinguisherMethod"], "type"), NONE)),
        age,
        json!(dangling),
    ]
}

fn priority_level(name: Value, object: &Value) -> Vec<Value> {
    let (spec, age) = (&object["spec"], json!(age_of(object)));
    let limited = &spec["limited"];
    let shown = |value: &Value| value.as_i64().map_or(json!(NONE), |number| json!(number));
    let queuing = &limited["limitResponse"]["queuing"];
    vec![
        name,
        json!(text(spec, "type")),
        shown(&limited["nominalConcurrencyShares"]),
        shown(&queuing["queues"]),
        shown(&queuing["handSize"]),
        shown(&queuing["queueLengthLimit"]),
        age,
    ]
}

fn component_status(name: Value, object: &Value) -> Vec<Value> {
    let (state, message, error) = match condition(object, "Healthy") {
        Some(condition) => (
            if condition["status"] == "True" {
                "Healthy"
            } else {
                "Unhealthy"
            },
            text(condition, "message"),
            text(condition, "error"),
        ),
        None => ("Unknown", "", ""),
    };
    vec![name, json!(state), json!(message), json!(error)]
}

fn signing_request_state(status: &Value) -> String {
    let has = |ty: &str| condition(status, ty).is_some();
    let mut state = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        state += ",Failed";
    }
    if !text(status, "certificate").is_empty() {
        state += ",Issued";
    }
    state
}

fn param_kind(spec: &Value) -> Value {
    match &spec["paramKind"] {
        Value::Null => json!(UNSET),
        kind => json!(format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind"))),
    }
}

fn param_name(reference: &Value) -> String {
    match (text(reference, "namespace"), text(reference, "name")) {
        (_, "") => UNSET.to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

fn parent_name(reference: &Value) -> String {
    if reference.is_null() {
        return NONE.to_owned();
    }
    let (group, namespace) = (text(reference, "group"), text(reference, "namespace"));
    let dot = if group.is_empty() { "" } else { "." };
    let resource = format!("{}{dot}{group}", text(reference, "resource")).to_lowercase();
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{resource}{slash}{namespace}/{}", text(reference, "name"))
}

fn claim_state(claim: &Value) -> String {
    let is_deleted = !claim["metadata"]["deletionTimestamp"].is_null();
    let mut states = vec![];
    if is_deleted {
        states.push("deleted");
    }
    if !claim["status"]["allocation"].is_null() {
        states.push("allocated");
        if !list(&claim["status"], "reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !is_deleted {
        states.push("pending");
    }
    states.join(",")
}

fn availability(status: &Value) -> String {
    let Some(condition) = condition(status, "Available") else {
        return "Unknown".to_owned();
    };
    match (text(condition, "status"), text(condition, "reason")) {
        (status, reason) if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
        (status, _) => status.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_name_what_happened_to_an_object() {
        let status =
            json!({ "conditions": [{ "type": "Approved" }, { "type": "Failed" }], "certificate": "x" });
        assert_eq!(signing_request_state(&status), "Approved,Failed,Issued");
        let claim = json!({ "metadata": { "deletionTimestamp": "t" }, "status": { "allocation": {}, "reservedFor": [1] } });
        assert_eq!(claim_state(&claim), "deleted,allocated,reserved");
        let reference = json!({ "group": "G.io", "resource": "things", "namespace": "n", "name": "x" });
        assert_eq!(parent_name(&reference), "things.g.io/n/x");
        let status = json!({ "conditions": [{ "type": "Available", "status": "False", "reason": "R" }] });
        assert_eq!(availability(&status), "False (R)");
    }
}
