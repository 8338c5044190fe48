//! The webhook configurations and the Service, as `manifests` prints them: without CA bundles, which come with the
//! certificate.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        admissionregistration::v1::{
            MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
            ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
        },
        core::v1::{Service, ServicePort, ServiceSpec},
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
        util::intstr::IntOrString,
    },
};
use kube::api::ObjectMeta;
use serde::Serialize;

use super::registration::{EXACT, WebhookBuilder, Webhooks};
use crate::{NamespacedName, Scope, conversion::RegisteredVersions};

/// The port on which operators serve webhooks.
pub(crate) const DEFAULT_PORT: u16 = 9443;

/// The name of the Deployment's port. Pods of a release without webhooks do not have it, so that they are no endpoints of the Service.
const PORT_NAME: &str = "webhooks";

/// The port of the Service.
pub(crate) const SERVICE_PORT: i32 = 443;

/// The label of each namespace with its name.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// The label that selects the operator's Pods.
const POD_LABEL: &str = "app.kubernetes.io/name";

/// The objects that an operator with webhooks needs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookManifests {
    /// The configuration of the validators, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validating: Option<ValidatingWebhookConfiguration>,
    /// The configuration of the defaulters, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutating: Option<MutatingWebhookConfiguration>,
    /// Selects the operator's Pods.
    pub service: Service,
    /// The Secret of the certificate, without data, if the operator keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<serde_json::Value>,
}

/// Returns the name of the Service.
pub(crate) fn service_name(operator: &str) -> String {
    format!("{operator}-webhooks")
}

/// Returns the name of the Secret with the certificate.
pub(crate) fn secret_name(operator: &str, namespace: &str) -> NamespacedName {
    NamespacedName::namespaced(namespace, service_name(operator))
}

/// Returns the namespace that a new project has. The manifests do not know that of the deployment.
pub(crate) fn default_namespace(operator: &str) -> String {
    format!("{operator}-system")
}

impl WebhookManifests {
    /// Returns the objects, without the Secret. With no webhooks they are only the Service, which conversion needs.
    pub(crate) fn of(
        webhooks: &Webhooks,
        versions: &[RegisteredVersions],
        operator: &str,
        namespace: &str,
    ) -> Self {
        let target = Target {
            versions,
            operator,
            namespace,
        };
        let of_kind = |is_mutating| {
            webhooks
                .all
                .iter()
                .filter(move |webhook| webhook.is_mutating == is_mutating)
        };
        let validating: Vec<_> = of_kind(false).map(|webhook| target.validating(webhook)).collect();
        let mutating: Vec<_> = of_kind(true).map(|webhook| target.mutating(webhook)).collect();
        let metadata = || ObjectMeta {
            name: Some(operator.to_owned()),
            ..ObjectMeta::default()
        };
        Self {
            validating: (!validating.is_empty()).then(|| ValidatingWebhookConfiguration {
                metadata: metadata(),
                webhooks: Some(validating),
            }),
            mutating: (!mutating.is_empty()).then(|| MutatingWebhookConfiguration {
                metadata: metadata(),
                webhooks: Some(mutating),
            }),
            service: target.service(),
            secret: None,
        }
    }
}

/// The Service that the API server calls.
struct Target<'a> {
    versions: &'a [RegisteredVersions],
    operator: &'a str,
    namespace: &'a str,
}

impl Target<'_> {
    fn validating(&self, webhook: &WebhookBuilder) -> ValidatingWebhook {
        ValidatingWebhook {
            name: webhook.name(self.operator),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: self.client_config(webhook),
            failure_policy: Some(webhook.failure_policy.to_owned()),
            match_conditions: some_list(&webhook.match_conditions),
            match_policy: Some(webhook.match_policy.to_owned()),
            namespace_selector: Some(self.namespace_selector(webhook)),
            object_selector: webhook.object_selector.clone(),
            rules: Some(vec![self.rule(webhook)]),
            side_effects: webhook.side_effects.to_owned(),
            timeout_seconds: Some(timeout_seconds(webhook)),
        }
    }

    fn mutating(&self, webhook: &WebhookBuilder) -> MutatingWebhook {
        MutatingWebhook {
            name: webhook.name(self.operator),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: self.client_config(webhook),
            failure_policy: Some(webhook.failure_policy.to_owned()),
            match_conditions: some_list(&webhook.match_conditions),
            match_policy: Some(webhook.match_policy.to_owned()),
            namespace_selector: Some(self.namespace_selector(webhook)),
            object_selector: webhook.object_selector.clone(),
            reinvocation_policy: Some(webhook.reinvocation_policy.to_owned()),
            rules: Some(vec![self.rule(webhook)]),
            side_effects: webhook.side_effects.to_owned(),
            timeout_seconds: Some(timeout_seconds(webhook)),
        }
    }

    fn client_config(&self, webhook: &WebhookBuilder) -> WebhookClientConfig {
        WebhookClientConfig {
            ca_bundle: None,
            service: Some(ServiceReference {
                name: service_name(self.operator),
                namespace: self.namespace.to_owned(),
                path: Some(webhook.path()),
                port: Some(SERVICE_PORT),
            }),
            url: None,
        }
    }

    /// The webhook's selector, without the operator's own namespace: its Pods must start, and its objects change, while nothing answers.
    fn namespace_selector(&self, webhook: &WebhookBuilder) -> LabelSelector {
        let mut selector = webhook.namespace_selector.clone();
        selector
            .match_expressions
            .get_or_insert_default()
            .push(LabelSelectorRequirement {
                key: NAMESPACE_LABEL.to_owned(),
                operator: "NotIn".to_owned(),
                values: Some(vec![self.namespace.to_owned()]),
            });
        selector
    }

    fn rule(&self, webhook: &WebhookBuilder) -> RuleWithOperations {
        let plural = &webhook.kind.plural;
        let resources = webhook
            .subresources
            .iter()
            .map(|subresource| match &**subresource {
                "" => plural.to_string(),
                subresource => format!("{plural}/{subresource}"),
            });
        let scope = match webhook.kind.scope {
            Scope::Cluster => "Cluster",
            Scope::Namespaced => "Namespaced",
        };
        let own = webhook.kind.version.to_string();
        RuleWithOperations {
            api_groups: Some(vec![webhook.kind.group.to_string()]),
            api_versions: Some(
                [own]
                    .into_iter()
                    .chain(self.converted_versions(webhook))
                    .collect(),
            ),
            operations: Some(webhook.operations.iter().map(ToString::to_string).collect()),
            resources: Some(resources.collect()),
            scope: Some(scope.to_owned()),
        }
    }

    /// Returns the other versions of the kind that the operator converts: their objects are sent as they are, and the webhook converts them.
    /// The API server would convert them for a rule of one version, and refuse each write while no replica can convert. Match conditions are
    /// written for one version, so the API server converts for them.
    fn converted_versions<'a>(&'a self, webhook: &'a WebhookBuilder) -> impl Iterator<Item = String> + 'a {
        let is_exact = webhook.match_policy == EXACT || !webhook.match_conditions.is_empty();
        let called = self.versions.iter().filter(move |versions| {
            !is_exact && versions.is_called() && versions.converter.info.is_version_of(&webhook.kind)
        });
        let names = called.flat_map(|versions| versions.converter.versions());
        let others = names.filter(|name| *name != webhook.kind.version);
        others.map(str::to_owned)
    }

    fn service(&self) -> Service {
        Service {
            metadata: ObjectMeta {
                name: Some(service_name(self.operator)),
                namespace: Some(self.namespace.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(ServiceSpec {
                selector: Some(BTreeMap::from([(POD_LABEL.to_owned(), self.operator.to_owned())])),
                ports: Some(vec![ServicePort {
                    name: Some(PORT_NAME.to_owned()),
                    port: SERVICE_PORT,
                    target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
                    ..ServicePort::default()
                }]),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        }
    }
}

fn timeout_seconds(webhook: &WebhookBuilder) -> i32 {
    // At most 30: the registration checks it.
    i32::try_from(webhook.timeout.as_secs()).unwrap_or(i32::MAX)
}

fn some_list<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}
