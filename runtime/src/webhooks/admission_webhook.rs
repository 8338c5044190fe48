//! [`AdmissionWebhook`]: an admission handler as the server calls it: it waits for the caches, and counts reviews.

use std::sync::Arc;

use bytes::Bytes;
use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use tokio::time::{Instant, timeout_at};

use super::{
    Operation,
    admission::{AdmissionHandler, AdmissionOutcome, ReviewFailure},
    metrics::WebhookMetrics,
    registration::Webhooks,
    router::{Routes, WebhookFailure, WebhookHandler},
};
use crate::{
    ApiResource, cache::SharedInformerFactory, conversion::Converters, panics::caught_silently_async,
};

/// Completes when the caches that a webhook may read have synced.
pub(super) type CachesSynced = Shared<BoxFuture<'static, ()>>;

struct AdmissionWebhook {
    path: String,
    handler: AdmissionHandler,
    converters: Arc<Converters>,
    fails_closed: bool,
    /// Whether no error may quote the objects.
    is_sensitive: bool,
    /// None: it reads no caches.
    synced: Option<CachesSynced>,
    informers: SharedInformerFactory,
    metrics: WebhookMetrics,
}

impl Webhooks {
    /// Adds the webhooks to the routes. `component_synced` waits for the caches of a component, by its index.
    pub(crate) fn add_to(
        &self,
        routes: &mut Routes,
        informers: &SharedInformerFactory,
        converters: &Arc<Converters>,
        component_synced: impl Fn(usize) -> CachesSynced,
    ) {
        let all_synced = self.synced.clone().cancelled_owned().boxed().shared();
        for webhook in &self.all {
            let synced = match webhook.component {
                Some(index) => component_synced(index),
                None => all_synced.clone(),
            };
            let served = AdmissionWebhook {
                path: webhook.path(),
                handler: webhook.handler().clone(),
                converters: converters.clone(),
                fails_closed: webhook.fails_closed(),
                is_sensitive: webhook.is_sensitive,
                synced: webhook.waits_for_caches.then_some(synced),
                informers: informers.clone(),
                metrics: self.metrics.clone(),
            };
            routes.add(webhook.path(), Arc::new(served), &self.metrics);
        }
    }
}

impl AdmissionWebhook {
    async fn wait_for_caches(&self, deadline: Instant) -> Result<(), String> {
        let Some(synced) = self.synced.clone() else {
            return Ok(());
        };
        if timeout_at(deadline, synced).await.is_ok() {
            return Ok(());
        }
        let unsynced = self.informers.unsynced();
        let names: Vec<String> = unsynced.iter().map(ApiResource::group_resource).collect();
        Err(match &*names {
            [] => "the operator's caches have not synced yet".to_owned(),
            names => format!(
                "the operator's caches have not synced yet: waiting for {}",
                names.join(", ")
            ),
        })
    }
}

impl WebhookHandler for AdmissionWebhook {
    fn fails_closed(&self) -> bool {
        self.fails_closed
    }

    fn review(&self, body: Bytes, deadline: Instant) -> BoxFuture<'_, Result<Vec<u8>, WebhookFailure>> {
        Box::pin(async move {
            let mut counted = CountedReview::new(self);
            // A little earlier than the server gives up, so that the message says why.
            let wait = deadline.saturating_duration_since(Instant::now()) / 10 * 9;
            self.wait_for_caches(Instant::now() + wait).await?;
            let review = self.handler.review(&body, self.is_sensitive, &self.converters);
            let reviewed = if self.is_sensitive {
                let hidden = "the webhook panicked: the message is hidden because the kind is sensitive";
                caught_silently_async(review)
                    .await
                    .map_err(|_| hidden.to_owned())?
            } else {
                review.await
            };
            match reviewed {
                Ok(answered) => {
                    counted.operation = answered.operation;
                    counted.outcome = Some(answered.outcome);
                    Ok(answered.body)
                }
                Err(ReviewFailure { operation, error }) => {
                    counted.operation = Some(operation);
                    Err(error.to_string().into())
                }
            }
        })
    }
}

/// Counts a review when it is dropped: as failed, unless it has an outcome by then.
struct CountedReview<'a> {
    webhook: &'a AdmissionWebhook,
    operation: Option<Operation>,
    outcome: Option<AdmissionOutcome>,
}

impl<'a> CountedReview<'a> {
    fn new(webhook: &'a AdmissionWebhook) -> Self {
        Self {
            webhook,
            operation: None,
            outcome: None,
        }
    }
}

impl Drop for CountedReview<'_> {
    fn drop(&mut self) {
        let AdmissionWebhook { metrics, path, .. } = self.webhook;
        metrics.reviewed(path, self.operation, self.outcome);
    }
}

#[cfg(test)]
#[path = "admission_webhook_tests.rs"]
mod tests;
