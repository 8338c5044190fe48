//! Keeps the operator's own CA and serving certificate in its Secret, and publishes the bundle.
//!
//! Every replica does this, not only the leader: webhooks are served before leader election, which waits for caches, which may wait for a
//! conversion webhook. Two rules keep replicas from undoing each other's work:
//!
//! - The Secret is replaced with the resource version that was read. Of replicas that start at once, one writes its CA, and the others read
//!   it after the conflict.
//! - A bundle is written only after a read of the Secret that came after the read of the object, and only if the object has not changed
//!   since. So a bundle is never replaced by that of an older Secret.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{
    bundles::{BundlePatch, BundleTarget, RequestFailure, bundle_patch, calls_conversion},
    contents::{AUTHORITY_KEYS, BUNDLE, CERTIFICATE, Contents, KEY, RETIRED},
    plan::{Plan, plan, usable_leaf},
    secret_watch::SecretWatch,
    server_names::ServerNames,
    serving::ServingCertificate,
    validity::add,
};
use crate::{Clock, client::Connection};

/// How often a write is tried at once after conflicts; then at the next check.
const MAX_ATTEMPTS: usize = 5;

/// Periods of the checks.
#[derive(Clone, Copy, Debug)]
pub struct RotationTiming {
    /// How often the certificates' periods and the bundles are checked.
    pub check_interval: Duration,
    /// How long every configuration has had a bundle before certificates of its new CA are served: until then an API server may use the
    /// bundle before.
    pub publication: SignedDuration,
}

impl Default for RotationTiming {
    fn default() -> Self {
        Self {
            check_interval: Duration::from_secs(30),
            publication: SignedDuration::from_mins(10),
        }
    }
}

pub(super) struct Rotation {
    secret: SecretWatch,
    connection: Connection,
    targets: Vec<BundleTarget>,
    names: ServerNames,
    clock: Clock,
    serving: Arc<ServingCertificate>,
    timing: RotationTiming,
    /// The newest known version of the Secret.
    current: Option<CurrentSecret>,
    is_missing: bool,
    /// A bundle that every target has, and since when.
    published: Option<(String, Timestamp)>,
    /// The last failure of each target, which is logged when it changes.
    failures: BTreeMap<BundleTarget, String>,
}

struct CurrentSecret {
    secret: Secret,
    contents: Contents,
    problems: Vec<String>,
}

impl Rotation {
    pub(super) fn new(
        connection: &Connection,
        secret: SecretWatch,
        targets: Vec<BundleTarget>,
        names: ServerNames,
        clock: Clock,
        serving: Arc<ServingCertificate>,
        timing: RotationTiming,
    ) -> Self {
        Self {
            secret,
            connection: connection.unfenced(),
            targets,
            names,
            clock,
            serving,
            timing,
            current: None,
            is_missing: false,
            published: None,
            failures: BTreeMap::new(),
        }
    }

    /// Runs until `stop`.
    pub(super) async fn run(mut self, stop: &CancellationToken) {
        let running = async {
            let mut next_check = Instant::now();
            loop {
                tokio::select! {
                    secret = self.secret.next() => self.observe(secret),
                    () = sleep_until(next_check) => {}
                }
                self.correct_secret().await;
                self.publish_bundle().await;
                next_check = Instant::now() + self.timing.check_interval;
            }
        };
        stop.run_until_cancelled(running).await;
    }

    /// Takes a version of the Secret, and serves its certificate if that can be used.
    fn observe(&mut self, secret: Option<Secret>) {
        let Some(secret) = secret else {
            if !self.is_missing {
                warn!(
                    secret = %self.secret.name(),
                    "the Secret of the webhook certificate does not exist: apply manifests/webhooks"
                );
            }
            (self.is_missing, self.current) = (true, None);
            return;
        };
        self.is_missing = false;
        let version = |secret: &Secret| secret.metadata.resource_version.clone();
        if let Some(current) = &self.current
            && version(&current.secret) == version(&secret)
        {
            return;
        }
        let (contents, problems) = secret.data.as_ref().map_or_else(Default::default, Contents::read);
        for problem in &problems {
            warn!(secret = %self.secret.name(), problem, "the Secret of the webhook certificate is put right");
        }
        let usable = usable_leaf(&contents.state(&self.names), self.clock.now()).is_ok();
        if let Some(leaf) = contents.leaf().filter(|_| usable)
            && self.serving.replace(&leaf.certified)
        {
            info!(secret = %self.secret.name(), expires = %leaf.validity.not_after, "serving a new webhook certificate");
        }
        self.current = Some(CurrentSecret {
            secret,
            contents,
            problems,
        });
    }

    /// Changes the Secret as planned. After a conflict it is read and planned again.
    async fn correct_secret(&mut self) {
        for _ in 0..MAX_ATTEMPTS {
            let Some(current) = &self.current else { return };
            let now = self.clock.now();
            let plan = plan(
                &current.contents.state(&self.names),
                now,
                self.is_published(&current.contents.bundle(), now),
            );
            if plan.is_empty() && current.problems.is_empty() {
                return;
            }
            let mut contents = current.contents.clone();
            if let Err(problem) = contents.apply(&plan, &self.names, now) {
                error!(secret = %self.secret.name(), problem, "the webhook certificate cannot be renewed");
                return;
            }
            let mut secret = current.secret.clone();
            // Entries of others stay.
            let data = secret.data.get_or_insert_default();
            for entry in [CERTIFICATE, KEY, BUNDLE, AUTHORITY_KEYS, RETIRED] {
                data.remove(entry);
            }
            data.extend(contents.to_data());
            match self.secret.update(&secret).await {
                Ok(Some(stored)) => {
                    self.log_changes(&plan);
                    self.observe(Some(stored));
                    return;
                }
                Ok(None) => {
                    let Ok(secret) = self.secret.get().await else {
                        return;
                    };
                    self.observe(secret);
                }
                Err(()) => return,
            }
        }
    }

    fn log_changes(&self, plan: &Plan) {
        let secret = self.secret.name();
        if let Some(reason) = &plan.new_authority {
            info!(%secret, reason, "made a new CA for the webhook certificate");
        }
        if let Some((_, reason)) = &plan.new_leaf {
            info!(%secret, reason, "issued a new webhook certificate");
        }
        for (_, reason) in &plan.removed_authorities {
            info!(%secret, reason, "removed a CA from the bundle of the webhook certificate");
        }
    }

    fn is_published(&self, bundle: &str, now: Timestamp) -> bool {
        self.published.as_ref().is_some_and(|(published, since)| {
            published == bundle && add(*since, self.timing.publication) <= now
        })
    }

    /// Gives every target the bundle of the Secret.
    async fn publish_bundle(&mut self) {
        let mut is_published = true;
        for target in self.targets.clone() {
            let failure = match self.publish_bundle_in(&target).await {
                Ok(()) => {
                    self.failures.remove(&target);
                    continue;
                }
                // It needs no bundle, and gets the present one when it is created.
                Err(PublishFailure::Missing) => format!("it does not exist: apply {}", target.manifests()),
                Err(failure @ PublishFailure::NotConverted) => failure.to_string(),
                Err(failure) => {
                    is_published = false;
                    failure.to_string()
                }
            };
            if self.failures.get(&target) != Some(&failure) {
                warn!(object = %target, error = failure, "cannot set the CA bundle of the webhook certificate, retrying");
                self.failures.insert(target, failure);
            }
        }
        let bundle = self.current.as_ref().map(|current| current.contents.bundle());
        match bundle.filter(|_| is_published) {
            Some(bundle) if self.is_published_bundle(&bundle) => {}
            Some(bundle) => self.published = Some((bundle, self.clock.now())),
            None => self.published = None,
        }
    }

    fn is_published_bundle(&self, bundle: &str) -> bool {
        self.published
            .as_ref()
            .is_some_and(|(published, _)| published == bundle)
    }

    /// Gives one target the bundle.
    async fn publish_bundle_in(&mut self, target: &BundleTarget) -> Result<(), PublishFailure> {
        for _ in 0..MAX_ATTEMPTS {
            let object = match target.get(&self.connection).await {
                Ok(object) => object,
                Err(RequestFailure::Client(error)) if error.is_not_found() => {
                    return Err(PublishFailure::Missing);
                }
                Err(failure) => return Err(failure.into()),
            };
            if matches!(target, BundleTarget::Definition(_)) && !calls_conversion(&object) {
                return Err(PublishFailure::NotConverted);
            }
            let Some(bundle) = self.bundle() else {
                return Ok(());
            };
            if bundle_patch(&object, &bundle) == BundlePatch::UpToDate {
                return Ok(());
            }
            // Read after the object, as the second rule demands.
            let Ok(secret) = self.secret.get().await else {
                return Err(PublishFailure::SecretUnread);
            };
            self.observe(secret);
            let Some(bundle) = self.bundle() else {
                return Ok(());
            };
            let BundlePatch::Operations { operations, replaces } = bundle_patch(&object, &bundle) else {
                return Ok(());
            };
            match target.patch(&self.connection, operations).await {
                Ok(()) if replaces && self.is_published_bundle(&bundle) => {
                    warn!(object = %target, "the CA bundle was edited: put back that of the webhook certificate");
                    return Ok(());
                }
                Ok(()) => {
                    info!(object = %target, "set the CA bundle of the webhook certificate");
                    return Ok(());
                }
                Err(RequestFailure::Client(error)) if error.is_conflict() || error.is_not_found() => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(PublishFailure::Conflicts)
    }

    /// The bundle of the Secret; none if the Secret has none yet.
    fn bundle(&self) -> Option<String> {
        let bundle = self.current.as_ref()?.contents.bundle();
        (!bundle.is_empty()).then_some(bundle)
    }
}

/// Why an object does not have the bundle.
#[derive(Debug, thiserror::Error)]
enum PublishFailure {
    #[error("it does not exist")]
    Missing,
    /// Edited by hand, or of a release before: the operator may not undo a rollback.
    #[error(
        "it has no conversion webhook, so the API server drops values that a version lacks, without an error: apply manifests/crds"
    )]
    NotConverted,
    #[error("the Secret of the webhook certificate cannot be read")]
    SecretUnread,
    #[error("each of {MAX_ATTEMPTS} patches had a conflict")]
    Conflicts,
    #[error(transparent)]
    Request(#[from] RequestFailure),
}

#[cfg(test)]
#[path = "rotation_tests/mod.rs"]
mod tests;
