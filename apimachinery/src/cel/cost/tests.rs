use super::super::check_rule;
use serde_json::{Value, json};

fn schema() -> Value {
    let text = |characters: u64| json!({"type": "string", "maxLength": characters});
    let inner = json!({"type": "object", "properties": {"name": text(10), "n": {"type": "integer"}}});
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": text(20), "n": {"type": "integer"}, "inner": {"type": "array", "maxItems": 5, "items": inner},
    }});
    let items = json!({"type": "array", "maxItems": 10, "items": item});
    json!({"type": "object", "properties": {
        "s": text(50), "u": {"type": "string"}, "e": {"type": "string", "enum": ["Always", "Never"]},
        "l": {"type": "array", "maxItems": 20, "items": text(30)}, "ul": {"type": "array", "items": {"type": "string"}},
        "ints": {"type": "array", "maxItems": 40, "items": {"type": "integer"}},
        "m": {"type": "object", "maxProperties": 10, "additionalProperties": text(20)},
        "um": {"type": "object", "additionalProperties": {"type": "string"}},
        "b": {"type": "string", "format": "byte", "maxLength": 64}, "d": {"type": "string", "format": "date-time"},
        "q": {"x-kubernetes-int-or-string": true}, "n": {"type": "integer"}, "t": {"type": "boolean"},
        "o": items.clone(), "g": {"type": "object", "properties": {"h": {"type": "object", "properties": {"o": items}}}},
    }})
}

/// The estimates that kube-apiserver's refusals of definitions with these rules show.
#[test]
fn costs_depend_on_what_the_schema_allows() {
    let schema = schema();
    for (rule, cost) in [
        ("self.n > 3 && self.n % 2 == 0", 7),
        ("has(self.s) && !has(self.g.h)", 4),
        ("self.u == 'Always'", 3),
        ("self.u == self.u", 314_577),
        ("self.s.matches('^[a-z0-9]+(-[a-z0-9]+)*$')", 128),
        ("self.u.matches('^[a-z0-9]+(-[a-z0-9]+)*$')", 1_887_440),
        ("matches(self.u, '^a+$')", 3),
        ("self.e == self.u", 5),
        ("self.u.contains('abcdefghijkl')", 629_148),
        ("(self.u + 'abc').contains('b')", 629_148),
        ("self.u.split(',').all(x, x.size() < 3)", 19_503_505),
        ("self.u.split(',', 4).all(x, x == 'a')", 629_165),
        ("self.ul.join() == ''", 329_852_964_047),
        ("self.s.replace('', 'bcd').replace('ab', 'x') == self.u", 286),
        ("string(self.b) == 'x'", 10),
        ("string(self.q).contains('a')", 629_148),
        ("self.q == 'abc'", 3),
        ("self.d.getFullYear() > 2020", 4),
        ("self.l.all(x, x == 'a')", 103),
        ("self.ul.all(x, x == 'abcdefgh')", 5_242_878),
        ("self.l.map(x, x + 'abc').all(y, y == self.u)", 654),
        ("self.l.filter(x, x != 'a').all(y, y == 'b')", 394),
        ("'a' in self.l && 'a' in self.um", 25),
        ("self.um.all(k, self.um[k].size() < 4)", 3_538_938),
        ("self.ints.max() > self.ints.min()", 85),
        ("self.l.isSorted()", 262),
        ("sets.equivalent(self.l, ['a', 'b'])", 93),
        ("self.ints.sort()[0] == 1", 3214),
        ("self.t ? self.l.all(x, x == 'a') : self.u == self.u", 314_579),
        ("quantity(self.u) == quantity(self.s)", 314_598),
        ("url(self.u).getHost() == 'a'", 314_577),
        ("cidr(self.s).containsIP(self.u)", 314_601),
        ("!format.dns1123Label().validate(self.s).hasValue()", 645),
        ("self.?s.orValue('a') == self.u", 314_578),
        ("self.o[0].inner[0].name == self.u", 12),
        ("self.l.exists(i, v, v.startsWith('abc') || i > 3)", 163),
        ("self.um.exists(k, v, k == v)", 2_359_293),
        ("self.m.transformList(k, v, k + v).size() > 3", 235),
        ("self.l.transformMap(i, v, v + 'a').all(k, v, v == 'b')", 454),
        ("self.l.transformMapEntry(i, v, i > 1, {v: i}).size() == 2", 755),
        ("self.o.all(i, x, x.inner.all(j, y, y.name == x.name))", 8863),
        ("{'a': self.s}.all(k, v, v == self.u && k == v)", 41),
        ("self.?s.optMap(x, x.size() > 3).orValue(true)", 21),
        ("self.?n.optMap(x, x + 1) == self.?n.optMap(x, x + 2)", 39),
        (
            "self.?g.?h.optFlatMap(x, x.?o).optMap(x, x.size()).orValue(0) > 3",
            57,
        ),
        ("self.o.sortBy(x, x.name).all(x, x.name == 'a')", 987),
        ("self.l.sortBy(x, x).sortBy(y, y.size()).size() == 3", 326_772),
    ] {
        let found = check_rule(&json!({ "rule": rule }), "rule", &schema, false);
        assert_eq!(found.map(|cost| cost.once), Ok(cost), "{rule}");
    }
}

/// cel-go appends to paths in place: the second rule selects `y.name` after `y.n`, which share memory.
#[test]
fn paths_share_memory() {
    let schema = schema();
    let cost = |rule: &str| {
        check_rule(&json!({ "rule": rule }), "rule", &schema, false)
            .unwrap()
            .once
    };
    let nested = "x.inner.all(y, y.n < x.n && y.name.contains(x.name))";
    assert!(cost(&format!("self.o.all(x, {nested})")) < 1_000_000);
    assert_eq!(cost(&format!("self.g.h.o.all(x, {nested})")), u64::MAX);
}

#[test]
fn a_request_limits_how_many_values_there_are() {
    let text = json!({"type": "string"});
    let object = json!({"type": "object", "required": ["name", "other"], "properties": {
        "name": {"type": "string"}, "other": {"type": "string", "default": "x"},
    }});
    for (schema, rule, values) in [
        (&text, "self == 'a'", 1_048_576),
        (&json!({"type": "boolean"}), "self", 629_145),
        (&json!({"type": "integer"}), "self > 1", 1_572_864),
        (&object, "self.name == 'a'", 241_979),
    ] {
        let cost = check_rule(&json!({ "rule": rule }), "rule", schema, false).unwrap();
        assert_eq!(cost.values_per_request, values, "{schema}");
    }
}

/// The estimates beside kube-apiserver's limit for selectors of devices, 1,000,000.
#[test]
fn costs_of_selectors_depend_on_what_devices_have() {
    for (selector, length, cost) in [
        (
            "device.attributes.all(d, a, a.all(k, v, v == 'a' && d.matches('a')))",
            549,
            1_001_635,
        ),
        (
            "device.capacity.all(d, c, c.all(n, q, q.isGreaterThan(quantity('1')) && n.matches('a')))",
            3877,
            1_000_611,
        ),
        (
            "cel.bind(x, device.attributes['x'], x.all(a, x.all(b, a == b && a.matches('a') && x.s.matches('a'))))",
            349,
            1_003_695,
        ),
    ] {
        let selector = selector.replace("'a'", &format!("'{}'", "a".repeat(length)));
        let found = crate::cel::check_device_selector(&selector);
        assert_eq!(found, Ok(cost), "{selector}");
    }
}

/// Each `optMap` repeats its receiver.
#[test]
fn chains_of_macros_are_bounded() {
    let rule = format!("self.?n{}.hasValue()", ".optMap(x, x + 1)".repeat(90));
    let why = check_rule(&json!({ "rule": rule }), "rule", &schema(), false).unwrap_err();
    assert!(why.contains("its macros make the expression too large"), "{why}");
}
