//! The webhooks of Pod: the API server calls them before it stores an object.

use k8s_openapi::api::core::v1::Pod;
use kubewright::controller::Setup;
use kubewright::webhooks::Defaulter;
use kubewright::webhooks::Operation;
use kubewright::webhooks::{AdmissionError, AdmissionRequest, Validation, Validator};

/// The webhooks of Pod. It may have listers and typed clients as fields, as a controller does.
pub struct PodWebhook;

impl PodWebhook {
    /// Registers the webhooks. Does no I/O.
    ///
    /// The returned builders have options. By default the API server waits 10 s for an answer and then accepts the write, which
    /// `.fail_closed()` changes; objects in the operator's own namespace are never reviewed, so that it can be repaired.
    pub fn register(setup: &mut Setup) {
        setup.validator::<Pod>(Self);
        setup.defaulter::<Pod>(Self);
    }
}

impl Validator<Pod> for PodWebhook {
    /// Checks a new object, with its defaults. This is an example: the label is not empty.
    async fn create(
        &self,
        new: &Pod,
        _request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        if team(new) == Some("") {
            validation.required("metadata.labels[demo.dev/team]", "name the team");
        }
        Ok(validation)
    }

    /// Checks a change. This is an example: the label cannot be changed.
    async fn update(
        &self,
        new: &Pod,
        old: &Pod,
        _request: &AdmissionRequest,
    ) -> Result<Validation, AdmissionError> {
        let mut validation = Validation::new();
        if team(new) != team(old) {
            validation.forbidden("metadata.labels[demo.dev/team]", "cannot be changed");
        }
        Ok(validation)
    }
}

impl Defaulter<Pod> for PodWebhook {
    /// Changes a new or changed object, before it is validated. This is an example: an annotation names the creator.
    async fn set_defaults(
        &self,
        new: &mut Pod,
        request: &AdmissionRequest,
    ) -> Result<(), AdmissionError> {
        if request.operation == Operation::Create {
            let user = request.user.username.clone().unwrap_or_default();
            let annotations = new.metadata.annotations.get_or_insert_default();
            annotations.insert("demo.dev/created-by".to_owned(), user);
        }
        Ok(())
    }
}

/// Returns the team that owns the object.
fn team(object: &Pod) -> Option<&str> {
    let labels = object.metadata.labels.as_ref()?;
    labels.get("demo.dev/team").map(String::as_str)
}
