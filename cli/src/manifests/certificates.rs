//! The certificate of the webhooks, by `[webhooks] certificates` in kubewright.toml. The operator's manifests assume that the operator keeps
//! it; these functions change them for the other settings.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Manifests, Permission};

/// The reason that the operator's manifests give for the permissions with which it keeps the certificate.
const REASON: &str = "webhook certificate";

/// The source of the webhooks' certificate and CA bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certificates {
    /// The operator makes and renews it in a Secret, and writes the CA bundles.
    #[default]
    Own,
    /// cert-manager makes it in a Secret that the Deployment mounts; its CA injector writes the CA bundles.
    CertManager,
    /// The user provides it in a Secret that the Deployment mounts, and writes the CA bundles.
    Files,
}

impl Certificates {
    /// Changes the manifests of an operator that will run in `namespace`.
    pub(crate) fn apply(self, manifests: &mut Manifests, namespace: &str) {
        let Some(webhooks) = manifests.webhooks.as_mut().filter(|_| self != Self::Own) else {
            return;
        };
        webhooks.secret = None;
        manifests
            .permissions
            .retain(|permission| !permission.is_for_webhook_certificate());
        if self == Self::CertManager {
            let operator = &manifests.operator;
            let name = format!("{operator}-webhooks");
            let object = |kind: &str, spec: Value| {
                json!({
                    "apiVersion": "cert-manager.io/v1", "kind": kind,
                    "metadata": {"name": name, "namespace": namespace}, "spec": spec,
                })
            };
            // A Service has both names.
            let names = ["svc", "svc.cluster.local"].map(|domain| format!("{name}.{namespace}.{domain}"));
            webhooks.issuer = Some(object("Issuer", json!({"selfSigned": {}})));
            webhooks.certificate = Some(object(
                "Certificate",
                json!({
                    "secretName": mounted_secret(operator), "dnsNames": names,
                    "issuerRef": {"kind": "Issuer", "name": name},
                }),
            ));
            inject_bundles(manifests, &format!("{namespace}/{name}"));
        }
    }

    /// Returns the name of the Secret that the Deployment mounts; none if the operator keeps the certificate itself.
    pub(crate) fn mounted_secret(self, operator: &str) -> Option<String> {
        (self != Self::Own).then(|| mounted_secret(operator))
    }
}

impl Permission {
    /// Whether the operator needs it only because it keeps the certificate of its webhooks.
    pub(super) fn is_for_webhook_certificate(&self) -> bool {
        self.why == REASON
    }
}

/// Differs from the name of the Secret that the operator keeps, so that a change of the setting replaces neither.
fn mounted_secret(operator: &str) -> String {
    format!("{operator}-webhooks-tls")
}

/// Has cert-manager write the CA of this certificate into what the API server calls.
fn inject_bundles(manifests: &mut Manifests, certificate: &str) {
    let configurations = manifests
        .webhooks
        .iter_mut()
        .flat_map(|webhooks| [&mut webhooks.validating, &mut webhooks.mutating])
        .flatten();
    let definitions = manifests
        .kinds
        .iter_mut()
        .filter_map(|kind| kind.crd.as_mut())
        .filter(|crd| crd.pointer("/spec/conversion/webhook").is_some());
    for object in configurations.chain(definitions) {
        object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = certificate.into();
    }
}
