//! Property tests: no value is lost, and edits win, over random objects of the schemas of three versions.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{convert, converters, kinds};
use crate::{
    CustomKind,
    conversion::{Converters, schema_at::equal},
    random_values::Random,
};

/// The versions, and their schemas, made once.
pub(super) static CONVERTERS: LazyLock<Converters> = LazyLock::new(converters);
pub(super) static SCHEMAS: LazyLock<[Value; 3]> = LazyLock::new(|| {
    [
        schema::<kinds::v1::Foo>(),
        schema::<kinds::v1alpha1::Foo>(),
        schema::<kinds::v1beta1::Foo>(),
    ]
});

pub(super) const VERSIONS: [&str; 3] = ["v1", "v1alpha1", "v1beta1"];

fn schema<K: CustomKind>() -> Value {
    let definition = K::definition();
    let schema = definition.spec.versions[0].schema.clone().unwrap();
    serde_json::to_value(schema.open_api_v3_schema).unwrap()
}

/// A random object of a version that the others can convert.
pub(super) fn object(version: &str, random: &mut Random) -> Value {
    let at = VERSIONS.iter().position(|known| *known == version).unwrap();
    let mut object = random.value(&SCHEMAS[at]);
    // The API server prunes these, and `value` adds unknown fields.
    object.as_object_mut().unwrap().remove("unknown");
    object["apiVersion"] = json!(format!("demo.dev/{version}"));
    object["kind"] = json!("Foo");
    object["metadata"] = json!({"name": "first", "labels": {"a": "b"}, "generation": 3});
    if random.one_in(2) {
        object["metadata"]["annotations"] = json!({"other": "text"});
    }
    let spec = &mut object["spec"];
    if spec.get("limit").is_some() {
        spec["limit"] = json!(["0", "7", "007"][random.below(3)]);
    }
    object
}

/// The object without annotations.
fn without_annotations(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    metadata.as_object_mut().unwrap().remove("annotations");
    metadata
}

fn assert_equal(one: &Value, other: &Value, what: &str) {
    assert!(equal(one, other), "{what}:\n{one:#}\nis not\n{other:#}");
}

/// Replaces some fields of the object's spec by those of another object, and reorders and removes elements of lists.
fn edit(object: &mut Value, other: &Value, random: &mut Random) {
    for part in ["spec", "status"] {
        let Some(fields) = object.get_mut(part).and_then(Value::as_object_mut) else {
            continue;
        };
        for (name, value) in fields.iter_mut() {
            match (value, random.below(6)) {
                (value, 0) if other[part].get(name).is_some() => *value = other[part][name].clone(),
                (Value::Array(elements), 1) => random.shuffle(elements),
                (Value::Array(elements), 2) if !elements.is_empty() => {
                    elements.remove(random.below(elements.len()));
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #[test]
    fn object_converted_there_and_back_is_equal(seed: u64, from in 0..3_usize, to in 0..3_usize) {
        let mut random = Random::new(seed).with_unknown_fields();
        let original = object(VERSIONS[from], &mut random);
        let there = convert(&CONVERTERS, &original, VERSIONS[to]);
        assert_equal(&without_annotations(&original), &without_annotations(&there), "metadata");
        prop_assert_eq!(&original["metadata"]["annotations"]["other"], &there["metadata"]["annotations"]["other"]);
        let back = convert(&CONVERTERS, &there, VERSIONS[from]);
        assert_equal(&original, &back, &format!("through {there:#}"));
    }

    #[test]
    fn edits_in_a_version_are_never_undone(seed: u64, from in 0..3_usize, to in 0..3_usize) {
        let mut random = Random::new(seed).with_unknown_fields();
        let original = object(VERSIONS[from], &mut random);
        let mut edited = convert(&CONVERTERS, &original, VERSIONS[to]);
        edit(&mut edited, &object(VERSIONS[to], &mut random), &mut random);
        let back = convert(&CONVERTERS, &edited, VERSIONS[from]);
        let seen = convert(&CONVERTERS, &back, VERSIONS[to]);
        assert_equal(&edited["spec"], &seen["spec"], &format!("through {back:#}"));
        assert_equal(&edited["status"], &seen["status"], &format!("through {back:#}"));
    }

    #[test]
    fn edits_of_other_fields_lose_nothing(seed: u64) {
        let mut random = Random::new(seed).with_unknown_fields();
        let original = object("v1", &mut random);
        let mut edited = convert(&CONVERTERS, &original, "v1alpha1");
        edited["spec"]["name"] = json!("edited");
        let back = convert(&CONVERTERS, &edited, "v1");
        let mut expected = original;
        expected["spec"]["name"] = json!("edited");
        assert_equal(&expected, &back, "all but the name");
    }

    #[test]
    fn values_stay_with_their_element(seed: u64) {
        let mut random = Random::new(seed).with_unknown_fields();
        let original = object("v1", &mut random);
        let mut edited = convert(&CONVERTERS, &original, "v1alpha1");
        if let Some(Value::Array(ports)) = edited["spec"].get_mut("ports") {
            random.shuffle(ports);
            ports.truncate(random.below(4));
        }
        let back = convert(&CONVERTERS, &edited, "v1");
        let elements = |object: &Value| object["spec"]["ports"].as_array().cloned().unwrap_or_default();
        let kept = elements(&edited);
        prop_assert_eq!(kept.len(), elements(&back).len());
        for (port, kept) in elements(&back).iter().zip(kept) {
            prop_assert_eq!(&port["number"], &kept["number"]);
            let before = elements(&original);
            let before = before.iter().find(|before| before["number"] == port["number"]).unwrap();
            assert_equal(before, port, "port");
        }
    }

    /// Annotations can be written by any client: those of other objects, and nonsense.
    #[test]
    fn foreign_annotations_never_prevent_a_conversion(seed: u64, text in ".{0,40}") {
        let mut random = Random::new(seed).with_unknown_fields();
        let one = convert(&CONVERTERS, &object("v1", &mut random), "v1alpha1");
        let mut other = convert(&CONVERTERS, &object("v1", &mut random), "v1alpha1");
        let key = "conversion.kubewright.dev/v1";
        let foreign = &one["metadata"]["annotations"][key];
        other["metadata"]["annotations"][key] = foreign.as_str().map_or(json!(text), |text| json!(text));
        let back = convert(&CONVERTERS, &other, "v1");
        prop_assert!(back["metadata"]["annotations"].get(key).is_none());
        let seen = convert(&CONVERTERS, &back, "v1alpha1");
        assert_equal(&without_annotations(&other), &without_annotations(&seen), "metadata");
    }
}
