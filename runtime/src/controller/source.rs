//! Sources of a controller: each is an informer that enqueues keys, with its predicates and expectations.

use std::{fmt, ops::Deref};

use super::Expectations;
use crate::{
    NamespacedName, View,
    cache::{Change, InformerHandle, SharedInformer},
};

/// A source of a controller: an informer that enqueues keys on changes, and the options of this source alone.
///
/// `.owns(&informer)` is short for `.owns(Source::of(&informer))`; the same holds for
/// [`reconciles`](super::ControllerBuilder::reconciles) and [`watches`](super::ControllerBuilder::watches). Options need a source:
///
/// ```
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// # use kubewright::{cache::SharedInformer, controller::{ControllerBuilder, Expectations, Source, predicates::generation_changed}};
/// # fn register(controller: &mut ControllerBuilder, deployments: &SharedInformer<Deployment>, pods: &SharedInformer<Pod>) {
/// # let expectations = Expectations::new();
/// controller
///     .reconciles(Source::of(deployments).with_predicate(generation_changed))
///     .owns(Source::of(pods).with_expectations(&expectations));
/// # }
/// ```
///
/// ```compile_fail
/// # use k8s_openapi::api::apps::v1::Deployment;
/// # use kubewright::{cache::SharedInformer, controller::{ControllerBuilder, predicates::generation_changed}};
/// # fn register(controller: &mut ControllerBuilder, deployments: &SharedInformer<Deployment>) {
/// controller.reconciles(deployments).with_predicate(generation_changed);
/// # }
/// ```
pub struct Source<K> {
    informer: SharedInformer<K>,
    predicates: Vec<Predicate>,
    expectations: Option<Expectations>,
}

/// Decides whether a change enqueues keys.
pub(super) type Predicate = Box<dyn Fn(&Change<'_>) -> bool + Send + Sync>;

/// Maps a change to keys; written by the user.
pub(super) type MapFn = Box<dyn Fn(&Change<'_>) -> Vec<NamespacedName> + Send + Sync>;

/// How a change becomes keys.
pub(super) enum KeyMapping {
    /// The object's own key.
    Primary,
    /// The keys of its controller owners, before and after the change.
    Owner,
    /// The keys that the user's function returns.
    Custom(MapFn),
}

/// A [`Source`] of any kind, as a controller keeps it.
pub(super) struct EventSource {
    pub(super) mapping: KeyMapping,
    pub(super) predicates: Vec<Predicate>,
    pub(super) expectations: Option<Expectations>,
    pub(super) informer: InformerHandle,
}

impl<K> Source<K> {
    /// A source without options.
    pub fn of(informer: &SharedInformer<K>) -> Self {
        Self {
            informer: informer.clone(),
            predicates: Vec::new(),
            expectations: None,
        }
    }

    /// Enqueues keys only for changes that `predicate` accepts. Multiple predicates are ANDed.
    ///
    /// A predicate is called in line with the store's changes: it must be quick and must not block. [`predicates`](super::predicates) has
    /// the usual ones.
    #[must_use]
    pub fn with_predicate(mut self, predicate: impl Fn(&Change<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.predicates.push(Box::new(predicate));
        self
    }

    /// Reports created and deleted objects of this source to `expectations`, for each key that the change maps to. Predicates do not
    /// apply to that.
    ///
    /// An [`Expectations`] belongs to one controller: registering it for a second one is a
    /// [`Error::Registration`](crate::Error::Registration).
    #[must_use]
    pub fn with_expectations(mut self, expectations: &Expectations) -> Self {
        self.expectations = Some(expectations.clone());
        self
    }
}

impl<K: View> Source<K> {
    pub(super) fn erase(self, mapping: KeyMapping) -> EventSource {
        let Self {
            informer,
            predicates,
            expectations,
        } = self;
        EventSource {
            mapping,
            predicates,
            expectations,
            informer: informer.progress(),
        }
    }
}

impl<K> From<&SharedInformer<K>> for Source<K> {
    fn from(informer: &SharedInformer<K>) -> Self {
        Self::of(informer)
    }
}

/// For the informers that `#[derive(Informer)]` generates, which dereference to a [`SharedInformer`].
impl<K, I: Deref<Target = SharedInformer<K>>> From<&I> for Source<K> {
    fn from(informer: &I) -> Self {
        Self::of(informer)
    }
}

impl<K> fmt::Debug for Source<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("predicates", &self.predicates.len())
            .field("expectations", &self.expectations)
            .finish_non_exhaustive()
    }
}
