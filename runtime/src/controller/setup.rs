//! Setup: the registrations of an operator.

use std::{error::Error, time::Duration};

use clap::Args;
use k8s_openapi::api::rbac::v1::PolicyRule;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::{
    ArgSource, ControllerBuilder, HealthCheck, Permission, PermissionScope, Probe, Reconciler, Runnable,
    component::Components, permissions::distinct,
};
use crate::{
    Clock, CustomKind, Kind, Scope,
    cache::{RegisteredKind, SharedInformerFactory},
    client::{Connection, TypedClient, Verbs},
    conversion::RegisteredVersions,
    events::{EventsApi, Recorder},
    webhooks::Webhooks,
};

/// Records the registrations of an operator: informers, clients, controllers, runnables. Registering does no I/O: the same calls run the
/// operator and print its manifests.
///
/// Register everything regardless of flags, so that the operator's role does not depend on them.
pub struct Setup {
    operator: String,
    connection: Connection,
    informers: SharedInformerFactory,
    recorder: Recorder,
    args: Box<dyn ArgSource>,
    /// The components that record events; [`None`] for what is registered outside of them.
    recorders: Vec<Option<usize>>,
    permissions: Vec<Permission>,
    warnings: Vec<String>,
    pub(super) kinds: Vec<RegisteredKind>,
    pub(super) versions: Vec<RegisteredVersions>,
    /// Whether the conversion is served in tests, too.
    pub(super) converts_in_tests: bool,
    pub(super) controllers: Vec<ControllerBuilder>,
    pub(super) runnables: Vec<Runnable>,
    pub(super) components: Components,
    resync: Option<Duration>,
    pub(super) health_checks: Vec<HealthCheck>,
    pub(super) webhooks: Webhooks,
    metrics: Registry,
    clock: Clock,
}

impl Setup {
    /// Returns an empty setup. The manager and the test harness call it.
    #[doc(hidden)]
    pub fn new(
        operator: impl Into<String>,
        connection: Connection,
        recorder: Recorder,
        args: impl ArgSource + 'static,
    ) -> Self {
        let informers = SharedInformerFactory::new(connection.clone());
        // Until the operator starts, to know what each component reads.
        informers.record_requests(Some(Vec::new()));
        Self {
            operator: operator.into(),
            connection: connection.with_cached_objects(informers.cached_objects()),
            informers,
            recorder,
            args: Box::new(args),
            recorders: Vec::new(),
            permissions: Vec::new(),
            warnings: Vec::new(),
            kinds: Vec::new(),
            versions: Vec::new(),
            converts_in_tests: false,
            controllers: Vec::new(),
            runnables: Vec::new(),
            components: Components::default(),
            resync: None,
            health_checks: Vec::new(),
            webhooks: Webhooks::default(),
            metrics: Registry::default(),
            clock: Clock::system(),
        }
    }

    /// The registry of the operator's own metrics, which the manager serves at `/metrics` beside its own.
    ///
    /// Names have no prefix: begin them with the operator's name. The prefixes of the manager's metrics (`controller_runtime_`,
    /// `workqueue_`, `rest_client_`, `leader_election_`, `kubewright_`) are refused at the start, where the metric has a value by then.
    ///
    /// ```
    /// # use kubewright::controller::Setup;
    /// use kubewright::prometheus_client::metrics::counter::Counter;
    ///
    /// fn register(setup: &mut Setup) {
    ///     let backups = Counter::<u64>::default();
    ///     setup.metrics().register("shop_backups", "Backups that were made", backups.clone());
    ///     // `backups.inc()` in the reconciler.
    /// }
    /// ```
    pub fn metrics(&mut self) -> &mut Registry {
        &mut self.metrics
    }

    /// Takes the registry of the operator's own metrics.
    pub(crate) fn take_metrics(&mut self) -> Registry {
        std::mem::take(&mut self.metrics)
    }

    /// Returns the clock of the operator's reconciles: the system's, unless the manager or a test injects another.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Sets the clock of the controllers that are registered from now on.
    pub(crate) fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Returns the operator's name.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Returns the shared informers of the operator: each kind is listed and watched once. Making an informer adds the permissions list and
    /// watch.
    pub fn informers(&self) -> &SharedInformerFactory {
        &self.informers
    }

    /// Returns a client of kind `K` with the verbs `V` only. Adds the permissions of `V`.
    pub fn client<K: Kind, V: Verbs<K>>(&mut self) -> TypedClient<K, V> {
        let (kind, rules) = (K::info(), V::rules());
        if rules.iter().any(|rule| rule.unit == "All") {
            self.warnings.push(format!(
                "a client of {} has `All` verbs: name the used verbs, to restrict the role to them",
                kind.kind
            ));
        }
        let component = self.components.current_role();
        self.permissions.extend(
            rules
                .iter()
                .map(|rule| Permission::client(&kind, rule).of_component(component)),
        );
        TypedClient::new(self.connection().clone())
    }

    /// How long after it was sent an apply of [`client`](Self::client)'s clients may be skipped while the informers show that it would change
    /// nothing; see [`TypedClient::apply`]. By default 10 minutes; zero: every apply is sent.
    pub fn set_apply_cache_ttl(&mut self, ttl: Duration) -> &mut Self {
        if let Some(applies) = self.connection.apply_cache() {
            applies.set_ttl(ttl);
        }
        self
    }

    /// Returns the operator's event recorder. Adds the permissions to create and patch events; also in `default`, the namespace of events about
    /// cluster-scoped objects, if a controller's primary kind is cluster-scoped. Of a recorder in a [component](Self::component), only that
    /// component's controllers count.
    pub fn recorder(&mut self) -> Recorder {
        self.recorders.push(self.components.current);
        match self.components.current() {
            Some(component) => self.recorder.reporting_as(component.name.clone()),
            None => self.recorder.clone(),
        }
    }

    /// Returns the kube client. Declare its permissions with [`needs`](Self::needs).
    pub fn kube_client(&self) -> kube::Client {
        self.connection().kube_client()
    }

    /// Adds a rule to the permissions, in the watched namespaces; rules on non-resource URLs have cluster scope.
    pub fn needs(&mut self, rule: PolicyRule) -> &mut Self {
        self.needs_in(PermissionScope::Watched, rule)
    }

    /// Adds a rule to the permissions of a scope. Rules on cluster-scoped kinds need [`PermissionScope::Cluster`].
    pub fn needs_in(&mut self, scope: PermissionScope, rule: PolicyRule) -> &mut Self {
        self.add_permission(Permission::raw(rule, scope));
        self
    }

    pub(super) fn add_permission(&mut self, permission: Permission) {
        let permission = permission.of_component(self.components.current_role());
        self.permissions.push(permission);
    }

    /// Registers a kind without an informer, so that its definition is part of the manifests.
    pub fn kind<K: CustomKind>(&mut self) -> &mut Self {
        RegisteredKind::of::<K>().add_to(&mut self.kinds);
        self
    }

    /// Parses the operator's own flags. Exits with clap's message if the command line is wrong.
    pub fn args<T: Args>(&self) -> T {
        self.args
            .parse(T::augment_args)
            .and_then(|matches| T::from_arg_matches(&matches))
            .unwrap_or_else(|error| self.args.refuse(error))
    }

    /// Registers a controller. Set its sources and options on the returned builder:
    /// `setup.controller("foo", reconciler).reconciles(&foos).owns(&deployments).workers(2)`.
    pub fn controller(
        &mut self,
        name: impl Into<String>,
        reconciler: impl Reconciler,
    ) -> &mut ControllerBuilder {
        let mut builder = ControllerBuilder::new(name.into(), reconciler);
        builder.informers = Some(self.informers.clone());
        builder.clock = self.clock.clone();
        builder.component = self.components.current;
        self.controllers.push(builder);
        let last = self.controllers.len() - 1;
        &mut self.controllers[last]
    }

    /// Sets the resync period of controllers without one of their own; see [`ControllerBuilder::resync`]. By default there are no resyncs.
    pub fn set_resync(&mut self, period: Duration) -> &mut Self {
        self.resync = Some(period);
        self
    }

    /// Registers a task that starts before the controllers and runs beside them: start-up I/O, a server, a poller.
    ///
    /// The token is cancelled when the operator stops; the task should end soon after. It may end earlier; an `Err` stops the operator.
    /// [`Runnable::group`] orders runnables.
    pub fn runnable<F, R>(&mut self, name: impl Into<String>, run: F) -> &mut Runnable
    where
        F: FnOnce(CancellationToken) -> R + Send + 'static,
        R: Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let mut runnable = Runnable::new(name.into(), run);
        runnable.component = self.components.current;
        self.runnables.push(runnable);
        let last = self.runnables.len() - 1;
        &mut self.runnables[last]
    }

    /// Adds a check to the liveness probe (controller-runtime's AddHealthzCheck). The kubelet restarts the container while it fails.
    ///
    /// The check is called for every probe request: it must be quick and must not block. The probe shows its error. A panic fails the probe.
    pub fn liveness_check(
        &mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        self.health_check(Probe::Live, name, check)
    }

    /// Adds a check to the readiness probe (controller-runtime's AddReadyzCheck); called as a [`liveness_check`](Self::liveness_check) is.
    /// While it fails, the pod gets no requests and a rollout does not continue. The manager's own checks are that it runs, and that each
    /// controller's informers are up to date.
    pub fn readiness_check(
        &mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        self.health_check(Probe::Ready, name, check)
    }

    /// The operator's connection, also within a component.
    pub(super) fn operator_connection(&self) -> &Connection {
        &self.connection
    }

    fn health_check(
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

    /// Takes the health checks.
    #[doc(hidden)]
    pub fn take_health_checks(&mut self) -> Vec<HealthCheck> {
        std::mem::take(&mut self.health_checks)
    }

    /// Returns the connection to the API server, within [`component`](Self::component) that of the component.
    pub fn connection(&self) -> &Connection {
        let component = self.components.current();
        component.map_or(&self.connection, |component| &component.connection)
    }

    /// Returns the controllers, in the order of registration.
    #[doc(hidden)]
    pub fn controllers(&self) -> &[ControllerBuilder] {
        &self.controllers
    }

    /// Takes the controllers, to run them.
    #[doc(hidden)]
    pub fn take_controllers(&mut self) -> Vec<ControllerBuilder> {
        let mut controllers = std::mem::take(&mut self.controllers);
        for controller in &mut controllers {
            controller.resync = controller.resync.or(self.resync);
        }
        controllers
    }

    /// Returns the runnables, in the order of registration.
    #[doc(hidden)]
    pub fn runnables(&self) -> &[Runnable] {
        &self.runnables
    }

    /// Takes the runnables, to run them.
    #[doc(hidden)]
    pub fn take_runnables(&mut self) -> Vec<Runnable> {
        std::mem::take(&mut self.runnables)
    }

    /// Returns the custom kinds of the operator, with and without informers, each Rust type once.
    #[doc(hidden)]
    pub fn kinds(&self) -> Vec<RegisteredKind> {
        let mut kinds = self.informers.custom_kinds();
        for kind in &self.kinds {
            kind.clone().add_to(&mut kinds);
        }
        kinds
    }

    /// Sets the API of written events, before or after [`recorder`](Self::recorder). Default: `events.k8s.io`. The permission follows. Only
    /// the first call counts.
    pub fn events_api(&mut self, api: EventsApi) {
        self.recorder.set_api(api);
    }

    /// Whether the event recorder is used.
    #[doc(hidden)]
    pub fn recorder_used(&self) -> bool {
        !self.recorders.is_empty()
    }

    /// Returns the permissions of the operator: sorted and deduplicated. Call it before the controllers are taken.
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
                .chain(owners.flat_map(|owner| self.owner_permissions(owner)))
                .chain(self.event_permissions()),
        )
    }

    /// Returns the permissions to write owner references to the primary kind. They change if objects were stored in another version before: in a release that
    /// stores the hub while other versions are served.
    fn owner_permissions(&self, controller: &ControllerBuilder) -> Vec<Permission> {
        let Some(owner) = controller.primary() else {
            return Vec::new();
        };
        let component = controller.component.and_then(|index| self.components.role(index));
        let mut versions = self.versions.iter();
        let may_change =
            versions.any(|versions| versions.converter.info.is_version_of(owner) && versions.is_migrated());
        let changed = controller.owned().filter(|_| may_change);
        let permissions = changed.map(Permission::owned).chain([Permission::owner(owner)]);
        permissions
            .map(|permission| permission.of_component(component))
            .collect()
    }

    fn event_permissions(&self) -> Vec<Permission> {
        if self.recorders.is_empty() {
            return Vec::new();
        }
        let recording = self.controllers.iter().filter(|controller| {
            self.recorders.contains(&None) || self.recorders.contains(&controller.component)
        });
        let mut primaries = recording.filter_map(ControllerBuilder::primary);
        let has_cluster_scoped = primaries.any(|kind| kind.scope == Scope::Cluster);
        let api = self.recorder.api();
        let cluster_events = has_cluster_scoped.then(|| Permission::events_of_the_cluster(api));
        [Permission::events(api)]
            .into_iter()
            .chain(cluster_events)
            .collect()
    }

    pub(super) fn warn(&mut self, warning: &str) {
        self.warnings.push(warning.to_owned());
    }

    /// Returns warnings: registrations that work, but should be changed.
    #[doc(hidden)]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
