//! The cleaner of old token Secrets. It has no keys: it looks at all Secrets once a day.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use jiff::civil::Date;
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    rbac::v1::PolicyRule,
};
use kubewright::{
    Clock, NamespacedName, Projection,
    cache::{InformerOptions, Lister, Metadata, Object},
    client::{
        ClientError, Delete, DeleteParams, Get, List, ListParams, Patch, PatchBody, Preconditions,
        TypedClient,
    },
    controller::{ReconcileError, Setup},
};
use serde_json::json;

use super::{
    mounted_secrets::MountedSecrets,
    plan::{Decision, INVALID_SINCE, LAST_USED, Period, TokenSecret, decide, parse_day},
};
use crate::{
    Options,
    shared::service_account::{ServiceAccountView, TOKEN_TYPE},
};

const NAME: &str = "legacy-serviceaccount-token-cleaner-controller";
/// The ConfigMap in which API servers write since when they record the use of tokens.
const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
const SYNC_INTERVAL: Duration = Duration::from_hours(24);

/// The values of a Secret that are read, its labels apart.
#[derive(Projection, Clone, Debug, Default)]
#[projection(of = Secret)]
struct TokenSecretView {
    #[projection(path = "metadata.creationTimestamp")]
    created: Option<jiff::Timestamp>,
    #[projection(path = "metadata.annotations['kubernetes.io/service-account.name']")]
    account: Option<String>,
    #[projection(path = "metadata.annotations['kubernetes.io/service-account.uid']")]
    account_uid: Option<String>,
}

struct Cleaner {
    secrets: Lister<TokenSecretView>,
    accounts: Lister<ServiceAccountView>,
    tracking: TypedClient<ConfigMap, (Get,)>,
    pods: TypedClient<MountedSecrets, (List,)>,
    writer: TypedClient<Secret, (Patch, Delete)>,
    clock: Clock,
    clean_up: Duration,
}

/// Registers the cleaner.
pub(crate) fn register(setup: &mut Setup, options: &Options) {
    let secrets = setup
        .informers()
        .projected_with::<TokenSecretView>(InformerOptions {
            field_selector: Some(format!("type={TOKEN_TYPE}")),
            ..InformerOptions::default()
        });
    let cleaner = Cleaner {
        secrets: secrets.lister(),
        accounts: setup.informers().projected::<ServiceAccountView>().lister(),
        tracking: TypedClient::new(setup.connection().clone()),
        // In place of an informer.
        pods: setup.operator_client(),
        writer: setup.client(),
        clock: setup.clock(),
        clean_up: options.legacy_token_clean_up_period,
    };
    // By name: the role needs no other ConfigMap.
    setup.needs(PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        resource_names: Some(vec![TRACKING.to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    });
    let interval = options
        .knobs
        .duration("legacysatokencleaner.syncInterval", SYNC_INTERVAL);
    let run = async move |stop: tokio_util::sync::CancellationToken| {
        loop {
            if let Err(error) = cleaner.clean().await {
                tracing::warn!(controller = NAME, %error, "cleaning old service account tokens failed, the next attempt is in {interval:?}");
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(interval) => {}
            }
        }
    };
    setup.runnable(NAME, run).leader_only();
}

impl Cleaner {
    async fn clean(&self) -> Result<(), ReconcileError> {
        let Some(period) = Period::new(self.clock.now(), self.tracked_since().await?, self.clean_up) else {
            return Ok(());
        };
        // By namespace; none where the pods could not be listed.
        let mut mounted: HashMap<String, Option<HashSet<String>>> = HashMap::new();
        for secret in self.secrets.list().objects() {
            let decision = match secret.decode() {
                Ok(view) => decide(&self.facts(secret.metadata(), &view), &period),
                Err(error) => {
                    tracing::warn!(controller = NAME, %error, "secret is skipped");
                    continue;
                }
            };
            if decision == Decision::Keep {
                continue;
            }
            let namespace = secret.name().namespace().unwrap_or_default();
            if !mounted.contains_key(namespace) {
                let names = self.mounted_in(namespace).await.inspect_err(|error| {
                    tracing::warn!(controller = NAME, %error, namespace, "secrets of the namespace are skipped: its pods are not known");
                });
                mounted.insert(namespace.to_owned(), names.ok());
            }
            let names = mounted[namespace].as_ref();
            if names.is_none_or(|names| names.contains(secret.name().name())) {
                continue;
            }
            if let Err(error) = self.carry_out(&secret, &decision, &period).await {
                tracing::warn!(controller = NAME, %error, secret = %secret.name(), "secret is skipped");
            }
        }
        Ok(())
    }

    /// Returns the day on which API servers began to record the use of tokens.
    async fn tracked_since(&self) -> Result<Date, ReconcileError> {
        let name = NamespacedName::namespaced("kube-system", TRACKING);
        let map = self.tracking.get(&name).await?;
        let since = map.data.as_ref().and_then(|data| data.get("since"));
        let since = since.ok_or_else(|| ReconcileError::new(format!("config map {name} lacks `since`")))?;
        parse_day(since).ok_or_else(|| ReconcileError::new(format!("config map {name}: {since:?} is no day")))
    }

    fn facts<'s>(&self, metadata: &'s Metadata, view: &TokenSecretView) -> TokenSecret<'s> {
        let account = view
            .account
            .as_ref()
            .map(|account| metadata.name().sibling(account.as_str()));
        let account = account
            .and_then(|name| self.accounts.object(&name))
            .filter(|account| {
                let uid = view.account_uid.as_deref().filter(|uid| !uid.is_empty());
                uid.is_none_or(|uid| uid == account.metadata().uid())
            });
        let account = account.and_then(|account| account.decode().ok());
        TokenSecret {
            created: view.created,
            is_deleting: metadata.is_deleting(),
            last_used: metadata.label(LAST_USED),
            invalid_since: metadata.label(INVALID_SINCE),
            is_referenced: account
                .is_some_and(|account| account.secrets.iter().any(|name| name == metadata.name().name())),
        }
    }

    /// Reads from the API server which Secrets pods use: an informer of all pods' volumes would cost memory all day.
    async fn mounted_in(&self, namespace: &str) -> Result<HashSet<String>, ClientError> {
        let pods = self.pods.list(Some(namespace), &ListParams::default()).await?;
        Ok(pods.items.into_iter().flat_map(MountedSecrets::names).collect())
    }

    async fn carry_out(
        &self,
        secret: &Object<TokenSecretView>,
        decision: &Decision,
        period: &Period,
    ) -> Result<(), ClientError> {
        let (name, metadata) = (secret.name(), secret.metadata());
        match decision {
            Decision::Keep => Ok(()),
            Decision::MarkInvalid => {
                let today = period.today();
                tracing::info!(secret = %name, since = today, "marking an unused service account token as invalid");
                let patch = json!({"metadata": {"uid": metadata.uid(), "labels": {INVALID_SINCE: today}}});
                self.writer.patch(name, &PatchBody::Merge(patch)).await.map(drop)
            }
            Decision::Delete => {
                tracing::info!(secret = %name, "deleting an unused service account token");
                let params = DeleteParams {
                    preconditions: Some(Preconditions {
                        resource_version: Some(metadata.resource_version().to_owned()),
                        uid: None,
                    }),
                    ..DeleteParams::default()
                };
                match self.writer.delete(name, &params).await {
                    Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }
}
