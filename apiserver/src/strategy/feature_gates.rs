//! Drops the fields of feature gates that are off in v1.36. No stored object has them, so nothing needs to be preserved.

use super::pod_path;
use crate::kinds::Kind;
use serde_json::{Map, Value};

/// Paths below a pod spec; `*` matches each item of a list or map.
const GATED_POD_SPEC_FIELDS: &[&str] = &[
    "schedulingGroup",
    "volumes/*/projected/sources/*/clusterTrustBundle",
    "volumes/*/projected/sources/*/podCertificate",
];
const LIFECYCLE_FIELDS: &[&str] = &[
    "containers/*/lifecycle",
    "initContainers/*/lifecycle",
    "ephemeralContainers/*/lifecycle",
];
const GATED_POD_STATUS_FIELDS: &[&str] = &[
    "nodeAllocatableResourceClaimStatuses",
    "containerStatuses/*/volumeMounts/*/volumeStatus",
    "initContainerStatuses/*/volumeMounts/*/volumeStatus",
    "ephemeralContainerStatuses/*/volumeMounts/*/volumeStatus",
];

const GATED_DEVICE_FIELDS: &[&str] = &[
    "nodeAllocatableResourceMappings",
    "attributes/*/bools",
    "attributes/*/ints",
    "attributes/*/strings",
    "attributes/*/versions",
];

pub(super) fn drop_gated_fields(kind: &Kind, object: &mut Value) {
    if let Some(pod) = pod_path(kind).and_then(|path| object.pointer_mut(path)) {
        for path in GATED_POD_SPEC_FIELDS {
            remove(&mut pod["spec"], path);
        }
        for path in LIFECYCLE_FIELDS {
            visit_fields(&mut pod["spec"], path, &mut |container, name| {
                let lifecycle = container.get_mut(name).and_then(Value::as_object_mut);
                // A lifecycle without other fields is dropped as a whole.
                if lifecycle
                    .is_some_and(|lifecycle| lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty())
                {
                    container.remove(name);
                }
            });
        }
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => {
            for path in GATED_POD_STATUS_FIELDS {
                remove(&mut object["status"], path);
            }
        }
        ("apps", "StatefulSet") => remove(object, "spec/updateStrategy/rollingUpdate/maxUnavailable"),
        ("storage.k8s.io", "CSIDriver") => remove(object, "spec/preventPodSchedulingIfMissing"),
        ("coordination.k8s.io", "Lease") => {
            remove(object, "spec/strategy");
            remove(object, "spec/preferredHolder");
        }
        ("resource.k8s.io", "ResourceSlice") => {
            for path in GATED_DEVICE_FIELDS {
                remove(&mut object["spec"], &format!("devices/*/{path}"));
            }
        }
        _ => {}
    }
}

fn remove(value: &mut Value, path: &str) {
    visit_fields(value, path, &mut |object, name| {
        object.remove(name);
    });
}

/// Calls `visit` with each object that has the last field of a path.
fn visit_fields(value: &mut Value, path: &str, visit: &mut impl FnMut(&mut Map<String, Value>, &str)) {
    let (name, rest) = path
        .split_once('/')
        .map_or((path, None), |(name, rest)| (name, Some(rest)));
    match (value, rest) {
        (Value::Array(items), Some(rest)) if name == "*" => {
            for item in items {
                visit_fields(item, rest, visit);
            }
        }
        (Value::Object(object), Some(rest)) if name == "*" => {
            for value in object.values_mut() {
                visit_fields(value, rest, visit);
            }
        }
        (Value::Object(object), Some(rest)) => {
            if let Some(value) = object.get_mut(name) {
                visit_fields(value, rest, visit);
            }
        }
        (Value::Object(object), None) if object.contains_key(name) => visit(object, name),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Catalog;
    use serde_json::json;

    #[test]
    fn lifecycle_without_other_fields_is_dropped() {
        let spec = json!({ "containers": [
            { "lifecycle": { "stopSignal": "SIGTERM" } },
            { "lifecycle": { "stopSignal": "SIGTERM", "preStop": {} } },
            { "lifecycle": {} },
            { "lifecycle": null },
        ], "schedulingGroup": {}, "volumes": [{ "projected": { "sources": [{ "podCertificate": {} }] } }] });
        let catalog = Catalog::built_in().unwrap();
        let mut pod = json!({ "spec": spec });
        drop_gated_fields(catalog.kind("v1", "Pod").unwrap(), &mut pod);
        let kept = json!({ "containers": [
            {}, { "lifecycle": { "preStop": {} } }, { "lifecycle": {} }, { "lifecycle": null },
        ], "volumes": [{ "projected": { "sources": [{}] } }] });
        assert_eq!(pod["spec"], kept);
    }
}
