use super::*;
use std::collections::BTreeMap;

fn check(expression: &str) -> (Type, Vec<(usize, String)>) {
    let variables = BTreeMap::from([("flag".to_owned(), BOOL), ("any".to_owned(), Type::Dyn)]);
    let declared = Declarations {
        has_params: false,
        has_authorizer: true,
        variables: Some(&variables),
        ..Declarations::default()
    };
    let parsed = super::super::expression::parse(expression).unwrap();
    let positions = super::super::positions::of(expression, &parsed);
    let (ty, _, invalid) = super::check(
        &super::macros::expand(parsed, false).unwrap(),
        &positions,
        &declared,
    );
    let invalid = invalid.into_iter().map(|invalid| (invalid.at, invalid.why));
    (ty, invalid.collect())
}

#[test]
fn results_have_types() {
    for (expression, ty) in [
        ("true", "bool"),
        ("1.5", "double"),
        ("-1", "int"),
        ("object.x", "dyn"),
        ("dyn(true)", "dyn"),
        ("object.a + object.b", "dyn"),
        ("'a' + object.b", "string"),
        ("1 + 1", "int"),
        ("[true]", "list(bool)"),
        ("[1, 'a']", "list(dyn)"),
        ("{'a': 1}", "map(string, int)"),
        ("object.a.map(x, x)", "list(dyn)"),
        ("[1].map(x, x + 1)", "list(int)"),
        ("object.a.filter(x, x > 1)", "list(dyn)"),
        ("object.a.all(x, x > 1)", "bool"),
        ("object.a.all(i, x, i > x)", "bool"),
        ("['a'].transformList(i, x, i)", "list(int)"),
        ("['a'].transformMap(i, x, x != '', [x])", "map(int, list(string))"),
        ("{'a': 1}.transformMapEntry(k, v, {v: k})", "map(int, string)"),
        ("['a'].sortBy(x, x.size())", "list(string)"),
        ("optional.of('a').optMap(x, x.size())", "optional_type(int)"),
        ("optional.of(['a']).optFlatMap(x, x[?0])", "optional_type(string)"),
        ("object.a.exists_one(x, x > 1)", "bool"),
        ("has(object.x) ? object.x : null", "dyn"),
        ("object.x ? 'a' : 'b'", "string"),
        ("request.dryRun", "bool"),
        ("request.userInfo.groups[0]", "string"),
        ("namespaceObject.metadata.labels['a']", "string"),
        ("timestamp('2020-01-01T00:00:00Z')", "google.protobuf.Timestamp"),
        ("size(object.a)", "int"),
        ("object.a.split(',')", "list(string)"),
        ("sets.contains(object.a, [1])", "bool"),
        ("authorizer", "kubernetes.authorization.Authorizer"),
        ("authorizer.requestResource.check('x').allowed()", "bool"),
        ("variables.flag", "bool"),
        ("variables.any.field", "dyn"),
        ("null", "null_type"),
        ("[1].sum()", "int"),
        ("[[1]].flatten().reverse()", "list(int)"),
        ("['a'].join().split(',').sort()", "list(string)"),
        ("cidr('::/0').ip()", "net.IP"),
        ("url('a').getQuery()['a']", "list(string)"),
        ("optional.of(1)", "optional_type(int)"),
        ("optional.of(1).orValue(2)", "int"),
        ("optional.of('a').value()", "string"),
        ("namespaceObject.?metadata.?name", "optional_type(string)"),
        ("namespaceObject.metadata.labels[?'a']", "optional_type(string)"),
        (
            "request.dryRun ? optional.of('a') : optional.none()",
            "optional_type(string)",
        ),
    ] {
        let (found, undeclared) = check(expression);
        assert_eq!(
            (found.to_string().as_str(), undeclared.len()),
            (ty, 0),
            "{expression}"
        );
    }
}

#[test]
fn names_must_be_declared() {
    let undeclared = |name: &str| format!("undeclared reference to '{name}' (in container '')");
    for (expression, invalid) in [
        ("params.x == 1", vec![(0, undeclared("params"))]),
        ("[1].all(x, x == 1) && x == 1", vec![(22, undeclared("x"))]),
        (
            "request.nope == 1",
            vec![(7, "undefined field 'nope'".to_owned())],
        ),
        (
            "has(variables.none)",
            vec![(3, "undefined field 'none'".to_owned())],
        ),
        ("type(object) == string", vec![]),
        ("authorizer.requestResource.check('x').allowed()", vec![]),
    ] {
        assert_eq!(check(expression).1, invalid, "{expression}");
    }
}

/// What kube-apiserver says of rules: the estimated cost, or why it refuses them.
#[test]
fn rules_are_checked_as_by_kube_apiserver() {
    let table: serde_json::Value = serde_json::from_str(include_str!("checked_rules.json")).unwrap();
    for rule in table["rules"].as_array().unwrap() {
        let (text, expected) = (&rule[0], &rule[1]);
        let found = super::super::check_rule(
            &serde_json::json!({ "rule": text }),
            "rule",
            &table["schema"],
            false,
        );
        let found = found.map_or_else(serde_json::Value::from, |cost| cost.once.into());
        assert_eq!(found, *expected, "{text}");
    }
}
