//! Permissions for the certificate of the webhook server.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;

use super::permissions::{Permission, PermissionScope};
use crate::{
    Kind,
    webhooks::certificates::{BundleTarget, CertificateSource},
};

const WHY: &str = "webhook certificate";

/// Returns the permissions that a [`CertificateKeeper`](crate::webhooks::certificates::CertificateKeeper) of this source needs: by name on
/// its Secret in the operator's namespace, and by name on each object with a bundle.
pub fn certificate_permissions(source: &CertificateSource) -> Vec<Permission> {
    let (secret, verbs, bundles) = match source {
        CertificateSource::Generated { secret, bundles } => {
            (secret, &["get", "update", "watch"][..], &bundles[..])
        }
        CertificateSource::Secret(secret) => (secret, &["get", "watch"][..], &[][..]),
        CertificateSource::Folder(_) => return Vec::new(),
    };
    let mut permissions = vec![Permission {
        scope: PermissionScope::Operator,
        resource_names: vec![secret.name().to_owned()],
        ..Permission::on(&Secret::info(), None, verbs, WHY, WHY)
    }];
    let mut names: BTreeMap<String, (&BundleTarget, Vec<String>)> = BTreeMap::new();
    for target in bundles {
        let entry = names.entry(target.info().group_resource());
        let (_, names) = entry.or_insert_with(|| (target, Vec::new()));
        names.push(target.name().to_owned());
    }
    permissions.extend(names.into_values().map(|(target, resource_names)| {
        let info = target.info();
        let unit = format!("CA bundle {}", info.kind);
        Permission {
            resource_names,
            ..Permission::on(&info, None, &["get", "patch"], &unit, WHY)
        }
    }));
    permissions
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::NamespacedName;

    fn permissions(source: &CertificateSource) -> Value {
        json!(certificate_permissions(source))
    }

    #[test]
    fn permissions_name_the_objects() {
        let secret = NamespacedName::namespaced("default", "shop-webhook");
        let unit = |unit: &str, scope: &str, group: &str, resource: &str, names: &[&str], verbs: &[&str]| {
            json!({
                "unit": unit, "scope": scope, "apiGroups": [group], "resources": [resource], "resourceNames": names,
                "verbs": verbs, "why": "webhook certificate",
            })
        };
        let bundles = vec![
            BundleTarget::Validating("shop".to_owned()),
            BundleTarget::Definition("a.demo.dev".to_owned()),
            BundleTarget::Definition("b.demo.dev".to_owned()),
        ];
        let generated = permissions(&CertificateSource::Generated {
            secret: secret.clone(),
            bundles,
        });
        let patch = ["get", "patch"];
        let expected = json!([
            unit(
                "webhook certificate",
                "operator",
                "",
                "secrets",
                &["shop-webhook"],
                &["get", "update", "watch"]
            ),
            unit(
                "CA bundle CustomResourceDefinition",
                "cluster",
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                &["a.demo.dev", "b.demo.dev"],
                &patch
            ),
            unit(
                "CA bundle ValidatingWebhookConfiguration",
                "cluster",
                "admissionregistration.k8s.io",
                "validatingwebhookconfigurations",
                &["shop"],
                &patch
            ),
        ]);
        assert_eq!(generated, expected);
        let read = unit(
            "webhook certificate",
            "operator",
            "",
            "secrets",
            &["shop-webhook"],
            &["get", "watch"],
        );
        assert_eq!(permissions(&CertificateSource::Secret(secret)), json!([read]));
        assert_eq!(permissions(&CertificateSource::Folder("/tls".into())), json!([]));
    }
}
