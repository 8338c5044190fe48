//! PersistentVolumeClaimResize: only bound claims grow, and only if their storage class allows it.

use super::{Attributes, Operation};
use crate::builtin::{quantity_value, storage_class};
use crate::status::ApiError;
use serde_json::Value;

pub(super) fn validate(attributes: &Attributes<'_>, claim: &Value) -> Result<(), ApiError> {
    let Operation::Update { old } = attributes.operation else {
        return Ok(());
    };
    if !attributes.is_object("", "PersistentVolumeClaim") || size(claim) <= size(old) {
        return Ok(());
    }
    if old["status"]["phase"] != "Bound" {
        let why = "Only bound persistent volume claims can be expanded";
        return Err(attributes.forbidden(claim, why));
    }
    if !allows_expansion(attributes, claim, old) {
        let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
        return Err(attributes.forbidden(claim, why));
    }
    Ok(())
}

fn size(claim: &Value) -> Option<f64> {
    quantity_value(&claim["spec"]["resources"]["requests"]["storage"])
}

fn allows_expansion(attributes: &Attributes<'_>, claim: &Value, old: &Value) -> bool {
    let class = storage_class(claim);
    !class.is_empty()
        && class == storage_class(old)
        && attributes
            .get("storage.k8s.io", "storageclasses", class)
            .is_some_and(|class| class.value()["allowVolumeExpansion"] == true)
}
