//! What the manifests of an operator with webhooks have.

use super::{CustomDefinition, Permission, Setup};
use crate::{
    controller::certificate_permissions::certificate_permissions,
    webhooks::{
        WebhookManifests,
        certificates::{BundleTarget, CertificateSource, secret_manifest},
        configurations::{default_namespace, secret_name},
    },
};

/// Returns the objects whose CA bundle the operator keeps.
pub(in crate::manager) fn bundle_targets(setup: &Setup, kinds: &[CustomDefinition]) -> Vec<BundleTarget> {
    let webhooks = setup.webhook_manifests();
    let validating = webhooks
        .iter()
        .filter_map(|webhooks| webhooks.validating.as_ref()?.metadata.name.clone());
    let mutating = webhooks
        .iter()
        .filter_map(|webhooks| webhooks.mutating.as_ref()?.metadata.name.clone());
    let definitions = kinds.iter().filter_map(|kind| {
        let crd = kind.crd.as_ref()?;
        let webhook = crd.spec.conversion.as_ref()?.webhook.as_ref();
        webhook.and(crd.metadata.name.clone())
    });
    validating
        .map(BundleTarget::Validating)
        .chain(mutating.map(BundleTarget::Mutating))
        .chain(definitions.map(BundleTarget::Definition))
        .collect()
}

/// Returns the objects of an operator with webhooks, for the namespace that a new project has. If it keeps its certificate, they have the
/// Secret for it, and `permissions` those that this needs.
pub(super) fn of(
    setup: &Setup,
    kinds: &[CustomDefinition],
    keeps_certificate: bool,
    permissions: &mut Vec<Permission>,
) -> Option<WebhookManifests> {
    let mut webhooks = setup.webhook_manifests()?;
    if keeps_certificate {
        let secret = secret_name(setup.operator(), &default_namespace(setup.operator()));
        webhooks.secret = Some(secret_manifest(&secret));
        permissions.extend(certificate_permissions(&CertificateSource::Generated {
            secret,
            bundles: bundle_targets(setup, kinds),
        }));
    }
    Some(webhooks)
}
