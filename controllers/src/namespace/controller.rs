//! The controller of namespaces that are being deleted.

use std::{collections::HashMap, sync::Arc, time::Duration};

use k8s_openapi::api::{core::v1::Namespace, rbac::v1::PolicyRule};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use kubewright::{
    Clock, NamespacedName, Scope,
    cache::Lister,
    client::{Get, TypedClient, UpdateStatus, retry_on_conflict},
    controller::{Action, OwnEvents, PermissionScope, ReconcileError, Reconciler, Setup},
    workqueue::{ItemExponential, MaxOf, TokenBucket},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    content::ContentDeleter,
    plan::{Outcome, is_pods},
};
use crate::{
    Options,
    feature_gates::Gate,
    shared::{
        discovery::{Discovered, discover},
        discovery_failures::DiscoveryFailures,
        metadata_client::{MetadataClient, is_not_found, message},
        namespace::NamespaceView,
    },
};

const NAME: &str = "namespace-controller";
/// The finalizer, in the namespace's spec, that stands for the content.
const FINALIZER: &str = "kubernetes";

struct NamespaceController {
    namespaces: Lister<NamespaceView>,
    client: TypedClient<Namespace, (Get, UpdateStatus)>,
    kube_client: kube::Client,
    content: ContentDeleter,
    clock: Clock,
    grace_period: Duration,
    deletes_pods_first: bool,
    /// When the deletion of each namespace was first seen, by uid.
    first_seen: Mutex<HashMap<NamespacedName, (Box<str>, Instant)>>,
    discovered: tokio::sync::Mutex<Option<(Instant, Arc<Discovered>)>>,
    discovery_failures: DiscoveryFailures,
}

/// Registers the controller. Its keys are namespaces.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    let namespaces = setup.informers().projected::<NamespaceView>();
    let kube_client = setup.kube_client();
    let reconciler = NamespaceController {
        namespaces: namespaces.lister(),
        client: setup.client(),
        content: ContentDeleter {
            metadata: MetadataClient::new(kube_client.clone()),
            client: kube_client.clone(),
            params: DeleteParams::background(),
        },
        kube_client,
        clock: setup.clock(),
        grace_period: options.namespace_grace_period,
        deletes_pods_first: options.gates.is_on(Gate::OrderedNamespaceDeletion),
        first_seen: Mutex::default(),
        discovered: tokio::sync::Mutex::default(),
        discovery_failures: DiscoveryFailures::register(setup, NAME, "namespace_controller"),
    };
    let rule = |group: &str, resource: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    setup
        .needs_in(
            PermissionScope::Cluster,
            rule("", "namespaces/finalize", &["update"]),
        )
        .needs_in(
            PermissionScope::Cluster,
            rule("*", "*", &["list", "delete", "deletecollection"]),
        );
    setup
        .controller(NAME, reconciler)
        .reconciles(&namespaces)
        .workers(options.concurrent_namespace_syncs)
        .own_events(OwnEvents::Ignore)
        // As upstream: a namespace is looked at each minute at least, and all together not more than ten times a second.
        .rate_limiter(MaxOf(
            ItemExponential::new(Duration::from_millis(5), Duration::from_mins(1)),
            TokenBucket::new(10.0, 100),
        ));
}

impl Reconciler for NamespaceController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let cached = self.namespaces.object(key);
        let Some(cached) = cached.filter(|namespace| namespace.metadata().is_deleting()) else {
            self.first_seen.lock().remove(key);
            return Ok(Action::await_change());
        };
        if let Some(wait) = self.remaining_grace(key, cached.metadata().uid()) {
            return Ok(Action::requeue_after(wait));
        }
        let Some(namespace) = self.terminating(key).await? else {
            return Ok(Action::await_change());
        };
        let outcome = self.delete_content(key, namespace).await?;
        match (outcome.problem(), outcome.next_look()) {
            (Some(problem), _) => Err(ReconcileError::new(problem)),
            (None, Some(wait)) => Ok(Action::requeue_after(wait)),
            (None, None) => self.finalize(key).await,
        }
    }
}

impl NamespaceController {
    /// Returns how long to wait until the content is deleted: other API servers may not know of the namespace's deletion yet, and accept
    /// objects.
    fn remaining_grace(&self, key: &NamespacedName, uid: &str) -> Option<Duration> {
        let now = Instant::now();
        let mut first_seen = self.first_seen.lock();
        let seen = first_seen.entry(key.clone()).or_insert_with(|| (uid.into(), now));
        if *seen.0 != *uid {
            *seen = (uid.into(), now);
        }
        let wait = self.grace_period.checked_sub(now.duration_since(seen.1))?;
        (!wait.is_zero()).then_some(wait)
    }

    /// Reads the namespace. None if it is gone, not being deleted, or has no finalizer that stands for content. Sets its phase.
    async fn terminating(&self, key: &NamespacedName) -> Result<Option<Namespace>, ReconcileError> {
        let read = retry_on_conflict(async || {
            let mut namespace = self.client.get(key).await?;
            let is_terminating = |namespace: &Namespace| {
                let phase = namespace
                    .status
                    .as_ref()
                    .and_then(|status| status.phase.as_deref());
                phase == Some("Terminating")
            };
            if namespace.metadata.deletion_timestamp.is_none() || is_terminating(&namespace) {
                return Ok(namespace);
            }
            namespace.status.get_or_insert_default().phase = Some("Terminating".to_owned());
            self.client.update_status(&namespace).await
        });
        let namespace = match read.await {
            Err(error) if error.is_not_found() => return Ok(None),
            read => read?,
        };
        let has_finalizers = namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_ref());
        let has_finalizers = has_finalizers.is_some_and(|finalizers| !finalizers.is_empty());
        Ok((namespace.metadata.deletion_timestamp.is_some() && has_finalizers).then_some(namespace))
    }

    /// Deletes the content: pods first, the rest when they are gone. Writes the conditions. An error is one of the API server's for every
    /// resource; those of one resource are part of the outcome.
    async fn delete_content(
        &self,
        key: &NamespacedName,
        mut namespace: Namespace,
    ) -> Result<Outcome, ReconcileError> {
        let mut outcome = Outcome::default();
        let discovered = match self.discover().await {
            Ok(discovered) => discovered,
            Err(error) => {
                outcome.discovery_failed(message(&error));
                Arc::default()
            }
        };
        if !discovered.stale.is_empty() {
            outcome.discovery_failed_for(&discovered.stale);
        }
        let deletable = discovered.preferred(&["delete"]);
        let mut resources: Vec<_> = deletable
            .filter(|resource| resource.kind.scope == Scope::Namespaced)
            .collect();
        if self.deletes_pods_first {
            resources.sort_by_key(|resource| !is_pods(&resource.kind));
        }
        let now = self.clock.now();
        let deleted_at = namespace
            .metadata
            .deletion_timestamp
            .as_ref()
            .map_or(now, |time| time.0);
        for resource in resources {
            let kind = &resource.kind;
            match self.content.delete(resource, key.name(), deleted_at, now).await {
                Ok(remaining) => outcome.add(key.name(), kind, remaining),
                Err(error) => outcome.failed(key.name(), kind, message(&error)),
            }
            if self.deletes_pods_first && is_pods(kind) && outcome.has_remaining() {
                outcome.wait_for_pods();
                break;
            }
        }
        let conditions = namespace
            .status
            .get_or_insert_default()
            .conditions
            .get_or_insert_default();
        if outcome.set_conditions(conditions, self.clock.now()) {
            // The conditions inform; the deletion goes on without them.
            if let Err(error) = self.client.update_status(&namespace).await
                && !error.is_not_found()
            {
                tracing::warn!(controller = NAME, namespace = %key, %error, "conditions of the namespace were not updated");
            }
        }
        Ok(outcome)
    }

    /// Removes the finalizer.
    async fn finalize(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let api: Api<Namespace> = Api::all(self.kube_client.clone());
        let mut attempts = 0;
        loop {
            let mut namespace = match self.client.get(key).await {
                Err(error) if error.is_not_found() => return Ok(Action::await_change()),
                read => read?,
            };
            if namespace.metadata.deletion_timestamp.is_none() {
                return Ok(Action::await_change());
            }
            let finalizers = namespace
                .spec
                .get_or_insert_default()
                .finalizers
                .get_or_insert_default();
            finalizers.retain(|finalizer| finalizer != FINALIZER);
            finalizers.sort();
            finalizers.dedup();
            attempts += 1;
            let finalized = api
                .replace_subresource::<Namespace>("finalize", key.name(), &PostParams::default(), &namespace)
                .await;
            match finalized {
                Err(error) if is_not_found(&error) => return Ok(Action::await_change()),
                Err(kube::Error::Api(status)) if status.code == 409 && attempts < 5 => {}
                finalized => {
                    finalized?;
                    return Ok(Action::await_change());
                }
            }
        }
    }

    /// Returns what the API server serves. A document that is younger than the grace period began after each namespace that waited that long
    /// refused new objects, so it has all resources that those can have.
    async fn discover(&self) -> Result<Arc<Discovered>, kube::Error> {
        let mut known = self.discovered.lock().await;
        if let Some((since, discovered)) = &*known
            && since.elapsed() < self.grace_period
            && discovered.stale.is_empty()
        {
            return Ok(discovered.clone());
        }
        let since = Instant::now();
        let discovered = discover(&self.kube_client).await;
        self.discovery_failures.observe(discovered.as_ref());
        let discovered = Arc::new(discovered?);
        *known = Some((since, discovered.clone()));
        Ok(discovered)
    }
}
