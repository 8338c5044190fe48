//! [`ConversionWebhook`]: the conversion of objects between versions, as the server calls it.

use std::sync::Arc;

use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::{task::spawn_blocking, time::Instant};

use super::{
    metrics::WebhookMetrics,
    router::{Routes, WebhookHandler},
};
use crate::conversion::{Converters, PATH};

struct ConversionWebhook(Arc<Converters>);

/// Adds the conversion to the routes, if there are versions to convert. It waits for no caches: those of a converted kind wait for it.
pub(crate) fn add_conversion(routes: &mut Routes, converters: Arc<Converters>, metrics: &WebhookMetrics) {
    if !converters.is_empty() {
        routes.add(PATH.to_owned(), Arc::new(ConversionWebhook(converters)), metrics);
    }
}

impl WebhookHandler for ConversionWebhook {
    fn review(&self, body: Bytes, _: Instant) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        let converters = self.0.clone();
        async move {
            // A review may have all objects of a list: that would block the thread of other reviews.
            let answered = spawn_blocking(move || converters.review(&body)).await;
            answered
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())
        }
        .boxed()
    }
}
