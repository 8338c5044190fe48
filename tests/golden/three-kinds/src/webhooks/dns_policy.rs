//! The webhooks of DNSPolicy: the API server calls them before it stores an object.

use kubewright::controller::Setup;
use kubewright::webhooks::{AdmissionError, AdmissionRequest, Defaulter};

use crate::api::dns_policy::DNSPolicy;

/// The webhooks of DNSPolicy. It may have listers and typed clients as fields, as a controller does.
pub struct DNSPolicyWebhook;

impl DNSPolicyWebhook {
    /// Registers the webhooks. Does no I/O.
    ///
    /// The returned builders have options. By default the API server waits 10 s for an answer and then accepts the write, which
    /// `.fail_closed()` changes; objects in the operator's own namespace are never reviewed, so that it can be repaired.
    pub fn register(setup: &mut Setup) {
        setup.defaulter::<DNSPolicy>(Self);
    }
}

impl Defaulter<DNSPolicy> for DNSPolicyWebhook {
    /// Changes a new or changed object, before it is validated. It may be called again with its own result.
    async fn set_defaults(
        &self,
        new: &mut DNSPolicy,
        _request: &AdmissionRequest,
    ) -> Result<(), AdmissionError> {
        // With `#[serde(default)]` on the field, it may be left out, too.
        if new.spec.deployment_name.is_empty()
            && let Some(name) = &new.metadata.name
        {
            new.spec.deployment_name = name.clone();
        }
        Ok(())
    }
}
