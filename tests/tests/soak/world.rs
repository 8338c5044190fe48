//! The objects, and the writers who create, change and delete them through a connection that nobody cuts.

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
/// Values of the label `bucket`, which every object has.
pub const BUCKETS: u32 = 10;

/// The definition of the custom kind.
pub const WIDGETS: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.demo.dev"}, "spec": {"group": "demo.dev", "scope": "Namespaced",
    "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"}, "versions": [{"name": "v1",
    "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
    "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}}}}}]}}"#;

/// What is written. Seven of ten names are taken at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    ConfigMap,
    Secret,
    Widget,
}

impl Sort {
    pub const ALL: [Self; 3] = [Self::ConfigMap, Self::Secret, Self::Widget];

    /// How many names there are in each namespace.
    pub fn names(self) -> u32 {
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

/// What a writer put into an object, whatever its kind.
pub trait Content: kube::ResourceExt {
    /// An entry of `data`.
    fn entry(&self, key: &str) -> Option<String>;

    /// Makes of what was listed what the informer is sent.
    fn as_sent(_listed: &mut Value) {}

    /// Whether the object is whole: what stands in it is what one writer wrote at once. Those of the API server itself
    /// are not ours.
    fn check(&self) -> Result<(), String> {
        let name = self.name_any();
        if self.namespace().as_deref() == Some("kube-system") {
            return Ok(());
        }
        let entry = |key| {
            self.entry(key)
                .ok_or_else(|| format!("{name} has no entry {key:?}"))
        };
        let (text, digest, bucket) = (entry("text")?, entry("digest")?, entry("bucket")?);
        if digest_of(&text) != digest {
            return Err(format!("the text of {name} is not that of its digest"));
        }
        if self.labels().get("bucket") != Some(&bucket) {
            return Err(format!("the labels of {name} are not of its data"));
        }
        Ok(())
    }
}

impl Content for ConfigMap {
    fn entry(&self, key: &str) -> Option<String> {
        self.data.as_ref()?.get(key).cloned()
    }
}

impl Content for Secret {
    fn entry(&self, key: &str) -> Option<String> {
        String::from_utf8(self.data.as_ref()?.get(key)?.0.clone()).ok()
    }
}

/// Only metadata is sent: of the data, the bucket stands there, too.
impl Content for PartialObjectMeta<ConfigMap> {
    fn entry(&self, key: &str) -> Option<String> {
        ResourceExt::labels(self).get(key).cloned()
    }

    fn as_sent(listed: &mut Value) {
        *listed = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": listed["metadata"],
        });
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl Content for DynamicObject {
    fn entry(&self, key: &str) -> Option<String> {
        self.data["data"][key].as_str().map(str::to_owned)
    }
}

fn digest_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// All objects.
pub type Served = HashMap<Sort, Vec<DynamicObject>>;

/// What the writers did.
#[derive(Debug, Default)]
pub struct Tally {
    pub created: AtomicU64,
    pub updated: AtomicU64,
    pub deleted: AtomicU64,
    pub recreated: AtomicU64,
    /// Bytes of text that were sent.
    pub bytes: AtomicU64,
    /// Requests that failed, most of them because the API server was away.
    pub failed: AtomicU64,
}

/// What the writers share.
pub struct World {
    pub client: Client,
    pub seed: u64,
    pub tally: Tally,
    pub stop: AtomicBool,
    /// A writer holds it for a write; who holds it alone has the objects to themselves.
    pub calm: RwLock<()>,
    /// As far as the writers know.
    alive: Mutex<HashSet<(Sort, &'static str, u32)>>,
}

impl World {
    pub fn new(client: Client, seed: u64) -> Self {
        Self {
            client,
            seed,
            tally: Tally::default(),
            stop: AtomicBool::new(false),
            calm: RwLock::default(),
            alive: Mutex::default(),
        }
    }

    /// Tries each name of a namespace once: as many objects are created as there are to be at any time.
    pub async fn fill(&self, namespace: &'static str) {
        let mut rng = StdRng::seed_from_u64(self.seed);
        for sort in Sort::ALL {
            for number in 0..sort.names() {
                let created = self.change(&mut rng, (sort, namespace, number)).await;
                created.expect("an object that nobody else knows");
            }
        }
    }

    /// Writes until it is told to stop. Writers do not know of each other: they meet at the same objects.
    pub async fn write(&self, writer: u64) {
        let mut rng = StdRng::seed_from_u64(self.seed.wrapping_add(writer));
        while !self.stop.load(Ordering::Relaxed) {
            let sort = Sort::ALL[[0, 0, 0, 0, 1, 2][rng.random_range(0..6)]];
            let namespace = NAMESPACES[rng.random_range(0..NAMESPACES.len())];
            let number = rng.random_range(0..sort.names());
            let changed = {
                let _writing = self.calm.read().await;
                self.change(&mut rng, (sort, namespace, number)).await
            };
            if let Err(error) = changed {
                // Another writer was faster, or the API server is away.
                if !matches!(&error, Error::Api(status) if [404, 409].contains(&status.code)) {
                    self.tally.failed.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..25))).await;
        }
    }

    async fn change(&self, rng: &mut StdRng, object: (Sort, &'static str, u32)) -> Result<(), Error> {
        let (sort, namespace, number) = object;
        let api = sort.api(&self.client, namespace);
        let name = format!("object-{number}");
        let alive = self.alive.lock().expect("nobody panicked").contains(&object);
        let tally = &self.tally;
        let outcome = match rng.random_range(0..10) {
            0..3 if alive => self.delete(&api, &name).await.map(|()| &tally.deleted),
            3 if alive => {
                let _ = self.delete(&api, &name).await;
                self.create(rng, &api, sort, &name)
                    .await
                    .map(|()| &tally.recreated)
            }
            4.. if alive => {
                let patch = Patch::Merge(self.body(rng, sort, &name));
                let patched = api.patch(&name, &PatchParams::default(), &patch).await;
                patched.map(|_| &tally.updated)
            }
            3.. => self.create(rng, &api, sort, &name).await.map(|()| &tally.created),
            _ => return Ok(()),
        };
        let counter = outcome.inspect_err(|error| {
            if let Error::Api(status) = error {
                self.know(object, status.code != 404);
            }
        })?;
        self.know(object, !std::ptr::eq(counter, &raw const tally.deleted));
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn know(&self, object: (Sort, &'static str, u32), alive: bool) {
        let mut known = self.alive.lock().expect("nobody panicked");
        if alive {
            known.insert(object);
        } else {
            known.remove(&object);
        }
    }

    async fn create(
        &self,
        rng: &mut StdRng,
        api: &Api<DynamicObject>,
        sort: Sort,
        name: &str,
    ) -> Result<(), Error> {
        let mut body = self.body(rng, sort, name);
        // In a patch null removes the label.
        let labels = body["metadata"]["labels"].as_object_mut();
        labels.expect("labels").retain(|_, value| !value.is_null());
        let object = serde_json::from_value(body).map_err(Error::SerdeError)?;
        api.create(&PostParams::default(), &object).await.map(drop)
    }

    async fn delete(&self, api: &Api<DynamicObject>, name: &str) -> Result<(), Error> {
        api.delete(name, &DeleteParams::default()).await.map(drop)
    }

    /// Texts are of 100 B to 20 KB, short ones more often than long ones, and have words in common, as real ones do.
    fn body(&self, rng: &mut StdRng, sort: Sort, name: &str) -> Value {
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
        self.tally.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        let bucket = rng.random_range(0..BUCKETS).to_string();
        let tier = TIERS[rng.random_range(0..TIERS.len())];
        let resource = sort.resource();
        let data = if sort == Sort::Secret {
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

    /// What the API server has now.
    pub async fn list(&self) -> Result<Served, Error> {
        let mut served = Served::new();
        for sort in Sort::ALL {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &sort.resource());
            served.insert(sort, api.list(&ListParams::default()).await?.items);
        }
        Ok(served)
    }
}
