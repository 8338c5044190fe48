//! How to walk a value: by its type, or by the value itself where the type leaves it open.

use super::path_element::PathElement;
use crate::types::{Field, ListKind, Scalar, Type};
use serde_json::Value;
use std::collections::BTreeMap;

static ANY: Type = Type::Any;
static OPAQUE: Type = Type::Opaque;

/// The kinds of value that a type allows: map, list or scalar.
#[derive(Clone, Copy, Default)]
pub(super) struct Atom<'a> {
    pub(super) map: Option<MapAtom<'a>>,
    pub(super) scalar: Option<ScalarAtom>,
    pub(super) list: Option<ListAtom<'a>>,
}

#[derive(Clone, Copy)]
pub(super) struct MapAtom<'a> {
    fields: Option<&'a BTreeMap<Box<str>, Field>>,
    values: Option<&'a Type>,
    pub(super) atomic: bool,
}

#[derive(Clone, Copy)]
pub(super) struct ListAtom<'a> {
    pub(super) items: &'a Type,
    kind: Option<&'a ListKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarAtom {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// The kind of value to walk into.
pub(super) enum AtomKind<'a> {
    Map(MapAtom<'a>),
    Scalar(ScalarAtom),
    List(ListAtom<'a>),
}

impl<'a> Atom<'a> {
    pub(super) fn of(ty: &'a Type) -> Self {
        if let Some((map, atomic)) = ty.as_map() {
            // A built-in type that is published without fields may have any here.
            let any = (map.fields.is_empty() && matches!(ty, Type::Named(_))).then_some(&ANY);
            let map = MapAtom {
                fields: Some(&map.fields),
                values: map.values.as_ref().or(any),
                atomic,
            };
            return Self {
                map: Some(map),
                ..Self::default()
            };
        }
        if let Some(list) = ty.as_list() {
            let list = ListAtom {
                items: &list.items,
                kind: Some(&list.kind),
            };
            return Self {
                list: Some(list),
                ..Self::default()
            };
        }
        match ty.resolve() {
            // Int-or-string fields are published without a type: allow any value.
            Type::Scalar(scalar) if *scalar != Scalar::IntOrString => Self {
                scalar: Some(ScalarAtom::of(*scalar)),
                ..Self::default()
            },
            other => {
                let atomic = *other == Type::Opaque;
                let values = if atomic { &OPAQUE } else { &ANY };
                Self {
                    map: Some(MapAtom {
                        fields: None,
                        values: Some(values),
                        atomic,
                    }),
                    scalar: Some(ScalarAtom::Untyped),
                    list: Some(ListAtom {
                        items: &OPAQUE,
                        kind: None,
                    }),
                }
            }
        }
    }

    /// Keeps only the kind that matches the value, if the type allows it.
    pub(super) fn deduce(self, value: Option<&Value>) -> Self {
        match value {
            Some(Value::Object(_)) if self.map.is_some() => Self {
                map: self.map,
                ..Self::default()
            },
            Some(Value::Array(_)) if self.list.is_some() => Self {
                list: self.list,
                ..Self::default()
            },
            Some(Value::String(_) | Value::Number(_) | Value::Bool(_)) if self.scalar.is_some() => Self {
                scalar: self.scalar,
                ..Self::default()
            },
            _ => self,
        }
    }

    /// Whether both allow the same kinds. Assumes that they come from the same type.
    pub(super) fn allows_same_kinds(self, other: Self) -> bool {
        self.map.is_some() == other.map.is_some()
            && self.scalar.is_some() == other.scalar.is_some()
            && self.list.is_some() == other.list.is_some()
    }

    pub(super) fn kind(self) -> Option<AtomKind<'a>> {
        let map = self.map.map(AtomKind::Map);
        map.or(self.scalar.map(AtomKind::Scalar))
            .or(self.list.map(AtomKind::List))
    }
}

impl ScalarAtom {
    fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Boolean => Self::Boolean,
            Scalar::Int32 | Scalar::Int64 | Scalar::Double => Self::Numeric,
            Scalar::String | Scalar::Bytes => Self::String,
            Scalar::DateTime
            | Scalar::MicroTime
            | Scalar::Quantity
            | Scalar::IntOrString
            | Scalar::Untyped => Self::Untyped,
        }
    }
}

impl<'a> MapAtom<'a> {
    pub(super) fn type_of(self, name: &str) -> Option<&'a Type> {
        self.field(name).map(|field| &field.ty).or(self.values)
    }

    pub(super) fn field(self, name: &str) -> Option<&'a Field> {
        self.fields.and_then(|fields| fields.get(name))
    }
}

impl ListAtom<'_> {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self.kind, None | Some(ListKind::Atomic))
    }

    /// Returns the path element of an item; the error says why it has none.
    pub(super) fn element(self, item: &Value) -> Result<PathElement, String> {
        match self.kind {
            None | Some(ListKind::Atomic) => Err("invalid indexing of non-associative list".to_owned()),
            Some(ListKind::Set) => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".to_owned())
                }
                scalar => Ok(PathElement::Value(scalar.clone())),
            },
            Some(ListKind::Map(keys)) => self.keyed(item, keys),
        }
    }

    fn keyed(self, item: &Value, keys: &[Box<str>]) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let item_type = self.items.as_map().map(|(map, _)| map);
        let default = |key: &str| {
            item_type
                .and_then(|map| map.fields.get(key))
                .and_then(|field| field.default.as_ref())
        };
        let values = keys.iter().filter_map(|key| {
            let value = fields.get(&**key).or_else(|| default(key))?;
            Some((key.to_string(), value.clone()))
        });
        let values: BTreeMap<String, Value> = values.collect();
        if values.is_empty() {
            let names: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::Key(values))
    }
}
