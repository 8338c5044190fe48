use super::table::{Cardinality, MessageField};
use super::*;
use crate::types;
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::Map;

fn length_delimited(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    bytes.extend_from_slice(content);
    bytes
}

fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn envelope(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [
        length_delimited(1, version.as_bytes()),
        length_delimited(2, kind.as_bytes()),
    ]
    .concat();
    [MAGIC, &length_delimited(1, &meta), &length_delimited(2, raw)].concat()
}

fn pod() -> Vec<u8> {
    let metadata = length_delimited(1, b"p");
    // A probe's handler is inlined in JSON: httpGet is field 2 of the handler, which is field 1 of the probe; its port is 2.
    let port = [varint(1, 1), length_delimited(3, b"http")].concat();
    let get = length_delimited(2, &port);
    let probe = [length_delimited(1, &length_delimited(2, &get)), varint(2, 5)].concat();
    let request = [
        length_delimited(1, b"cpu"),
        length_delimited(2, &length_delimited(1, b"100m")),
    ]
    .concat();
    let resources = length_delimited(2, &request);
    let container = [
        length_delimited(1, b"c"),
        length_delimited(2, b"i"),
        length_delimited(8, &resources),
        length_delimited(10, &probe),
    ]
    .concat();
    [
        length_delimited(1, &metadata),
        length_delimited(2, &length_delimited(2, &container)),
    ]
    .concat()
}

#[test]
fn pod_decodes_to_its_json() {
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
        "spec": { "containers": [{
            "name": "c", "image": "i", "resources": { "requests": { "cpu": "100m" } },
            "livenessProbe": { "httpGet": { "port": "http" }, "initialDelaySeconds": 5 },
        }] },
    });
    assert_eq!(decode(&envelope("v1", "Pod", &pod())).unwrap(), expected);
}

#[test]
fn malformed_messages_are_rejected() {
    let pod = envelope("v1", "Pod", &length_delimited(1, &length_delimited(1, b"p")));
    for end in 0..pod.len() {
        // Some prefixes end between fields: they decode to fewer fields.
        let _ = decode(&pod[..end]);
    }
    assert!(decode(b"{}").is_err());
    assert!(decode(&envelope("demo.dev/v1", "Foo", b"")).is_err());
    assert!(decode(&envelope("v1", "Pod", &[0x0a, 0xff])).is_err());
    assert!(decode(&envelope("v1", "Pod", &[0x0f])).is_err());
}

proptest! {
    #[test]
    fn decoding_never_panics(changes in vec((any::<Index>(), any::<Option<u8>>(), any::<bool>()), 1..6)) {
        let mut bytes = pod();
        for (at, byte, more) in changes {
            let at = at.index(bytes.len());
            match byte {
                Some(byte) if more => bytes.insert(at, byte),
                Some(byte) => bytes[at] = byte,
                None => drop(bytes.remove(at)),
            }
        }
        if let Ok(object) = decode(&envelope("v1", "Pod", &bytes)) {
            prop_assert_eq!(&object["kind"], "Pod");
        }
    }
}

/// Chooses values for random objects.
struct Choices {
    state: u64,
    /// The number of messages that may still be added where they may be absent.
    budget: usize,
}

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % limit
    }

    /// Returns a random JSON of a message, with at most this depth.
    fn message(&mut self, name: &str, depth: usize) -> Value {
        let message = table::message(name).unwrap();
        self.budget = self.budget.saturating_sub(1);
        let is_deep = depth == 0 || self.budget == 0;
        match name {
            _ if json_form::RAW_JSON.contains(&name) => json!({ "f:a": { ".": {} }, "b": self.below(9) }),
            "resource.Quantity" => json!(format!("{}m", self.below(1000))),
            "intstr.IntOrString" if self.below(2) == 0 => json!("10%"),
            "intstr.IntOrString" => json!(self.below(3)),
            "meta.v1.Time" | "meta.v1.MicroTime" if self.below(3) == 0 => Value::Null,
            "meta.v1.Time" => json!("2026-01-02T03:04:05Z"),
            "meta.v1.MicroTime" => json!("2026-01-02T03:04:05.678901Z"),
            "apiextensions.v1.JSONSchemaPropsOrBool" if is_deep || self.below(2) == 0 => {
                json!(self.below(2) == 0)
            }
            "apiextensions.v1.JSONSchemaPropsOrStringArray" if is_deep || self.below(2) == 0 => {
                json!(["a", "b"])
            }
            "apiextensions.v1.JSONSchemaPropsOrArray" if is_deep || self.below(2) == 0 => {
                let schemas = if is_deep {
                    vec![]
                } else {
                    vec![self.message("apiextensions.v1.JSONSchemaProps", depth - 1)]
                };
                json!(schemas)
            }
            name if name.starts_with("apiextensions.v1.JSONSchemaPropsOr") => {
                self.message("apiextensions.v1.JSONSchemaProps", depth - 1)
            }
            _ if message.is_list => json!(["x", "y"]),
            _ => {
                let mut object = Map::new();
                for field in &message.fields {
                    self.add_field(&mut object, field, depth);
                }
                object.into()
            }
        }
    }

    fn add_field(&mut self, object: &mut Map<String, Value>, field: &MessageField, depth: usize) {
        let is_message = table::message(field.ty).is_some();
        if field.is_inline() {
            let Value::Object(inner) = self.message(field.ty, depth) else {
                return;
            };
            object.extend(inner);
            return;
        }
        // Messages that are no pointers are always there.
        let may_lack = field.is_pointer || !is_message || field.cardinality != Cardinality::Singular;
        if may_lack && (depth == 0 || self.budget == 0 || self.below(3) == 0) {
            return;
        }
        let depth = depth.saturating_sub(1);
        let value = match field.cardinality {
            Cardinality::Singular => self.value(field, depth),
            Cardinality::List => (0..=self.below(2)).map(|_| self.value(field, depth)).collect(),
            Cardinality::Map => {
                let keys = ["b", "a.b/c", ""]
                    .into_iter()
                    .take(1 + usize::try_from(self.below(3)).unwrap());
                keys.map(|key| (key.to_owned(), self.value(field, depth)))
                    .collect::<Map<_, _>>()
                    .into()
            }
        };
        // Absent and null are the same.
        if !(value.is_null() && field.is_pointer) {
            object.insert(field.name.to_owned(), value);
        }
    }

    fn value(&mut self, field: &MessageField, depth: usize) -> Value {
        // Only pointers and items may be zero and be there.
        let may_be_zero = field.is_pointer || field.cardinality != Cardinality::Singular;
        let is_zero = may_be_zero && self.below(4) == 0;
        match field.ty {
            "string" if is_zero => json!(""),
            "string" => {
                json!(["a", "\u{e4}\u{1f600}", "longer text"][usize::try_from(self.below(3)).unwrap()])
            }
            "bytes" => json!(["", "AAECAw=="][usize::try_from(self.below(2)).unwrap()]),
            "bool" => json!(!is_zero),
            "int32" | "int64" if is_zero => json!(0),
            "int32" => json!([1, -1, i32::MIN, i32::MAX][usize::try_from(self.below(4)).unwrap()]),
            "int64" => json!([1, -300, i64::MIN, i64::MAX][usize::try_from(self.below(4)).unwrap()]),
            "double" => [json!(0.5), json!(-1.25), json!(7)][usize::try_from(self.below(3)).unwrap()].clone(),
            message => self.message(message, depth),
        }
    }
}

/// Returns the API version and the kind of a message.
fn type_meta(name: &str) -> (String, &str) {
    let parts: Vec<&str> = name.split('.').collect();
    let version = match parts[0] {
        "core" => parts[1].to_owned(),
        package => format!("{package}.k8s.io/{}", parts[1]),
    };
    (version, parts[2])
}

/// Each case encodes all kinds. `PROPTEST_CASES` sets another number, as for tests without a number of their own.
fn config() -> ProptestConfig {
    const CASES: u32 = 8;
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").map_or(CASES, |_| default.cases.max(CASES)),
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn decoding_reverses_encoding(seed in 1_u64..) {
        for name in table::kinds() {
            let mut object = Choices { state: seed, budget: 300 }.message(name, 12);
            let (version, kind) = type_meta(name);
            object["apiVersion"] = json!(version);
            object["kind"] = json!(kind);
            let bytes = encode(&object).unwrap();
            let decoded = decode(&bytes).unwrap();
            prop_assert_eq!(&decoded, &object, "{}", name);
            prop_assert_eq!(encode(&decoded).unwrap(), bytes);
        }
    }
}

/// The table agrees with that of the types about the kinds, the names of fields, and pointers.
#[test]
fn messages_have_the_fields_of_the_types() {
    let mut count = 0;
    for (version, kind) in types::builtin_kinds() {
        let name = table::kind(version, kind).unwrap_or_else(|| panic!("{version} {kind}"));
        let ty = types::builtin(version, kind).unwrap();
        assert!(
            matches!(ty, types::Type::Named(named) if *named.name == *name),
            "{version} {kind}: {name}"
        );
    }
    for (name, ty) in types::object_types() {
        let Some(message) = table::message(name) else {
            continue;
        };
        let mut known = vec!["apiVersion", "kind"];
        let mut pending: Vec<&MessageField> = message.fields.iter().collect();
        while let Some(field) = pending.pop() {
            if field.is_inline() {
                pending.extend(&table::message(field.ty).unwrap().fields);
                continue;
            }
            known.push(field.name);
            let declared = ty.fields.get(field.name);
            let is_special = table::message(field.ty).is_some_and(|message| message.fields.is_empty());
            assert!(declared.is_some() || is_special, "{name}: {}", field.name);
            count += 1;
            if let Some(declared) = declared.filter(|_| field.cardinality == Cardinality::Singular) {
                assert_eq!(declared.empty.pointer, field.is_pointer, "{name}: {}", field.name);
            }
        }
        for field in ty.fields.keys() {
            assert!(known.contains(&&**field), "{name}: {field} has no number");
        }
    }
    assert!(count > 1500, "{count}");
}

#[test]
fn objects_have_the_bytes_of_go() {
    let list = json!({ "kind": "PodList", "apiVersion": "v1", "metadata": { "resourceVersion": "208" }, "items": [] });
    let expected =
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x0b\x0a\x09\x0a\x00\x12\x03208\x1a\x00\x1a\x00\x22\x00";
    assert_eq!(encode(&list).unwrap(), expected);
    // Labels are sorted, and zero fields are there.
    let namespace = json!({
        "kind": "Namespace", "apiVersion": "v1",
        "metadata": { "name": "n", "creationTimestamp": null, "labels": { "b": "2", "a": "" } },
    });
    let metadata = b"\x0a\x01n\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x5a\x05\x0a\x01a\x12\x00\x5a\x06\x0a\x01b\x12\x012";
    let expected = [&b"\x0a\x20"[..], metadata, b"\x12\x00\x1a\x02\x0a\x00"].concat();
    assert_eq!(
        encode(&namespace).unwrap(),
        envelope("v1", "Namespace", &expected)
            .into_iter()
            .chain(*b"\x1a\x00\x22\x00")
            .collect::<Vec<_>>()
    );
    let events = [
        encode_event("ADDED", &namespace).unwrap(),
        encode_event("DELETED", &list).unwrap(),
    ]
    .concat();
    let decoded = decode_events(&events).unwrap();
    assert_eq!(
        (decoded.len(), &decoded[0]["type"], &decoded[1]["object"]["kind"]),
        (2, &json!("ADDED"), &json!("PodList"))
    );
    assert_eq!(decode_events(&events[..events.len() - 1]).unwrap().len(), 1);
    assert!(encode(&json!({ "kind": "Note", "apiVersion": "demo.dev/v1" })).is_err());
}
