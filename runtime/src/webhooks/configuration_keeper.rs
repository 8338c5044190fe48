//! [`ConfigurationKeeper`]: puts back what was edited by hand in the operator's webhook configurations.
//!
//! Only the leader does this, and only if a difference has lasted for some time: while a release is rolled out, the configurations or the
//! replicas are the newer ones for a while. A server-side apply of the next release would then have a conflict with what was put back.
//!
//! A registered webhook that is missing is only logged. If it were put back by a replica of the release before, the manifests could not
//! remove a webhook any more.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    certificates::{BundleTarget, RequestFailure},
    configurations::WebhookManifests,
    edited_fields::{EditedFields, edited_fields},
};
use crate::client::Connection;

/// How often the configurations are compared, and how long a difference lasts before it is put back.
#[derive(Clone, Copy, Debug)]
pub struct ConfigurationTiming {
    /// The time between two comparisons.
    pub check_interval: Duration,
    /// How long a field has differed before it is put back.
    pub grace: Duration,
}

impl Default for ConfigurationTiming {
    fn default() -> Self {
        Self {
            check_interval: Duration::from_secs(30),
            grace: Duration::from_mins(5),
        }
    }
}

/// Keeps what the code decides of the registered webhooks: rules, side effects, versions of reviews, match policy, reinvocation policy and
/// the path. What an overlay may set is left as it is.
pub struct ConfigurationKeeper {
    connection: Connection,
    configurations: Vec<KeptConfiguration>,
    timing: ConfigurationTiming,
}

struct KeptConfiguration {
    target: BundleTarget,
    /// The webhooks.
    registered: Value,
    /// What differed at the last check, and since when.
    edited: EditedFields,
    since: Instant,
    /// The last failure, which is logged when it changes.
    failure: Option<String>,
}

impl ConfigurationKeeper {
    /// Returns a keeper of the configurations in these manifests. It sends nothing before it [runs](Self::run).
    pub fn new(connection: Connection, manifests: &WebhookManifests) -> Self {
        let validating = manifests.validating.iter().filter_map(|configuration| {
            let target = BundleTarget::Validating(configuration.metadata.name.clone()?);
            Some((target, json!(configuration.webhooks)))
        });
        let mutating = manifests.mutating.iter().filter_map(|configuration| {
            let target = BundleTarget::Mutating(configuration.metadata.name.clone()?);
            Some((target, json!(configuration.webhooks)))
        });
        let configurations = validating
            .chain(mutating)
            .map(|(target, registered)| KeptConfiguration {
                target,
                registered,
                edited: EditedFields::default(),
                since: Instant::now(),
                failure: None,
            });
        Self {
            configurations: configurations.collect(),
            connection,
            timing: ConfigurationTiming::default(),
        }
    }

    /// Sets the periods of its checks.
    #[must_use]
    pub fn with_timing(self, timing: ConfigurationTiming) -> Self {
        Self { timing, ..self }
    }

    /// Keeps the configurations until `stop`. Failures are logged and retried.
    pub async fn run(mut self, stop: CancellationToken) {
        let running = async {
            loop {
                for configuration in &mut self.configurations {
                    configuration.check(&self.connection, self.timing.grace).await;
                }
                sleep(self.timing.check_interval).await;
            }
        };
        stop.run_until_cancelled(running).await;
    }
}

impl KeptConfiguration {
    async fn check(&mut self, connection: &Connection, grace: Duration) {
        // That it is missing or cannot be read is logged by what keeps its CA bundle.
        let Ok(object) = self.target.get(connection).await else {
            return;
        };
        let edited = edited_fields(&object, &self.registered);
        self.observe(&edited, grace);
        if edited.fields.is_empty() || self.since.elapsed() < grace {
            return;
        }
        let fields = edited.fields.join(", ");
        let failure = match self.target.patch(connection, edited.operations).await {
            Ok(()) => {
                info!(object = %self.target, fields, "put back fields of the webhook configuration that were edited");
                None
            }
            // Read again at the next check.
            Err(RequestFailure::Client(error)) if error.is_conflict() || error.is_not_found() => None,
            Err(failure) => Some(failure.to_string()),
        };
        if let Some(error) = failure.as_ref().filter(|_| failure != self.failure) {
            warn!(object = %self.target, fields, error, "cannot put back fields of the webhook configuration, retrying");
        }
        self.failure = failure;
    }

    /// Logs a difference when it is new, and remembers since when it exists.
    fn observe(&mut self, edited: &EditedFields, grace: Duration) {
        if edited.fields != self.edited.fields {
            self.since = Instant::now();
            if !edited.fields.is_empty() {
                let fields = edited.fields.join(", ");
                warn!(
                    object = %self.target, fields,
                    "the webhook configuration differs from the code: these fields are put back after {} s",
                    grace.as_secs()
                );
            }
        }
        if edited.missing != self.edited.missing && !edited.missing.is_empty() {
            let webhooks = edited.missing.join(", ");
            warn!(
                object = %self.target, webhooks,
                "registered webhooks are missing in the configuration, so they are not called: apply manifests/webhooks"
            );
        }
        self.edited.fields.clone_from(&edited.fields);
        self.edited.missing.clone_from(&edited.missing);
    }
}
