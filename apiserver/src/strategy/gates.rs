//! What belongs to features that v1.36 leaves off: it is dropped as if nobody had sent it. No stored object has any of it, so that
//! nothing has to be kept for its sake.

use super::pod_path;
use crate::kinds::Kind;
use serde_json::{Map, Value};

/// Below a pod's specification; `*` stands for each item of a list.
const OF_PODS: &[&str] = &[
    "schedulingGroup",
    "volumes/*/projected/sources/*/clusterTrustBundle",
    "volumes/*/projected/sources/*/podCertificate",
];
const SIGNALS: &[&str] = &[
    "containers/*/lifecycle",
    "initContainers/*/lifecycle",
    "ephemeralContainers/*/lifecycle",
];
const OF_PODS_STATUS: &[&str] = &[
    "nodeAllocatableResourceClaimStatuses",
    "containerStatuses/*/volumeMounts/*/volumeStatus",
    "initContainerStatuses/*/volumeMounts/*/volumeStatus",
    "ephemeralContainerStatuses/*/volumeMounts/*/volumeStatus",
];

pub(super) fn drop_gated(kind: &Kind, object: &mut Value) {
    if let Some(pod) = pod_path(kind).and_then(|path| object.pointer_mut(path)) {
        for path in OF_PODS {
            remove(&mut pod["spec"], path);
        }
        for path in SIGNALS {
            each(&mut pod["spec"], path, &mut |container, name| {
                let lifecycle = container.get_mut(name).and_then(Value::as_object_mut);
                // What said nothing else is dropped as a whole.
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
            for path in OF_PODS_STATUS {
                remove(&mut object["status"], path);
            }
        }
        ("apps", "StatefulSet") => remove(object, "spec/updateStrategy/rollingUpdate/maxUnavailable"),
        ("coordination.k8s.io", "Lease") => {
            remove(object, "spec/strategy");
            remove(object, "spec/preferredHolder");
        }
        _ => {}
    }
}

fn remove(value: &mut Value, path: &str) {
    each(value, path, &mut |object, name| {
        object.remove(name);
    });
}

/// Each object that has the last name of a path.
fn each(value: &mut Value, path: &str, visit: &mut impl FnMut(&mut Map<String, Value>, &str)) {
    let (name, rest) = path
        .split_once('/')
        .map_or((path, None), |(name, rest)| (name, Some(rest)));
    match (value, rest) {
        (Value::Array(items), Some(rest)) if name == "*" => {
            for item in items {
                each(item, rest, visit);
            }
        }
        (Value::Object(object), Some(rest)) => {
            if let Some(value) = object.get_mut(name) {
                each(value, rest, visit);
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
    fn what_says_nothing_else_is_dropped_whole() {
        let spec = json!({ "containers": [
            { "lifecycle": { "stopSignal": "SIGTERM" } },
            { "lifecycle": { "stopSignal": "SIGTERM", "preStop": {} } },
            { "lifecycle": {} },
            { "lifecycle": null },
        ], "schedulingGroup": {}, "volumes": [{ "projected": { "sources": [{ "podCertificate": {} }] } }] });
        let catalog = Catalog::built_in().unwrap();
        let mut pod = json!({ "spec": spec });
        drop_gated(catalog.kind("v1", "Pod").unwrap(), &mut pod);
        let kept = json!({ "containers": [
            {}, { "lifecycle": { "preStop": {} } }, { "lifecycle": {} }, { "lifecycle": null },
        ], "volumes": [{ "projected": { "sources": [{}] } }] });
        assert_eq!(pod["spec"], kept);
    }
}
