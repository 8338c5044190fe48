//! The controller: drives the storage service towards the spec of each Bucket.

use std::{sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::{controller::finalizer, prelude::*};

use crate::{
    api::{Bucket, BucketApply, BucketClient, BucketInformers, BucketLister},
    storage::{Storage, StorageError, StoredBucket},
};

/// Keeps a deleted Bucket until the service has deleted the bucket.
pub const FINALIZER: &str = "storage.example.com/bucket";
/// How often a Bucket is compared with the service, which sends no events.
const DRIFT_CHECK_INTERVAL: Duration = Duration::from_mins(5);

/// Reconciles Buckets.
pub struct BucketController {
    buckets: BucketLister,
    bucket_writer: BucketClient<(Patch, ApplyStatus)>,
    events: Recorder,
    storage: Storage,
}

impl BucketController {
    /// Registers the controller with an operator.
    pub fn register(setup: &mut Setup, storage: Storage) {
        let buckets = setup.informers().buckets();
        let reconciler = Self {
            buckets: buckets.lister(),
            bucket_writer: setup.client(),
            events: setup.recorder(),
            storage,
        };
        setup
            .controller("bucket", reconciler)
            .reconciles(&buckets)
            .workers(4);
    }
}

// ANCHOR: reconcile
impl Reconciler for BucketController {
    async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
        let bucket = match self.buckets.get(key) {
            Ok(bucket) => bucket,
            Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()),
            Err(error) => return Err(error.into()),
        };
        // The uid is the idempotency token. It is known before the bucket is created, and no other Bucket ever has it.
        let token = bucket.metadata.uid.clone().unwrap_or_default();
        if bucket.metadata.deletion_timestamp.is_some() {
            // By token, not by id: a bucket whose id never reached the status is deleted too.
            if finalizer::is_present(&*bucket, FINALIZER) {
                self.storage.delete(&token).await?;
                finalizer::remove(&self.bucket_writer, &*bucket, FINALIZER).await?;
            }
            return Ok(Action::await_change());
        }
        // Before the creation: from here on the Bucket cannot vanish without a cleanup.
        let bucket = finalizer::ensure(&self.bucket_writer, bucket, FINALIZER).await?;
        match self.drive(&bucket, &token).await {
            Ok(stored) => {
                let ready = condition(&*bucket, "Ready", true, "Available", "the bucket exists");
                self.apply_status(&bucket, Some(stored.id), ready).await?;
                Ok(Action::requeue_after(DRIFT_CHECK_INTERVAL))
            }
            Err(error) => {
                let ready = condition(&*bucket, "Ready", false, "StorageFailed", error.to_string());
                self.apply_status(&bucket, None, ready).await?;
                self.events
                    .event(&*bucket, EventType::Warning, "StorageFailed", error.to_string());
                // Retried with backoff.
                Err(error.into())
            }
        }
    }
}

impl BucketController {
    /// Creates the bucket, or corrects it if the service has it otherwise.
    async fn drive(&self, bucket: &Bucket, token: &str) -> Result<StoredBucket, StorageError> {
        let versioned = bucket.spec.versioned;
        let id = bucket.status.as_ref().and_then(|status| status.id.as_deref());
        let known = match id {
            Some(id) => self.storage.get(id).await?,
            None => None,
        };
        let stored = match known {
            Some(stored) => stored,
            // New, or deleted at the service.
            None => self.storage.create(token, versioned).await?,
        };
        if stored.versioned == versioned {
            return Ok(stored);
        }
        let updated = self.storage.update(&stored.id, versioned).await?;
        match updated {
            Some(updated) => Ok(updated),
            None => self.storage.create(token, versioned).await,
        }
    }
    // ANCHOR_END: reconcile

    /// Applies the status if it changed. Without an `id` the known one stays.
    async fn apply_status(
        &self,
        bucket: &Arc<Bucket>,
        id: Option<String>,
        ready: Condition,
    ) -> Result<(), ReconcileError> {
        let mut status = bucket.status.clone().unwrap_or_default();
        status.id = id.or(status.id);
        set_condition(&mut status.conditions, ready);
        if bucket.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let intent = BucketApply::of(bucket).status(status);
        self.bucket_writer.apply_status(&intent).await?;
        Ok(())
    }
}
