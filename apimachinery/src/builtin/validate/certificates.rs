//! Validation of CertificateSigningRequests. Requests and certificates are checked as PEM blocks; their contents are not parsed.

use super::{Check, Constraint, FieldRule, array, items, names, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
/// Conditions that are never removed, and whose status is always True.
const FINAL_CONDITIONS: [&str; 3] = ["Approved", "Denied", "Failed"];

#[rustfmt::skip]
const REQUEST: &[FieldRule] = &[
    ("usages", Constraint::Required("")),
    ("usages[]", Constraint::Only(&USAGES)),
    ("usages[]", Constraint::Unique),
    ("expirationSeconds", Constraint::Within(600, i64::MAX, "may not specify a duration less than 600 seconds (10 minutes)")),
];

const CONDITIONS: &[FieldRule] = &[
    ("conditions[].type", Constraint::Required("")),
    ("conditions[].type", Constraint::Unique),
];

/// Validates a new request, or a write to a subresource of an existing one.
pub(super) fn validate_signing_request(
    check: &mut Check,
    request: &Value,
    old: Option<&Value>,
    subresource: &str,
) {
    let spec = &request["spec"];
    if !is_pem(&spec["request"], "CERTIFICATE REQUEST") {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        check.invalid("spec.request", spec["request"].clone(), detail);
    }
    check.apply(REQUEST, spec, None, "spec");
    let signer = text(spec, "signerName");
    if signer == LEGACY_SIGNER {
        let detail = "the legacy signerName is not allowed via this API version";
        check.invalid("spec.signerName", signer, detail);
    } else {
        validate_signer_name(check, signer, "spec.signerName");
    }
    validate_conditions(check, &request["status"]);
    let certificate = &request["status"]["certificate"];
    let is_new = old.is_none_or(|old| old["status"]["certificate"] != *certificate);
    if is_new && !text(&request["status"], "certificate").is_empty() && !is_pem(certificate, "CERTIFICATE") {
        let detail = "must contain at least one CERTIFICATE PEM block";
        check.invalid("status.certificate", "<certificate data>", detail);
    }
    if let Some(old) = old {
        validate_update(check, &request["status"], &old["status"], subresource);
    }
}

fn validate_update(check: &mut Check, status: &Value, old: &Value, subresource: &str) {
    let count = |status: &Value, ty: &str| {
        let conditions = array(&status["conditions"]).iter();
        conditions.filter(|condition| condition["type"] == ty).count()
    };
    let mut forbid = |field: &str, detail: String| check.forbidden(field, detail);
    for ty in FINAL_CONDITIONS {
        if count(status, ty) < count(old, ty) {
            let detail = format!("updates may not remove a condition of type {ty:?}");
            forbid("status.conditions", detail);
        }
    }
    for ty in ["Approved", "Denied"] {
        if subresource != "approval" && count(status, ty) > count(old, ty) {
            forbid(
                "status.conditions",
                format!("updates may not add a condition of type {ty:?}"),
            );
        }
    }
    if status["certificate"] != old["certificate"] && !text(old, "certificate").is_empty() {
        let detail = "updates may not modify existing certificate content";
        forbid("status.certificate", detail.to_owned());
    }
}

fn validate_conditions(check: &mut Check, status: &Value) {
    check.apply(CONDITIONS, status, None, "status");
    let (mut is_approved, mut is_denied) = (false, false);
    for (condition, path) in items(status, "conditions", "status") {
        let ty = text(condition, "type");
        let all: &[&str] = if FINAL_CONDITIONS.contains(&ty) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        if check.require(&condition["status"], &format!("{path}.status")) {
            check.require_supported(condition, "status", &path, all);
        }
        is_approved |= ty == "Approved";
        is_denied |= ty == "Denied";
        if is_approved && is_denied && matches!(ty, "Approved" | "Denied") {
            let detail = "Approved and Denied conditions are mutually exclusive";
            check.invalid("status.conditions", ty, detail);
        }
    }
}

const MAX_SUBDOMAIN_BYTES: usize = 253;
/// A domain, a slash, a namespace, a dot and a name.
const MAX_SIGNER_BYTES: usize = 253 + 1 + 63 + 1 + 253;

/// Validates the name of a signer: a domain and a path.
fn validate_signer_name(check: &mut Check, signer: &str, path: &str) {
    if signer.is_empty() {
        check.required(path, "");
        return;
    }
    let Some((domain, name)) = signer.split_once('/').filter(|(_, name)| !name.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return check.invalid(path, signer, detail);
    };
    if domain.len() > MAX_SUBDOMAIN_BYTES {
        check.too_long(path, MAX_SUBDOMAIN_BYTES);
    }
    let mut invalid = |value: &str, detail: String| check.invalid(path, value, detail);
    let labels = |part: &str, errors: fn(&str) -> Vec<&'static str>| -> Vec<String> {
        let mut labels = part.split('.').map(|label| (label, errors(label)));
        let (bad, found) = labels.find(|(_, found)| !found.is_empty()).unwrap_or_default();
        found
            .into_iter()
            .map(|why| format!("validating label {bad:?}: {why}"))
            .collect()
    };
    for detail in labels(domain, names::label_errors) {
        invalid(domain, detail);
    }
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        invalid(domain, detail.to_owned());
    }
    for detail in labels(name, names::subdomain_errors) {
        invalid(name, detail);
    }
    check.limit_bytes(signer, MAX_SIGNER_BYTES, path);
}

/// Whether base64 text is one or more PEM blocks that begin with this type.
fn is_pem(encoded: &Value, ty: &str) -> bool {
    let text = STANDARD
        .decode(encoded.as_str().unwrap_or_default())
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let begin = format!("-----BEGIN {ty}-----");
    let first = text.lines().find(|line| line.starts_with("-----BEGIN "));
    first.is_some_and(|line| line.trim_end() == begin) && text.contains(&format!("-----END {ty}-----"))
}
