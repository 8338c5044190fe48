//! The requests for one Lease.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};

/// One Lease and the version of it that was last seen, which updates must match.
pub(crate) struct LeaseLock {
    api: Api<Lease>,
    namespace: String,
    name: String,
    seen: Option<Lease>,
}

impl LeaseLock {
    pub(crate) fn new(client: kube::Client, namespace: &str, name: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            seen: None,
        }
    }

    /// `namespace/name`, for messages.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The record, or none when there is no such Lease.
    pub(super) async fn read(&mut self) -> Result<Option<LeaseSpec>, kube::Error> {
        self.seen = self.api.get_opt(&self.name).await?;
        Ok(self.seen.as_ref().map(record))
    }

    /// Creates the Lease, or replaces the version that was last seen; a conflict is an error. Returns what the server keeps.
    pub(super) async fn write(&mut self, spec: LeaseSpec) -> Result<LeaseSpec, kube::Error> {
        let parameters = PostParams::default();
        let written = match &self.seen {
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
            Some(seen) => {
                let lease = Lease {
                    spec: Some(spec),
                    ..seen.clone()
                };
                self.api.replace(&self.name, &parameters, &lease).await?
            }
        };
        let spec = record(&written);
        self.seen = Some(written);
        Ok(spec)
    }

    /// Whether a version was seen that can be replaced without reading again.
    pub(super) fn is_known(&self) -> bool {
        self.seen.is_some()
    }
}

fn record(lease: &Lease) -> LeaseSpec {
    lease.spec.clone().unwrap_or_default()
}
