//! Tests of validation rules: their evaluation, the values that they see, and the paths of their errors.

use super::*;
use serde_json::json;

#[test]
fn rules_evaluate_like_on_the_real_server() {
    let table: Value = serde_json::from_str(include_str!("tests/rules.json")).unwrap();
    let rules = table["rules"].as_array().unwrap();
    assert!(rules.len() > 95);
    for case in rules {
        let rule = case["rule"].as_str().unwrap();
        let node = json!({"type": "object", "properties": table["fields"], "x-kubernetes-validations": [{"rule": rule}]});
        let schema = Schema::new(&json!({"type": "object", "properties": {"spec": node}}));
        for (value, message) in table["values"]
            .as_array()
            .unwrap()
            .iter()
            .zip(case["messages"].as_array().unwrap())
        {
            let errors = schema.validate(&json!({"spec": value}), None);
            let actual = errors.first().map(FieldError::body).unwrap_or_default();
            let expected = message.as_str().unwrap_or_default();
            // The message of an evaluation error differs where a function has no argument.
            let both_failed =
                actual.contains(" evaluating rule: ") && expected.contains(" evaluating rule: ");
            assert!(
                actual == expected || both_failed,
                "{rule}: {actual}, not {expected}"
            );
        }
    }
}

/// Rules that are true on kube-apiserver, and rules whose evaluation fails there, with its message.
#[test]
fn rules_are_evaluated_as_by_kube_apiserver() {
    let table: Value = serde_json::from_str(include_str!("tests/evaluated_rules.json")).unwrap();
    let errors = |rule: &Value| {
        let mut schema = table["schema"].clone();
        schema["x-kubernetes-validations"] = json!([{ "rule": rule }]);
        let errors = Schema::new(&schema).validate(&table["object"], None);
        errors.into_iter().map(|error| error.detail).collect::<Vec<_>>()
    };
    for rule in table["true"].as_array().unwrap() {
        assert_eq!(errors(rule), Vec::<String>::new(), "{rule}");
    }
    for failing in table["errors"].as_array().unwrap() {
        let [rule, why] = [&failing[0], &failing[1]].map(|text| text.as_str().unwrap());
        assert_eq!(errors(&failing[0]), [format!("{why} evaluating rule: {rule}")]);
    }
}

#[test]
fn field_paths_are_written_as_paths() {
    let schema = json!({"type": "object", "properties": {
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "n": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "q.r": {"type": "string"}, "s": {"type": "string"},
    }});
    for (path, expected) in [
        (".s", "p.s"),
        (".m.foo", "p.m[foo]"),
        (".n['a-b'].x", "p.n[a-b].x"),
        ("['q.r']", "p.q.r"),
    ] {
        let mut schema = schema.clone();
        schema["x-kubernetes-validations"] = json!([{"rule": "false", "fieldPath": path}]);
        let schema = Schema::new(&json!({"type": "object", "properties": {"p": schema}}));
        let errors = schema.validate(&json!({"p": {}}), None);
        assert_eq!(errors[0].field, expected, "{path}");
    }
}

#[test]
fn durations_in_words_are_durations() {
    for (text, expected) in [
        ("28 weeks", "16934400s"),
        ("1.5 hours", "18000s"),
        ("3 d 1.5h", "277200s"),
        ("5 µs", "0.000005s"),
        ("1 week 2 days", "777600s"),
        ("PT2H", "7200s"),
        ("1 hourglass", "3600s"),
        ("99999999999 d", "6244389888.761856s"),
        ("-2h", "-7200s"),
    ] {
        let rule = format!("string(self) == '{expected}'");
        let schema =
            json!({"type": "string", "format": "duration", "x-kubernetes-validations": [{"rule": rule}]});
        assert_eq!(
            Schema::new(&schema).validate(&json!(text), None),
            vec![],
            "{text}"
        );
    }
}

#[test]
fn deep_rules_are_evaluated() {
    for deep in [
        format!("{}true{}", "!(".repeat(200), ")".repeat(200)),
        format!("self{} == 'a'", ".trim()".repeat(240)),
        format!("{}1 != 1", "1+".repeat(240)),
        format!(
            "{}false || {}true{}",
            "true && ".repeat(2000),
            "(false || ".repeat(200),
            ")".repeat(200)
        ),
    ] {
        let schema = Schema::new(&json!({"type": "string", "x-kubernetes-validations": [{"rule": deep}]}));
        assert_eq!(schema.validate(&json!("a"), None), vec![], "{deep}");
    }
}

#[test]
fn rules_of_unchanged_values_are_warnings_unless_they_compare_or_fail() {
    let violations = |rule: &str, object: &Value, old: &Value| {
        let integer =
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": rule, "message": "m"}]});
        let schema = Schema::new(&json!({"type": "object", "properties": {"i": integer}}));
        let texts = |errors: &[FieldError]| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let errors = texts(&schema.validate(object, Some(old)));
        (errors, texts(&schema.unchanged_violations(object, old)))
    };
    let (old, labelled) = (json!({"i": 5}), json!({"i": 5, "metadata": {}}));
    let none: Vec<String> = vec![];
    let small = vec!["i: Invalid value: 5: m".to_owned()];
    assert_eq!(
        violations("self > oldSelf", &labelled, &old),
        (small.clone(), none.clone())
    );
    assert_eq!(
        violations("self > 9", &labelled, &old),
        (none.clone(), small.clone())
    );
    assert_eq!(
        violations("self > 9", &labelled, &json!({"i": 4})),
        (small, none.clone())
    );
    let failed = vec!["i: Invalid value: \"integer\": division by zero evaluating rule: m".to_owned()];
    assert_eq!(violations("self / 0 == 1", &labelled, &old), (failed, none));
}

#[test]
fn rules_see_fields_by_their_names_and_formats() {
    let text = |format: &str| json!({"type": "string", "format": format});
    let rule = "self.a_b == 1 && self.u__underscores__v == 1 && self.x__dash__y == 1 && self.m['a_b__c'] == 1 && 'é'.size() == 1 && \
                self.day.getFullYear() == 2020 && self.time.getFullYear() == 2021 && self.long == duration('90m') && \
                self.bytes == b'abc' && self.other == 'x'";
    let integer = json!({"type": "integer"});
    let schema = Schema::new(
        &json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "a_b": integer, "u__v": integer, "x-y": integer, "m": {"type": "object", "additionalProperties": integer},
            "day": text("date"), "time": text("date-time"), "long": text("duration"), "bytes": text("byte"), "other": text("no"),
        }}),
    );
    let object = json!({
        "a_b": 1, "u__v": 1, "x-y": 1, "m": {"a_b__c": 1}, "day": "2020-05-05", "time": "2021-01-01T00:00:00Z", "long": "1h30m",
        "bytes": "YWJj", "other": "x",
    });
    assert_eq!(schema.validate(&object, None), []);
}

#[test]
fn defaults_are_validated_with_their_rules() {
    let rejected = |field: Value| {
        let schema = json!({"type": "object", "properties": {"s": field}});
        let errors = check_structural(&schema, "p");
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let positive = json!([{"rule": "self.a > 0"}]);
    let object = |default: Value| {
        let a = json!({"type": "integer", "default": 1});
        json!({"type": "object", "default": default, "properties": {"a": a}, "x-kubernetes-validations": positive})
    };
    assert_eq!(
        rejected(object(json!({"a": 0}))),
        ["p.properties[s].default: Invalid value: failed rule: self.a > 0"]
    );
    let errors = rejected(object(json!({"a": "s", "x": 1})));
    assert_eq!(errors.len(), 2, "{errors:?}");
    let mut required = object(json!({}));
    required["required"] = json!(["a"]);
    assert_eq!(rejected(required), ["p.properties[s].default.a: Required value"]);
    assert!(rejected(json!({"x-kubernetes-int-or-string": true, "default": 1.5})).is_empty());
    let values = json!({"type": "integer", "default": "x"});
    assert!(rejected(json!({"type": "object", "additionalProperties": values})).is_empty());
}

#[test]
fn rules_with_optional_syntax_are_evaluated() {
    let text = json!({"type": "string", "maxLength": 9});
    let properties = json!({
        "url": text, "port": {"type": "integer"}, "map": {"type": "object", "additionalProperties": text},
        "list": {"type": "array", "maxItems": 9, "items": {"type": "object", "properties": {"name": text}}},
        "driver": {"type": "object", "properties": {"type": text, "store": {"type": "object", "properties": {"type": text}}}},
    });
    for (rule, holds, fails) in [
        ("self.?url.orValue('').size() > 0", json!({"url": "a"}), json!({})),
        ("self.?port.orValue(0) == 0", json!({}), json!({"port": 1})),
        (
            "self.?driver.type.orValue('') != 'x'",
            json!({"driver": {}}),
            json!({"driver": {"type": "x"}}),
        ),
        (
            "!self.?driver.?store.?type.hasValue()",
            json!({"driver": {"store": {}}}),
            json!({"driver": {"store": {"type": ""}}}),
        ),
        (
            "self.?driver.orValue(self.?driver.value()).type == 'x'",
            json!({"driver": {"type": "x"}}),
            json!({}),
        ),
        (
            "self.?map[?'k'].orValue('v') == 'v'",
            json!({"map": {}}),
            json!({"map": {"k": "w"}}),
        ),
        (
            "self.?list.orValue([]).all(item, item.?name.orValue('').size() > 1)",
            json!({"list": [{"name": "ab"}]}),
            json!({"list": [{}]}),
        ),
        (
            "self.list[?0].?name.orValue('n') == 'n'",
            json!({"list": []}),
            json!({"list": [{"name": "m"}]}),
        ),
    ] {
        let node =
            json!({"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]});
        let schema = json!({"type": "object", "properties": {"spec": node}});
        let schema = Schema::new(&schema);
        assert_eq!(schema.validate(&json!({"spec": holds}), None), [], "{rule}");
        assert_eq!(schema.validate(&json!({"spec": fails}), None).len(), 1, "{rule}");
    }
    // Transition rules, also with an optional old value.
    for (rule, optional) in [
        ("self.?port.orValue(0) >= oldSelf.?port.orValue(0)", false),
        ("self.?port.orValue(0) >= oldSelf.?port.orValue(0)", true),
    ] {
        let rule = json!({"rule": rule, "optionalOldSelf": optional});
        let node = json!({"type": "object", "properties": properties, "x-kubernetes-validations": [rule]});
        let schema = Schema::new(&json!({"type": "object", "properties": {"spec": node}}));
        let (one, two) = (json!({"spec": {"port": 1}}), json!({"spec": {"port": 2}}));
        assert_eq!(schema.validate(&two, Some(&one)), [], "{rule}");
        assert_eq!(schema.validate(&one, Some(&two)).len(), 1, "{rule}");
        assert_eq!(schema.validate(&json!({"spec": {}}), None), [], "{rule}");
    }
}

#[test]
fn rules_with_what_kube_cel_lacks_are_evaluated() {
    for (rule, holds) in [
        ("self.l.sortBy(x, x) == self.l", true),
        ("self.l.all(i, x, i > 0 || x == 'a')", true),
        ("self.l.exists(i, x, i == 1)", false),
        ("type(self.a) == int", true),
        ("type(self.a) == string", false),
    ] {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "a": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "l": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9}},
        }});
        let root = json!({"type": "object", "properties": {"spec": schema}});
        let errors = check_structural(&root, "spec.validation.openAPIV3Schema");
        assert_eq!(errors, [], "{rule}");
        let object = json!({"spec": {"a": 0, "m": {}, "l": ["a"]}});
        assert_eq!(
            Schema::new(&root).validate(&object, None).is_empty(),
            holds,
            "{rule}"
        );
    }
    let invalid = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.?a =="}]});
    assert_eq!(
        check_structural(&invalid, "spec.validation.openAPIV3Schema").len(),
        1
    );
}
