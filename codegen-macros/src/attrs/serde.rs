//! The keys of `#[serde(…)]` that decide the JSON names of fields, and whether their JSON follows from their Rust types. serde-derive
//! reports errors in the attribute.

use darling::{
    Error, FromDeriveInput, FromField, FromMeta, Result,
    ast::{Data, NestedMeta},
    util::Ignored,
};
use syn::{Attribute, Ident, Type, ext::IdentExt};

use crate::names::upper_camel;

/// The serde attributes of the struct.
#[derive(FromDeriveInput)]
#[darling(attributes(serde), allow_unknown_fields, forward_attrs(schemars))]
pub(crate) struct SpecSerde {
    attrs: Vec<Attribute>,
    pub(crate) data: Data<Ignored, FieldAttrs>,
    rename_all: Option<DeserializeName>,
    from: Option<Ignored>,
    try_from: Option<Ignored>,
    into: Option<Ignored>,
    transparent: Option<Ignored>,
}

/// The serde attributes of a field.
#[derive(FromField)]
#[darling(attributes(serde), allow_unknown_fields, forward_attrs(schemars))]
pub(crate) struct FieldAttrs {
    attrs: Vec<Attribute>,
    pub(crate) ident: Option<Ident>,
    pub(crate) ty: Type,
    rename: Option<DeserializeName>,
    pub(crate) flatten: Option<Ignored>,
    skip: Option<Ignored>,
    skip_deserializing: Option<Ignored>,
    skip_serializing: Option<Ignored>,
    with: Option<Ignored>,
    deserialize_with: Option<Ignored>,
    serialize_with: Option<Ignored>,
}

/// `rename = "…"` or `rename(deserialize = "…")`: the name when deserializing.
struct DeserializeName(Option<String>);

impl FromMeta for DeserializeName {
    fn from_string(value: &str) -> Result<Self> {
        Ok(Self(Some(value.to_owned())))
    }

    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        #[derive(FromMeta)]
        struct Both {
            deserialize: Option<String>,
            #[darling(rename = "serialize")]
            _serialize: Option<Ignored>,
        }
        Both::from_list(items).map(|both| Self(both.deserialize))
    }
}

impl SpecSerde {
    /// Whether the struct's JSON consists of its fields.
    pub(crate) fn is_plain_struct(&self) -> bool {
        self.from.is_none() && self.try_from.is_none() && self.transparent.is_none()
    }

    /// Whether it is written as it is read, without a function or another type.
    pub(crate) fn is_written_as_fields(&self) -> bool {
        self.is_plain_struct() && self.into.is_none()
    }

    /// Whether the derives of the struct use the traits of its fields' types.
    pub(crate) fn uses_field_types(&self) -> bool {
        self.is_written_as_fields() && !replaces_schema(&self.attrs)
    }

    /// Returns the named fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &FieldAttrs> {
        let fields = self
            .data
            .as_ref()
            .take_struct()
            .map(|fields| fields.fields)
            .unwrap_or_default();
        fields.into_iter().filter(|field| field.ident.is_some())
    }

    /// Returns the field's name in JSON.
    pub(crate) fn json_name(&self, field: &FieldAttrs) -> Result<String> {
        if let Some(DeserializeName(Some(name))) = &field.rename {
            return Ok(name.clone());
        }
        let name = field
            .ident
            .as_ref()
            .map(|ident| ident.unraw().to_string())
            .unwrap_or_default();
        self.renamed(&name)
    }

    /// Returns the name in JSON of a field without `rename`.
    pub(crate) fn renamed(&self, name: &str) -> Result<String> {
        match &self.rename_all {
            Some(DeserializeName(Some(rule))) => renamed(name, rule),
            _ => Ok(name.to_owned()),
        }
    }
}

impl FieldAttrs {
    /// Whether deserializing skips the field.
    pub(crate) fn is_skipped(&self) -> bool {
        self.skip.is_some() || self.skip_deserializing.is_some()
    }

    /// Whether a function deserializes the field.
    pub(crate) fn is_converted(&self) -> bool {
        self.with.is_some() || self.deserialize_with.is_some()
    }

    /// Whether the derives of the struct use the traits of the field's type, all of them.
    pub(crate) fn uses_type(&self) -> bool {
        let writes_otherwise = self.skip_serializing.is_some() || self.serialize_with.is_some();
        !self.is_skipped() && !self.is_converted() && !writes_otherwise && !replaces_schema(&self.attrs)
    }
}

/// Whether `#[schemars(…)]` takes the schema from somewhere else than the type.
fn replaces_schema(attributes: &[Attribute]) -> bool {
    let words = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::List(list) => list.tokens.clone().into_iter().collect(),
        _ => Vec::new(),
    };
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("schemars"))
        .flat_map(words)
        .any(|word| {
            let word = word.to_string();
            word == "with" || word == "schema_with" || word.starts_with("skip")
        })
}

/// Applies serde's `rename_all` to a field's name.
pub(crate) fn renamed(name: &str, rule: &str) -> Result<String> {
    let pascal = || upper_camel(name);
    Ok(match rule {
        "lowercase" | "snake_case" => name.to_owned(),
        "UPPERCASE" | "SCREAMING_SNAKE_CASE" => name.to_ascii_uppercase(),
        "PascalCase" => pascal(),
        "camelCase" => {
            let pascal = pascal();
            let mut chars = pascal.chars();
            let first = chars.next().map(|first| first.to_ascii_lowercase());
            first.into_iter().chain(chars).collect()
        }
        "kebab-case" => name.replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => name.to_ascii_uppercase().replace('_', "-"),
        other => return Err(Error::custom(format!("serde has no `rename_all` rule `{other}`"))),
    })
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn renames_fields_as_serde_does() {
        for (rule, expected) in [
            ("lowercase", "node_name"),
            ("UPPERCASE", "NODE_NAME"),
            ("PascalCase", "NodeName"),
            ("camelCase", "nodeName"),
            ("snake_case", "node_name"),
            ("SCREAMING_SNAKE_CASE", "NODE_NAME"),
            ("kebab-case", "node-name"),
            ("SCREAMING-KEBAB-CASE", "NODE-NAME"),
        ] {
            assert_eq!(renamed("node_name", rule).unwrap(), expected, "{rule}");
        }
        assert!(renamed("node_name", "camel").is_err());
    }
}
