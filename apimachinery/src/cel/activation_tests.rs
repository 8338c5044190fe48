use super::*;
use crate::cel::signatures;
use serde_json::json;

fn activation(variables: &[(&str, &str)]) -> Activation {
    let object = json!({ "spec": { "replicas": 3, "name": "x" }, "list": ["a", "b"], "map": { "k": "v" } });
    let request = json!({ "userInfo": { "groups": ["g"] }, "operation": "CREATE" });
    let values = [
        ("object", &object),
        ("oldObject", &Value::Null),
        ("request", &request),
    ];
    let variables = variables
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Expression::compile(text)));
    let own = AccessCheck {
        resource: "pods".to_owned(),
        ..AccessCheck::default()
    };
    Activation::new(values, &variables.collect(), own, Budget::Policy)
}

fn evaluate_with(variables: &[(&str, &str)], expression: &str) -> Result<Outcome, String> {
    let allow_get = |check: &AccessCheck| (check.verb == "get").then(|| format!("{check:?}"));
    activation(variables).evaluate(&Expression::compile(expression), &allow_get)
}

fn evaluate(expression: &str) -> Result<Outcome, String> {
    evaluate_with(&[], expression)
}

#[test]
fn expressions_are_evaluated_on_the_request() {
    for (expression, expected) in [
        ("object.spec.replicas > 2 && oldObject == null", true),
        ("has(object.spec.color)", false),
        ("has(oldObject.spec)", false),
        ("dyn(object.spec.name) == 'x'", true),
        ("'g' in request.userInfo.groups", true),
        ("object.list.exists(item, item.startsWith('b'))", true),
        ("object.map.all(key, object.map[key] == 'v')", true),
        ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", true),
        ("object.?spec.?color.orValue('red') == 'red'", true),
        ("object.?spec.name.orValue('red') == 'x'", true),
        ("object.list[?5].hasValue()", false),
    ] {
        assert_eq!(evaluate(expression), Ok(Outcome::Bool(expected)), "{expression}");
    }
    assert_eq!(
        evaluate("object.spec.name + '!'"),
        Ok(Outcome::Text("x!".to_owned()))
    );
    assert_eq!(
        evaluate("string(1 == 1) + string(2)"),
        Ok(Outcome::Text("true2".to_owned()))
    );
    assert_eq!(evaluate("oldObject"), Ok(Outcome::Null));
    assert_eq!(
        evaluate("object.spec.replicas"),
        Ok(Outcome::Other("int".to_owned()))
    );
}

#[test]
fn macros_that_kube_cel_lacks_are_evaluated() {
    for (expression, expected) in [
        ("object.list.all(i, v, i < 2 && v != '')", true),
        ("object.list.exists(i, v, i == 1 && v == 'a')", false),
        ("object.map.exists_one(k, v, k == 'k' && v == 'v')", true),
        (
            "object.list.transformList(i, v, v + string(i)) == ['a0', 'b1']",
            true,
        ),
        ("object.list.transformList(i, v, i > 0, v) == ['b']", true),
        ("object.list.transformMap(i, v, v) == {0: 'a', 1: 'b'}", true),
        (
            "object.list.transformMapEntry(i, v, {v: i}) == {'a': 0, 'b': 1}",
            true,
        ),
        ("[3, 1, 2].sortBy(x, -x) == [3, 2, 1]", true),
        ("object.?spec.?replicas.optMap(r, r + 1).orValue(0) == 4", true),
        ("object.?none.optMap(r, r + 1).hasValue()", false),
        ("object.?spec.optFlatMap(s, s.?name).orValue('') == 'x'", true),
    ] {
        assert_eq!(evaluate(expression), Ok(Outcome::Bool(expected)), "{expression}");
    }
    let twice = "object.list.transformMapEntry(i, v, {'a': i})";
    let why = "insert failed: key a already exists";
    assert_eq!(
        evaluate(twice),
        Err(format!("expression '{twice}' resulted in error: {why}"))
    );
}

#[test]
fn items_that_fail_count_only_if_no_other_decides() {
    for (expression, expected) in [
        ("[{'a': 1}, {'b': 2}].exists(x, x.b == 2)", true),
        ("[{'a': 1}, {'b': 2}].all(x, x.b == 3)", false),
        ("[{'a': 1}, {'b': 2}].exists(i, x, x.b == 2)", true),
        ("{'a': 0, 'b': 1}.exists(k, 1 / (k == 'a' ? 0 : 1) == 1)", true),
        ("[[{'a': 1}], [{'b': 2}]].exists(l, l.exists(x, x.b == 2))", true),
    ] {
        assert_eq!(evaluate(expression), Ok(Outcome::Bool(expected)), "{expression}");
    }
    for expression in [
        "[{'a': 1}, {'b': 2}].exists(x, x.b == 3)",
        "[{'a': 1}, {'b': 2}].all(x, x.b == 2)",
        "[{'a': 1}, {'b': 2}].exists_one(x, x.b == 2)",
    ] {
        let message = format!("expression '{expression}' resulted in error: no such key: b");
        assert_eq!(evaluate(expression), Err(message));
    }
}

#[test]
fn evaluations_that_cost_too_much_are_cancelled() {
    let nested = (0..14).fold("[1 / 0]".to_owned(), |range, _| format!("[{range}.all(y, true)]"));
    let check = |group: &str| format!("authorizer.group('{group}').resource('pods').check('get').allowed()");
    let expressions = [
        // Ranges that fail.
        format!("{nested}.all(y, true)"),
        "[1].all(x, lists.range(500).all(y, lists.range(500).all(z, true))) || true".to_owned(),
        format!(
            "'aaaaaaaaaa'{}.size() > 0",
            ".replace('a', 'aaaaaaaaaa')".repeat(8)
        ),
        format!("{} && {} && {}", check("a"), check("b"), check("c")),
    ];
    let evaluate_all = move || {
        for expression in expressions {
            let why = evaluate(&expression).unwrap_err();
            assert!(why.ends_with(OVER_COST), "{expression}: {why}");
        }
    };
    // Without optimization, parsing needs much of the stack.
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    thread.spawn(evaluate_all).unwrap().join().unwrap();
}

#[test]
fn patches_are_made_of_objects_and_plain_values() {
    let activation = activation(&[]);
    let configuration = |text: &str| activation.configuration(&Expression::compile(text), &|_| None);
    let patch = |text: &str| activation.json_patch(&Expression::compile(text), &|_| None);
    assert_eq!(
        configuration("Object{spec: Object.spec{list: [1, 2], map: {'@type': 'x'}}}"),
        Ok(json!({ "spec": { "list": [1, 2], "map": { "@type": "x" } } }))
    );
    assert!(configuration("object.?none.orValue('x')").is_err());
    assert!(configuration("Object{spec: Object.other{}}").is_err());
    assert_eq!(
        patch("[JSONPatch{op: 'add', path: '/spec/t', value: [Object.spec.t{key: 'a'}]}]"),
        Ok(json!([{ "op": "add", "path": "/spec/t", "value": [{ "key": "a" }] }]))
    );
    assert_eq!(
        patch("[JSONPatch{op: 'add', path: '/at', value: timestamp('2024-01-01T00:00:00Z')}]"),
        Ok(json!([{ "op": "add", "path": "/at", "value": "2024-01-01T00:00:00Z" }]))
    );
}

#[test]
fn types_are_values() {
    for (expression, expected) in [
        ("type(object.spec.replicas) == int", true),
        ("type(object.spec.name) == int", false),
        ("type(object) == map && type(object.list) == list", true),
        ("type(oldObject) == null_type && type(1.0) == double", true),
        ("type(type(1)) == type && type(1) == type(2)", true),
        ("type(ip('127.0.0.1')) == net.IP", true),
        (
            "type(timestamp('2020-01-01T00:00:00Z')) == google.protobuf.Timestamp",
            true,
        ),
        ("object.list.exists(int, int == 'a')", true),
        ("bool('true') && !bool('F') && bool(true)", true),
    ] {
        assert_eq!(evaluate(expression), Ok(Outcome::Bool(expected)), "{expression}");
    }
    let why = "type conversion error from 'string' to 'bool'";
    assert_eq!(
        evaluate("bool('x')"),
        Err(format!("expression 'bool('x')' resulted in error: {why}"))
    );
}

#[test]
fn fields_of_values_without_fields_are_errors_not_false() {
    for (expression, why) in [
        ("object.spec.color == 'red'", "no such key: color"),
        ("oldObject.spec.name == 'x'", "no such key: spec"),
        ("!(oldObject.spec)", "no such key: spec"),
        ("object.spec.name.first == 'x'", "no such key: first"),
        ("has(object.none.field)", "no such key: none"),
        ("int(object.none) == 1", "no such key: none"),
        ("size(object.spec.name.none) == 1", "no such key: none"),
        ("object.list.map(item, item.name) == []", "no such key: name"),
    ] {
        let message = format!("expression '{expression}' resulted in error: {why}");
        assert_eq!(evaluate(expression), Err(message));
    }
}

#[test]
fn expressions_without_meaning_are_errors() {
    for expression in [
        "object.(",
        "object.list.all(true)",
        "Object{spec: 1}.none",
        "nope(1)",
    ] {
        assert!(evaluate(expression).is_err(), "{expression}");
    }
}

#[test]
fn composed_variables_are_evaluated_when_they_are_used() {
    let variables = [
        ("n", "object.spec.replicas"),
        ("twice", "variables.n * 2"),
        ("fails", "object.none"),
        ("shadow", "object.list.size()"),
    ];
    let evaluate = |expression| evaluate_with(&variables, expression);
    assert_eq!(evaluate("variables.twice == 6"), Ok(Outcome::Bool(true)));
    assert_eq!(evaluate("has(variables.n)"), Ok(Outcome::Bool(true)));
    assert_eq!(evaluate("variables.fails == 1 || true"), Ok(Outcome::Bool(true)));
    // A name that a comprehension binds does not reach into the variable.
    assert_eq!(
        evaluate("[1].all(object, variables.shadow == 2)"),
        Ok(Outcome::Bool(true))
    );
    assert_eq!(
        evaluate("variables.fails == 1").unwrap_err(),
        "expression 'variables.fails == 1' resulted in error: composited variable \"fails\" fails to evaluate: no such key: none"
    );
}

#[test]
fn authorizer_is_asked_once_for_each_check() {
    let asked = Mutex::new(vec![]);
    let authorize = |check: &AccessCheck| {
        lock(&asked).push(format!("{} {} {}", check.verb, check.resource, check.namespace));
        (check.verb == "get").then(String::new)
    };
    let activation = activation(&[(
        "allowed",
        "authorizer.group('').resource('secrets').namespace('n').check('get').allowed()",
    )]);
    for (expression, expected) in [
        ("variables.allowed", true),
        (
            "authorizer.group('').resource('secrets').namespace('n').check('get').allowed()",
            true,
        ),
        ("authorizer.requestResource.check('list').allowed()", false),
        (
            "authorizer.requestResource.check('list').allowed() || variables.allowed",
            true,
        ),
        (
            "authorizer.path('/x').check('get').allowed() && !authorizer.path('/x').check('post').errored()",
            true,
        ),
    ] {
        let outcome = activation.evaluate(&Expression::compile(expression), &authorize);
        assert_eq!(outcome, Ok(Outcome::Bool(expected)), "{expression}");
    }
    assert_eq!(*lock(&asked), ["get secrets n", "list pods ", "get  ", "post  "]);
    assert!(evaluate("authorizer.check(1) == null").is_err());
    assert!(evaluate("object.check('get').allowed()").is_err());
}

#[test]
fn endless_comprehensions_end() {
    let range = (0..100).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
    let expression = format!("[{range}].all(a, [{range}].all(b, [{range}].all(c, true)))");
    let error = evaluate(&expression).unwrap_err();
    assert!(
        error.ends_with("operation cancelled: actual cost limit exceeded"),
        "{error}"
    );
}

#[test]
fn all_evaluations_together_have_a_limit() {
    let check = Expression::compile("authorizer.path('/x').check('get').allowed()");
    let activation = activation(&[]);
    let outcomes = (0..30).map(|_| activation.evaluate(&check, &|_| None));
    let outcomes: Vec<_> = outcomes.collect();
    assert!(
        outcomes[..28]
            .iter()
            .all(|outcome| *outcome == Ok(Outcome::Bool(false)))
    );
    assert_eq!(outcomes[28..], [(); 2].map(|()| Err(OVER_BUDGET.to_owned())));
}

#[test]
fn every_function_exists() {
    // `dyn` is no function of the evaluation.
    let is_function = |name: &&str| !signatures::is_operator(name) && *name != "dyn";
    for name in signatures::names().filter(is_function) {
        let outcome = evaluate(&format!("{name}(1, 2, 3, 4)"));
        let is_missing = outcome.is_err_and(|error| error.contains("ndeclared reference"));
        assert!(!is_missing, "{name}");
    }
}
