//! The controller of the root CA's ConfigMaps.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{
    NamespacedName,
    cache::{InformerOptions, Lister},
    client::{ClientError, Create, TypedClient, Update},
    controller::{Action, OwnEvents, ReconcileError, Reconciler, Setup},
};
use tokio::time::Instant;

use super::{
    metrics::RootCaMetrics,
    plan::{CONFIG_MAP, Write, plan},
};
use crate::{Options, shared::namespace::NamespaceView};

struct RootCaPublisher {
    namespaces: Lister<NamespaceView>,
    config_maps: Lister<ConfigMap>,
    writer: TypedClient<ConfigMap, (Create, Update)>,
    root_ca: Arc<str>,
    metrics: RootCaMetrics,
}

/// Registers the controller. Its keys are namespaces. Without `--root-ca-file` it is not registered, and says so.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    const NAME: &str = "root-ca-certificate-publisher-controller";
    let Some(root_ca) = &options.root_ca else {
        tracing::warn!(
            controller = NAME,
            "controller is disabled: it needs --root-ca-file"
        );
        return;
    };
    let namespaces = setup.informers().projected::<NamespaceView>();
    let config_maps = setup.informers().with::<ConfigMap>(InformerOptions {
        field_selector: Some(format!("metadata.name={CONFIG_MAP}")),
        ..InformerOptions::default()
    });
    let reconciler = RootCaPublisher {
        namespaces: namespaces.lister(),
        config_maps: config_maps.lister(),
        writer: setup.client(),
        metrics: RootCaMetrics::register(setup.metrics()),
        root_ca: String::from_utf8_lossy(root_ca).into(),
    };
    setup
        .controller(NAME, reconciler)
        .reconciles(&namespaces)
        .watches(&config_maps, |change| {
            let namespace = change.name().namespace().map(NamespacedName::cluster);
            namespace.into_iter().collect()
        })
        .own_events(OwnEvents::Ignore);
}

impl Reconciler for RootCaPublisher {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let start = Instant::now();
        let written = self.publish(key).await;
        self.metrics.synced(written.as_ref().err(), start.elapsed());
        written.map(|()| Action::await_change())
    }
}

impl RootCaPublisher {
    /// Gives a namespace the ConfigMap.
    async fn publish(&self, key: &NamespacedName) -> Result<(), ReconcileError> {
        let namespace = self.namespaces.object(key);
        if namespace.is_none_or(|namespace| namespace.metadata().is_deleting()) {
            return Ok(());
        }
        let name = NamespacedName::namespaced(key.name(), CONFIG_MAP);
        let existing = self
            .config_maps
            .object(&name)
            .map(|object| object.decode())
            .transpose()?;
        let written = match plan(key.name(), existing.as_deref(), &self.root_ca) {
            None => return Ok(()),
            Some(Write::Create(created)) => self.writer.create(&created).await,
            Some(Write::Update(updated)) => self.writer.update(&updated).await,
        };
        match written {
            Err(error) if !namespace_is_gone(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn namespace_is_gone(error: &ClientError) -> bool {
    error.is_not_found() || error.is_namespace_terminating()
}
