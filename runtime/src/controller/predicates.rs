//! Conditions on changes, for [`ControllerBuilder::when`](super::ControllerBuilder::when). None of them decodes an object.
//!
//! Additions and deletions pass all of those that look for a difference; a resync passes none of them. A condition says which
//! changes wake: a key that waits, or is requeued, is reconciled whatever they say.
//!
//! ```
//! # use k8s_openapi::api::apps::v1::Deployment;
//! # use kubewright::{cache::SharedInformer, controller::{ControllerBuilder, predicates::{any, annotations_changed, generation_changed}}};
//! # fn register(controller: &mut ControllerBuilder, deployments: &SharedInformer<Deployment>) {
//! controller.reconciles(deployments).when(any((generation_changed, annotations_changed)));
//! # }
//! ```

use crate::cache::{Change, Metadata};

/// The generation differs: the spec was changed, and not merely the status or the metadata. Of kinds that count no generation every
/// update passes whose resource version differs. One that is deleted while it has finalizers gets another generation, too.
pub fn generation_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| match (old.generation(), new.generation()) {
        (None, None) => old.resource_version() != new.resource_version(),
        (old, new) => old != new,
    })
}

/// The labels differ, in whatever order.
pub fn labels_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| {
        old.labels().count() != new.labels().count()
            || old.labels().any(|(key, value)| new.label(key) != Some(value))
    })
}

/// The annotations differ. Compared by a digest of their JSON, in which API servers sort them: 48 bits, so that of 280 million million
/// changes one is missed.
pub fn annotations_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| {
        old.annotations_digest() != new.annotations_digest()
    })
}

/// The resource version differs: everything but resyncs.
pub fn version_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| {
        old.resource_version() != new.resource_version()
    })
}

/// All of a tuple of conditions.
pub fn all<C: Conditions>(conditions: C) -> impl Fn(&Change<'_>) -> bool + Send + Sync + 'static {
    move |change| conditions.passed(change).0
}

/// One of a tuple of conditions at least.
pub fn any<C: Conditions>(conditions: C) -> impl Fn(&Change<'_>) -> bool + Send + Sync + 'static {
    move |change| conditions.passed(change).1
}

/// What the condition refuses.
pub fn not(
    condition: impl Fn(&Change<'_>) -> bool + Send + Sync + 'static,
) -> impl Fn(&Change<'_>) -> bool + Send + Sync + 'static {
    move |change| !condition(change)
}

fn differs(change: &Change<'_>, differ: impl Fn(&Metadata, &Metadata) -> bool) -> bool {
    match change {
        Change::Added { .. } | Change::Deleted { .. } => true,
        Change::Updated { old, new } => differ(old, new) || old.uid() != new.uid(),
    }
}

/// A tuple of up to four conditions.
pub trait Conditions: Send + Sync + 'static {
    /// Whether all of them passed, and whether one of them did.
    fn passed(&self, change: &Change<'_>) -> (bool, bool);
}

macro_rules! conditions {
    ($($condition:ident $place:tt),+) => {
        impl<$($condition),+> Conditions for ($($condition,)+)
        where
            $($condition: Fn(&Change<'_>) -> bool + Send + Sync + 'static),+
        {
            fn passed(&self, change: &Change<'_>) -> (bool, bool) {
                let passed = [$((self.$place)(change)),+];
                (passed.iter().all(|passed| *passed), passed.contains(&true))
            }
        }
    };
}

conditions!(A 0);
conditions!(A 0, B 1);
conditions!(A 0, B 1, C 2);
conditions!(A 0, B 1, C 2, D 3);
