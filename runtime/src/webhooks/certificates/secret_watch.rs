//! Follows one Secret: a read, then a watch of its name, then again.

use std::time::Duration;

use futures::{StreamExt as _, stream::BoxStream};
use k8s_openapi::api::core::v1::Secret;
use kube::core::params::WatchParams;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::warn;

use crate::{
    NamespacedName,
    cache::OrderedVersion,
    client::{ClientError, Connection, Get, TypedClient, Update, Watch, WatchEvent},
};

/// How long a request may take.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the API server keeps a watch open, in seconds.
const WATCH_SECONDS: u32 = 240;

/// When a watch is given up: the API server should have ended it.
const WATCH_TIMEOUT: Duration = Duration::from_secs(260);

/// The pause before a failed read or watch is retried.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Reads, updates and follows one Secret. Requests of every replica are sent: serving webhooks does not depend on leader election.
pub(super) struct SecretWatch {
    client: TypedClient<Secret, (Get, Update, Watch)>,
    name: NamespacedName,
    watch: Option<OpenWatch>,
    /// The version that was read, written or watched last. Events that are not newer are old: a read may overtake the watch.
    version: Option<OrderedVersion>,
    retry_at: Option<Instant>,
    /// The last failure, which is logged when it changes.
    failure: Option<String>,
}

struct OpenWatch {
    events: BoxStream<'static, Result<WatchEvent<Secret>, ClientError>>,
    end: Instant,
}

impl SecretWatch {
    pub(super) fn new(connection: &Connection, name: NamespacedName) -> Self {
        Self {
            client: TypedClient::new(connection.unfenced()),
            name,
            watch: None,
            version: None,
            retry_at: None,
            failure: None,
        }
    }

    pub(super) fn name(&self) -> &NamespacedName {
        &self.name
    }

    /// Waits for the next state of the Secret: at first the present one, then each change; none while it does not exist. May be dropped at
    /// any time.
    pub(super) async fn next(&mut self) -> Option<Secret> {
        loop {
            if let Some(watch) = &mut self.watch {
                match timeout_at(watch.end, watch.events.next()).await {
                    Ok(Some(Ok(WatchEvent::Added(secret) | WatchEvent::Modified(secret)))) => {
                        if self.version >= version(&secret) {
                            continue;
                        }
                        return self.saw(Some(secret));
                    }
                    Ok(Some(Ok(WatchEvent::Deleted(secret)))) => {
                        if self.version > version(&secret) {
                            continue;
                        }
                        return self.saw(None);
                    }
                    Ok(Some(Ok(WatchEvent::Bookmark { .. }))) => continue,
                    Ok(Some(Err(error))) => self.retry_later(&error),
                    // It ended, as watches do, or was silent for too long.
                    Ok(None) => self.retry_at = Some(Instant::now() + RETRY_INTERVAL),
                    Err(_) => {}
                }
                self.watch = None;
            }
            if let Some(at) = self.retry_at {
                sleep_until(at).await;
            }
            match self.read().await {
                Ok(secret) => {
                    self.retry_at = None;
                    return secret;
                }
                // The next iteration waits, and no longer than that if this future is dropped.
                Err(()) => self.retry_at = Some(Instant::now() + RETRY_INTERVAL),
            }
        }
    }

    /// Reads the Secret, none if it does not exist, and watches it from there.
    async fn read(&mut self) -> Result<Option<Secret>, ()> {
        let secret = self.get().await?;
        let version = secret.as_ref().and_then(version);
        let params = WatchParams {
            timeout: Some(WATCH_SECONDS),
            ..WatchParams::default().fields(&format!("metadata.name={}", self.name.name()))
        };
        let namespace = self.name.namespace();
        self.watch = Some(OpenWatch {
            events: self.client.watch(
                namespace,
                &params,
                version.as_ref().map_or("", OrderedVersion::as_str),
            ),
            end: Instant::now() + WATCH_TIMEOUT,
        });
        Ok(secret)
    }

    /// Reads the Secret from the API server; none if it does not exist. A failure is logged.
    pub(super) async fn get(&mut self) -> Result<Option<Secret>, ()> {
        let result = match timeout(REQUEST_TIMEOUT, self.client.get(&self.name)).await {
            Ok(Ok(secret)) => Ok(Some(secret)),
            Ok(Err(error)) if error.is_not_found() => Ok(None),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no response of the API server for {REQUEST_TIMEOUT:?}")),
        };
        Ok(self.note(result)?.and_then(|secret| self.saw(Some(secret))))
    }

    /// Replaces the Secret as it was read. Returns none on a conflict.
    pub(super) async fn update(&mut self, secret: &Secret) -> Result<Option<Secret>, ()> {
        let result = match timeout(REQUEST_TIMEOUT, self.client.update(secret)).await {
            Ok(Ok(secret)) => Ok(Some(secret)),
            Ok(Err(error)) if error.is_conflict() || error.is_not_found() => Ok(None),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no response of the API server for {REQUEST_TIMEOUT:?}")),
        };
        Ok(self.note(result)?.and_then(|secret| self.saw(Some(secret))))
    }

    fn saw(&mut self, secret: Option<Secret>) -> Option<Secret> {
        self.version = secret.as_ref().and_then(version);
        secret
    }

    fn retry_later(&mut self, error: &ClientError) {
        self.retry_at = Some(Instant::now() + RETRY_INTERVAL);
        // A connection that broke is replaced; a version that expired is read again.
        if !error.is_expired() && !error.is_unanswered() {
            let _ = self.note::<()>(Err(error.to_string()));
        }
    }

    /// Logs a failure when it changes.
    fn note<T>(&mut self, result: Result<T, String>) -> Result<T, ()> {
        match result {
            Ok(value) => {
                self.failure = None;
                Ok(value)
            }
            Err(failure) => {
                if self.failure.as_ref() != Some(&failure) {
                    warn!(secret = %self.name, error = failure, "the Secret of the webhook certificate cannot be used, retrying");
                    self.failure = Some(failure);
                }
                Err(())
            }
        }
    }
}

fn version(secret: &Secret) -> Option<OrderedVersion> {
    secret
        .metadata
        .resource_version
        .as_deref()
        .map(OrderedVersion::new)
}
