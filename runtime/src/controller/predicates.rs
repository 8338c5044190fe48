//! Predicates: filter the changes of a source, for [`Source::with_predicate`](super::Source::with_predicate). None of them decodes an
//! object.
//!
//! Predicates that look for a difference accept all additions and deletions, and reject resyncs. A predicate decides which changes
//! enqueue: a parked or requeued key is reconciled regardless.
//!
//! ```
//! # use k8s_openapi::api::apps::v1::Deployment;
//! # use kubewright::{cache::SharedInformer, controller::{ControllerBuilder, Source, predicates::{any, annotations_changed, generation_changed}}};
//! # fn register(controller: &mut ControllerBuilder, deployments: &SharedInformer<Deployment>) {
//! let changed = any((generation_changed, annotations_changed));
//! controller.reconciles(Source::of(deployments).with_predicate(changed));
//! # }
//! ```

use crate::cache::{Change, Metadata};

/// Accepts updates that change the generation, which means the spec and not only status or metadata (controller-runtime's
/// `GenerationChangedPredicate`).
///
/// For kinds without generation it accepts every update that changes the resource version. The deletion timestamp of an object with
/// finalizers changes the generation as well.
pub fn generation_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| match (old.generation(), new.generation()) {
        (None, None) => old.resource_version() != new.resource_version(),
        (old, new) => old != new,
    })
}

/// Accepts updates that change the labels, in any order.
pub fn labels_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| {
        old.labels().count() != new.labels().count()
            || old.labels().any(|(key, value)| new.label(key) != Some(value))
    })
}

/// Accepts updates that change the annotations.
///
/// Compares a 48-bit digest of their JSON, in which API servers sort them: one in 2.8 × 10¹⁴ changes is missed.
pub fn annotations_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| {
        old.annotations_digest() != new.annotations_digest()
    })
}

/// Accepts updates that change the resource version: all but resyncs.
pub fn version_changed(change: &Change<'_>) -> bool {
    differs(change, |old, new| {
        old.resource_version() != new.resource_version()
    })
}

/// Accepts changes that all predicates of a tuple accept.
pub fn all<P: PredicateTuple>(predicates: P) -> impl Fn(&Change<'_>) -> bool + Send + Sync + 'static {
    move |change| predicates.accepts(change).0
}

/// Accepts changes that at least one predicate of a tuple accepts.
pub fn any<P: PredicateTuple>(predicates: P) -> impl Fn(&Change<'_>) -> bool + Send + Sync + 'static {
    move |change| predicates.accepts(change).1
}

/// Accepts changes that the predicate rejects.
pub fn not(
    predicate: impl Fn(&Change<'_>) -> bool + Send + Sync + 'static,
) -> impl Fn(&Change<'_>) -> bool + Send + Sync + 'static {
    move |change| !predicate(change)
}

fn differs(change: &Change<'_>, differ: impl Fn(&Metadata, &Metadata) -> bool) -> bool {
    match change {
        Change::Added { .. } | Change::Deleted { .. } => true,
        Change::Updated { old, new } => differ(old, new) || old.uid() != new.uid(),
    }
}

/// A tuple of up to four predicates.
pub trait PredicateTuple: Send + Sync + 'static {
    /// Whether all of them accept the change, and whether at least one does.
    fn accepts(&self, change: &Change<'_>) -> (bool, bool);
}

macro_rules! predicate_tuples {
    ($($predicate:ident $position:tt),+) => {
        impl<$($predicate),+> PredicateTuple for ($($predicate,)+)
        where
            $($predicate: Fn(&Change<'_>) -> bool + Send + Sync + 'static),+
        {
            fn accepts(&self, change: &Change<'_>) -> (bool, bool) {
                let accepted = [$((self.$position)(change)),+];
                (accepted.iter().all(|accepted| *accepted), accepted.contains(&true))
            }
        }
    };
}

predicate_tuples!(A 0);
predicate_tuples!(A 0, B 1);
predicate_tuples!(A 0, B 1, C 2);
predicate_tuples!(A 0, B 1, C 2, D 3);
