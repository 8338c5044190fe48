//! What the annotation holds, and when it is restored.

use serde_json::{Value, json};

use super::{annotation, convert, converters, hub, merge, object_of};

#[test]
fn lost_value_is_kept_in_an_annotation_and_restored() {
    let converters = converters();
    let original = hub(json!({"owner": "Ann", "color": "Crimson", "maxSize": 5}));
    let old = convert(&converters, &original, "v1alpha1");
    assert_eq!(old["apiVersion"], "demo.dev/v1alpha1");
    assert_eq!(
        (
            &old["spec"]["limit"],
            &old["spec"]["color"],
            &old["spec"]["address"]
        ),
        (&json!("5"), &json!("Red"), &json!("h:80"))
    );
    assert_eq!(
        annotation(&old, "v1"),
        json!([
            {"path": ["spec", "color"], "base": "Red", "value": "Crimson"},
            {"path": ["spec", "owner"], "value": "Ann"},
        ])
    );
    assert_eq!(convert(&converters, &old, "v1"), original);
}

#[test]
fn object_without_loss_has_no_annotation() {
    let converters = converters();
    let original = hub(json!({}));
    let old = convert(&converters, &original, "v1alpha1");
    assert_eq!(old["metadata"], original["metadata"]);
    // `None` of fields without `skip_serializing_if` is not written as null.
    assert!(!object_of(&old["spec"]).contains_key("note"));
    // Null stays null, in a field of the same name without an annotation.
    let null = hub(json!({"note": null}));
    let old = convert(&converters, &null, "v1alpha1");
    assert_eq!(object_of(&old["spec"])["note"], Value::Null);
    assert_eq!(old["metadata"], null["metadata"]);
    let null = hub(json!({"note": null, "remark": null}));
    assert_eq!(
        convert(&converters, &convert(&converters, &null, "v1alpha1"), "v1"),
        null
    );
}

#[test]
fn field_that_was_written_in_the_other_version_wins() {
    let converters = converters();
    let mut old = convert(
        &converters,
        &hub(json!({"owner": "Ann", "color": "Crimson"})),
        "v1alpha1",
    );
    old["spec"]["color"] = json!("Blue");
    assert_eq!(
        convert(&converters, &old, "v1"),
        hub(json!({"owner": "Ann", "color": "Blue"}))
    );
}

#[test]
fn split_field_is_converted_and_kept_where_it_cannot_be_split() {
    let converters = converters();
    let mut old = convert(&converters, &hub(json!({})), "v1alpha1");
    merge(&mut old["spec"], json!({"address": "shop:81", "limit": "007"}));
    let new = convert(&converters, &old, "v1");
    assert_eq!(
        (&new["spec"]["host"], &new["spec"]["port"]),
        (&json!("shop"), &json!(81))
    );
    assert_eq!(
        annotation(&new, "v1alpha1"),
        json!([{"path": ["spec", "limit"], "base": "7", "value": "007"}])
    );
    assert_eq!(convert(&converters, &new, "v1alpha1"), old);

    old["spec"]["address"] = json!("no port");
    let mut new = convert(&converters, &old, "v1");
    assert_eq!(convert(&converters, &new, "v1alpha1"), old);
    new["spec"]["port"] = json!(90);
    assert_eq!(
        convert(&converters, &new, "v1alpha1")["spec"]["address"],
        "no port:90"
    );
}

#[test]
fn values_stay_with_their_element_when_a_list_is_reordered() {
    let converters = converters();
    let ports = json!([{"number": 1, "protocol": "tcp"}, {"number": 2}, {"number": 3, "color": "Crimson"}]);
    let users = json!([{"name": "a", "mail": "a@b"}, {"name": "b", "mail": "b@b"}]);
    let original = hub(json!({"ports": ports, "users": users}));
    let mut old = convert(&converters, &original, "v1alpha1");
    old["spec"]["ports"] = json!([{"number": 4}, {"number": 3, "color": "Red"}, {"number": 1}]);
    old["spec"]["users"] = json!([{"name": "b"}]);
    let back = convert(&converters, &old, "v1");
    assert_eq!(
        (&back["spec"]["ports"], &back["spec"]["users"]),
        (
            &json!([{"number": 4}, {"number": 3, "color": "Crimson"}, {"number": 1, "protocol": "tcp"}]),
            &json!([{"name": "b", "mail": "b@b"}])
        )
    );
}

#[test]
fn elements_without_a_key_are_found_by_what_they_are() {
    let converters = converters();
    let rules = json!([{"from": "a", "weight": 1}, {"from": "b", "weight": 2}, {"from": "c"}]);
    let mut old = convert(&converters, &hub(json!({"rules": rules})), "v1alpha1");
    assert_eq!(
        annotation(&old, "v1"),
        json!([{"path": ["spec", "rules"], "elements": [
            {"base": {"from": "a"}, "values": [{"from": "a", "weight": 1}]},
            {"base": {"from": "b"}, "values": [{"from": "b", "weight": 2}]},
        ]}])
    );
    old["spec"]["rules"] = json!([{"from": "c"}, {"from": "b"}, {"from": "new"}]);
    let back = convert(&converters, &old, "v1");
    assert_eq!(
        back["spec"]["rules"],
        json!([{"from": "c"}, {"from": "b", "weight": 2}, {"from": "new"}])
    );
}

#[test]
fn removed_elements_that_were_equal_do_not_give_others_their_values() {
    let converters = converters();
    let edited = |colors: Value, edited: Value| {
        let mut old = convert(&converters, &hub(json!({"colors": colors})), "v1alpha1");
        old["spec"]["colors"] = edited;
        convert(&converters, &old, "v1")["spec"]["colors"].clone()
    };
    let mixed = json!(["Crimson", "Red"]);
    assert_eq!(edited(mixed.clone(), json!(["Red", "Red"])), mixed);
    assert_eq!(edited(mixed.clone(), json!(["Red"])), json!(["Red"]));
    assert_eq!(
        edited(mixed, json!(["Blue", "Red", "Red"])),
        json!(["Blue", "Crimson", "Red"])
    );
    let same = json!(["Crimson", "Crimson"]);
    assert_eq!(edited(same, json!(["Red"])), json!(["Crimson"]));
}

#[test]
fn data_of_a_variant_is_not_restored_into_another() {
    let converters = converters();
    let mut old = convert(
        &converters,
        &hub(json!({"target": {"host": {"name": "x", "mail": "x@y"}}})),
        "v1alpha1",
    );
    old["spec"]["target"] = json!({"backend": {"name": "x"}});
    assert_eq!(
        convert(&converters, &old, "v1")["spec"]["target"],
        json!({"service": {"name": "x"}})
    );
}

#[test]
fn object_that_was_removed_is_not_restored() {
    let converters = converters();
    let nested = json!({"nested": {"rule": {"from": "a", "weight": 1}, "user": {"name": "u"}}});
    let mut old = convert(&converters, &hub(nested), "v1alpha1");
    old["spec"].as_object_mut().unwrap().remove("nested");
    assert_eq!(convert(&converters, &old, "v1"), hub(json!({})));
}

#[test]
fn status_and_fields_that_the_type_lacks_are_kept() {
    let converters = converters();
    let mut original = hub(json!({"newer": {"field": [1]}}));
    original["status"] = json!({"phase": "Up", "count": 3, "newer": true});
    for version in ["v1alpha1", "v1beta1"] {
        let old = convert(&converters, &original, version);
        assert!(annotation(&old, "v1").is_array());
        assert_eq!(convert(&converters, &old, "v1"), original);
    }
    // Between two versions that are not the hub, each step keeps its own.
    let old = convert(&converters, &original, "v1alpha1");
    let beta = convert(&converters, &old, "v1beta1");
    assert_eq!(beta["status"], Value::Null);
    assert_eq!(convert(&converters, &beta, "v1alpha1"), old);
    assert_eq!(convert(&converters, &beta, "v1"), original);
}

#[test]
fn annotation_that_does_not_decode_is_ignored_and_counted() {
    let converters = converters();
    let key = "conversion.kubewright.dev/v1";
    for text in [
        "",
        "no JSON",
        "{}",
        r#"[{"base": 1}]"#,
        r#"[{"path": ["spec", "owner"], "value": "Ann", "other": 1}]"#,
        // The value is not of the field's type.
        r#"[{"path": ["spec", "owner"], "value": 1}]"#,
    ] {
        let before = converters.ignored_annotations().get();
        let mut old = convert(&converters, &hub(json!({})), "v1alpha1");
        old["metadata"]["annotations"] = json!({key: text, "other": "kept"});
        let back = convert(&converters, &old, "v1");
        assert_eq!(back["spec"], hub(json!({}))["spec"], "{text}");
        assert_eq!(
            back["metadata"]["annotations"],
            json!({"other": "kept"}),
            "{text}"
        );
        assert_eq!(converters.ignored_annotations().get(), before + 1, "{text}");
    }
    // Nothing but spec and status can be restored.
    let mut old = convert(&converters, &hub(json!({})), "v1alpha1");
    let text = r#"[{"path": ["metadata", "labels"], "value": {"a": "b"}}, {"path": ["kind"], "base": "Foo", "value": "Bar"}, {"path": []}]"#;
    old["metadata"]["annotations"] = json!({key: text});
    assert_eq!(convert(&converters, &old, "v1"), hub(json!({})));
}

#[test]
fn too_many_lost_values_are_an_error_with_the_size() {
    let converters = converters();
    let fits = hub(json!({"owner": "x".repeat(120 * 1024)}));
    assert_eq!(
        convert(&converters, &convert(&converters, &fits, "v1alpha1"), "v1"),
        fits
    );
    let error = converters
        .convert(hub(json!({"owner": "x".repeat(130 * 1024)})), "demo.dev/v1alpha1")
        .unwrap_err();
    assert_eq!(
        error,
        "converting Foo default/first (demo.dev/v1) to demo.dev/v1alpha1 failed: version v1alpha1 cannot hold 131 KiB of this object, \
         and at most 128 KiB fit into the annotation that keeps them"
    );
}

#[test]
fn data_of_a_tagged_variant_is_restored_unless_the_variant_was_changed() {
    let converters = converters();
    let cases = [
        (
            json!({"type": "zone", "name": "x", "rack": "r"}),
            json!({"type": "zone", "name": "x"}),
            json!({"type": "region", "name": "x"}),
        ),
        (
            json!({"type": "anywhere"}),
            json!({"type": "zone", "name": "any"}),
            json!({"type": "region", "name": "any"}),
        ),
    ];
    for (original, converted, changed) in cases {
        let original = hub(json!({ "place": original }));
        let mut old = convert(&converters, &original, "v1alpha1");
        assert_eq!(old["spec"]["place"], converted);
        assert_eq!(convert(&converters, &old, "v1"), original);
        old["spec"]["place"]["type"] = json!("area");
        assert_eq!(convert(&converters, &old, "v1")["spec"]["place"], changed);
    }
}
