//! The types of the table: what a value, a list, an object and a field of it are.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A value without fields or items.
    Scalar(Scalar),
    /// An array.
    List(Box<List>),
    /// An object.
    Map(Box<Map>),
    /// A type of the built-in table.
    Named(Named),
    /// A schema, or a value of another form in its place.
    Schema(SchemaOr),
    /// Any value; server-side apply tracks the owner of each of its fields.
    Any,
    /// Any value; server-side apply tracks one owner for all of it.
    Opaque,
}

/// The type of a value without fields or items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// `true` or `false`.
    Boolean,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// Any number.
    Double,
    /// A string.
    String,
    /// Bytes, as a base64 string.
    Bytes,
    /// An RFC 3339 time with seconds; null is the zero time.
    DateTime,
    /// An RFC 3339 time with microseconds.
    MicroTime,
    /// A resource quantity: a string or a number.
    Quantity,
    /// An integer or a string.
    IntOrString,
    /// Any value without fields or items.
    Untyped,
}

impl Scalar {
    /// Returns type and format, which OpenAPI documents and custom resources share. Quantities and integers or strings differ between them;
    /// here they are strings, as is what has no type.
    pub fn schema(self) -> Value {
        match self {
            Self::Boolean => json!({ "type": "boolean" }),
            Self::Int32 => json!({ "type": "integer", "format": "int32" }),
            Self::Int64 => json!({ "type": "integer", "format": "int64" }),
            Self::Double => json!({ "type": "number", "format": "double" }),
            Self::Bytes => json!({ "type": "string", "format": "byte" }),
            Self::DateTime | Self::MicroTime => json!({ "type": "string", "format": "date-time" }),
            Self::String | Self::Quantity | Self::IntOrString | Self::Untyped => json!({ "type": "string" }),
        }
    }

    /// Whether the Go type has its own JSON decoder. If that decoder rejects a value, decoding stops there.
    pub fn has_custom_decoder(self) -> bool {
        matches!(
            self,
            Self::DateTime | Self::MicroTime | Self::Quantity | Self::IntOrString
        )
    }
}

/// What a field of a schema may contain instead of a schema. The Go types of these fields have their own JSON decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaOr {
    /// A list of schemas.
    List,
    /// `true` or `false`.
    Boolean,
    /// A list of strings.
    Strings,
}

/// An array's type.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The type of each item.
    pub items: Type,
    /// How items are identified.
    pub kind: ListKind,
}

/// How server-side apply identifies the items of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListKind {
    /// Items have no identity: the list is one value.
    Atomic,
    /// By value.
    Set,
    /// By the values of these fields.
    Map(Vec<Box<str>>),
}

/// An object's type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The declared fields.
    pub fields: BTreeMap<Box<str>, Field>,
    /// The type of all other fields; if `None`, other fields are unknown fields.
    pub values: Option<Type>,
    /// Whether server-side apply treats the object as one value.
    pub atomic: bool,
    /// The required fields in the order of the OpenAPI document, if it is not that of the names.
    pub required_order: Vec<Box<str>>,
    /// The unions in the OpenAPI document.
    pub unions: Option<Value>,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The type of its value.
    pub ty: Type,
    /// The default from the OpenAPI. kube-apiserver writes it into most objects in its responses.
    pub default: Option<Value>,
    /// The OpenAPI marks the field as required. kube-apiserver's decoder does not enforce this; validation may.
    pub required: bool,
    /// How a strategic merge patch treats the field.
    pub patch: PatchStrategy,
    /// How kube-apiserver encodes the field when it is empty.
    pub empty: EmptyEncoding,
    /// The name of the Go type, if it does not follow from `ty`.
    pub go_type: Option<Box<str>>,
    /// What only the OpenAPI document shows.
    pub document: FieldDocument,
    /// The embedded Go structs that contain the field but do not show in JSON; error messages name them.
    pub inlined_from: Option<Box<str>>,
    /// The position in the Go struct, which is that in JSON.
    pub position: u16,
}

/// What only the OpenAPI document shows of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldDocument {
    /// The definition of the field's type, if it is not that of `ty`.
    pub schema: Option<Box<str>>,
    /// The values of an enumeration.
    pub values: Vec<Box<str>>,
    /// Whether the field has a list type.
    pub has_list_type: bool,
    /// The map type: `atomic` or `granular`.
    pub map_type: Option<Box<str>>,
}

/// How Go encodes an empty field, which decides how kube-apiserver writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmptyEncoding {
    /// The Go field is a pointer: Go distinguishes the zero value from an absent field.
    pub pointer: bool,
    /// `omitempty`: an empty string, list or map, zero and false are omitted; structs and times are not.
    pub omitempty: bool,
    /// `omitzero`: as `omitempty`, and structs and times that are zero are omitted, too.
    pub omitzero: bool,
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// Lists are merged instead of replaced.
    pub merge: bool,
    /// Objects are replaced instead of merged.
    pub replace: bool,
    /// With the `$retainKeys` directive, fields that the patch does not list are dropped.
    pub retain_keys: bool,
    /// The field that identifies the items of a merged list of objects.
    pub merge_key: Option<Box<str>>,
}

/// A reference to a type of the built-in table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name, such as `core.v1.PodSpec`.
    pub name: Box<str>,
    /// Whether the object is atomic here, if that differs from its type.
    pub atomic: Option<bool>,
}

impl From<Type> for Field {
    fn from(ty: Type) -> Self {
        Self {
            ty,
            default: None,
            required: false,
            patch: PatchStrategy::default(),
            empty: EmptyEncoding::default(),
            go_type: None,
            document: FieldDocument::default(),
            inlined_from: None,
            position: 0,
        }
    }
}

impl Type {
    /// Returns a reference to the built-in type of this name.
    pub fn named(name: &str) -> Self {
        Self::Named(Named {
            name: name.into(),
            atomic: None,
        })
    }

    /// Returns the type of a map from strings to values of a type.
    pub fn map_of(values: Self) -> Self {
        Self::Map(Box::new(Map {
            values: Some(values),
            ..Map::default()
        }))
    }
}

impl Map {
    /// Returns the type of a field: the declared type, or else that of all other fields.
    pub fn type_of(&self, name: &str) -> Option<&Type> {
        self.fields
            .get(name)
            .map(|field| &field.ty)
            .or(self.values.as_ref())
    }
}
