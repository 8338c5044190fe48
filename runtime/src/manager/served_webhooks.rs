//! What the API server calls of an operator, and its certificate: given to the manager, read from files, or kept by the operator in a Secret.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::server::ResolvesServerCert;

use super::{Error, manifests::bundle_targets, metrics::Metrics};
use crate::{
    Clock,
    client::Connection,
    controller::{Runnable, Setup},
    conversion::Converters,
    webhooks::{
        Webhooks,
        certificates::{BundleTarget, CertificateKeeper, CertificateSource, ServerNames},
        configuration_keeper::ConfigurationKeeper,
        configurations::{secret_name, service_name},
    },
};

/// The webhooks and conversions of an operator.
pub(super) struct ServedWebhooks {
    pub(super) webhooks: Webhooks,
    pub(super) converters: Arc<Converters>,
    pub(super) certificate: WebhookCertificate,
    configurations: Option<ConfigurationKeeper>,
    /// Whether there are any.
    pub(super) exist: bool,
}

/// Who has the certificate of the webhooks.
pub(super) enum WebhookCertificate {
    /// The program gave it to the manager.
    Given(Arc<dyn ResolvesServerCert>),
    /// The operator makes and renews it, and keeps the CA bundles of these objects.
    Kept(Vec<BundleTarget>),
}

impl ServedWebhooks {
    /// Takes the webhooks of a registration. The operator keeps their certificate, unless another one is set.
    pub(super) fn take(setup: &mut Setup, metrics: &mut Metrics) -> Result<Self, Error> {
        let exist = setup.is_called();
        let bundles = if exist {
            bundle_targets(setup)
        } else {
            Ok(Vec::new())
        };
        let certificate = WebhookCertificate::Kept(bundles.map_err(Error::Manifests)?);
        let configurations = setup
            .webhook_manifests()
            .map(|manifests| ConfigurationKeeper::new(setup.connection().clone(), &manifests));
        let converters = Arc::new(setup.converters());
        metrics.count_ignored_annotations(converters.ignored_annotations());
        let webhooks = setup.take_webhooks();
        if exist {
            metrics.count_reviews(&webhooks);
        }
        Ok(Self {
            webhooks,
            converters,
            certificate,
            configurations,
            exist,
        })
    }

    /// Takes what puts back edited webhook configurations, for the leader. None if others keep the certificate, such as in this folder: then
    /// the operator has no permissions for the configurations.
    pub(super) fn take_configuration_keeper(&mut self, folder: Option<&Path>) -> Option<Runnable> {
        let is_permitted = matches!(self.certificate, WebhookCertificate::Kept(_)) && folder.is_none();
        let keeper = self.configurations.take().filter(|_| is_permitted)?;
        let mut runnable = Runnable::new("webhook-configurations".to_owned(), |stop| async {
            keeper.run(stop).await;
            Ok(())
        });
        runnable.leader_only();
        Some(runnable)
    }
}

impl WebhookCertificate {
    /// Returns what a server resolves its certificate with, and what keeps the certificate, which must run: in a Secret of the operator's
    /// namespace, or in `folder`, if there is one. `operator` is its name and namespace. Outside of a cluster, an API server on the same
    /// machine may call it by a URL.
    pub(super) fn resolver(
        self,
        (operator, namespace): (&str, &str),
        connection: &Connection,
        in_cluster: bool,
        clock: Clock,
        folder: Option<PathBuf>,
    ) -> (Arc<dyn ResolvesServerCert>, Option<CertificateKeeper>) {
        let bundles = match self {
            Self::Given(certificate) => return (certificate, None),
            Self::Kept(bundles) => bundles,
        };
        let mut names = ServerNames::of_service(&service_name(operator), namespace);
        if !in_cluster {
            names = names.with_loopback();
        }
        let source = match folder {
            Some(folder) => CertificateSource::Folder(folder),
            None => CertificateSource::Generated {
                secret: secret_name(operator, namespace),
                bundles,
            },
        };
        let keeper = CertificateKeeper::new(connection.clone(), source, names, clock);
        (keeper.serving(), Some(keeper))
    }
}
