//! Registration of admission webhooks on [`Setup`].

use serde::Serialize;

use super::Setup;
use crate::{
    ApiResource, Kind,
    conversion::RegisteredVersions,
    webhooks::{
        AdmissionHandler, Defaulter, Validator, WebhookBuilder, WebhookManifests, Webhooks,
        configurations::default_namespace,
    },
};

impl Setup {
    /// Registers a validator: the API server asks it before objects of kind `K` are created, changed or deleted. Options are set on the
    /// returned builder: `setup.validator::<Foo>(limits).fail_closed()`.
    ///
    /// `manifests` prints its configuration. All replicas serve it, whether they lead or not: its clients write only in the leader, unless
    /// they are [`unfenced`](crate::client::TypedClient::unfenced).
    pub fn validator<K: Kind>(&mut self, validator: impl Validator<K>) -> &mut WebhookBuilder {
        self.webhook(WebhookBuilder::new(
            false,
            K::info(),
            AdmissionHandler::validating(validator),
        ))
    }

    /// Registers a defaulter: the API server asks it before objects of kind `K` are created or changed, and before they are validated.
    /// Otherwise as [`validator`](Self::validator).
    pub fn defaulter<K: Kind + Serialize>(&mut self, defaulter: impl Defaulter<K>) -> &mut WebhookBuilder {
        self.webhook(WebhookBuilder::new(
            true,
            K::info(),
            AdmissionHandler::defaulting(defaulter),
        ))
    }

    fn webhook(&mut self, mut webhook: WebhookBuilder) -> &mut WebhookBuilder {
        webhook.component = self.components.current;
        self.webhooks.add(webhook)
    }

    /// Returns the webhooks.
    pub(crate) fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// Takes the webhooks, to serve them.
    pub(crate) fn take_webhooks(&mut self) -> Webhooks {
        let mut webhooks = std::mem::take(&mut self.webhooks);
        for webhook in &mut webhooks.all {
            webhook.is_sensitive = self.is_sensitive(webhook.kind());
        }
        webhooks
    }

    /// Whether no error may quote objects of this kind: it is Secret, or marked as sensitive in any of its versions.
    pub(crate) fn is_sensitive(&self, kind: &ApiResource) -> bool {
        let kinds = self.kinds().into_iter().map(|kind| (kind.info, kind.sensitive));
        let informers = self.informers().informers().into_iter();
        let mut marked = kinds.chain(informers.map(|(info, options)| (info, options.sensitive)));
        kind.is_secret() || marked.any(|(info, sensitive)| sensitive && info.is_version_of(kind))
    }

    /// Whether there is something that the API server calls: a webhook, or the conversion between versions.
    pub(crate) fn is_called(&self) -> bool {
        !self.webhooks.all.is_empty() || self.versions.iter().any(RegisteredVersions::is_called)
    }

    /// Returns the webhook configurations and the Service, as `manifests` prints them; none if the API server calls nothing.
    #[doc(hidden)]
    pub fn webhook_manifests(&self) -> Option<WebhookManifests> {
        let (operator, namespace) = (self.operator(), default_namespace(self.operator()));
        self.is_called()
            .then(|| WebhookManifests::of(&self.webhooks, &self.versions, operator, &namespace))
    }
}
