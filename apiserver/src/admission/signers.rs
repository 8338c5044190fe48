//! What CertificateApproval and CertificateSigning share: a write to a CertificateSigningRequest needs a permission for its signer.

use super::Attributes;
use crate::auth::ResourceAttributes;
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::Value;

/// Refuses a user that may not act on the signer of the stored request, or on all signers of its domain.
pub(super) fn require(attributes: &Attributes<'_>, verb: &str, old: &Value) -> Result<(), ApiError> {
    let signer = old["spec"]["signerName"].as_str().unwrap_or_default();
    let domain = signer.split('/').next().unwrap_or_default();
    let is_allowed = [signer, &format!("{domain}/*")].iter().any(|name| {
        let access = ResourceAttributes {
            verb,
            group: &attributes.kind.group,
            resource: "signers",
            subresource: "",
            namespace: "",
            name,
        };
        let authorizer = attributes.authorizer;
        authorizer.allows(attributes.store, attributes.user, &access)
    });
    if is_allowed {
        return Ok(());
    }
    let signer = quoted(signer);
    let why = format!("user not permitted to {verb} requests with signerName {signer}");
    Err(attributes.forbidden(old, why))
}
