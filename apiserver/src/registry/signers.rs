//! Admission plugins CertificateApproval and CertificateSigning: writes to a CertificateSigningRequest need a permission for its signer.

use super::{Registry, Target};
use crate::auth::{ResourceAttributes, User};
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::Value;

impl Registry {
    /// Refuses an approval, or a new certificate or condition, by a user without permission for the signer or all signers of its domain.
    pub(super) fn check_signer_permission(
        &self,
        target: &Target,
        subresource: &str,
        (old, new): (&Value, &Value),
        user: &User,
    ) -> Result<(), ApiError> {
        let changes = |name: &str| old["status"][name] != new["status"][name];
        let verb = match (target.kind.kind.as_str(), subresource) {
            ("CertificateSigningRequest", "approval") => "approve",
            ("CertificateSigningRequest", "status") if changes("certificate") || changes("conditions") => {
                "sign"
            }
            _ => return Ok(()),
        };
        let signer = old["spec"]["signerName"].as_str().unwrap_or_default();
        let domain = signer.split('/').next().unwrap_or_default();
        let allowed = [signer, &format!("{domain}/*")].iter().any(|name| {
            let access = ResourceAttributes {
                verb,
                group: &target.kind.group,
                resource: "signers",
                subresource: "",
                namespace: "",
                name,
            };
            self.authorizer.allows(&self.store, user, &access)
        });
        if allowed {
            return Ok(());
        }
        let signer = quoted(signer);
        let why = format!("user not permitted to {verb} requests with signerName {signer}");
        Err(ApiError::forbidden(&target.kind, &target.name, why))
    }
}
