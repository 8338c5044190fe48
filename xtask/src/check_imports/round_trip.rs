//! The imported structs keep what the definitions accept.

use kubewright::{Kind, unstable::Random};
use kubewright_testkit::Cluster;
use serde::Serialize;
use serde_json::{Value, json};

const RANDOM_OBJECTS: u64 = 40;

struct Kinds {
    cluster: Cluster,
    definitions: Vec<Value>,
    samples: Vec<Value>,
    /// How many samples were accepted, and how many random objects.
    accepted: (usize, usize),
}

impl Kinds {
    fn check<K: Kind + Serialize>(&mut self) {
        let info = K::info();
        let is_definition = |crd: &&Value| crd["metadata"]["name"] == info.group_resource();
        let definition = self.definitions.iter().find(is_definition).expect("its definition");
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let version = versions.iter().find(|version| version["name"] == *info.version).unwrap();
        let is_sample = |object: &&Value| object["apiVersion"] == info.api_version() && object["kind"] == *info.kind;
        let mut samples = 0;
        for sample in self.samples.iter().filter(is_sample) {
            match self.stored(definition, &info.version, sample) {
                Ok(stored) => {
                    keeps::<K>(&stored);
                    samples += 1;
                }
                Err(reason) => println!("refused: {} {}: {reason}", info.kind, sample["metadata"]["name"]),
            }
        }
        for seed in 0..RANDOM_OBJECTS {
            let mut object = Random::new(seed).value(&version["schema"]["openAPIV3Schema"]);
            object["apiVersion"] = json!(info.api_version());
            object["kind"] = json!(info.kind);
            object["metadata"] = json!({"name": "random"});
            keeps::<K>(&object);
            self.accepted.1 += 1;
        }
        println!("{} {}: {samples} samples", info.api_version(), info.kind);
        self.accepted.0 += samples;
    }

    /// Returns a sample as the API server would store it. It refuses one that is invalid or has unknown fields.
    fn stored(&self, definition: &Value, version: &str, sample: &Value) -> Result<Value, String> {
        let spec = &definition["spec"];
        let namespace = if spec["scope"] == "Namespaced" { "namespaces/default/" } else { "" };
        let path = format!(
            "/apis/{}/{version}/{namespace}{}?dryRun=All&fieldValidation=Strict",
            spec["group"].as_str().unwrap(),
            spec["names"]["plural"].as_str().unwrap()
        );
        let mut object = sample.clone();
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let metadata = metadata.ok_or("it has no metadata")?;
        metadata.remove("namespace");
        // Owners need not exist here.
        metadata.remove("ownerReferences");
        let stored = self.cluster.request("POST".parse().unwrap(), &path, "application/json", Some(&object));
        stored.map_err(|error| error.to_string())
    }
}

/// Decodes and encodes an object, and compares them.
fn keeps<K: Kind + Serialize>(object: &Value) {
    let decoded: K = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object:#}"));
    assert_eq!(serde_json::to_value(&decoded).unwrap(), *object);
}

fn read(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn all_accepted_objects_are_kept() {
    let mut kinds = Kinds {
        cluster: Cluster::embedded().unwrap(),
        definitions: read("definitions.json"),
        samples: read("samples.json"),
        accepted: (0, 0),
    };
    for definition in &kinds.definitions {
        kinds.cluster.install_crd(definition).unwrap();
    }
    // The kinds.
    let (samples, random) = kinds.accepted;
    let accepted = format!("{samples} of {}", kinds.samples.len());
    println!("{accepted} samples, {random} random objects");
    assert!(random > 0);
    std::fs::write(format!("{}/accepted.txt", env!("CARGO_MANIFEST_DIR")), accepted).unwrap();
}
