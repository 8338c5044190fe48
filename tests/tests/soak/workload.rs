//! The objects, and the writers that create, update and delete them over connections that are not disrupted.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Error, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{GroupVersionKind, PartialObjectMeta},
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::sync::RwLock;

pub const NAMESPACES: [&str; 4] = ["soak-a", "soak-b", "soak-c", "soak-d"];
pub const TIERS: [Option<&str>; 3] = [Some("web"), Some("db"), None];
/// The number of values of the label `bucket`, which every object has.
pub const BUCKETS: u32 = 10;

/// The CRD of the custom kind.
pub const WIDGET_CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.demo.dev"}, "spec": {"group": "demo.dev", "scope": "Namespaced",
    "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"}, "versions": [{"name": "v1",
    "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
    "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}}}}}]}}"#;

/// The kinds of written objects. At any time about seven of ten names exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    ConfigMap,
    Secret,
    Widget,
}

impl ResourceKind {
    pub const ALL: [Self; 3] = [Self::ConfigMap, Self::Secret, Self::Widget];

    /// Returns the number of names per namespace.
    pub fn name_count(self) -> u32 {
        match self {
            Self::ConfigMap => 360,
            Self::Secret | Self::Widget => 60,
        }
    }

    pub fn resource(self) -> ApiResource {
        let (group, kind, plural) = match self {
            Self::ConfigMap => ("", "ConfigMap", "configmaps"),
            Self::Secret => ("", "Secret", "secrets"),
            Self::Widget => ("demo.dev", "Widget", "widgets"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
    }

    fn api(self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), namespace, &self.resource())
    }
}

/// Access to the data that writers put into an object, for every kind.
pub trait TestData: kube::ResourceExt {
    /// Returns an entry of `data`.
    fn entry(&self, key: &str) -> Option<String>;

    /// Converts a listed object to the form that the informer receives.
    fn to_received_form(_listed: &mut Value) {}

    /// Checks that the object's text, digest and labels come from a single write. Objects in `kube-system`, which the API server writes,
    /// are not checked.
    fn check(&self) -> Result<(), String> {
        let name = self.name_any();
        if self.namespace().as_deref() == Some("kube-system") {
            return Ok(());
        }
        let entry = |key| {
            self.entry(key)
                .ok_or_else(|| format!("{name} has no data entry {key:?}"))
        };
        let (text, digest, bucket) = (entry("text")?, entry("digest")?, entry("bucket")?);
        if digest_of(&text) != digest {
            return Err(format!("the text of {name} does not match its digest"));
        }
        if self.labels().get("bucket") != Some(&bucket) {
            return Err(format!("the labels of {name} do not match its data"));
        }
        Ok(())
    }
}

impl TestData for ConfigMap {
    fn entry(&self, key: &str) -> Option<String> {
        self.data.as_ref()?.get(key).cloned()
    }
}

impl TestData for Secret {
    fn entry(&self, key: &str) -> Option<String> {
        String::from_utf8(self.data.as_ref()?.get(key)?.0.clone()).ok()
    }
}

/// The informer receives metadata only. The bucket is available as a label, too.
impl TestData for PartialObjectMeta<ConfigMap> {
    fn entry(&self, key: &str) -> Option<String> {
        ResourceExt::labels(self).get(key).cloned()
    }

    fn to_received_form(listed: &mut Value) {
        *listed = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": listed["metadata"],
        });
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl TestData for DynamicObject {
    fn entry(&self, key: &str) -> Option<String> {
        self.data["data"][key].as_str().map(str::to_owned)
    }
}

fn digest_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// All objects of the API server, by kind.
pub type ServerObjects = HashMap<ResourceKind, Vec<DynamicObject>>;

/// Counts of the writers' requests.
#[derive(Debug, Default)]
pub struct WriteCounts {
    pub created: AtomicU64,
    pub updated: AtomicU64,
    pub deleted: AtomicU64,
    pub recreated: AtomicU64,
    /// Bytes of text that were written.
    pub bytes: AtomicU64,
    /// Failed requests, most of them during an outage of the API server.
    pub failed: AtomicU64,
}

/// The state that all writers share.
pub struct Workload {
    pub client: Client,
    pub seed: u64,
    pub counts: WriteCounts,
    pub stop: AtomicBool,
    /// Read-locked by a writer during each write. The write lock stops all writers.
    pub write_barrier: RwLock<()>,
    /// The objects that exist according to the writers' own requests.
    existing: Mutex<HashSet<(ResourceKind, &'static str, u32)>>,
}

impl Workload {
    pub fn new(client: Client, seed: u64) -> Self {
        Self {
            client,
            seed,
            counts: WriteCounts::default(),
            stop: AtomicBool::new(false),
            write_barrier: RwLock::default(),
            existing: Mutex::default(),
        }
    }

    /// Writes to each name of a namespace once, which creates about as many objects as exist at any later time.
    pub async fn fill(&self, namespace: &'static str) {
        let mut rng = StdRng::seed_from_u64(self.seed);
        for kind in ResourceKind::ALL {
            for number in 0..kind.name_count() {
                let created = self.write_object(&mut rng, (kind, namespace, number)).await;
                created.expect("no other writer uses the name");
            }
        }
    }

    /// Writes until `stop` is set. Writers do not coordinate, so several may write the same object.
    pub async fn run_writer(&self, writer: u64) {
        let mut rng = StdRng::seed_from_u64(self.seed.wrapping_add(writer));
        while !self.stop.load(Ordering::Relaxed) {
            let kind = ResourceKind::ALL[[0, 0, 0, 0, 1, 2][rng.random_range(0..6)]];
            let namespace = NAMESPACES[rng.random_range(0..NAMESPACES.len())];
            let number = rng.random_range(0..kind.name_count());
            let changed = {
                let _writing = self.write_barrier.read().await;
                self.write_object(&mut rng, (kind, namespace, number)).await
            };
            if let Err(error) = changed {
                // 404 and 409: another writer was faster. Other errors: the API server is unavailable.
                if !matches!(&error, Error::Api(status) if [404, 409].contains(&status.code)) {
                    self.counts.failed.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..25))).await;
        }
    }

    async fn write_object(
        &self,
        rng: &mut StdRng,
        object: (ResourceKind, &'static str, u32),
    ) -> Result<(), Error> {
        let (kind, namespace, number) = object;
        let api = kind.api(&self.client, namespace);
        let name = format!("object-{number}");
        let existing = self
            .existing
            .lock()
            .expect("the lock is not poisoned")
            .contains(&object);
        let counts = &self.counts;
        let outcome = match rng.random_range(0..10) {
            0..3 if existing => self.delete(&api, &name).await.map(|()| &counts.deleted),
            3 if existing => {
                let _ = self.delete(&api, &name).await;
                self.create(rng, &api, kind, &name)
                    .await
                    .map(|()| &counts.recreated)
            }
            4.. if existing => {
                let patch = Patch::Merge(self.body(rng, kind, &name));
                let patched = api.patch(&name, &PatchParams::default(), &patch).await;
                patched.map(|_| &counts.updated)
            }
            3.. => self
                .create(rng, &api, kind, &name)
                .await
                .map(|()| &counts.created),
            _ => return Ok(()),
        };
        let counter = outcome.inspect_err(|error| {
            if let Error::Api(status) = error {
                self.set_existing(object, status.code != 404);
            }
        })?;
        self.set_existing(object, !std::ptr::eq(counter, &raw const counts.deleted));
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn set_existing(&self, object: (ResourceKind, &'static str, u32), existing: bool) {
        let mut known = self.existing.lock().expect("the lock is not poisoned");
        if existing {
            known.insert(object);
        } else {
            known.remove(&object);
        }
    }

    async fn create(
        &self,
        rng: &mut StdRng,
        api: &Api<DynamicObject>,
        kind: ResourceKind,
        name: &str,
    ) -> Result<(), Error> {
        let mut body = self.body(rng, kind, name);
        // In a patch null removes the label; a created object must not contain it.
        let labels = body["metadata"]["labels"].as_object_mut();
        labels.expect("labels").retain(|_, value| !value.is_null());
        let object = serde_json::from_value(body).map_err(Error::SerdeError)?;
        api.create(&PostParams::default(), &object).await.map(drop)
    }

    async fn delete(&self, api: &Api<DynamicObject>, name: &str) -> Result<(), Error> {
        api.delete(name, &DeleteParams::default()).await.map(drop)
    }

    /// Returns an object or patch with random text of 100 B to 20 KB. Short texts are more frequent, and texts share words, as real data does.
    fn body(&self, rng: &mut StdRng, kind: ResourceKind, name: &str) -> Value {
        let length = (100.0 * 200.0_f64.powf(rng.random_range(0.0..1.0))) as usize;
        let mut text = String::with_capacity(length + 32);
        while text.len() < length {
            match rng.random_range(0..8) {
                0 => text.extend((0..8).map(|_| char::from(rng.random_range(b'a'..=b'z')))),
                1 => text.push_str("  retries: \"3\"\n"),
                word => text.push_str(
                    [
                        "server=",
                        "timeout: ",
                        "/var/lib/",
                        "Größe ",
                        "true ",
                        "level=info ",
                    ][word - 2],
                ),
            }
        }
        self.counts.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        let bucket = rng.random_range(0..BUCKETS).to_string();
        let tier = TIERS[rng.random_range(0..TIERS.len())];
        let resource = kind.resource();
        let data = if kind == ResourceKind::Secret {
            "stringData"
        } else {
            "data"
        };
        json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {"name": name, "labels": {"bucket": bucket, "tier": tier}},
            data: {"digest": digest_of(&text), "text": text, "bucket": bucket},
        })
    }

    /// Lists all objects that the API server has now.
    pub async fn list(&self) -> Result<ServerObjects, Error> {
        let mut served = ServerObjects::new();
        for kind in ResourceKind::ALL {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind.resource());
            served.insert(kind, api.list(&ListParams::default()).await?.items);
        }
        Ok(served)
    }
}
