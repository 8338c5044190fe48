//! CertificateSigning: a new certificate or condition of a CertificateSigningRequest needs a permission for its signer.

use super::{Attributes, Operation, signers};
use crate::status::ApiError;
use serde_json::Value;

pub(super) fn validate(attributes: &Attributes<'_>, request: &Value) -> Result<(), ApiError> {
    let Operation::Update { old } = attributes.operation else {
        return Ok(());
    };
    let changes = |name: &str| old["status"][name] != request["status"][name];
    let is_status = attributes.is_kind("certificates.k8s.io", "CertificateSigningRequest")
        && attributes.subresource == "status";
    if is_status && (changes("certificate") || changes("conditions")) {
        return signers::require(attributes, "sign", old);
    }
    Ok(())
}
