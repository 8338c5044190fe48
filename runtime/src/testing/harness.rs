//! One operator, its caches filled by hand, one reconcile at a time.

use std::ffi::OsString;

use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use super::{
    Reply, Request, ScriptedApi, assert_requests,
    request::{filled, json},
};
use crate::{
    ApiResource, Clock, Kind, NamespacedName,
    controller::{Action, ControllerBuilder, FixedArgs, ReconcileError, Setup},
    events::{EventWriter, Recorded, Recorder},
};

/// Runs one reconcile of an operator against caches that the test fills, and shows the requests that it sent. No server, no time, no watch.
///
/// The caches hold what is [seeded](Self::seed) and nothing else: what a reconcile writes does not come back by itself. Written and seeded
/// objects are known to the [`ScriptedApi`] that answers the requests.
///
/// Where the test itself is wrong, methods panic with a message for its author. Must be made within a tokio runtime.
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kubewright::{NamespacedName, cache::Lister, client::Apply, controller::{Action, ReconcileError, Reconciler, Setup}, prelude::*};
/// # use serde_json::json;
/// use kubewright::testing::{Harness, Request};
///
/// # struct Copier { maps: Lister<ConfigMap>, writer: TypedClient<ConfigMap, (Apply,)> }
/// # impl Reconciler for Copier {
/// #     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
/// #         let map = self.maps.get(key)?;
/// #         let copy = json!({"metadata": {"name": "copy", "namespace": key.namespace()}, "data": map.data});
/// #         self.writer.apply(&copy).await?;
/// #         Ok(Action::await_change())
/// #     }
/// # }
/// # fn register(setup: &mut Setup) {
/// #     let maps = setup.informers().of::<ConfigMap>();
/// #     let copier = Copier { maps: maps.lister(), writer: setup.client() };
/// #     setup.controller("copier", copier).reconciles(&maps);
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let test = Harness::new(register);
/// test.seed_as::<ConfigMap>(&json!({"metadata": {"name": "a", "namespace": "shop"}, "data": {"x": "1"}}));
/// test.reconcile("shop/a").await.unwrap();
/// let copy = json!({"metadata": {"name": "copy", "namespace": "shop"}, "data": {"x": "1"}});
/// test.assert_requests(&[Request::apply::<ConfigMap>(&copy)]);
/// # }
/// ```
pub struct Harness {
    setup: Setup,
    api: ScriptedApi,
    events: Mutex<EventWriter>,
}

impl Harness {
    /// Registers an operator called `test`, without flags.
    pub fn new(register: impl FnOnce(&mut Setup)) -> Self {
        Self::with_args(std::iter::empty::<OsString>(), register)
    }

    /// Registers an operator with its own flags.
    ///
    /// # Panics
    /// If what was registered is wrong, as [`Setup::errors`] says, or the flags do not fit.
    pub fn with_args(
        args: impl IntoIterator<Item = impl Into<OsString>>,
        register: impl FnOnce(&mut Setup),
    ) -> Self {
        Self::build(Clock::system(), FixedArgs::new(args), register)
    }

    /// Registers an operator called `test`, without flags, whose reconciles see the time of `clock`.
    ///
    /// Make it with [`Clock::starting_at`] and pause tokio's clock: `tokio::time::advance` then moves both.
    pub fn with_clock(clock: Clock, register: impl FnOnce(&mut Setup)) -> Self {
        Self::build(clock, FixedArgs::new(std::iter::empty::<OsString>()), register)
    }

    fn build(clock: Clock, args: FixedArgs, register: impl FnOnce(&mut Setup)) -> Self {
        let api = ScriptedApi::new();
        let (recorder, events) = Recorder::pipeline("test");
        let connection = api.connection().with_field_manager("test");
        let mut setup = Setup::new("test", connection, recorder, args);
        setup.set_clock(clock);
        register(&mut setup);
        let errors: Vec<String> = setup.errors().iter().map(ToString::to_string).collect();
        assert!(
            errors.is_empty(),
            "what was registered is wrong: {}",
            errors.join("; ")
        );
        Self {
            setup,
            api,
            events: Mutex::new(events),
        }
    }

    /// Puts an object into the caches of its kind, as a watch would, and makes it known to the API server. It says `apiVersion` and `kind`, as typed
    /// objects do. Seeding it again replaces it.
    ///
    /// # Panics
    /// If the object has no name, does not say its kind, or no informer has the kind.
    pub fn seed(&self, object: &impl Serialize) {
        let object = json(object);
        let said = (object["apiVersion"].as_str(), object["kind"].as_str());
        let (Some(api_version), Some(kind)) = said else {
            panic!(
                "the seeded object does not say apiVersion and kind: use `seed_as::<Kind>`, or write them"
            );
        };
        let informers = self.setup.informers().informers();
        let info = informers
            .iter()
            .map(|(info, _)| info)
            .find(|info| info.api_version() == api_version && info.kind == kind);
        let Some(info) = info else {
            panic!(
                "the operator has no informer of {api_version} {kind}: `seed_as::<Kind>` makes it known to the API server alone"
            );
        };
        self.put(info, object);
    }

    /// [`seed`](Self::seed) of what need not say `apiVersion` and `kind`. A kind without an informer is made known to the API server alone.
    pub fn seed_as<K: Kind>(&self, object: &impl Serialize) {
        self.put(&K::info(), json(object));
    }

    /// Runs one reconcile of `namespace/name` (or `name`) with the only controller.
    ///
    /// # Panics
    /// If there are several controllers, or the key is none.
    pub async fn reconcile(&self, key: &str) -> Result<Action, ReconcileError> {
        let controllers = self.setup.controllers();
        let [controller] = controllers else {
            let names: Vec<&str> = controllers.iter().map(ControllerBuilder::name).collect();
            panic!(
                "the operator has {} controllers {names:?}: say which, with `reconcile_with`",
                names.len()
            );
        };
        self.reconcile_with(controller.name(), key).await
    }

    /// Runs one reconcile with the controller of that name.
    ///
    /// # Panics
    /// If there is no such controller, or the key is none.
    pub async fn reconcile_with(&self, controller: &str, key: &str) -> Result<Action, ReconcileError> {
        let key: NamespacedName = key.parse().unwrap_or_else(|error| panic!("{error}"));
        let found = self
            .setup
            .controllers()
            .iter()
            .find(|found| found.name() == controller);
        let Some(found) = found else {
            panic!("the operator has no controller {controller:?}")
        };
        let clock = self.setup.clock();
        clock.scope(found.reconciler().reconcile(&key)).await
    }

    /// Sets the time of the clock that reconciles see; from then on it follows tokio's clock.
    pub fn set_time(&self, time: Timestamp) {
        self.setup.clock().set(time);
    }

    /// Takes the requests that were sent since the last call, in their order; events are apart.
    pub fn requests(&self) -> Vec<Request> {
        self.api.requests()
    }

    /// Takes the requests and panics unless they are the expected ones; see [`assert_requests`](super::assert_requests).
    #[track_caller]
    pub fn assert_requests(&self, expected: &[Request]) {
        assert_requests(&self.requests(), expected);
    }

    /// Takes the events that were recorded since the last call, in their order, repeats one by one.
    pub fn events(&self) -> Vec<Recorded> {
        self.events.lock().drain()
    }

    /// Answers the next request that matches with `reply`; see [`ScriptedApi::reply_with`].
    pub fn reply_with(&self, matches: impl Fn(&Request) -> bool + Send + 'static, reply: Reply) {
        self.api.reply_with(matches, reply);
    }

    /// The API server that answers.
    pub fn api(&self) -> &ScriptedApi {
        &self.api
    }

    /// What was registered.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    fn put(&self, info: &ApiResource, object: Value) {
        let object = filled(info, object);
        if let Err(error) = self.setup.informers().seed(info, &object) {
            panic!("the object cannot be seeded: {error}");
        }
        self.api.put_value(info, object);
    }
}
