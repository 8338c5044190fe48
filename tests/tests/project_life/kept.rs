//! Objects with a field that only the new version has: it is set once, and from then on clients of the old version write the objects. So what
//! they do not see must be in the annotation, through the rollback as well.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::load::{ApiVersions, Load, PAUSE, apis};

/// How many such objects there are.
const OBJECTS: usize = 4;

/// An object as it must be in the end.
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) writes: u64,
    pub(crate) spec: Value,
    pub(crate) labels: Value,
    pub(crate) annotations: Value,
}

/// The names of the objects.
pub(crate) fn names() -> impl Iterator<Item = String> {
    (0..OBJECTS).map(|number| format!("kept-{number}"))
}

/// Creates an object in the new version, and writes it in the old one as long as others do, too. Any refusal is a panic.
pub(crate) async fn write(client: kube::Client, load: &Load, name: String) -> Kept {
    let (old, new) = apis(&client);
    let mut spec = json!({"app": "web", "instance": name, "size": 0, "note": format!("note of {name}")});
    let (labels, annotations) = (json!({"demo.dev/kept": "yes"}), json!({"demo.dev/owner": "Ann"}));
    let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
    let object = json!({"apiVersion": "demo.dev/v1", "kind": "Foo", "metadata": metadata, "spec": spec});
    let created = new
        .patch(&name, &PatchParams::apply("keeper"), &Patch::Apply(&object))
        .await;
    created.unwrap_or_else(|error| panic!("{name} is not created: {error}"));
    let mut writes = 1;
    while !load.is_over() {
        let write = load.begin_old_write();
        if load.is_paused() || load.versions() == ApiVersions::New {
            drop(write);
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let size = writes % 10;
        let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
        let written = old.patch(&name, &PatchParams::default(), &patch).await;
        let written = written.unwrap_or_else(|error| panic!("write {writes} of {name} is refused: {error}"));
        drop(write);
        let expected = json!({"deploymentName": format!("web-{name}"), "replicas": size});
        assert_eq!(written.data["spec"], expected, "write {writes} of {name}");
        spec["size"] = json!(size);
        writes += 1;
        tokio::time::sleep(PAUSE).await;
    }
    Kept {
        name,
        writes,
        spec,
        labels,
        annotations,
    }
}
