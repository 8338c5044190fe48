use super::*;
use std::collections::BTreeMap;

fn check(expression: &str) -> (Type, Vec<Invalid>) {
    let variables = BTreeMap::from([("flag".to_owned(), BOOL), ("any".to_owned(), Type::Dyn)]);
    let declared = Declarations {
        has_params: false,
        has_authorizer: true,
        variables: Some(&variables),
        ..Declarations::default()
    };
    let parsed = super::super::expression::parse(expression).unwrap();
    let parsed = super::macros::expand(parsed);
    let (ty, _, invalid) = super::check(&parsed, &declared);
    (ty, invalid)
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
    for unknown in ["object.?a.orValue(1)", "type(1)"] {
        assert_eq!(check(unknown), (Type::Unknown, vec![]), "{unknown}");
    }
}

#[test]
fn names_must_be_declared() {
    let name = |name: &str| Invalid::UndeclaredName(name.to_owned());
    let field = |name: &str| Invalid::Field {
        name: name.to_owned(),
        is_tested: name == "none",
        why: format!("undefined field '{name}'"),
    };
    let function = |name: &str| Invalid::UndeclaredFunction(name.to_owned());
    for (expression, undeclared) in [
        ("params.x == a", vec![name("params"), name("a")]),
        ("[1].all(x, x == 1) && x == 1", vec![name("x")]),
        ("request.nope == 1", vec![field("nope")]),
        ("namespaceObject.metadata.nope", vec![field("nope")]),
        (
            "variables.nope == 1 && has(variables.none)",
            vec![field("nope"), field("none")],
        ),
        ("object.nope(1)", vec![function("nope")]),
        ("nope(sets)", vec![name("sets"), function("nope")]),
        ("type(object) == string", vec![]),
        (
            "sets.contains([], []) || math.least(1) == 1",
            vec![name("math"), function("least")],
        ),
    ] {
        assert_eq!(check(expression).1, undeclared, "{expression}");
    }
}

#[test]
fn arguments_have_types() {
    for valid in [
        "1 == 1 && 'a' != 'b' && [1] == [2] && {'a': 1} == {'b': object.x}",
        "1 < 1.5 && 'a' < 'b' && object.x < 1 && timestamp(object.a) < timestamp(object.b)",
        "object.x == 1 || object.y",
        "request.userInfo == null || namespaceObject == null",
        "timestamp(object.a) + duration('1s') > timestamp(object.b) - duration('1s')",
        "timestamp(object.a) - timestamp(object.b) < duration('1s') + duration('1s')",
        "1 in [1] && 'a' in {'a': 1} && object.x in object.y && 1 in []",
        "[1][0] == 1 && {'a': 1}['a'] == 1 && object.x[object.y]",
        "object.x ? 1 : object.y",
        "[1] + [] == [1] && 'a' + 'b' == 'ab' && b'a' + b'b' == b'ab'",
        "object.a.all(x, x > 1) && [1].exists_one(x, x == 1) && [1].map(x, x + 1).filter(x, x > 1) == [2]",
        "'a'.startsWith('b') && object.x.matches(object.y) && matches('a', 'b')",
        "-1 < 2 && -1.5 < 2.0 && !object.x",
        "7 % 2 == 1 && 7u % 2u == 1u && 6.0 / 2.0 == 3.0",
    ] {
        assert_eq!(check(valid).1, vec![], "{valid}");
    }
    let applied = |name: &str, to: &str| format!("found no matching overload for '{name}' applied to '{to}'");
    for (expression, name, number, why) in [
        ("1 == 1 && 1 == 'x'", "_==_", 1, applied("_==_", "(int, string)")),
        ("1 == null", "_==_", 0, applied("_==_", "(int, null)")),
        (
            "[1] != ['a']",
            "_!=_",
            0,
            applied("_!=_", "(list(int), list(string))"),
        ),
        (
            "[1] == ['a']",
            "_==_",
            0,
            applied("_==_", "(list(int), list(string))"),
        ),
        ("'x' < 1", "_<_", 0, applied("_<_", "(string, int)")),
        ("[1] < [2]", "_<_", 0, applied("_<_", "(list(int), list(int))")),
        ("'x' + 1 == 'x'", "_+_", 0, applied("_+_", "(string, int)")),
        ("1.0 % 2.0 == 1.0", "_%_", 0, applied("_%_", "(double, double)")),
        (
            "timestamp(object.a) + timestamp(object.b) == object.c",
            "_+_",
            0,
            applied("_+_", "(timestamp, timestamp)"),
        ),
        ("'x' * 2 == 'xx'", "_*_", 0, applied("_*_", "(string, int)")),
        ("1 in ['a']", "@in", 0, applied("@in", "(int, list(string))")),
        ("'a'[0] == 'a'", "_[_]", 0, applied("_[_]", "(string, int)")),
        (
            "true ? 'a' : 1",
            "_?_:_",
            0,
            applied("_?_:_", "(bool, string, int)"),
        ),
        (
            "1 ? 'a' : 'b'",
            "_?_:_",
            0,
            applied("_?_:_", "(int, string, string)"),
        ),
        ("!1", "!_", 0, applied("!_", "(int)")),
        ("-'a' == 'a'", "-_", 0, applied("-_", "(string)")),
        (
            "'a'.startsWith(1)",
            "startsWith",
            0,
            applied("startsWith", "string.(int)"),
        ),
        ("size(1) == 1", "size", 0, applied("size", "(int)")),
        ("1.matches('a')", "matches", 0, applied("matches", "int.(string)")),
        (
            "authorizer.check('x')",
            "check",
            0,
            applied("check", "kubernetes.authorization.Authorizer.(string)"),
        ),
        (
            "[1].all(x, x == 'a')",
            "_==_",
            0,
            applied("_==_", "(int, string)"),
        ),
        (
            "object.a == 1 || 'x'",
            "_||_",
            0,
            "expected type 'bool' but found 'string'".to_owned(),
        ),
    ] {
        let name = name.to_owned();
        assert_eq!(
            check(expression).1,
            [Invalid::Call { name, number, why }],
            "{expression}"
        );
    }
}
