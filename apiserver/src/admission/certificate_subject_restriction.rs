//! CertificateSubjectRestriction: no client certificate for the group `system:masters` is requested.

use super::Attributes;
use crate::status::ApiError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const FORBIDDEN_GROUP: &[u8] = b"system:masters";
/// The object identifier of the attribute `organizationName`, 2.5.4.10, as DER.
const ORGANIZATION: &[u8] = &[0x06, 0x03, 0x55, 0x04, 0x0a];

pub(super) fn validate(attributes: &Attributes<'_>, request: &Value) -> Result<(), ApiError> {
    let spec = &request["spec"];
    if attributes.creates("certificates.k8s.io", "CertificateSigningRequest")
        && spec["signerName"] == CLIENT_SIGNER
        && requests_group(spec["request"].as_str().unwrap_or_default())
    {
        let why = format!("use of {CLIENT_SIGNER} signer with system:masters group is not allowed");
        return Err(attributes.forbidden(request, why));
    }
    Ok(())
}

/// Whether the PEM block, which is encoded in base64 once more, contains an organization with the forbidden name.
///
/// The DER encoding of an attribute is unique but for the type of its text: its identifier, the type, the length, the text.
fn requests_group(encoded: &str) -> bool {
    let pem = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&pem);
    let body: String = text
        .lines()
        .filter(|line| !line.contains("-----"))
        .map(str::trim)
        .collect();
    let der = STANDARD.decode(body).unwrap_or_default();
    der.windows(ORGANIZATION.len() + 2 + FORBIDDEN_GROUP.len())
        .any(|window| {
            let (identifier, rest) = window.split_at(ORGANIZATION.len());
            let (header, value) = rest.split_at(2);
            identifier == ORGANIZATION
                && usize::from(header[1]) == FORBIDDEN_GROUP.len()
                && value == FORBIDDEN_GROUP
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_of(organization: &str) -> String {
        let mut parameters = rcgen::CertificateParams::new(vec![]).unwrap();
        parameters
            .distinguished_name
            .push(rcgen::DnType::CommonName, "system:masters");
        parameters
            .distinguished_name
            .push(rcgen::DnType::OrganizationName, organization);
        let key = rcgen::KeyPair::generate().unwrap();
        STANDARD.encode(parameters.serialize_request(&key).unwrap().pem().unwrap())
    }

    #[test]
    fn organization_of_a_request_is_found() {
        assert!(requests_group(&request_of("system:masters")));
        assert!(!requests_group(&request_of("system:masters-of-none")));
        assert!(!requests_group(&request_of("friends")));
        assert!(!requests_group("no base64"));
    }
}
