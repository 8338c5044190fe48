//! Writes the module of an imported kind.

use std::fmt::Write as _;

use super::{
    Definition, docs, names,
    types::{Enum, Field, Model, Presence, Struct, Type},
};

/// Returns the code of the module, not formatted.
pub(super) fn module(definition: &Definition, model: &Model) -> String {
    let mut code = head(definition, model);
    for (index, found) in model.structs.iter().enumerate() {
        if index == 0 {
            code += &root(definition, model, found);
        } else {
            code += &structure(model, found);
        }
    }
    for found in &model.enums {
        code += &enumeration(found);
    }
    if let Some(name) = &model.int_or_string {
        let _ = write!(
            code,
            "\n/// An integer or a text.\n#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]\n#[serde(untagged)]\n\
             pub enum {name} {{\n    /// An integer.\n    Int(i64),\n    /// A text.\n    String(String),\n}}\n"
        );
    }
    let mut fields = model.structs.iter().flat_map(|found| &found.fields);
    if fields.any(is_optional_and_nullable) {
        code += "\n/// Keeps `null` apart from a missing field.\n\
                 fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(\n    deserializer: D,\n\
                 ) -> Result<Option<T>, D::Error> {\n    T::deserialize(deserializer).map(Some)\n}\n";
    }
    code
}

fn head(definition: &Definition, model: &Model) -> String {
    let Definition {
        name,
        group,
        version,
        kind,
        ..
    } = definition;
    // The objects are serialized by hand.
    let has_serialize = model.structs.len() > 1 || !model.enums.is_empty() || model.int_or_string.is_some();
    let imports = if has_serialize {
        "use serde::{Deserialize, Serialize};\n"
    } else {
        "use serde::Deserialize;\n"
    };
    format!(
        "//! The kind {kind} of {group}/{version}, which another project defines.\n//!\n\
         //! `kubewright import` made this file from the definition `{name}`. After a change of the definition, the same command merges the\n\
         //! change into this file. Your changes stay.\n\
         #![allow(nonstandard_style, missing_docs, clippy::all, clippy::pedantic, rustdoc::all)]\n\n{imports}"
    )
}

/// Returns the type of the kind's objects.
fn root(definition: &Definition, model: &Model, root: &Struct) -> String {
    let Definition {
        group,
        version,
        kind,
        plural,
        ..
    } = definition;
    let name = &root.name;
    let mut code = attributes(model, root, "Deserialize");
    let _ = write!(
        code,
        "pub struct {name} {{\n    /// The metadata of the object.\n    #[serde(default)]\n    pub metadata: kube::core::ObjectMeta,\n"
    );
    fields(&mut code, root);
    code += "}\n";
    let scope = if definition.namespaced {
        "Namespace"
    } else {
        "Cluster"
    };
    let _ = write!(
        code,
        "\nimpl kube::Resource for {name} {{\n    type DynamicType = ();\n    type Scope = kube::core::{scope}ResourceScope;\n"
    );
    for (method, value) in [
        ("kind", kind),
        ("group", group),
        ("version", version),
        ("plural", plural),
    ] {
        let _ = write!(
            code,
            "\n    fn {method}((): &()) -> std::borrow::Cow<'static, str> {{\n        {value:?}.into()\n    }}\n"
        );
    }
    code += "\n    fn meta(&self) -> &kube::core::ObjectMeta {\n        &self.metadata\n    }\n\n    \
             fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {\n        &mut self.metadata\n    }\n}\n";
    code += &serialize(definition, root);
    for (has, name_of_trait) in [
        (definition.has_status, "WithStatus"),
        (definition.has_scale, "WithScale"),
    ] {
        if has {
            let _ = write!(code, "\nimpl kubewright::{name_of_trait} for {name} {{}}\n");
        }
    }
    code
}

/// Returns the serialization of the kind's objects, which adds `apiVersion` and `kind`.
fn serialize(definition: &Definition, root: &Struct) -> String {
    let (name, kind) = (&root.name, &definition.kind);
    let api_version = format!("{}/{}", definition.group, definition.version);
    let mut code = format!(
        "\nimpl serde::Serialize for {name} {{\n    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {{\n        \
         use serde::ser::SerializeMap as _;\n        let mut map = serializer.serialize_map(None)?;\n        \
         map.serialize_entry(\"apiVersion\", {api_version:?})?;\n        \
         map.serialize_entry(\"kind\", {kind:?})?;\n        \
         map.serialize_entry(\"metadata\", &self.metadata)?;\n"
    );
    for Field {
        name, json, presence, ..
    } in &root.fields
    {
        let _ = match presence {
            Presence::Required => writeln!(code, "        map.serialize_entry({json:?}, &self.{name})?;"),
            Presence::Optional => write!(
                code,
                "        if let Some(value) = &self.{name} {{\n            \
                 map.serialize_entry({json:?}, value)?;\n        }}\n"
            ),
        };
    }
    if let Some(other) = &root.other {
        let _ = write!(
            code,
            "        for (name, value) in &self.{other} {{\n            if name != \"apiVersion\" && name != \"kind\" {{\n                \
             map.serialize_entry(name, value)?;\n            }}\n        }}\n"
        );
    }
    code + "        map.end()\n    }\n}\n"
}

fn structure(model: &Model, found: &Struct) -> String {
    let mut code = attributes(model, found, "Deserialize, Serialize");
    let _ = writeln!(code, "pub struct {} {{", found.name);
    fields(&mut code, found);
    code + "}\n"
}

fn attributes(model: &Model, found: &Struct, serde: &str) -> String {
    let mut code = "\n".to_owned();
    doc(&mut code, "", &found.description);
    let default = if model.is_default(found) { "Default, " } else { "" };
    let _ = write!(
        code,
        "#[derive(Clone, Debug, {default}PartialEq, {serde})]\n#[serde(rename_all = \"camelCase\")]\n"
    );
    code
}

fn fields(code: &mut String, of: &Struct) {
    for field in &of.fields {
        doc(code, "    ", &field.description);
        let mut attributes = Vec::new();
        if names::camel_case(&field.name) != field.json {
            attributes.push(format!("rename = {:?}", field.json));
        }
        let mut ty = rust(&field.ty);
        if field.presence == Presence::Optional {
            if is_optional_and_nullable(field) {
                attributes.push("default, deserialize_with = \"present\"".to_owned());
            }
            attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
            ty = format!("Option<{ty}>");
        }
        if !attributes.is_empty() {
            let _ = writeln!(code, "    #[serde({})]", attributes.join(", "));
        }
        let _ = writeln!(code, "    pub {}: {ty},", field.name);
    }
    if let Some(other) = &of.other {
        let _ = write!(
            code,
            "    /// The fields that the definition does not name.\n    #[serde(flatten)]\n    \
             pub {other}: std::collections::BTreeMap<String, serde_json::Value>,\n"
        );
    }
}

/// Whether the field may be missing, and may be `null`: both are kept.
fn is_optional_and_nullable(field: &Field) -> bool {
    field.presence == Presence::Optional && matches!(field.ty, Type::Nullable(_) | Type::Any)
}

fn enumeration(found: &Enum) -> String {
    let mut code = "\n".to_owned();
    doc(&mut code, "", &found.description);
    let _ = write!(
        code,
        "#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]\npub enum {} {{\n",
        found.name
    );
    for (variant, text) in &found.variants {
        if variant != text {
            let _ = writeln!(code, "    #[serde(rename = {text:?})]");
        }
        let _ = writeln!(code, "    {variant},");
    }
    let _ = write!(
        code,
        "    /// A value that the definition did not have when it was imported.\n    #[serde(untagged)]\n    {}(String),\n}}\n",
        found.other
    );
    code
}

fn rust(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int32 => "i32".to_owned(),
        Type::Int64 => "i64".to_owned(),
        Type::Number => "serde_json::Number".to_owned(),
        Type::Text => "String".to_owned(),
        Type::Any => "serde_json::Value".to_owned(),
        Type::Named(name) => name.clone(),
        Type::List(items) => format!("Vec<{}>", rust(items)),
        Type::Map(values) => format!("std::collections::BTreeMap<String, {}>", rust(values)),
        Type::Nullable(inner) => format!("Option<{}>", rust(inner)),
    }
}

fn doc(code: &mut String, indentation: &str, description: &str) {
    for line in docs::lines(description) {
        let _ = writeln!(
            code,
            "{}",
            format_args!("{indentation}/// {line}").to_string().trim_end()
        );
    }
}
