//! Objects that lack required fields, as the API server converts them in server-side apply.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    annotation, convert, converters, hub,
    lossless::{CONVERTERS, VERSIONS, object},
};
use crate::testing::random_object::Random;

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
fn object_without_its_spec_gets_only_defaults() {
    let mut partial = hub(json!({}));
    partial.as_object_mut().unwrap().remove("spec");
    partial["status"] = json!({"phase": "Ready"});
    let converted = convert(&converters(), &partial, "v1alpha1");
    let defaults = json!({"colors": [], "limits": {}, "ports": [], "rules": [], "users": []});
    assert_eq!(converted["spec"], defaults);
    assert_eq!(converted["status"]["phase"], "Ready");
}

#[test]
fn error_is_that_of_the_object_as_it_is() {
    let mut partial = hub(json!({"port": "http"}));
    remove(&mut partial, &["name"]);
    let error = converters().convert(partial, "demo.dev/v1alpha1").unwrap_err();
    assert!(error.contains("expected u16"), "{error}");
}

proptest! {
    /// Whatever is absent, no field has another value than with it.
    #[test]
    fn no_value_is_made_up(seed: u64, to in 1..3_usize, absent in prop::sample::subsequence(vec!["name", "maxSize", "color", "host", "port", "target", "ratio"], 1..4)) {
        let full = object("v1", &mut Random::new(seed));
        let mut partial = full.clone();
        remove(&mut partial, &absent);
        let full = convert(&CONVERTERS, &full, VERSIONS[to]);
        let converted = convert(&CONVERTERS, &partial, VERSIONS[to]);
        for (name, value) in converted["spec"].as_object().into_iter().flatten() {
            prop_assert_eq!(value, &full["spec"][name], "{} of {:?}", name, absent);
        }
    }
}
