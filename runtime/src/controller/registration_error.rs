//! Errors in the registrations of an operator, and of sources that are added while it runs.

use crate::{ApiResource, Scope, conversion::VersionError, webhooks::WebhookError};

// ANCHOR: registration
/// An error in the registrations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// A controller without a primary kind.
    #[error("controller {controller:?} has no primary kind: call `.reconciles(&informer)` on it")]
    NoPrimary {
        /// Its name.
        controller: String,
    },
    /// A controller with two primary kinds.
    #[error(
        "controller {controller:?} calls `.reconciles` twice: register a second controller, or use `.watches` for the other kind"
    )]
    SecondPrimary {
        /// Its name.
        controller: String,
    },
    /// A controller without workers.
    #[error("controller {controller:?} has no workers: `.workers(n)` takes at least 1")]
    NoWorkers {
        /// Its name.
        controller: String,
    },
    /// A namespaced kind cannot own a cluster-scoped one.
    #[error(
        "controller {controller:?}: {owner} is namespaced and cannot own {owned}, which is cluster-scoped: use `.watches`"
    )]
    OwnsAcrossScopes {
        /// The controller's name.
        controller: String,
        /// The primary kind and its version, as in `Foo (demo.dev/v1)`.
        owner: String,
        /// The owned kind and its version.
        owned: String,
    },
    /// One `Expectations` of two controllers: only the second one's keys would be enqueued.
    #[error(
        "controllers {first:?} and {second:?} share one `Expectations`: make one for each with `Expectations::new()`"
    )]
    SharedExpectations {
        /// The controller that was registered first.
        first: String,
        /// The other controller.
        second: String,
    },
    /// A source with an informer that the controller's consistency store does not know.
    #[error(
        "controller {controller:?} has an informer of {kind} that its consistency store does not know: make informers with `setup.informers()`"
    )]
    UnknownInformer {
        /// The controller's name.
        controller: String,
        /// The informer's kind and its version, as in `Foo (demo.dev/v1)`.
        kind: String,
    },
    /// A source whose informer was removed from its factory, or whose factory was shut down.
    #[error(
        "controller {controller:?} cannot watch {kind}: its informer has stopped; make another one with `setup.informers()`"
    )]
    StoppedInformer {
        /// The controller's name.
        controller: String,
        /// The informer's kind and its version, as in `Foo (demo.dev/v1)`.
        kind: String,
    },
    /// A source that was added to a controller which has stopped, or is disabled.
    #[error("cannot add the source: its controller has stopped, or is disabled")]
    StoppedController,
    /// One `ControllerSources` of two controllers.
    #[error(
        "controller {controller:?} has the `ControllerSources` of another controller: make one for each with `ControllerSources::new()`"
    )]
    SharedSources {
        /// The controller that was created last.
        controller: String,
    },
    /// A runnable of a component that others are to wait for.
    #[error(
        "runnable {runnable:?} of component {component:?} has an order: leave out `group`, `before_controllers` and `ready_when`, or register it outside of the component"
    )]
    OrderedInComponent {
        /// The component's name.
        component: String,
        /// The runnable's name.
        runnable: String,
    },
    /// A name that labels, logs and leases cannot contain.
    #[error("{what} {name:?} needs another name: letters, digits, `-`, `_` and `.`, at least one")]
    BadName {
        /// A controller, a runnable, a group of them or a health check.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A name that is used twice.
    #[error("two {what}s are called {name:?}: names must differ")]
    DuplicateName {
        /// A controller, a runnable or a health check.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// An error in the versions of a kind.
    #[error(transparent)]
    Version(VersionError),
    /// A validator or defaulter that the API server, or the operator, could not have.
    #[error(transparent)]
    Webhook(WebhookError),
    /// A metric whose name the manager's own metrics use.
    #[error("metric {name:?} has a prefix of the manager's own metrics, {prefix:?}: give it another name")]
    ReservedMetric {
        /// The name of the metric.
        name: String,
        /// The reserved prefix.
        prefix: &'static str,
    },
}
// ANCHOR_END: registration

impl RegistrationError {
    /// Fails if the owner is namespaced and the owned kind is cluster-scoped: the garbage collector cannot resolve such an owner reference.
    pub(super) fn check_owned_scope(
        controller: &str,
        primary: &ApiResource,
        owned: &ApiResource,
    ) -> Result<(), Self> {
        match (primary.scope, owned.scope) {
            (Scope::Namespaced, Scope::Cluster) => Err(Self::OwnsAcrossScopes {
                controller: controller.to_owned(),
                owner: primary.kind_and_version(),
                owned: owned.kind_and_version(),
            }),
            _ => Ok(()),
        }
    }
}
