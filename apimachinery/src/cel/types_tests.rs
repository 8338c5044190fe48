use super::*;
use std::collections::BTreeMap;

fn check(expression: &str) -> (Type, Vec<Undeclared>) {
    let variables = BTreeMap::from([("flag".to_owned(), BOOL), ("any".to_owned(), Type::Dyn)]);
    let declared = Declarations {
        has_params: false,
        has_authorizer: true,
        variables: Some(&variables),
    };
    super::check(&super::super::expression::parse(expression).unwrap(), &declared)
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
    ] {
        let (found, undeclared) = check(expression);
        assert_eq!(
            (found.to_string().as_str(), undeclared.len()),
            (ty, 0),
            "{expression}"
        );
    }
    for unknown in [
        "object.?a.orValue(1)",
        "true ? 'a' : null",
        "[1].sum()",
        "type(1)",
    ] {
        assert_eq!(check(unknown), (Type::Unknown, vec![]), "{unknown}");
    }
}

#[test]
fn names_must_be_declared() {
    let name = |name: &str| Undeclared::Name(name.to_owned());
    let field = |name: &str| Undeclared::Field(name.to_owned());
    let function = |name: &str| Undeclared::Function(name.to_owned());
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
