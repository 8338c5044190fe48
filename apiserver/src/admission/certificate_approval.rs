//! CertificateApproval: approving or denying a CertificateSigningRequest needs a permission for its signer.

use super::{Attributes, Operation, signers};
use crate::status::ApiError;

pub(super) fn validate(attributes: &Attributes<'_>) -> Result<(), ApiError> {
    match attributes.operation {
        Operation::Update { old }
            if attributes.is_kind("certificates.k8s.io", "CertificateSigningRequest")
                && attributes.subresource == "approval" =>
        {
            signers::require(attributes, "approve", old)
        }
        _ => Ok(()),
    }
}
