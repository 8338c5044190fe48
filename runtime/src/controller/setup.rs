//! What an operator registers.

use std::{collections::BTreeSet, error::Error, time::Duration};

use clap::Args;
use k8s_openapi::api::rbac::v1::PolicyRule;
use tokio_util::sync::CancellationToken;

use super::{
    ArgSource, ControllerBuilder, HealthCheck, Permission, PermissionScope, Probe, Reconciler, Runnable,
    permissions::distinct,
};
use crate::{
    CustomKind, Kind, Scope,
    cache::{RegisteredKind, SharedInformerFactory},
    client::{Connection, TypedClient, Verbs},
    events::{EventsApi, Recorder},
};

/// Records what an operator is made of. Registering does no I/O: the same calls run the operator and print its manifests.
///
/// Register everything whatever the flags say, so that the operator's role does not depend on them.
pub struct Setup {
    operator: String,
    connection: Connection,
    informers: SharedInformerFactory,
    recorder: Recorder,
    args: Box<dyn ArgSource>,
    recorder_used: bool,
    permissions: Vec<Permission>,
    warnings: Vec<String>,
    kinds: Vec<RegisteredKind>,
    controllers: Vec<ControllerBuilder>,
    runnables: Vec<Runnable>,
    resync: Option<Duration>,
    health_checks: Vec<HealthCheck>,
}

/// What is wrong with what was registered.
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
        /// The primary kind.
        owner: String,
        /// The owned kind.
        owned: String,
    },
    /// A name that labels, logs and leases could not carry.
    #[error("{what} {name:?} needs another name: letters, digits, `-`, `_` and `.`, at least one")]
    BadName {
        /// A controller, a runnable, a group of them or a health check.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Two of one name.
    #[error("two {what}s are called {name:?}: names must differ")]
    DuplicateName {
        /// A controller, a runnable or a health check.
        what: &'static str,
        /// Their name.
        name: String,
    },
}

impl Setup {
    /// An empty record. The manager makes one, and so does the test harness.
    pub fn new(
        operator: impl Into<String>,
        connection: Connection,
        recorder: Recorder,
        args: impl ArgSource + 'static,
    ) -> Self {
        let informers = SharedInformerFactory::new(connection.clone());
        Self {
            operator: operator.into(),
            connection: connection.with_cached_objects(informers.cached_objects()),
            informers,
            recorder,
            args: Box::new(args),
            recorder_used: false,
            permissions: Vec::new(),
            warnings: Vec::new(),
            kinds: Vec::new(),
            controllers: Vec::new(),
            runnables: Vec::new(),
            resync: None,
            health_checks: Vec::new(),
        }
    }

    /// The operator's name.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// The informers of the operator: each kind is listed and watched once, whoever asks. Making one permits list and watch.
    pub fn informers(&self) -> &SharedInformerFactory {
        &self.informers
    }

    /// A client for objects of kind `K` that may do `V` and nothing else. Making it permits `V`.
    pub fn client<K: Kind, V: Verbs<K>>(&mut self) -> TypedClient<K, V> {
        let (kind, rules) = (K::info(), V::rules());
        if rules.iter().any(|rule| rule.unit == "All") {
            self.warnings.push(format!(
                "a client of {} has `All` verbs: name those that it uses, and the role allows no more",
                kind.kind
            ));
        }
        self.permissions
            .extend(rules.iter().map(|rule| Permission::client(&kind, rule)));
        TypedClient::new(self.connection.clone())
    }

    /// How long after it was sent an apply of [`client`](Self::client)'s clients may be skipped while the informers show that it would change
    /// nothing; see [`TypedClient::apply`]. By default 10 minutes; zero: every apply is sent.
    pub fn set_apply_cache_ttl(&mut self, ttl: Duration) -> &mut Self {
        if let Some(applies) = self.connection.apply_cache() {
            applies.set_ttl(ttl);
        }
        self
    }

    /// Writes events in the operator's name. Permits to create and patch events; also in `default`, where those about cluster-scoped
    /// objects lie, if a controller's primary kind is cluster-scoped.
    pub fn recorder(&mut self) -> Recorder {
        self.recorder_used = true;
        self.recorder.clone()
    }

    /// The bare client. Say with [`needs`](Self::needs) what it does.
    pub fn kube_client(&self) -> kube::Client {
        self.connection.kube_client()
    }

    /// Permits what a rule says, in the watched namespaces; rules on paths hold for the cluster.
    pub fn needs(&mut self, rule: PolicyRule) -> &mut Self {
        self.needs_in(PermissionScope::Watched, rule)
    }

    /// Permits what a rule says, there. Rules on cluster-scoped kinds need [`PermissionScope::Cluster`].
    pub fn needs_in(&mut self, scope: PermissionScope, rule: PolicyRule) -> &mut Self {
        self.permissions.push(Permission::raw(rule, scope));
        self
    }

    /// Registers a kind that no informer is made for, so that its definition is printed.
    pub fn kind<K: CustomKind>(&mut self) -> &mut Self {
        self.kinds.push(RegisteredKind {
            info: K::info(),
            definition: K::definition,
            external: K::EXTERNAL,
            indexes: K::indexes(),
        });
        self
    }

    /// The operator's own flags. A command line that does not fit ends the process with clap's message.
    pub fn args<T: Args>(&self) -> T {
        self.args
            .parse(T::augment_args)
            .and_then(|matches| T::from_arg_matches(&matches))
            .unwrap_or_else(|error| self.args.refuse(error))
    }

    /// Registers a controller. Say on the answer what it reconciles:
    /// `setup.controller("foo", reconciler).reconciles(&foos).owns(&deployments).workers(2)`.
    pub fn controller(
        &mut self,
        name: impl Into<String>,
        reconciler: impl Reconciler,
    ) -> &mut ControllerBuilder {
        let mut spec = ControllerBuilder::new(name.into(), reconciler);
        spec.informers = Some(self.informers.clone());
        self.controllers.push(spec);
        let last = self.controllers.len() - 1;
        &mut self.controllers[last]
    }

    /// After this time, again and again, controllers that do not say themselves are told of everything in their caches; see
    /// [`ControllerBuilder::resync`]. By default: never.
    pub fn set_resync(&mut self, period: Duration) -> &mut Self {
        self.resync = Some(period);
        self
    }

    /// Registers something that runs beside the controllers and is started before them: start-up I/O, a server, a poller.
    ///
    /// It gets a token that is cancelled when the operator stops, and should end soon after. To end earlier is no error; an
    /// `Err` ends the operator. [`Runnable::group`] is for those that need an order among themselves.
    pub fn runnable<F, R>(&mut self, name: impl Into<String>, run: F) -> &mut Runnable
    where
        F: FnOnce(CancellationToken) -> R + Send + 'static,
        R: Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        self.runnables.push(Runnable::new(name.into(), run));
        let last = self.runnables.len() - 1;
        &mut self.runnables[last]
    }

    /// Adds a check to a probe, beside those of the manager: that it runs, and that each controller's informers are up to date.
    ///
    /// It is called for every probe, must be quick and must not block; what it returns as an error is shown. A panic fails the probe.
    pub fn health_check(
        &mut self,
        probe: Probe,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        self.health_checks.push(HealthCheck {
            probe,
            name: name.into(),
            check: Box::new(check),
        });
        self
    }

    /// Hands out the health checks, to be asked.
    pub fn take_health_checks(&mut self) -> Vec<HealthCheck> {
        std::mem::take(&mut self.health_checks)
    }

    /// The way to the API server.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The controllers, in the order of registration.
    pub fn controllers(&self) -> &[ControllerBuilder] {
        &self.controllers
    }

    /// Hands out the controllers, to be run.
    pub fn take_controllers(&mut self) -> Vec<ControllerBuilder> {
        let mut controllers = std::mem::take(&mut self.controllers);
        for controller in &mut controllers {
            controller.resync = controller.resync.or(self.resync);
        }
        controllers
    }

    /// The runnables, in the order of registration.
    pub fn runnables(&self) -> &[Runnable] {
        &self.runnables
    }

    /// Hands out the runnables, to be run.
    pub fn take_runnables(&mut self) -> Vec<Runnable> {
        std::mem::take(&mut self.runnables)
    }

    /// The custom kinds of the operator, with and without informers, each version once.
    pub fn kinds(&self) -> Vec<RegisteredKind> {
        let mut kinds = self.informers.custom_kinds();
        for kind in &self.kinds {
            if kinds.iter().all(|known| known.info != kind.info) {
                kinds.push(kind.clone());
            }
        }
        kinds
    }

    /// Through which API events are written: `events.k8s.io` unless said otherwise, before or after [`recorder`](Self::recorder). The
    /// permission follows. LogOnce twice, the first counts.
    pub fn events_api(&mut self, api: EventsApi) {
        self.recorder.set_api(api);
    }

    /// Whether events are written.
    pub fn recorder_used(&self) -> bool {
        self.recorder_used
    }

    /// What the API server must allow: sorted, each once. Ask before the controllers are taken.
    pub fn permissions(&self) -> Vec<Permission> {
        let informers = self.informers.informers();
        let owners = self
            .controllers
            .iter()
            .filter(|controller| controller.owned().next().is_some());
        distinct(
            informers
                .iter()
                .map(|(kind, _)| Permission::informer(kind))
                .chain(self.permissions.iter().cloned())
                .chain(
                    owners
                        .filter_map(ControllerBuilder::primary)
                        .map(Permission::owner),
                )
                .chain(self.event_permissions()),
        )
    }

    fn event_permissions(&self) -> Vec<Permission> {
        if !self.recorder_used {
            return Vec::new();
        }
        let mut primaries = self.controllers.iter().filter_map(ControllerBuilder::primary);
        let has_cluster_scoped = primaries.any(|kind| kind.scope == Scope::Cluster);
        let api = self.recorder.api();
        let of_the_cluster = has_cluster_scoped.then(|| Permission::events_of_the_cluster(api));
        [Permission::events(api)]
            .into_iter()
            .chain(of_the_cluster)
            .collect()
    }

    /// What people should know of what was registered: not wrong, but better otherwise.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What is wrong with what was registered. An operator with errors must not run.
    pub fn errors(&self) -> Vec<RegistrationError> {
        let mut errors: Vec<_> = self
            .controllers
            .iter()
            .flat_map(ControllerBuilder::errors)
            .collect();
        errors.extend(bad_names(
            "controller",
            self.controllers.iter().map(ControllerBuilder::name),
        ));
        errors.extend(bad_names("runnable", self.runnables.iter().map(Runnable::name)));
        let groups: BTreeSet<_> = self.runnables.iter().filter_map(Runnable::group_name).collect();
        errors.extend(bad_names("group", groups.into_iter()));
        for probe in [Probe::Live, Probe::Ready] {
            let checks = self.health_checks.iter().filter(|check| check.probe == probe);
            errors.extend(bad_names("health check", checks.map(HealthCheck::name)));
        }
        errors
    }
}

fn bad_names<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Vec<RegistrationError> {
    let (mut seen, mut errors) = (BTreeSet::new(), Vec::new());
    for name in names {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(fits) {
            errors.push(RegistrationError::BadName {
                what,
                name: name.to_owned(),
            });
        }
        if !seen.insert(name) {
            errors.push(RegistrationError::DuplicateName {
                what,
                name: name.to_owned(),
            });
        }
    }
    errors
}
