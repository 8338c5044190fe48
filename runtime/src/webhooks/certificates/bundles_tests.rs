//! The JSON patches of CA bundles.

use proptest::prelude::*;

use super::*;

fn configuration(bundles: &[Option<&str>]) -> Value {
    let webhooks = bundles.iter().map(|bundle| {
        let mut config = json!({"service": {"name": "shop", "namespace": "default"}});
        if let Some(bundle) = bundle {
            config["caBundle"] = json!(bundle);
        }
        json!({"name": "a.demo.dev", "clientConfig": config})
    });
    json!({"metadata": {"name": "shop", "resourceVersion": "7"}, "webhooks": webhooks.collect::<Vec<_>>()})
}

#[test]
fn only_missing_and_other_bundles_are_patched() {
    // "ca" in base64.
    let current = configuration(&[Some("Y2E="), Some("b3RoZXI="), None, Some("")]);
    let expected = BundlePatch::Operations {
        operations: vec![
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}),
            json!({"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": "Y2E="}),
            json!({"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": "Y2E="}),
            json!({"op": "add", "path": "/webhooks/3/clientConfig/caBundle", "value": "Y2E="}),
        ],
        replaces: true,
    };
    assert_eq!(bundle_patch(&current, "ca"), expected);
    assert_eq!(
        bundle_patch(&configuration(&[Some("Y2E=")]), "ca"),
        BundlePatch::UpToDate
    );
    assert!(matches!(
        bundle_patch(&configuration(&[None]), "ca"),
        BundlePatch::Operations { replaces: false, .. }
    ));
}

#[test]
fn definitions_are_patched_only_if_they_convert_by_webhook() {
    let definition =
        |conversion: Value| json!({"metadata": {"resourceVersion": "7"}, "spec": {"conversion": conversion}});
    let webhook = json!({"clientConfig": {"url": "https://localhost"}});
    let patched = bundle_patch(
        &definition(json!({"strategy": "Webhook", "webhook": webhook})),
        "ca",
    );
    let BundlePatch::Operations { operations, .. } = patched else {
        panic!("{patched:?}");
    };
    assert_eq!(
        operations[1]["path"],
        "/spec/conversion/webhook/clientConfig/caBundle"
    );
    for other in [
        json!({"strategy": "None"}),
        json!({"strategy": "Webhook"}),
        Value::Null,
    ] {
        assert_eq!(bundle_patch(&definition(other), "ca"), BundlePatch::UpToDate);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let key = prop_oneof![
            Just("webhooks"),
            Just("clientConfig"),
            Just("spec"),
            Just("conversion"),
            Just("strategy"),
            Just("webhook"),
            Just("caBundle"),
            Just("metadata")
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    /// Objects of any shape do not panic, and only bundles are touched.
    #[test]
    fn patches_touch_nothing_but_bundles(object in any_json()) {
        if let BundlePatch::Operations { operations, .. } = bundle_patch(&object, "ca") {
            for operation in &operations[1..] {
                let path = operation["path"].as_str().unwrap();
                let config = path.strip_suffix("/caBundle").unwrap();
                prop_assert!(object.pointer(config).is_some_and(Value::is_object), "{path}");
            }
        }
    }
}
