//! The condition `Available` of APIServices with a service. They name an extension server; requests are not forwarded to it.

use super::reconcile_on_changes;
use crate::meta::{self, text};
use crate::quote::quoted;
use crate::registry::{Registry, Target};
use crate::storage::Store;
use crate::strategy;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Duration;

const SERVICE_LABEL: &str = "kubernetes.io/service-name";
const DEFAULT_PORT: i64 = 443;

/// Keeps the conditions current until the future is dropped.
pub(super) async fn run(registry: &Registry, delay: Duration) {
    let kinds = [
        ("apiregistration.k8s.io", "apiservices"),
        ("", "services"),
        ("discovery.k8s.io", "endpointslices"),
    ];
    let Ok(api_services) = registry.resource(kinds[0].0, kinds[0].1) else {
        return;
    };
    let tables = kinds.map(|(group, plural)| match group {
        "" => plural.to_owned(),
        group => format!("{plural}.{group}"),
    });
    let changes = tables.map(|table| registry.store.subscribe_table(&table));
    // The revisions of objects that are known to have no service.
    let mut local = HashSet::new();
    reconcile_on_changes(changes, delay, Duration::ZERO, || {
        let known = std::mem::take(&mut local);
        for object in registry.store.objects(&api_services.table(), "") {
            if known.contains(&object.revision) || !strategy::has_service(object.value()) {
                local.insert(object.revision);
                continue;
            }
            let service = &object.value()["spec"]["service"];
            let (reason, message) = unavailability(&registry.store, service);
            let condition =
                json!({ "type": "Available", "status": "False", "reason": reason, "message": message });
            let target = Target::new(&api_services, "", meta::name(object.value()));
            set_condition(registry, &target, object.value(), &condition);
        }
        false
    })
    .await;
}

/// Returns why an extension server is not available, as kube-apiserver reports it.
fn unavailability(store: &Store, reference: &Value) -> (&'static str, String) {
    let (namespace, name) = (text(reference, "namespace"), text(reference, "name"));
    let service = format!("service/{name} in {}", quoted(namespace));
    let Some(found) = store.get("services", &Store::key(namespace, name)) else {
        return ("ServiceNotFound", format!("{service} is not present"));
    };
    let spec = &found.value()["spec"];
    if spec["type"] == "ClusterIP" {
        let port = reference["port"].as_i64().unwrap_or(DEFAULT_PORT);
        let mut ports = spec["ports"].as_array().into_iter().flatten();
        let Some(port_name) = ports
            .find(|served| served["port"] == port)
            .map(|port| text(port, "name"))
        else {
            return (
                "ServicePortError",
                format!("{service} is not listening on port {port}"),
            );
        };
        let mut slices = store.objects("endpointslices.discovery.k8s.io", namespace);
        slices.retain(|slice| slice.value()["metadata"]["labels"][SERVICE_LABEL] == name);
        if slices.is_empty() {
            return (
                "EndpointsNotFound",
                format!("cannot find endpointslices for {service}"),
            );
        }
        if !slices.iter().any(|slice| has_endpoint(slice.value(), port_name)) {
            let port_name = quoted(port_name);
            return (
                "MissingEndpoints",
                format!("endpointslices for {service} have no addresses with port name {port_name}"),
            );
        }
    }
    let why = "this server does not forward requests to extension servers";
    ("FailedDiscoveryCheck", why.to_owned())
}

/// Whether a slice has a ready endpoint with a port of this name.
fn has_endpoint(slice: &Value, port_name: &str) -> bool {
    let items = |field: &str| slice[field].as_array().into_iter().flatten();
    items("endpoints").any(|endpoint| endpoint["conditions"]["ready"] != false)
        && items("ports").any(|port| text(port, "name") == port_name && !port["port"].is_null())
}

fn set_condition(registry: &Registry, target: &Target, object: &Value, condition: &Value) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|known| known["type"] == condition["type"]);
    let is_same = |field: &str| found.is_some_and(|found| found[field] == condition[field]);
    if is_same("status") && is_same("reason") && is_same("message") {
        return;
    }
    let mut condition = condition.clone();
    condition["lastTransitionTime"] = match found {
        Some(found) if is_same("status") => found["lastTransitionTime"].clone(),
        _ => json!(meta::now()),
    };
    // If the object is changed or deleted at the same time, that causes another round.
    let _ = registry.update_as_manager(target, "status", "kube-apiserver", |current| {
        if !strategy::has_service(current) {
            return Ok(());
        }
        let conditions = current["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let others = conditions
            .into_iter()
            .filter(|known| known["type"] != condition["type"]);
        current["status"]["conditions"] = others.chain([condition.clone()]).collect();
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn availability_depends_on_service_and_endpoints() {
        let store = Store::default();
        let reference = json!({ "namespace": "n", "name": "s", "port": 8443 });
        let reason = |store: &Store| unavailability(store, &reference).0;
        assert_eq!(reason(&store), "ServiceNotFound");
        let service = |port: u16| json!({ "spec": { "type": "ClusterIP", "ports": [{ "port": port, "name": "https" }] } });
        let other = store.create("services", "n/s", service(443)).unwrap();
        assert_eq!(reason(&store), "ServicePortError");
        store.update("services", "n/s", &other, service(8443)).unwrap();
        assert_eq!(reason(&store), "EndpointsNotFound");
        let slice = |ready: bool| {
            json!({
                "metadata": { "name": "e", "namespace": "n", "labels": { SERVICE_LABEL: "s" } },
                "endpoints": [{ "conditions": { "ready": ready } }], "ports": [{ "name": "https", "port": 1 }],
            })
        };
        let table = "endpointslices.discovery.k8s.io";
        let stored = store.create(table, "n/e", slice(false)).unwrap();
        assert_eq!(reason(&store), "MissingEndpoints");
        store.update(table, "n/e", &stored, slice(true)).unwrap();
        assert_eq!(reason(&store), "FailedDiscoveryCheck");
    }
}
