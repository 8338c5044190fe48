//! The controller of default service accounts.

use k8s_openapi::{
    api::core::v1::{Namespace, ServiceAccount},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::core::PartialObjectMeta;
use kubewright::{
    NamespacedName,
    cache::{Change, Lister},
    client::{Create, TypedClient},
    controller::{Action, OwnEvents, ReconcileError, Reconciler, Setup},
};

use super::plan::missing_accounts;
use crate::Options;

struct ServiceAccounts {
    namespaces: Lister<Namespace>,
    accounts: Lister<PartialObjectMeta<ServiceAccount>>,
    creator: TypedClient<ServiceAccount, (Create,)>,
}

/// Registers the controller. Its keys are namespaces.
pub(crate) fn register(setup: &mut Setup, _: &Options) {
    let namespaces = setup.informers().of::<Namespace>();
    let accounts = setup.informers().metadata_only::<ServiceAccount>();
    let reconciler = ServiceAccounts {
        namespaces: namespaces.lister(),
        accounts: accounts.lister(),
        creator: setup.client(),
    };
    setup
        .controller("serviceaccount-controller", reconciler)
        .reconciles(&namespaces)
        .watches(&accounts, |change| match change {
            Change::Deleted { old, .. } => old
                .name()
                .namespace()
                .map(NamespacedName::cluster)
                .into_iter()
                .collect(),
            _ => Vec::new(),
        })
        // One call creates everything.
        .own_events(OwnEvents::Ignore);
}

impl Reconciler for ServiceAccounts {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let Some(namespace) = self.namespaces.object(key) else {
            return Ok(Action::await_change());
        };
        let namespace = namespace.decode()?;
        let phase = namespace
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let exists = |name: &str| {
            let name = NamespacedName::namespaced(key.name(), name);
            self.accounts.object(&name).is_some()
        };
        for name in missing_accounts(phase.unwrap_or_default(), exists) {
            let account = ServiceAccount {
                metadata: ObjectMeta {
                    name: Some(name.to_owned()),
                    namespace: Some(key.name().to_owned()),
                    ..ObjectMeta::default()
                },
                ..ServiceAccount::default()
            };
            match self.creator.create(&account).await {
                Err(error) if !error.is_already_exists() && !error.is_namespace_terminating() => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(Action::await_change())
    }
}
