use serde_json::json;

use super::*;

fn template(name: &str, node: &str, annotations: &Value, labels: &Value) -> PodTemplateSpec {
    serde_json::from_value(json!({
        "metadata": {"name": name, "annotations": annotations, "labels": labels},
        "spec": {"nodeName": node, "containers": []},
    }))
    .unwrap()
}

#[test]
fn templates_are_compared_without_their_hash() {
    let hashed = |hash: &str| json!({ HASH_LABEL: hash, "something": "else" });
    let none = json!({});
    let plain = |labels: &Value| template("foo", "foo-node", &none, labels);
    let cases = vec![
        (plain(&hashed("1")), plain(&hashed("1")), true),
        (plain(&hashed("1")), plain(&hashed("2")), true),
        (plain(&json!({"something": "else"})), plain(&hashed("2")), true),
        (
            plain(&json!({"something": "else"})),
            plain(&json!({HASH_LABEL: "2"})),
            false,
        ),
        (
            plain(&json!({HASH_LABEL: "1"})),
            plain(&json!({"something": "else"})),
            false,
        ),
        (plain(&json!({HASH_LABEL: "1"})), plain(&hashed("1")), false),
        (plain(&json!({HASH_LABEL: "1"})), plain(&none), true),
        (
            template("foo", "foo-node", &json!({"former": "value"}), &hashed("1")),
            template("foo", "foo-node", &json!({"latter": "value"}), &hashed("1")),
            false,
        ),
        (
            template("foo-1", "foo-node", &none, &hashed("1")),
            template("foo-2", "foo-node", &none, &hashed("2")),
            false,
        ),
        (
            template("foo-1", "foo-node-1", &none, &json!({"something": "else"})),
            template("foo-2", "foo-node-2", &none, &hashed("2")),
            false,
        ),
        (
            template("foo", "foo-node-1", &none, &json!({"something": "else"})),
            template("foo", "foo-node-2", &none, &json!({"nothing": "else"})),
            false,
        ),
    ];
    for (left, right, expected) in cases {
        assert_eq!(equal(&left, &right), expected, "{left:?} {right:?}");
        assert_eq!(equal(&right, &left), expected, "{right:?} {left:?}");
    }
}

#[test]
fn templates_with_the_same_meaning_are_equal() {
    let with = |memory: &str| -> PodTemplateSpec {
        let container = json!({"name": "a", "resources": {"limits": {"memory": memory}}});
        serde_json::from_value(json!({"spec": {"containers": [container]}})).unwrap()
    };
    assert!(equal(&with("1Gi"), &with("1024Mi")));
    assert!(!equal(&with("1Gi"), &with("1G")));
}

#[test]
fn hashes_depend_on_the_template_and_the_count_of_collisions() {
    let (first, second) = (
        template("foo", "a", &json!({}), &json!({})),
        template("foo", "b", &json!({}), &json!({})),
    );
    assert_eq!(hash(&first, None), hash(&first.clone(), None));
    let hashes = [
        hash(&first, None),
        hash(&first, Some(0)),
        hash(&first, Some(1)),
        hash(&second, None),
    ];
    for (position, text) in hashes.iter().enumerate() {
        assert!(!hashes[..position].contains(text), "{hashes:?}");
    }
}

#[test]
fn long_names_are_shortened() {
    for (deployment, hash, expected) in [
        (
            "my-deployment".to_owned(),
            "abcde12345",
            "my-deployment-abcde12345".to_owned(),
        ),
        (
            "a".repeat(242),
            "abcde12345",
            format!("{}-abcde12345", "a".repeat(242)),
        ),
        (
            "b".repeat(250),
            "abcde12345",
            format!("{}-abcde12345", "b".repeat(242)),
        ),
        (
            "d".repeat(252),
            &*"h".repeat(252),
            format!("{}-{}", "d".repeat(252), "h".repeat(252)),
        ),
    ] {
        assert_eq!(replica_set_name(&deployment, hash), expected);
    }
}
