//! The servers under comparison, and which suites run on which.

use kubewright_apiserver::{AdmissionPlugin, ApiServer, HousekeepingTask, auth::User};
use kubewright_testkit::ControlPlane;
use std::sync::Arc;

/// Where a suite runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// The servers that most suites share.
    Shared,
    /// Servers of their own: lists would show objects of the other suites.
    Kubectl,
    /// Servers with the admission plugin ServiceAccount.
    WithServiceAccounts,
    /// Servers without the admission plugins that are on by default.
    WithoutPlugins,
}

/// The plugin that is off by default, and that testkit switches on in a real control plane.
const OWNER_REFERENCES: &str = "OwnerReferencesPermissionEnforcement";

/// Plugins that [`Servers::WithoutPlugins`] lack.
const SWITCHED_OFF: [&str; 21] = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "MutatingAdmissionWebhook",
    "NamespaceLifecycle",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "PodSecurity",
    "PodTopologyLabels",
    "Priority",
    "ResourceQuota",
    "RuntimeClass",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
];

impl Servers {
    pub(crate) const ALL: [Self; 4] = [
        Self::Shared,
        Self::Kubectl,
        Self::WithServiceAccounts,
        Self::WithoutPlugins,
    ];

    /// The admission plugins to switch on and off.
    fn plugins(self) -> [Vec<String>; 2] {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        match self {
            Self::Shared | Self::Kubectl => [owned(&[OWNER_REFERENCES]), vec![]],
            Self::WithServiceAccounts => [owned(&["ServiceAccount", OWNER_REFERENCES]), vec![]],
            Self::WithoutPlugins => [vec![], owned(&SWITCHED_OFF)],
        }
    }
}

/// Starts the embedded server with the user alice.
pub(crate) async fn embedded(servers: Servers) -> ApiServer {
    let [enabled, disabled] = servers.plugins();
    let alice = User {
        uid: "alice".to_owned(),
        ..User::new("alice", &["devs"])
    };
    // The real server runs without the controller that ends storage protection.
    let tasks = HousekeepingTask::ALL.into_iter();
    let tasks: Vec<HousekeepingTask> = tasks
        .filter(|task| *task != HousekeepingTask::StorageProtection)
        .collect();
    ApiServer::builder()
        .token("alice-token", alice)
        .housekeeping(&tasks)
        .admission_plugins(&AdmissionPlugin::select(&enabled, &disabled).unwrap())
        .start()
        .await
        .unwrap()
}

/// Starts the real server with the user alice, and with the controllers whose work the embedded server does itself.
pub(crate) async fn real(servers: Servers) -> Arc<ControlPlane> {
    let mut builder = ControlPlane::builder()
        .user("alice", &["devs"])
        .controller_manager(&["garbage-collector-controller", "namespace-controller"]);
    for (flag, plugins) in ["enable", "disable"].iter().zip(servers.plugins()) {
        if !plugins.is_empty() {
            builder = builder.api_server_arg(&format!("--{flag}-admission-plugins={}", plugins.join(",")));
        }
    }
    let start = || builder.start();
    tokio::task::spawn_blocking(start).await.unwrap().unwrap().into()
}
