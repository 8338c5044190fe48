//! Parses `builtin.txt`; the head of that file describes its format. The table is generated and tested, so unreadable lines are skipped.

use std::collections::HashMap;

use crate::types::{
    EmptyEncoding, Field, FieldDocument, List, ListKind, Map, Named, PatchStrategy, Scalar, SchemaOr, Type,
};

/// The types by name, and the types of kinds by API version and kind.
pub(crate) struct BuiltinTypes {
    pub(crate) types: HashMap<Box<str>, Type>,
    pub(crate) kinds: HashMap<(Box<str>, Box<str>), Type>,
}

pub(crate) fn parse_table(text: &str) -> BuiltinTypes {
    let mut types: HashMap<Box<str>, Type> = HashMap::new();
    let mut kinds = HashMap::new();
    let mut current: Option<(Box<str>, Map)> = None;
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("  ") {
            if let (Some((_, map)), Some((name, mut field))) = (&mut current, parse_field(line)) {
                field.position = u16::try_from(map.fields.len()).unwrap_or(u16::MAX);
                map.fields.insert(name, field);
            }
            continue;
        }
        if let Some((name, map)) = current.take() {
            types.insert(name, Type::Map(Box::new(map)));
        }
        match *line.split(' ').collect::<Vec<_>>() {
            ["kind", version, kind, ty] => {
                kinds.insert(
                    (version.trim_start_matches('/').into(), kind.into()),
                    Type::named(ty),
                );
            }
            ["type", name, ref rest @ ..] => {
                current = Some((
                    name.into(),
                    Map {
                        atomic: rest.contains(&"atomic"),
                        required_order: rest
                            .iter()
                            .find_map(|word| word.strip_prefix("required="))
                            .map(|names| names.split(',').map(Into::into).collect())
                            .unwrap_or_default(),
                        unions: rest
                            .iter()
                            .find_map(|word| serde_json::from_str(word.strip_prefix("unions=")?).ok()),
                        ..Map::default()
                    },
                ));
            }
            _ => {}
        }
    }
    if let Some((name, map)) = current {
        types.insert(name, Type::Map(Box::new(map)));
    }
    BuiltinTypes { types, kinds }
}

fn parse_field(line: &str) -> Option<(Box<str>, Field)> {
    // The default is last on the line, and may contain spaces.
    let (line, default) = match line.split_once(" default=") {
        Some((line, default)) => (line, serde_json::from_str(default).ok()),
        None => (line, None),
    };
    let mut words = line.split(' ');
    let name = words.next()?;
    let mut ty = parse_type(words.next()?);
    let mut required = false;
    let mut patch = PatchStrategy::default();
    let mut empty = EmptyEncoding::default();
    let mut go_type = None;
    let mut inlined_from = None;
    let mut document = FieldDocument {
        has_list_type: line.contains(" list="),
        ..FieldDocument::default()
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let (value, names) = value.trim_end_matches(')').split_once('(').unwrap_or((value, ""));
        match key {
            "required" => required = true,
            "go" => go_type = Some(value.into()),
            "schema" => document.schema = Some(value.into()),
            "enum" => {
                let values = value.split(',').map(|value| value.replace('~', " ").into());
                document.values = values.collect();
            }
            "in" => inlined_from = Some(value.into()),
            "pointer" => empty.pointer = true,
            "omitempty" => empty.omitempty = true,
            "omitzero" => empty.omitzero = true,
            "list" => {
                if let Type::List(list) = &mut ty {
                    list.kind = match value {
                        "set" => ListKind::Set,
                        "map" => ListKind::Map(names.split(',').map(Into::into).collect()),
                        _ => ListKind::Atomic,
                    };
                }
            }
            "map" => match &mut ty {
                Type::Map(map) => {
                    map.atomic = value == "atomic";
                    document.map_type = Some(value.into());
                }
                Type::Named(reference) => reference.atomic = Some(value == "atomic"),
                _ => {}
            },
            "patch" => {
                for strategy in value.split(',') {
                    patch.merge |= strategy == "merge";
                    patch.replace |= strategy == "replace";
                    patch.retain_keys |= strategy == "retainKeys";
                }
                patch.merge_key = (!names.is_empty()).then(|| names.into());
            }
            _ => {}
        }
    }
    if let Type::List(list) = &mut ty
        && patch.merge
        && !line.contains(" list=")
    {
        list.kind = patch
            .merge_key
            .clone()
            .map_or(ListKind::Set, |key| ListKind::Map(vec![key]));
    }
    Some((
        name.into(),
        Field {
            ty,
            default,
            required,
            patch,
            empty,
            go_type,
            document,
            inlined_from,
            position: 0,
        },
    ))
}

fn parse_type(text: &str) -> Type {
    if let Some(items) = text.strip_prefix("[]") {
        return Type::List(Box::new(List {
            items: parse_type(items),
            kind: ListKind::Atomic,
        }));
    }
    if let Some(values) = text.strip_prefix("{}") {
        return Type::map_of(parse_type(values));
    }
    Type::Scalar(match text {
        "boolean" => Scalar::Boolean,
        "int32" => Scalar::Int32,
        "int64" => Scalar::Int64,
        "double" => Scalar::Double,
        "string" => Scalar::String,
        "byte" => Scalar::Bytes,
        "date-time" => Scalar::DateTime,
        "micro-time" => Scalar::MicroTime,
        "quantity" => Scalar::Quantity,
        "int-or-string" => Scalar::IntOrString,
        "any" => return Type::Any,
        "schema-or-list" => return Type::Schema(SchemaOr::List),
        "schema-or-boolean" => return Type::Schema(SchemaOr::Boolean),
        "schema-or-strings" => return Type::Schema(SchemaOr::Strings),
        "object" => return Type::map_of(Type::Any),
        "raw" => return Type::Opaque,
        name => {
            return Type::Named(Named {
                name: name.into(),
                atomic: None,
            });
        }
    })
}
