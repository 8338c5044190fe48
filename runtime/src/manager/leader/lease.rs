//! Reads and writes one Lease: client-go's resource lock.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};

/// One Lease, and its last observed version, which updates must match.
pub(crate) struct LeaseLock {
    api: Api<Lease>,
    namespace: String,
    name: String,
    last_seen: Option<Lease>,
}

impl LeaseLock {
    pub(crate) fn new(client: kube::Client, namespace: &str, name: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            last_seen: None,
        }
    }

    /// Returns `namespace/name`, for messages.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Gets the Lease; returns none if it does not exist.
    pub(super) async fn read(&mut self) -> Result<Option<LeaseSpec>, kube::Error> {
        self.last_seen = self.api.get_opt(&self.name).await?;
        Ok(self.last_seen.as_ref().map(record))
    }

    /// Creates the Lease, or replaces the last observed version. A conflict is an error. Returns the spec as stored by the API server.
    pub(super) async fn write(&mut self, spec: LeaseSpec) -> Result<LeaseSpec, kube::Error> {
        let parameters = PostParams::default();
        let written = match &self.last_seen {
            None => {
                let metadata = ObjectMeta {
                    name: Some(self.name.clone()),
                    namespace: Some(self.namespace.clone()),
                    ..ObjectMeta::default()
                };
                let lease = Lease {
                    metadata,
                    spec: Some(spec),
                };
                self.api.create(&parameters, &lease).await?
            }
            Some(last_seen) => {
                let lease = Lease {
                    spec: Some(spec),
                    ..last_seen.clone()
                };
                self.api.replace(&self.name, &parameters, &lease).await?
            }
        };
        let spec = record(&written);
        self.last_seen = Some(written);
        Ok(spec)
    }

    /// Returns whether a version was observed that can be replaced without a read.
    pub(super) fn is_known(&self) -> bool {
        self.last_seen.is_some()
    }
}

fn record(lease: &Lease) -> LeaseSpec {
    lease.spec.clone().unwrap_or_default()
}
