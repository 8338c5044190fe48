//! IPAddress objects: one for each cluster IP of a Service, created and deleted with it.

use super::{Registry, Target, WriteContext};
use crate::auth::User;
use crate::kinds::Kind;
use crate::meta;
use crate::request::{DeleteOptions, WriteOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl Registry {
    /// Creates and deletes the IPAddress objects of a Service that was written: `old` and `new` are its states, None where it does not exist.
    pub(super) fn sync_service_addresses(&self, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        if kind.kind != "Service" || !kind.group.is_empty() {
            return;
        }
        let Ok(addresses) = self.resource("networking.k8s.io", "ipaddresses") else {
            return;
        };
        let (before, after) = (cluster_ips(old), cluster_ips(new));
        // Another object of that name is not the server's: it stays as it is.
        for address in before.difference(&after) {
            let target = Target::new(&addresses, "", address);
            if self.get(&target).is_ok_and(|object| is_managed(object.value())) {
                let _ = self.delete(&target, &DeleteOptions::default());
            }
        }
        let Some(service) = new else { return };
        for address in after.difference(&before) {
            let family = if address.contains(':') { "IPv6" } else { "IPv4" };
            let labels = json!({
                "ipaddress.kubernetes.io/ip-family": family, "ipaddress.kubernetes.io/managed-by": MANAGER,
            });
            let parent = json!({
                "resource": "services", "namespace": meta::namespace(service), "name": meta::name(service),
            });
            let object = json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
                "metadata": { "name": address, "labels": labels }, "spec": { "parentRef": parent },
            });
            let (user, options) = (User::system(), WriteOptions::of_manager("kube-apiserver"));
            let context = WriteContext::new(&user, &options);
            let _ = self.create(&Target::new(&addresses, "", ""), object, context);
        }
    }
}

/// The value of the label `ipaddress.kubernetes.io/managed-by`.
const MANAGER: &str = "ipallocator.k8s.io";

fn is_managed(address: &Value) -> bool {
    address["metadata"]["labels"]["ipaddress.kubernetes.io/managed-by"] == MANAGER
}

fn cluster_ips(service: Option<&Value>) -> BTreeSet<String> {
    let list = service.and_then(|service| service["spec"]["clusterIPs"].as_array());
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts
        .filter(|text| !matches!(*text, "" | "None"))
        .map(str::to_owned)
        .collect()
}
