//! [`ConversionWebhook`]: the conversion of objects between versions, as the server calls it.

use std::sync::Arc;

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::{
    task::spawn_blocking,
    time::{Duration, Instant},
};

use super::{
    metrics::WebhookMetrics,
    router::{Routes, WebhookFailure, WebhookHandler},
};
use crate::conversion::{Converters, PATH, ReviewError};

/// How long an API server waits for a conversion. It does not say so in the URL.
const TIMEOUT: Duration = Duration::from_secs(30);

struct ConversionWebhook(Arc<Converters>);

/// Adds the conversion to the routes, if there are versions to convert. It waits for no caches: those of a converted kind wait for it.
pub(crate) fn add_conversion(routes: &mut Routes, converters: Arc<Converters>, metrics: &WebhookMetrics) {
    if !converters.is_empty() {
        routes.add(PATH.to_owned(), Arc::new(ConversionWebhook(converters)), metrics);
    }
}

impl WebhookHandler for ConversionWebhook {
    fn timeout(&self) -> Duration {
        TIMEOUT
    }

    fn review(&self, body: Bytes, deadline: Instant) -> BoxFuture<'_, Result<Vec<u8>, WebhookFailure>> {
        let converters = self.0.clone();
        // A little earlier than the server gives up, so that the message says which object was next.
        let deadline = deadline - deadline.saturating_duration_since(Instant::now()) / 10;
        async move {
            // A review may have all objects of a list: that would block the thread of other reviews.
            let answered = spawn_blocking(move || converters.review(&body, deadline)).await;
            let answered = answered.map_err(|error| error.to_string())?;
            answered.map_err(|error| match error {
                ReviewError::UnknownVersion { reason } => WebhookFailure::UnknownVersion(reason),
                error => WebhookFailure::Failed(error.to_string()),
            })
        }
        .boxed()
    }
}

#[cfg(test)]
#[path = "conversion_webhook_tests.rs"]
mod tests;
