//! Skipping applies that change nothing leaves the same objects as sending them all.
//!
//! Two operators live through the same random history, each in a namespace of its own: one skips applies, the other sends all.
//! What others write differs from what the operators want, and an operator has settled before it wants something else: otherwise the end
//! would depend on the moment of a reconcile, whether applies are skipped or not.

use std::{collections::BTreeMap, ffi::OsString, time::Duration};

use http::Method;
use kube::api::DeleteParams;
use kubewright::{
    ApiResource, Kind, NamespacedName, Scope, WithStatus,
    cache::{Lister, SharedInformerFactory},
    client::{Apply, ApplyOptions, ApplyStatus, Connection, Delete, TypedClient},
    controller::Setup,
    events::Recorder,
    unstable::FixedArgs,
};
use kubewright_testkit::{Cluster, ClusterError, Failure, Fault, RequestMatcher, eventually};
use kubewright_tests::{new_object, on_both_servers};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const SYNC_TIMEOUT: Duration = Duration::from_secs(30);
const OBJECTS: usize = 4;
const STEPS: usize = 160;
/// The schema has this field only after the upgrade of the CustomResourceDefinition, half way.
const NEW_FIELD: &str = "added";

on_both_servers!(objects_end_the_same_with_and_without_skipped_applies);

#[derive(Debug, Clone, Deserialize)]
struct Gadget {
    metadata: kube::core::ObjectMeta,
}

impl Kind for Gadget {
    fn info() -> ApiResource {
        ApiResource {
            group: "skip.dev".into(),
            version: "v1".into(),
            kind: "Gadget".into(),
            plural: "gadgets".into(),
            scope: Scope::Namespaced,
        }
    }
}

impl WithStatus for Gadget {}

/// A step of the history; the first number is the object.
#[derive(Debug, Clone)]
enum Step {
    Reconcile(usize),
    /// The operator wants another value of a field, or none.
    ChangeIntent(usize, &'static str, Option<u8>),
    ForeignEdit(usize, &'static str, u8),
    ForeignStatusEdit(usize, u8),
    ForeignApply(usize, u8),
    ForeignDelete(usize),
    Recreate(usize, u8),
    OwnDelete(usize),
    LoseAnswer,
    Refuse,
    Restart,
    UpgradeDefinition,
}

fn history(seed: u64) -> Vec<Step> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut steps = Vec::new();
    for number in 0..STEPS {
        if number == STEPS / 2 {
            steps.push(Step::UpgradeDefinition);
        }
        let (object, value) = (rng.random_range(0..OBJECTS), rng.random_range(0..3));
        let field = |rng: &mut StdRng, fields: &[&'static str]| fields[rng.random_range(0..fields.len())];
        steps.push(match rng.random_range(0..40) {
            0..=17 => Step::Reconcile(object),
            18..=20 => {
                let field = field(&mut rng, &["a", "b", "unforced", NEW_FIELD]);
                Step::ChangeIntent(object, field, (rng.random_range(0..4) > 0).then_some(value))
            }
            21..=25 => {
                let field = field(&mut rng, &["a", "b", "unforced", "foreign"]);
                Step::ForeignEdit(object, field, value)
            }
            26..=27 => Step::ForeignStatusEdit(object, value),
            28..=30 => Step::ForeignApply(object, value),
            31..=32 => Step::ForeignDelete(object),
            33..=34 => Step::Recreate(object, value),
            35 => Step::OwnDelete(object),
            36 => Step::LoseAnswer,
            37 => Step::Refuse,
            _ => Step::Restart,
        });
    }
    steps
}

/// A running operator.
struct Operator {
    informers: SharedInformerFactory,
    gadgets: Lister<Gadget>,
    client: TypedClient<Gadget, (Apply, ApplyStatus, Delete)>,
}

/// An operator, its namespace, and its intent for each object there.
struct World<'c> {
    cluster: &'c Cluster,
    runtime: &'c Runtime,
    name: &'static str,
    skips: bool,
    operator: Operator,
    /// The intent of each object: the fields applied with force, and those applied without.
    intents: Vec<[BTreeMap<&'static str, String>; 2]>,
}

impl<'c> World<'c> {
    fn new(cluster: &'c Cluster, runtime: &'c Runtime, name: &'static str, skips: bool) -> Self {
        cluster.create_namespace(name).expect("a namespace");
        let text = |value: &str| value.to_owned();
        let intent = [
            [("a", text("0")), (NEW_FIELD, text("0"))].into(),
            [("unforced", text("0"))].into(),
        ];
        Self {
            cluster,
            runtime,
            name,
            skips,
            operator: Self::start(cluster, runtime, name, skips),
            intents: vec![intent; OBJECTS],
        }
    }

    fn start(cluster: &Cluster, runtime: &Runtime, name: &str, skips: bool) -> Operator {
        runtime.block_on(async {
            let config = cluster.admin().config().await.expect("a configuration");
            let connection = Connection::connect(config, name)
                .expect("it fits")
                .with_field_manager("op");
            let args = FixedArgs::new(std::iter::empty::<OsString>());
            let mut setup = Setup::new(name, connection, Recorder::pipeline(name).0, args);
            if !skips {
                setup.set_apply_cache_ttl(Duration::ZERO);
            }
            let informers = setup.informers().clone();
            let gadgets = informers.of::<Gadget>().lister();
            let client = setup.client();
            informers.start();
            informers.wait_for_cache_sync().await;
            Operator {
                informers,
                gadgets,
                client,
            }
        })
    }

    fn restart(&mut self) {
        self.runtime.block_on(self.operator.informers.shutdown());
        self.operator = Self::start(self.cluster, self.runtime, self.name, self.skips);
    }

    fn object(&self, object: usize) -> Value {
        new_object("skip.dev/v1", "Gadget", self.name, &format!("g-{object}"))
    }

    fn key(&self, object: usize) -> NamespacedName {
        NamespacedName::namespaced(self.name, format!("g-{object}"))
    }

    fn read(&self, object: usize) -> Option<Value> {
        self.cluster.get(&self.object(object)).expect("asked")
    }

    /// Drives the object towards what the operator wants. What fails is tried again by the next one.
    fn reconcile(&self, object: usize) {
        let [forced, unforced] = &self.intents[object];
        let with = |section: &str, fields: &Value| {
            let mut intent = self.object(object);
            intent[section] = fields.clone();
            intent
        };
        let client = &self.operator.client;
        self.runtime.block_on(async {
            let _ = client.apply(&with("spec", &json!(forced))).await;
            let second = ApplyOptions::new().field_manager("op-2").without_force();
            let _ = client.apply_with(&with("spec", &json!(unforced)), &second).await;
            let _ = client
                .apply_status(&with("status", &json!({"ready": "yes"})))
                .await;
        });
    }

    /// Waits until the cache shows what the API server has.
    fn sync_cache(&self, object: usize) {
        let key = self.key(object);
        eventually("the cache is in sync", SYNC_TIMEOUT, || {
            let served = self
                .read(object)
                .map(|object| object["metadata"]["resourceVersion"].clone());
            let cached = self.operator.gadgets.get(&key).ok();
            let cached = cached.map(|gadget| json!(gadget.metadata.resource_version));
            if served == cached {
                Ok(())
            } else {
                Err(format!("{served:?}, cached {cached:?}"))
            }
        });
    }

    fn settle(&self, object: usize) {
        for _ in 0..4 {
            self.sync_cache(object);
            self.reconcile(object);
        }
        self.sync_cache(object);
    }

    /// Sets a field as another field manager, and creates the object if it is missing.
    fn edit(&self, object: usize, field: &str, value: u8) {
        let change = json!({"spec": {field: format!("foreign-{value}")}});
        let mut edited = self.object(object);
        if self.read(object).is_some() {
            retried(|| self.cluster.merge_patch(&edited, &change));
            return;
        }
        edited["spec"] = change["spec"].clone();
        let path = format!("/apis/skip.dev/v1/namespaces/{}/gadgets", self.name);
        self.cluster
            .request(Method::POST, &path, "application/json", Some(&edited))
            .expect("created");
    }

    fn delete(&self, object: usize) {
        if self.read(object).is_some() {
            self.cluster.delete(&self.object(object)).expect("deleted");
        }
    }

    fn take(&mut self, step: &Step) {
        let patches = RequestMatcher::verb("patch")
            .resource("gadgets")
            .namespace(self.name);
        match *step {
            Step::Reconcile(object) => self.reconcile(object),
            Step::ChangeIntent(object, field, value) => {
                self.settle(object);
                let intent = &mut self.intents[object][usize::from(field == "unforced")];
                match value {
                    Some(value) => intent.insert(field, value.to_string()),
                    None => intent.remove(field),
                };
            }
            Step::ForeignEdit(object, field, value) => self.edit(object, field, value),
            Step::ForeignStatusEdit(object, value) => {
                if self.read(object).is_some() {
                    let status = json!({"ready": format!("foreign-{value}")});
                    retried(|| self.cluster.patch_status(&self.object(object), &status));
                }
            }
            Step::ForeignApply(object, value) => {
                let mut intent = self.object(object);
                intent["spec"] = json!({"a": format!("foreign-{value}"), "foreign": "applied"});
                retried(|| self.cluster.apply(&intent));
            }
            Step::ForeignDelete(object) => self.delete(object),
            Step::Recreate(object, value) => {
                self.delete(object);
                self.edit(object, "a", value);
            }
            Step::OwnDelete(object) => {
                let deletion = self
                    .operator
                    .client
                    .delete(&self.key(object), &DeleteParams::default());
                let _ = self.runtime.block_on(deletion);
            }
            Step::LoseAnswer => {
                self.cluster.faults().once(patches, Fault::DropResponse);
            }
            Step::Refuse => {
                self.cluster
                    .faults()
                    .once(patches, Fault::Respond(Failure::conflict()));
            }
            Step::Restart => self.restart(),
            // Of all worlds at once.
            Step::UpgradeDefinition => {}
        }
    }

    /// What an object is at the end: values, and the fields that the operator owns.
    fn content(&self, object: usize) -> Option<Value> {
        let object = self.read(object)?;
        let managers = object["metadata"]["managedFields"].as_array().expect("managers");
        let own = managers
            .iter()
            .filter(|entry| entry["manager"] == "op" || entry["manager"] == "op-2");
        let owned: BTreeMap<String, &Value> = own
            .map(|entry| {
                let name = format!("{} {}", entry["manager"], entry["subresource"]);
                (name, &entry["fieldsV1"])
            })
            .collect();
        Some(json!({"spec": object["spec"], "status": object["status"], "owned": owned}))
    }
}

fn objects_end_the_same_with_and_without_skipped_applies(cluster: &Cluster) {
    cluster
        .install_crd(&definition(&["a", "b", "unforced", "foreign"]))
        .expect("installed");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut worlds = [
        World::new(cluster, &runtime, "applies-skipped", true),
        World::new(cluster, &runtime, "applies-sent", false),
    ];
    for step in history(18) {
        if matches!(step, Step::UpgradeDefinition) {
            upgrade(cluster, worlds[0].name);
        }
        for world in &mut worlds {
            world.take(&step);
        }
    }
    cluster.faults().clear();
    for object in 0..OBJECTS {
        let [with, without] = worlds.each_ref().map(|world| {
            world.settle(object);
            world.content(object)
        });
        assert_eq!(with, without, "object {object}");
        let content = with.expect("the operator has made it");
        for (field, value) in &worlds[0].intents[object][0] {
            assert_eq!(
                content["spec"][field],
                value.as_str(),
                "{field} of object {object}"
            );
        }
    }
    let audit = cluster.audit().expect("an audit log");
    let [with, without] = worlds.each_ref().map(|world| {
        let sent = audit.by_user_agent(world.name);
        sent.filter(|event| event.verb == "patch").len()
    });
    assert!(
        with < without,
        "{with} patches with skipped applies, {without} without"
    );
    for world in &worlds {
        runtime.block_on(world.operator.informers.shutdown());
    }
}

/// Repeats a write of the test that met a fault.
fn retried<T>(write: impl Fn() -> Result<T, ClusterError>) -> T {
    write()
        .or_else(|_| write())
        .or_else(|_| write())
        .expect("the write is accepted")
}

/// Adds a field to the schema, and waits until it is kept.
fn upgrade(cluster: &Cluster, namespace: &str) {
    let fields = ["a", "b", "unforced", "foreign", NEW_FIELD];
    cluster.apply(&definition(&fields)).expect("upgraded");
    let mut probe = new_object("skip.dev/v1", "Gadget", namespace, "probe");
    eventually("the new field is kept", SYNC_TIMEOUT, || {
        probe["spec"] = json!({NEW_FIELD: "kept"});
        let kept = retried(|| cluster.apply(&probe));
        if kept["spec"][NEW_FIELD] == "kept" {
            Ok(())
        } else {
            Err(kept.to_string())
        }
    });
    cluster.delete(&probe).expect("deleted");
}

fn definition(fields: &[&str]) -> Value {
    let text = json!({"type": "string"});
    let properties: BTreeMap<&str, &Value> = fields.iter().map(|field| (*field, &text)).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.skip.dev"},
        "spec": {
            "group": "skip.dev", "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": properties},
                    "status": {"type": "object", "properties": {"ready": text}},
                }}},
            }],
        },
    })
}
