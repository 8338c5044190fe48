//! JSON as kube-apiserver's encoder writes it: the fields of built-in kinds in the order of their Go structs, all others by name, and
//! characters of HTML escaped.

mod scalars;

use crate::apply::PathElement;
use crate::types::{self, Field, List, ListKind, Map, Scalar, Type};
use scalars::{write_double, write_text};
use serde_json::Value;
use std::io::Write as _;
use std::sync::LazyLock;

/// Returns an object or a list on one line, by the type of its kind.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut json = vec![];
    write(&mut json, value, type_of_kind(value));
    json
}

/// Returns a value with an indentation of two spaces.
pub fn encode_pretty(value: &Value, ty: Option<&Type>) -> Vec<u8> {
    let mut encoder = Encoder {
        out: &mut vec![],
        indentation: Some(0),
    };
    encoder.value(value, ty);
    std::mem::take(encoder.out)
}

/// Appends a value on one line. Without a type, fields are in the order of their names.
pub fn write(out: &mut Vec<u8>, value: &Value, ty: Option<&Type>) {
    let indentation = None;
    Encoder { out, indentation }.value(value, ty);
}

/// Appends an object on one line, by the type of its kind, but without kind and apiVersion.
pub fn write_without_kind(out: &mut Vec<u8>, object: &Value) {
    let (ty, indentation) = (type_of_kind(object), None);
    let mut encoder = Encoder { out, indentation };
    encoder.object(object, ty, |name| !matches!(name, "kind" | "apiVersion"));
}

/// Returns the type of a built-in kind, by the kind and the apiVersion of an object or a list.
pub fn type_of_kind(value: &Value) -> Option<&'static Type> {
    let text = |key| value.get(key).and_then(Value::as_str);
    let (kind, version) = (text("kind")?, text("apiVersion")?);
    if !version.starts_with("meta.k8s.io/") {
        return types::builtin(version, kind);
    }
    let found = META_KINDS.iter().find(|(name, _)| *name == kind);
    found.map(|(_, ty)| ty)
}

/// The kinds of `meta.k8s.io`, which OpenAPI documents do not have.
static META_KINDS: LazyLock<[(&str, Type); 3]> = LazyLock::new(|| {
    let (text, any) = (|| Type::Scalar(Scalar::String), || Type::Any);
    let texts = |names: &[&'static str]| structure(names.iter().map(|name| (*name, text())));
    let list = |items| {
        let kind = ListKind::Atomic;
        Type::List(Box::new(List { items, kind }))
    };
    let kind = |metadata: &str, fields: Vec<(&'static str, Type)>| {
        let head = [
            ("kind", text()),
            ("apiVersion", text()),
            ("metadata", Type::named(metadata)),
        ];
        structure(head.into_iter().chain(fields))
    };
    let columns = texts(&["name", "type", "format", "description", "priority"]);
    let conditions = texts(&["type", "status", "reason", "message"]);
    let rows = structure([
        ("cells", any()),
        ("conditions", list(conditions)),
        ("object", Type::Opaque),
    ]);
    let table = vec![("columnDefinitions", list(columns)), ("rows", list(rows))];
    let objects = vec![("items", list(Type::Opaque))];
    [
        ("Table", kind("meta.v1.ListMeta", table)),
        ("PartialObjectMetadata", kind("meta.v1.ObjectMeta", vec![])),
        ("PartialObjectMetadataList", kind("meta.v1.ListMeta", objects)),
    ]
});

fn structure(fields: impl IntoIterator<Item = (&'static str, Type)>) -> Type {
    let fields = fields.into_iter().zip(0..).map(|((name, ty), position)| {
        let field = Field {
            position,
            ..ty.into()
        };
        (name.into(), field)
    });
    Type::Map(Box::new(Map {
        fields: fields.collect(),
        ..Map::default()
    }))
}

struct Encoder<'o> {
    out: &'o mut Vec<u8>,
    /// The number of spaces before a line; None: all is on one line.
    indentation: Option<usize>,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value, ty: Option<&Type>) {
        let ty = match ty {
            Some(Type::Schema(form)) => form.type_of(value),
            ty => ty,
        };
        match value {
            Value::String(text) => write_text(self.out, text),
            Value::Object(_) => {
                let ty = match ty {
                    Some(Type::Opaque) => type_of_kind(value),
                    ty => ty,
                };
                self.object(value, ty, |_| true);
            }
            Value::Array(items) => {
                let items_type = ty.and_then(Type::as_list).map(|list| &list.items);
                self.enclosed([b'[', b']'], items, |encoder, item| {
                    encoder.value(item, items_type);
                });
            }
            Value::Number(number) => match number.as_f64() {
                Some(double) if number.is_f64() => write_double(self.out, double),
                // Writing to a vector cannot fail.
                _ => drop(write!(self.out, "{number}")),
            },
            Value::Null => self.out.extend_from_slice(b"null"),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
        }
    }

    fn object(&mut self, object: &Value, ty: Option<&Type>, is_shown: impl Fn(&str) -> bool) {
        let fields = object.as_object().into_iter().flatten();
        let fields = fields.filter(|(name, _)| is_shown(name));
        let declared = ty.and_then(Type::as_map).map(|(map, _)| map);
        let Some(declared) = declared.filter(|map| !map.fields.is_empty()) else {
            let values = declared.and_then(|map| map.values.as_ref());
            self.enclosed([b'{', b'}'], fields, |encoder, (name, value)| {
                encoder.field(name, value, values);
            });
            return;
        };
        let fields = fields.map(|(name, value)| match declared.fields.get(name.as_str()) {
            Some(field) => (field.position, name, value, Some(&field.ty)),
            None => (u16::MAX, name, value, declared.values.as_ref()),
        });
        let mut fields: Vec<_> = fields.collect();
        fields.sort_by_key(|(position, ..)| *position);
        self.enclosed([b'{', b'}'], fields, |encoder, (_, name, value, ty)| {
            encoder.field(name, value, ty);
        });
    }

    fn field(&mut self, name: &str, value: &Value, ty: Option<&Type>) {
        self.name(name);
        match value {
            Value::Object(set) if name == "fieldsV1" => self.field_set(set),
            _ => self.value(value, ty),
        }
    }

    fn name(&mut self, name: &str) {
        write_text(self.out, name);
        let colon: &[u8] = if self.indentation.is_some() { b": " } else { b":" };
        self.out.extend_from_slice(colon);
    }

    /// Writes a set of fields of `managedFields`, whose entries are not in the order of their texts.
    fn field_set(&mut self, set: &serde_json::Map<String, Value>) {
        let mut entries: Vec<_> = set.iter().collect();
        // Names of fields are sorted already.
        if set.keys().any(|name| name != "." && !name.starts_with("f:")) {
            entries.sort_by_cached_key(|(name, _)| PathElement::decode(name));
        }
        self.enclosed([b'{', b'}'], entries, |encoder, (name, value)| {
            encoder.name(name);
            match value {
                Value::Object(set) => encoder.field_set(set),
                value => encoder.value(value, None),
            }
        });
    }

    /// Writes items between brackets.
    fn enclosed<T>(
        &mut self,
        [open, close]: [u8; 2],
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.out.push(open);
        let outer = self.indentation;
        self.indentation = outer.map(|spaces| spaces + 2);
        let mut is_empty = true;
        for item in items {
            if !std::mem::take(&mut is_empty) {
                self.out.push(b',');
            }
            self.new_line();
            write(self, item);
        }
        self.indentation = outer;
        if !is_empty {
            self.new_line();
        }
        self.out.push(close);
    }

    fn new_line(&mut self) {
        if let Some(spaces) = self.indentation {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + spaces, b' ');
        }
    }
}

#[cfg(test)]
mod tests;
