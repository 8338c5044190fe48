//! `labels`, `replicas` and `images` of a kustomization.

use serde_json::{Value, json};

use super::{
    build::{Kustomization, ManifestObject},
    image::Image,
    patches::check_fields,
};
use crate::error::PackageError;

/// Changes the objects, in kustomize's order.
pub(super) fn apply(list: &Kustomization, objects: &mut [ManifestObject]) -> Result<(), PackageError> {
    for (place, entry) in list.items("labels") {
        check_fields(list, &place, entry, &["pairs", "includeTemplates"])?;
        for object in &mut *objects {
            set_labels(&mut object.document.value, "/metadata", &entry["pairs"]);
            if entry["includeTemplates"] == true {
                set_labels(
                    &mut object.document.value,
                    "/spec/template/metadata",
                    &entry["pairs"],
                );
            }
        }
    }
    for (place, entry) in list.items("replicas") {
        check_fields(list, &place, entry, &["name", "count"])?;
        let scaled = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];
        let mut targets = objects
            .iter_mut()
            .filter(|object| scaled.contains(&object.kind()) && entry["name"] == object.name())
            .peekable();
        if targets.peek().is_none() {
            let fix = format!("no Deployment or StatefulSet is called {}", entry["name"]);
            return Err(list.error(&place, fix));
        }
        for spec in targets.filter_map(|object| object.document.value["spec"].as_object_mut()) {
            spec.insert("replicas".to_owned(), entry["count"].clone());
        }
    }
    for (place, entry) in list.items("images") {
        check_fields(list, &place, entry, &["name", "newName", "newTag", "digest"])?;
        for object in objects
            .iter_mut()
            .filter(|object| object.kind() != "CustomResourceDefinition")
        {
            set_images(&mut object.document.value, entry);
        }
    }
    Ok(())
}

/// Sets labels in the metadata at a pointer, if the object has them.
fn set_labels(object: &mut Value, pointer: &str, pairs: &Value) {
    let Some(metadata) = object.pointer_mut(pointer).and_then(Value::as_object_mut) else {
        return;
    };
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if let (Some(labels), Some(pairs)) = (labels.as_object_mut(), pairs.as_object()) {
        labels.extend(pairs.clone());
    }
}

/// Replaces the images of this name in all containers of a value.
fn set_images(value: &mut Value, entry: &Value) {
    match value {
        Value::Object(fields) => {
            for (key, below) in fields {
                if let ("containers" | "initContainers", Some(containers)) =
                    (key.as_str(), below.as_array_mut())
                {
                    for image in containers
                        .iter_mut()
                        .filter_map(|container| container.get_mut("image"))
                    {
                        set_image(image, entry);
                    }
                }
                set_images(below, entry);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| set_images(item, entry)),
        _ => {}
    }
}

fn set_image(value: &mut Value, entry: &Value) {
    let mut image = Image::parse(value.as_str().unwrap_or_default());
    if entry["name"] != *image.name {
        return;
    }
    let text = |key: &str| {
        entry[key]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let (tag, digest) = (text("newTag"), text("digest"));
    if let Some(name) = text("newName") {
        image.name = name;
    }
    if tag.is_some() || digest.is_some() {
        (image.tag, image.digest) = (tag, digest);
    }
    *value = image.to_string().into();
}
