//! Objects that lack required fields, as the API server converts them in server-side apply.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    annotation, convert, converters, hub,
    lossless::{CONVERTERS, SCHEMAS, VERSIONS, object},
};
use crate::{
    conversion::schema_at::{SchemaAt, equal},
    random_values::Random,
};

fn remove(object: &mut Value, fields: &[&str]) {
    for field in fields {
        object["spec"].as_object_mut().unwrap().remove(*field).unwrap();
    }
}

#[test]
fn fields_that_depend_on_absent_ones_are_left_out() {
    let converters = converters();
    let full = hub(json!({"note": "kept", "users": [{"name": "b", "mail": "c"}]}));
    let complete = convert(&converters, &full, "v1alpha1");
    for (absent, missing) in [
        (&["name"][..], &["name"][..]),
        (&["maxSize", "color"], &["limit", "color"]),
        // The address is made of both.
        (&["port"], &["address"]),
        (&["target", "ratio"], &["target", "ratio"]),
    ] {
        let mut partial = full.clone();
        remove(&mut partial, absent);
        let mut expected = complete["spec"].clone();
        for field in missing {
            expected.as_object_mut().unwrap().remove(*field).unwrap();
        }
        let converted = convert(&converters, &partial, "v1alpha1");
        assert_eq!(converted["spec"], expected, "{absent:?}");
        // What the version cannot hold is kept as always.
        let lost = annotation(&converted, "v1").to_string();
        assert!(lost.contains("mail"), "{lost}");
    }
}

#[test]
fn elements_of_lists_keep_the_fields_that_they_have() {
    let converters = converters();
    let mut partial = hub(json!({"ports": [{"number": 1}, {"number": 2, "protocol": "UDP"}]}));
    let conditions = json!([{"type": "Ready"}, {"type": "Synced", "status": "True", "message": "done"}]);
    partial["status"] = json!({"conditions": conditions});
    let converted = convert(&converters, &partial, "v1alpha1");
    assert_eq!(converted["status"], json!({"conditions": conditions}));
    assert_eq!(converted["spec"]["ports"], json!([{"number": 1}, {"number": 2}]));
    let back = convert(&converters, &converted, "v1");
    assert_eq!(back["status"], json!({"conditions": conditions}));
    assert_eq!(back["spec"]["ports"], partial["spec"]["ports"]);
}

#[test]
fn object_without_its_spec_gets_none() {
    let mut partial = hub(json!({}));
    partial.as_object_mut().unwrap().remove("spec");
    partial["status"] = json!({"phase": "Ready"});
    let converted = convert(&converters(), &partial, "v1alpha1");
    assert_eq!(converted.get("spec"), None);
    assert_eq!(converted["status"]["phase"], "Ready");
}

#[test]
fn variant_of_an_enum_without_its_fields_keeps_its_tag() {
    for (place, expected) in [
        (json!({"type": "zone"}), json!({"type": "zone"})),
        (json!({"type": "region", "rack": "r"}), json!({"type": "area"})),
        // The tag is unknown, and so is the result.
        (json!({"name": "n"}), json!({"name": "n"})),
    ] {
        let partial = hub(json!({"place": place}));
        let converted = convert(&converters(), &partial, "v1alpha1");
        assert_eq!(converted["spec"]["place"], expected);
        let back = convert(&converters(), &converted, "v1");
        assert_eq!(back["spec"]["place"], place);
    }
}

/// The function takes 80 if the address has no port: neither may be made up.
#[test]
fn functions_of_absent_fields_give_nothing() {
    let old = convert(&converters(), &hub(json!({})), "v1alpha1");
    let mut partial = old;
    remove(&mut partial, &["address"]);
    partial["metadata"].as_object_mut().unwrap().remove("annotations");
    let converted = convert(&converters(), &partial, "v1");
    assert_eq!(converted["spec"].get("port"), None);
    assert_eq!(converted["spec"].get("host"), None);
}

/// Half of what an address is made of.
#[test]
fn value_without_an_equivalent_is_kept_in_the_annotation() {
    let mut partial = hub(json!({}));
    remove(&mut partial, &["port"]);
    let there = convert(&converters(), &partial, "v1alpha1");
    assert_eq!(there["spec"].get("address"), None);
    assert_eq!(convert(&converters(), &there, "v1"), partial);
}

#[test]
fn error_is_that_of_the_field_that_the_object_has() {
    let mut partial = hub(json!({"target": {"host": {"name": 3}}}));
    remove(&mut partial, &["name"]);
    let error = converters().convert(partial, "demo.dev/v1alpha1").unwrap_err();
    assert!(error.contains("invalid type: integer `3`"), "{error}");
}

/// A random object of a version; and the same without some fields: at any place, required or not, but for those that get a default.
fn partial(version: usize, random: &mut Random) -> (Value, Value) {
    let full = object(VERSIONS[version], random);
    let mut partial = full.clone();
    for part in ["spec", "status"] {
        if let Some(value) = partial.get_mut(part) {
            remove_some(value, SchemaAt(Some(&SCHEMAS[version])).field(part), random);
        }
    }
    (full, partial)
}

fn remove_some(value: &mut Value, schema: SchemaAt<'_>, random: &mut Random) {
    let has_default = |name: &str| {
        schema
            .field(name)
            .0
            .is_some_and(|field| !field["default"].is_null())
    };
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| has_default(name) || !random.one_in(6));
            for (name, value) in fields {
                remove_some(value, schema.field(name), random);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                remove_some(element, schema.element(), random);
            }
        }
        _ => {}
    }
}

/// Asserts that `partial` has no value that `full` has not.
fn assert_part(partial: &Value, full: Option<&Value>, path: &str) {
    match (partial, full) {
        (Value::Object(partial), Some(Value::Object(full))) => {
            for (name, value) in partial {
                assert_part(value, full.get(name), &format!("{path}.{name}"));
            }
        }
        (Value::Array(partial), Some(Value::Array(full))) if partial.len() == full.len() => {
            for (at, value) in partial.iter().enumerate() {
                assert_part(value, full.get(at), &format!("{path}[{at}]"));
            }
        }
        _ => assert!(
            full.is_some_and(|full| equal(partial, full)),
            "{path}: {partial} is not {full:?}"
        ),
    }
}

proptest! {
    /// Whatever is absent, no field has another value than with it.
    #[test]
    fn no_value_is_made_up(seed: u64, from in 0..3_usize, to in 0..3_usize) {
        let (full, partial) = partial(from, &mut Random::new(seed));
        let full = convert(&CONVERTERS, &full, VERSIONS[to]);
        let converted = convert(&CONVERTERS, &partial, VERSIONS[to]);
        if let Some(spec) = converted.get("spec") {
            assert_part(spec, full.get("spec"), "spec");
        }
    }

    #[test]
    fn partial_object_converted_there_and_back_is_equal(seed: u64, from in 0..3_usize, to in 0..3_usize) {
        let (_, partial) = partial(from, &mut Random::new(seed));
        let there = convert(&CONVERTERS, &partial, VERSIONS[to]);
        let back = convert(&CONVERTERS, &there, VERSIONS[from]);
        prop_assert!(equal(&partial, &back), "{partial:#}\nis not\n{back:#}\nthrough\n{there:#}");
    }
}
