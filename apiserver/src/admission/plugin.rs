//! The plugins by name, in kube-apiserver's order, and what each does in which phase.

use super::{
    Attributes, certificate_approval, certificate_signing, certificate_subject_restriction,
    default_ingress_class, default_storage_class, default_toleration_seconds, limit_ranger,
    namespace_lifecycle, node_declared_feature_validator, owner_references_permission_enforcement,
    persistent_volume_claim_resize, pod_resize_validator, pod_security, pod_topology_labels, priority,
    runtime_class, service_account, storage_object_in_use_protection, taint_nodes_by_condition,
};
use crate::status::ApiError;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// An admission plugin, under its name in kube-apiserver and in the order in which the plugins run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AdmissionPlugin {
    /// Refuses new objects in namespaces that do not exist or terminate, and the deletion of the initial namespaces.
    NamespaceLifecycle,
    /// Sets default requests and limits, and enforces the bounds of limit ranges.
    LimitRanger,
    /// Sets the service account of pods and mounts its token; refuses pods whose account does not exist. Off by default, because only a
    /// controller manager creates the accounts.
    ServiceAccount,
    /// Taints new nodes as not ready.
    TaintNodesByCondition,
    /// Refuses pods that violate the Pod Security Standards of their namespace, and warns about workloads that do.
    PodSecurity,
    /// Sets the priority of pods, and refuses a second default priority class.
    Priority,
    /// Sets how long pods tolerate unready and unreachable nodes.
    DefaultTolerationSeconds,
    /// Sets the storage class of claims that name none.
    DefaultStorageClass,
    /// Adds the finalizers that protect claims, volumes and volume attributes classes in use.
    StorageObjectInUseProtection,
    /// Requires permissions for owner references. Off by default, as in kube-apiserver; many distributions switch it on.
    OwnerReferencesPermissionEnforcement,
    /// Refuses to expand claims that are not bound or whose class does not allow it.
    PersistentVolumeClaimResize,
    /// Sets a pod's overhead and scheduling from its runtime class, and refuses another overhead.
    RuntimeClass,
    /// Requires a permission for the signer to approve a certificate signing request.
    CertificateApproval,
    /// Requires a permission for the signer to sign a certificate.
    CertificateSigning,
    /// Refuses certificate signing requests for clients in the group `system:masters`.
    CertificateSubjectRestriction,
    /// Sets the class of ingresses that name none.
    DefaultIngressClass,
    /// Copies the topology labels of its node to a pod.
    PodTopologyLabels,
    /// Refuses resizes of pods that need features which the node does not declare.
    NodeDeclaredFeatureValidator,
    /// Refuses resizes of pods beyond what their nodes can allocate.
    PodResizeValidator,
    /// Evaluates MutatingAdmissionPolicies.
    MutatingAdmissionPolicy,
    /// Calls the webhooks of MutatingWebhookConfigurations.
    MutatingAdmissionWebhook,
    /// Evaluates ValidatingAdmissionPolicies.
    ValidatingAdmissionPolicy,
    /// Calls the webhooks of ValidatingWebhookConfigurations.
    ValidatingAdmissionWebhook,
    /// Refuses writes that exceed a resource quota, and adds the usage of others to the quota's status.
    ResourceQuota,
}

/// Plugins of kube-apiserver that this server does not have: they may be named to switch them off.
const MISSING_PLUGINS: &[&str] = &[
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "JobValidation",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeRestriction",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
    "PodNodeSelector",
    "PodTolerationRestriction",
];

/// The reason why plugins cannot be switched on or off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionPluginError {
    /// kube-apiserver has no such plugin, either.
    #[error("unknown admission plugin {0:?}: this server has {names}", names = names(&AdmissionPlugin::ALL))]
    Unknown(String),
    /// kube-apiserver has the plugin, but this server does not.
    #[error("this server does not have the admission plugin {0}: it has {names}", names = names(&AdmissionPlugin::ALL))]
    Missing(String),
    /// The plugin is both switched on and off.
    #[error("the admission plugin {0} is both enabled and disabled: name it once")]
    Overlap(String),
}

fn names(plugins: &[AdmissionPlugin]) -> String {
    let names: Vec<String> = plugins.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl AdmissionPlugin {
    /// All plugins, in the order in which they run.
    pub const ALL: [Self; 24] = [
        Self::NamespaceLifecycle,
        Self::LimitRanger,
        Self::ServiceAccount,
        Self::TaintNodesByCondition,
        Self::PodSecurity,
        Self::Priority,
        Self::DefaultTolerationSeconds,
        Self::DefaultStorageClass,
        Self::StorageObjectInUseProtection,
        Self::OwnerReferencesPermissionEnforcement,
        Self::PersistentVolumeClaimResize,
        Self::RuntimeClass,
        Self::CertificateApproval,
        Self::CertificateSigning,
        Self::CertificateSubjectRestriction,
        Self::DefaultIngressClass,
        Self::PodTopologyLabels,
        Self::NodeDeclaredFeatureValidator,
        Self::PodResizeValidator,
        Self::MutatingAdmissionPolicy,
        Self::MutatingAdmissionWebhook,
        Self::ValidatingAdmissionPolicy,
        Self::ValidatingAdmissionWebhook,
        Self::ResourceQuota,
    ];

    /// Returns the plugins that are on by default: kube-apiserver's, without [`ServiceAccount`](Self::ServiceAccount), which refuses pods until
    /// a controller has made the accounts.
    pub fn defaults() -> Vec<Self> {
        let off = [Self::ServiceAccount, Self::OwnerReferencesPermissionEnforcement];
        let all = Self::ALL.into_iter();
        all.filter(|plugin| !off.contains(plugin)).collect()
    }

    /// Returns the default plugins with those of `enable`, without those of `disable`, as kube-apiserver's flags
    /// `--enable-admission-plugins` and `--disable-admission-plugins` select them.
    ///
    /// # Errors
    ///
    /// If a name is unknown, a plugin to enable does not exist in this server, or a name occurs in both lists.
    pub fn select(enable: &[String], disable: &[String]) -> Result<Vec<Self>, AdmissionPluginError> {
        if let Some(name) = enable.iter().find(|name| disable.contains(name)) {
            return Err(AdmissionPluginError::Overlap(name.clone()));
        }
        let mut plugins = Self::defaults();
        for name in enable {
            plugins.push(name.parse()?);
        }
        for name in disable {
            match name.parse::<Self>() {
                Ok(disabled) => plugins.retain(|plugin| *plugin != disabled),
                Err(AdmissionPluginError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
        plugins.sort();
        plugins.dedup();
        Ok(plugins)
    }

    /// Changes or refuses the object of a create or an update, before it is prepared and validated. Webhooks are called by the caller.
    pub(super) fn mutate(self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), ApiError> {
        match self {
            Self::NamespaceLifecycle => return namespace_lifecycle::admit(attributes, object),
            Self::LimitRanger => limit_ranger::mutate(attributes, object),
            Self::ServiceAccount => return service_account::mutate(attributes, object),
            Self::TaintNodesByCondition => taint_nodes_by_condition::mutate(attributes, object),
            Self::Priority => return priority::mutate(attributes, object),
            Self::DefaultTolerationSeconds => default_toleration_seconds::mutate(attributes, object),
            Self::DefaultStorageClass => default_storage_class::mutate(attributes, object),
            Self::StorageObjectInUseProtection => {
                storage_object_in_use_protection::mutate(attributes, object);
            }
            Self::RuntimeClass => return runtime_class::mutate(attributes, object),
            Self::DefaultIngressClass => default_ingress_class::mutate(attributes, object),
            Self::PodTopologyLabels => pod_topology_labels::mutate(attributes, object),
            _ => {}
        }
        Ok(())
    }

    /// Refuses a valid object that is about to be stored.
    pub(super) fn validate(self, attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
        match self {
            Self::LimitRanger => limit_ranger::validate(attributes, object),
            Self::ServiceAccount => service_account::validate(attributes, object),
            Self::PodSecurity => pod_security::validate(attributes, object),
            Self::Priority => priority::validate(attributes, object),
            Self::OwnerReferencesPermissionEnforcement => {
                owner_references_permission_enforcement::validate(attributes, object)
            }
            Self::PersistentVolumeClaimResize => persistent_volume_claim_resize::validate(attributes, object),
            Self::RuntimeClass => runtime_class::validate(attributes, object),
            Self::CertificateApproval => certificate_approval::validate(attributes),
            Self::CertificateSigning => certificate_signing::validate(attributes, object),
            Self::CertificateSubjectRestriction => {
                certificate_subject_restriction::validate(attributes, object)
            }
            Self::NodeDeclaredFeatureValidator => {
                node_declared_feature_validator::validate(attributes, object)
            }
            Self::PodResizeValidator => pod_resize_validator::validate(attributes, object),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for AdmissionPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

impl FromStr for AdmissionPlugin {
    type Err = AdmissionPluginError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|plugin| plugin.to_string() == name);
        known.ok_or_else(|| {
            if MISSING_PLUGINS.contains(&name) {
                AdmissionPluginError::Missing(name.to_owned())
            } else {
                AdmissionPluginError::Unknown(name.to_owned())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(enable: &[&str], disable: &[&str]) -> Result<Vec<AdmissionPlugin>, AdmissionPluginError> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        AdmissionPlugin::select(&owned(enable), &owned(disable))
    }

    #[test]
    fn plugins_are_switched_by_name_and_keep_their_order() {
        let selected = select(
            &["ServiceAccount", "Priority"],
            &["LimitRanger", "PodNodeSelector"],
        )
        .unwrap();
        assert_eq!(
            selected[..3],
            [
                AdmissionPlugin::NamespaceLifecycle,
                AdmissionPlugin::ServiceAccount,
                AdmissionPlugin::TaintNodesByCondition
            ]
        );
        assert_eq!(selected.len(), AdmissionPlugin::ALL.len() - 2);
        let defaults = select(&[], &[]).unwrap();
        for plugin in [
            AdmissionPlugin::ServiceAccount,
            AdmissionPlugin::OwnerReferencesPermissionEnforcement,
        ] {
            assert!(!defaults.contains(&plugin), "{plugin}");
            assert!(select(&[&plugin.to_string()], &[]).unwrap().contains(&plugin));
        }
    }

    #[test]
    fn names_that_do_not_exist_here_are_refused() {
        let message = |enable: &[&str], disable: &[&str]| select(enable, disable).unwrap_err().to_string();
        let unknown = message(&[], &["Nope"]);
        assert!(
            unknown.starts_with(r#"unknown admission plugin "Nope": this server has NamespaceLifecycle, "#),
            "{unknown}"
        );
        let missing = message(&["PodNodeSelector"], &[]);
        assert!(
            missing.starts_with("this server does not have the admission plugin PodNodeSelector"),
            "{missing}"
        );
        assert_eq!(
            message(&["Priority"], &["Priority"]),
            "the admission plugin Priority is both enabled and disabled: name it once"
        );
        for name in MISSING_PLUGINS {
            assert!(
                AdmissionPlugin::ALL
                    .iter()
                    .all(|plugin| plugin.to_string() != *name),
                "{name} exists"
            );
        }
    }
}
