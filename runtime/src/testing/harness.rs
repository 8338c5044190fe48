//! [`Harness`]: runs single reconciles of an operator on seeded caches.

use std::ffi::OsString;

use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use super::{
    Reply, Request, ScriptedApi, assert_requests,
    request::{json, with_type_meta},
};
use crate::{
    ApiResource, Clock, Kind, NamespacedName,
    controller::{Action, ControllerBuilder, FixedArgs, ReconcileError, Setup},
    events::{EventWriter, Recorded, Recorder},
};

/// Runs single reconciles of an operator on seeded caches and records the requests that they send, without API server and watches.
///
/// The caches contain only [seeded](Self::seed) objects: a reconcile's writes do not appear in them. The [`ScriptedApi`], which responds to the
/// requests, has both written and seeded objects.
///
/// Methods panic on errors of the test itself. Create it within a tokio runtime. [`with_clock`](Self::with_clock) injects the wall time.
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
    pub(super) setup: Setup,
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
    /// If the registration has [errors](Setup::errors), or the flags are invalid.
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
            "the registration is invalid: {}",
            errors.join("; ")
        );
        Self {
            setup,
            api,
            events: Mutex::new(events),
        }
    }

    /// Adds an object to the caches of its kind and to the API server, or replaces it. The object must have `apiVersion` and `kind`, as typed
    /// objects have.
    ///
    /// # Panics
    /// If the object has no name, `apiVersion` or `kind`, or if the operator has no informer of the kind.
    pub fn seed(&self, object: &impl Serialize) {
        let object = json(object);
        let type_meta = (object["apiVersion"].as_str(), object["kind"].as_str());
        let (Some(api_version), Some(kind)) = type_meta else {
            panic!("the seeded object has no apiVersion or no kind: use `seed_as::<Kind>`, or add them");
        };
        let informers = self.setup.informers().informers();
        let info = informers
            .iter()
            .map(|(info, _)| info)
            .find(|info| info.api_version() == api_version && info.kind == kind);
        let Some(info) = info else {
            panic!(
                "the operator has no informer of {api_version} {kind}: use `seed_as::<Kind>` to add the object to the API server only"
            );
        };
        self.put(info, object);
    }

    /// [Seeds](Self::seed) an object that may lack `apiVersion` and `kind`. If its kind has no informer, adds it to the API server only.
    pub fn seed_as<K: Kind>(&self, object: &impl Serialize) {
        self.put(&K::info(), json(object));
    }

    /// Runs one reconcile of the key `namespace/name` (or `name`) with the only controller.
    ///
    /// # Panics
    /// If there are several controllers, or the key is invalid.
    pub async fn reconcile(&self, key: &str) -> Result<Action, ReconcileError> {
        let controllers = self.setup.controllers();
        let [controller] = controllers else {
            let names: Vec<&str> = controllers.iter().map(ControllerBuilder::name).collect();
            panic!(
                "the operator has {} controllers {names:?}: use `reconcile_with` to select one",
                names.len()
            );
        };
        self.reconcile_with(controller.name(), key).await
    }

    /// Runs one reconcile with the controller of that name.
    ///
    /// # Panics
    /// If the controller does not exist, or the key is invalid.
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

    /// Takes the requests that were sent since the last call, in order, without those of events.
    pub fn requests(&self) -> Vec<Request> {
        self.api.requests()
    }

    /// Takes the requests and panics unless they equal the expected ones, in order. A null field equals an
    /// absent one. The message lists the fields that differ.
    #[track_caller]
    pub fn assert_requests(&self, expected: &[Request]) {
        assert_requests(&self.requests(), expected);
    }

    /// Takes the events that were recorded since the last call, in order, without aggregation.
    pub fn events(&self) -> Vec<Recorded> {
        self.events.lock().drain()
    }

    /// Replies to the next matching request with `reply`; see [`ScriptedApi::reply_with`].
    pub fn reply_with(&self, matches: impl Fn(&Request) -> bool + Send + 'static, reply: Reply) {
        self.api.reply_with(matches, reply);
    }

    /// Converts an object to a version of its kind, as the operator does for the API server; see [`Setup::versions`].
    ///
    /// # Errors
    /// The message that the API server gets.
    pub fn convert(&self, object: &impl Serialize, version: &str) -> Result<Value, String> {
        let object = json(object);
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let group = api_version.split('/').next().unwrap_or_default();
        let desired = format!("{group}/{version}");
        let converted = self.setup.converters().convert(object, &desired);
        converted.map(Value::Object)
    }

    /// Returns the API server.
    pub fn api(&self) -> &ScriptedApi {
        &self.api
    }

    /// Returns the registration.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    fn put(&self, info: &ApiResource, object: Value) {
        let object = with_type_meta(info, object);
        if let Err(error) = self.setup.informers().seed(info, &object) {
            panic!("seeding the object failed: {error}");
        }
        self.api.put_value(info, object);
    }
}
