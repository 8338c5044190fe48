use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// Returns the problems of a kind Foo whose spec has this schema and whose version has these keys.
fn check(spec: &Value, version: &Value) -> Vec<String> {
    let types = [("spec", "FooSpec"), ("spec.rules[]", "Rule")];
    let types = types.map(|(path, name)| (path.to_owned(), name.to_owned()));
    let kind = foo(BTreeMap::from([("v1".to_owned(), BTreeMap::from(types))]));
    let mut version = version.clone();
    version["name"] = json!("v1");
    version["served"] = json!(true);
    version["storage"] = json!(true);
    version["schema"] = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    texts(&kind, &definition(&json!({}), &version))
}

fn texts(kind: &KindManifest, definition: &Value) -> Vec<String> {
    let problems = problems(kind, definition);
    problems.into_iter().map(|problem| problem.text).collect()
}

fn foo(rust_types: BTreeMap<String, BTreeMap<String, String>>) -> KindManifest {
    KindManifest {
        group: "demo.dev".into(),
        kind: "Foo".into(),
        plural: "foos".into(),
        namespaced: true,
        external: false,
        rust_types,
        conversion: None,
        crd: None,
    }
}

/// Returns the definition of the kind Foo with further names.
fn definition(more_names: &Value, version: &Value) -> Value {
    let mut names = json!({"kind": "Foo", "plural": "foos"});
    for (key, value) in more_names.as_object().unwrap() {
        names[key] = value.clone();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.demo.dev"},
        "spec": {"group": "demo.dev", "scope": "Namespaced", "names": names, "versions": [version]},
    })
}

/// Returns the problems of a spec with these fields.
fn check_fields(fields: &Value) -> Vec<String> {
    check(&json!({"type": "object", "properties": fields}), &json!({}))
}

#[test]
fn valid_definition_has_no_problems() {
    let fields = json!({
        "replicas": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 1},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    });
    assert_eq!(check_fields(&fields), [""; 0]);
}

/// What schemars makes of each Rust type, and the message.
#[test]
fn problems_name_field_type_and_fix() {
    let cases = [
        (
            json!({"config": {}}),
            "Foo (demo.dev/v1): spec.config of FooSpec: values of any type are not allowed, as `serde_json::Value` has: write a struct, or add \
             `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` to the field",
        ),
        (
            json!({"rules": {"type": "array", "items": {"type": "object", "properties": {"any": {"type": "array", "items": {}}}}}}),
            "Foo (demo.dev/v1): spec.rules[].any[] of Rule: values of any type are not allowed, as `serde_json::Value` has: write a struct, or use \
             a type of its own, such as `struct Any(serde_json::Value)`, with \
             `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`",
        ),
        (
            json!({"ports": {"type": "object", "patternProperties": {"^\\d+$": {"type": "string"}}, "additionalProperties": false}}),
            "Foo (demo.dev/v1): spec.ports of FooSpec: a map whose keys are integers or have a pattern is not allowed: use a \
             `BTreeMap<String, …>`, or give the field the schema of one with `#[schemars(with = \"BTreeMap<String, …>\")]`",
        ),
        (
            json!({"rules": {"type": "array", "items": {"type": "object", "properties": {"pair": {
                "type": "array", "items": [{"type": "string"}, {"type": "integer"}], "maxItems": 2, "minItems": 2
            }}}}}),
            "Foo (demo.dev/v1): spec.rules[].pair of Rule: tuples are not allowed: use a struct with named fields, or a `Vec` of one type",
        ),
        (
            json!({"rules": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}}),
            "Foo (demo.dev/v1): spec.rules of FooSpec: a flattened map beside other fields is not allowed: give the map a field of its own, or \
             flatten a `BTreeMap<String, serde_json::Value>`",
        ),
        (
            json!({"host": {"type": "string", "pattern": "(?=a)b"}}),
            "Foo (demo.dev/v1): spec.host of FooSpec: the pattern \"(?=a)b\" is not a valid regular expression (must be a valid regular \
             expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`): the API server's have no look-around and no back-references",
        ),
        (
            json!({"size": {"type": "integer", "minimum": 5.0, "maximum": 2.0}}),
            "Foo (demo.dev/v1): spec.size of FooSpec: no value satisfies minimum 5 and maximum 2: swap or change them",
        ),
        (
            json!({"names": {"type": "array", "minItems": 3, "maxItems": 1, "items": {"type": "string"}}}),
            "Foo (demo.dev/v1): spec.names of FooSpec: no value satisfies minItems 3 and maxItems 1: swap or change them",
        ),
        (
            json!({"bytes": {"type": "integer", "format": "uint64", "minimum": 0}}),
            "Foo (demo.dev/v1): spec.bytes of FooSpec: Kubernetes has no integers of the size of `u64`: use `i64` with \
             `#[schemars(range(min = 0))]`, or a `String`",
        ),
        (
            json!({"count": {"type": "array", "items": {"type": "integer", "format": "uint", "minimum": 0}}}),
            "Foo (demo.dev/v1): spec.count[] of FooSpec: Kubernetes has no integers of the size of `usize`: use `i64` with \
             `#[schemars(range(min = 0))]`, or a `String`",
        ),
        (
            json!({"large": {"type": "integer", "format": "int128"}}),
            "Foo (demo.dev/v1): spec.large of FooSpec: Kubernetes has no integers of the size of `i128`: use `i64`, or a \
             `String`",
        ),
        (
            json!({"timeout": {"type": "object", "required": ["secs", "nanos"], "properties": {
                "secs": {"type": "integer", "format": "uint64", "minimum": 0}, "nanos": {"type": "integer", "format": "int64", "minimum": 0},
            }}}),
            "Foo (demo.dev/v1): spec.timeout of FooSpec: `std::time::Duration` is an object of `secs` and `nanos`: use `kubewright::Duration`, \
             which is a text such as `1h30m`",
        ),
        (
            json!({"size": {"type": "integer", "default": "a"}}),
            "Foo (demo.dev/v1): spec.size of FooSpec: the default does not match the schema (must be of type integer: \"string\"): change \
             `#[serde(default = …)]` or the constraint",
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(check_fields(&fields), [expected], "{fields}");
    }
}

/// A struct that is not named, such as one of Kubernetes, has no place in the code: the field that has it does.
#[test]
fn problems_have_the_field_of_the_closest_named_type() {
    let types = [("spec", "FooSpec"), ("spec.rules[]", "Rule")];
    let types = types.map(|(path, name)| (path.to_owned(), name.to_owned()));
    let kind = foo(BTreeMap::from([("v1".to_owned(), BTreeMap::from(types))]));
    let any = json!({"type": "object", "properties": {"any": {}}});
    let unnamed = json!({"type": "object", "properties": {"inner": {"type": "array", "items": any}}});
    let fields = |fields: &Value| {
        let spec = json!({"type": "object", "properties": fields});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let problems = problems(&kind, &definition(&json!({}), &version)).into_iter();
        let fields = problems.map(|problem| (problem.rust_type.unwrap(), problem.field.unwrap()));
        fields.collect::<Vec<_>>()
    };
    for (schema, ty, field) in [
        (json!({"any": {}}), "FooSpec", "spec.any"),
        (json!({"pod": unnamed}), "FooSpec", "spec.pod"),
        (
            json!({"pods": {"type": "array", "items": unnamed}}),
            "FooSpec",
            "spec.pods",
        ),
        (
            json!({"rules": {"type": "array", "items": {"type": "object", "properties": {"pod": unnamed}}}}),
            "Rule",
            "spec.rules[].pod",
        ),
    ] {
        assert_eq!(fields(&schema), [(ty.to_owned(), field.to_owned())], "{schema}");
    }
}

/// The message shows the rule, the compiler's reasons with their places in it, and the attribute to change.
#[test]
fn rules_that_the_api_server_refuses_are_shown_with_the_reason() {
    let fields = json!({"size": {"type": "integer"}});
    let extend =
        "correct it in `#[schemars(extend(\"x-kubernetes-validations\" = …))]` of the type or the field";
    for (rule, reason) in [
        (
            json!({"rule": "self.sice > 1 && self.colour == 'red'"}),
            "the CEL rule `self.sice > 1 && self.colour == 'red'` does not compile (1:5: undefined field 'sice'; 1:22: undefined field 'colour')",
        ),
        (
            json!({"rule": "self.size"}),
            "the CEL rule `self.size` is not valid (cel expression must evaluate to a bool)",
        ),
        (
            json!({"rule": "self.size > 1", "messageExpression": "'size ' + self.size"}),
            "the message of a CEL rule `'size ' + self.size` does not compile (1:9: found no matching overload for '_+_' applied to '(string, int)')",
        ),
        (
            json!({"rule": "self.size > 1", "message": "a\nb"}),
            "message of a CEL rule is not valid (must not contain line breaks)",
        ),
    ] {
        let expected = format!("Foo (demo.dev/v1): spec of FooSpec: {reason}: {extend}");
        assert_eq!(check_rule(&rule, &fields), [expected]);
    }
    let syntax = check_rule(&json!({"rule": "self.size <"}), &fields);
    let start = "Foo (demo.dev/v1): spec of FooSpec: the CEL rule `self.size <` does not compile (1:";
    assert!(
        syntax.len() == 1 && syntax[0].starts_with(start) && syntax[0].ends_with(extend),
        "{syntax:?}"
    );
}

/// A rule of `#[kube(validation = …)]` is one of the whole object.
#[test]
fn rules_of_the_object_name_the_attribute_of_the_kind() {
    let kind = foo(BTreeMap::new());
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.spec.sice > 1"}],
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    assert_eq!(
        texts(&kind, &definition(&json!({}), &version)),
        [
            "Foo (demo.dev/v1): the object: the CEL rule `self.spec.sice > 1` does not compile (1:10: undefined field 'sice'): correct it in \
             `#[kube(validation = …)]`"
        ]
    );
}

/// Returns the problems of a spec with a rule and these fields.
fn check_rule(rule: &Value, fields: &Value) -> Vec<String> {
    check(
        &json!({"type": "object", "x-kubernetes-validations": [rule], "properties": fields}),
        &json!({}),
    )
}

#[test]
fn limits_that_expensive_rules_lack_are_named() {
    let text = json!({"type": "string"});
    let names = json!({"type": "array", "items": text});
    let limited = json!({"type": "string", "maxLength": 9});
    let labels = json!({"type": "object", "additionalProperties": text});
    let grid = json!({"type": "array", "maxItems": 9, "items": names});
    let fields = json!({
        "names": names, "labels": labels, "grid": grid, "other": names, "in": limited,
        "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "rules": {"type": "array", "items": {"type": "object", "properties": {"name": text, "limited": limited}}},
    });
    let over = "may cost more than 100 times what the API server allows";
    for (rule, reason) in [
        (
            "self.names.all(x, self.names.all(y, x != y))",
            "limit spec.names with `#[schemars(length(max = …))]`, spec.names[] with `#[schemars(inner(length(max = …)))]`, or simplify it",
        ),
        (
            "self.labels.all(k, self.labels.exists(l, self.labels[k] == self.labels[l]))",
            "limit spec.labels with `#[schemars(extend(\"maxProperties\" = …))]`, spec.labels[] with a type of its own with \
             `#[schemars(extend(\"maxLength\" = …))]`, or simplify it",
        ),
        (
            "self.grid.all(x, x.all(y, x.all(z, y == z)))",
            "limit spec.grid[] with `#[schemars(inner(length(max = …)))]`, spec.grid[][] with `#[schemars(inner(inner(length(max = …))))]`, or \
             simplify it",
        ),
        (
            "self.rules.all(x, self.rules.all(y, x.name != y.limited && self.kinds == self.kinds))",
            "limit spec.kinds with `#[schemars(length(max = …))]`, spec.rules with `#[schemars(length(max = …))]`, spec.rules[].name with \
             `#[schemars(length(max = …))]`, or simplify it",
        ),
    ] {
        let expected = format!("Foo (demo.dev/v1): spec of FooSpec: the CEL rule `{rule}` {over}: {reason}");
        assert_eq!(check_rule(&json!({ "rule": rule }), &fields), [expected]);
    }
    let message = json!({"rule": "self.__in__ != 'a'", "messageExpression": "self.names.join('a')"});
    let problems = check_rule(&message, &fields);
    let start = format!(
        "Foo (demo.dev/v1): spec of FooSpec: the message of a CEL rule `self.names.join('a')` {over}"
    );
    assert!(problems[0].starts_with(&start), "{problems:?}");
}

/// The lists around a rule count, and all rules together have a budget.
#[test]
fn costs_of_nested_rules_depend_on_the_lists_around_them() {
    let rule = |text: &str| json!({"rule": format!("self.name.matches('^a+{text}$')")});
    let item = |rules: &[Value]| {
        json!({"type": "object", "x-kubernetes-validations": rules,
            "properties": {"name": {"type": "string", "maxLength": 1000}}})
    };
    let list = |rules: &[Value]| json!({"rules": {"type": "array", "items": item(rules)}});
    assert_eq!(
        check_fields(&list(&[rule("b")])),
        [
            "Foo (demo.dev/v1): spec.rules[] of Rule: the CEL rule `self.name.matches('^a+b$')` may cost 84.3 times what the API server allows: \
             limit spec.rules with `#[schemars(length(max = …))]`, or simplify it"
        ]
    );
    let mut many = list(&"abcdefghijklm".split("").map(rule).collect::<Vec<_>>());
    many["rules"]["maxItems"] = json!(9000);
    assert_eq!(
        check_fields(&many),
        [
            "Foo (demo.dev/v1): the object: all CEL rules together may cost 1.013220 times what the API server allows: simplify the most expensive \
             ones, at spec.rules[], or lower the limits of the lists, maps and strings that they read"
        ]
    );
}

#[test]
fn paths_of_columns_scale_and_selectable_fields_exist() {
    let spec = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    let version = json!({
        "additionalPrinterColumns": [
            {"name": "Wanted", "type": "integer", "jsonPath": ".spec.replica"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "selectableFields": [{"jsonPath": ".spec.color"}],
        "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
    });
    assert_eq!(
        check(&spec, &version),
        [
            "Foo (demo.dev/v1): printer column Wanted: `.spec.replica`: `.spec` has no field `replica`: did you mean `replicas`?",
            "Foo (demo.dev/v1): selectable field: `.spec.color`: `.spec` has no field `color`: the fields are replicas",
            "Foo (demo.dev/v1): scale subresource, statusReplicasPath: `.status.replicas`: `the object` has no field `status`: the fields \
             are spec",
        ]
    );
}

/// What the API server refuses beside the schema.
#[test]
fn names_columns_and_subresources_are_those_that_the_api_server_accepts() {
    let spec = json!({"type": "object", "properties": {"replicas": {"type": "integer"}, "size": {"type": "number"}}});
    let version = json!({
        "additionalPrinterColumns": [
            {"name": "Wanted", "type": "int", "jsonPath": "spec.replicas"}, {"name": "Size", "type": "number", "jsonPath": ".spec.size"},
        ],
        "selectableFields": [{"jsonPath": ".spec.size"}],
        "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".spec.replicas"}},
    });
    assert_eq!(
        check(&spec, &version),
        [
            "Foo (demo.dev): printer column Wanted: type: Invalid value: \"int\": must be one of boolean,date,integer,number,string: correct \
             `#[kube(printcolumn(…))]`",
            "Foo (demo.dev): printer column Wanted: JSONPath: Invalid value: \"spec.replicas\": must be a simple json path starting with .: \
             correct `#[kube(printcolumn(…))]`",
            "Foo (demo.dev): selectable field: Invalid value: \".spec.size\": must point to a field of type string, boolean or integer. Enum \
             string fields and strings with formats are allowed.: correct `#[kube(selectable = …)]`",
            "Foo (demo.dev): scale subresource: statusReplicasPath: Invalid value: \".spec.replicas\": should be a json path under .status: \
             correct `#[kube(scale(…))]`",
        ]
    );
    let kind = foo(BTreeMap::new());
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let found = texts(
        &kind,
        &definition(&json!({"shortNames": ["Foo"], "categories": ["a b"]}), &version),
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("Foo (demo.dev): short name: Invalid value: \"Foo\": ")
            && found[0].ends_with(": correct `#[kube(shortname = …)]`"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("Foo (demo.dev): category: Invalid value: \"a b\": "),
        "{found:?}"
    );
}
