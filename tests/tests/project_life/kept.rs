//! Objects with a field that only the new version has: it is set once, and from then on clients of the old version write the objects. So what
//! they do not see must be in the annotation, through the rollback as well.

use std::time::Duration;

use serde_json::json;

use crate::{
    load::{ApiVersions, Load, PAUSE},
    object::{NEW, OLD, Object},
    requests::Foos,
};

/// How many such objects there are.
const OBJECTS: usize = 4;

/// The names of the objects.
pub(crate) fn names() -> impl Iterator<Item = String> {
    (0..OBJECTS).map(|number| format!("kept-{number}"))
}

/// Creates an object in the new version, and writes it in the old one as long as others do, too. Any refusal is a panic.
pub(crate) async fn write(foos: Foos, load: &Load, name: String) {
    let mut object = Object::new(&name, "web");
    object.spec["note"] = json!(format!("note of {name}"));
    object.labels = json!({"demo.dev/kept": "yes"});
    object.annotations = json!({"demo.dev/owner": "Ann"});
    let versions = load.versions.read().await;
    foos.apply_new(NEW, &mut object, "keeper").await;
    load.record(&object);
    drop(versions);
    let mut writes = 1_u64;
    while !load.is_over() {
        let versions = load.versions.read().await;
        if *versions == ApiVersions::New {
            drop(versions);
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let before = object.clone();
        let change = object.change(OLD, writes, None);
        if writes.is_multiple_of(2) {
            foos.patch(OLD, &object, &change).await;
        } else {
            foos.replace(OLD, &before, &object).await;
        }
        load.record(&object);
        drop(versions);
        writes += 1;
        tokio::time::sleep(PAUSE).await;
    }
    assert!(writes > 5, "{name} was written {writes} times");
}
