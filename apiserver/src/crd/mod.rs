//! CustomResourceDefinitions: parsed, with their API approval. What happens to them in the background is in `housekeeping`.

pub(crate) mod api_approval;
mod conversion;
mod definition;

pub(crate) use conversion::{ConversionWebhook, invalid_ca_bundle};
pub use definition::{CrdVersion, CustomResourceDefinition, PrinterColumn, ScalePaths};
pub(crate) use definition::{names, text, version_priority};

use crate::meta::{self, set_condition};
use serde_json::Value;

/// The finalizer that keeps a definition until its custom resources are deleted.
pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks a definition as terminating when it is deleted.
pub(crate) fn mark_terminating(definition: &mut Value) {
    meta::add_finalizer(definition, CLEANUP_FINALIZER);
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(
        definition,
        "Terminating",
        "True",
        "InstanceDeletionPending",
        message,
    );
}
