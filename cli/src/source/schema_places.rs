//! Finds the types and fields that messages about a kind's schema name.

use std::path::Path;

use syn::{Attribute, Field, Item, LitStr};

use super::{SourceFile, types_named};

/// Returns the place of a type that a kind uses. Each version may have its own types of the same names: one of the kind's file is taken, or
/// the only one of the other files.
pub fn type_place<'a>(files: &'a [SourceFile], name: &str, kind_file: &Path) -> Option<(&'a Path, usize)> {
    let places = types_named(files, name);
    let beside_kind = places.iter().find(|(path, _)| *path == kind_file);
    match (beside_kind, &places[..]) {
        (Some(place), _) | (None, [place]) => Some(*place),
        _ => None,
    }
}

/// Returns the place of the field of such a type that a path such as `spec.rules[].hosts[]` ends with; that of the type, if it has no field of that
/// name in JSON, as where it flattens one that has.
pub fn field_place<'a>(
    files: &'a [SourceFile],
    ty: &str,
    field_path: &str,
    kind_file: &Path,
) -> Option<(&'a Path, usize)> {
    let (path, line) = type_place(files, ty, kind_file)?;
    let file = files.iter().find(|file| file.path == path)?;
    Some((
        path,
        field_line(&file.syntax.items, ty, last_field(field_path)).unwrap_or(line),
    ))
}

fn last_field(path: &str) -> &str {
    let path = path.trim_end_matches("[]");
    path.rsplit('.').next().unwrap_or(path)
}

fn field_line(items: &[Item], ty: &str, name: &str) -> Option<usize> {
    let fields: Vec<&Field> = items.iter().find_map(|item| match item {
        Item::Struct(item) if item.ident == ty => Some(item.fields.iter().collect()),
        Item::Enum(item) if item.ident == ty => {
            let variants = item.variants.iter();
            Some(variants.flat_map(|variant| &variant.fields).collect())
        }
        _ => None,
    })?;
    let renamed = fields
        .iter()
        .find(|field| renames(&field.attrs).any(|to| to == name));
    // Whatever the rule of `rename_all` is.
    let is_named = |field: &&&Field| {
        let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        words(ident.trim_start_matches("r#")) == words(name)
    };
    let found = renamed.or_else(|| fields.iter().find(is_named))?;
    Some(found.ident.as_ref()?.span().start().line)
}

/// Returns the name without separators and case.
fn words(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the names that `#[serde(rename = "…")]` and `#[schemars(rename = "…")]` give a field.
fn renames(attributes: &[Attribute]) -> impl Iterator<Item = String> {
    let of_schema = attributes.iter().filter(|attribute| {
        ["serde", "schemars"]
            .iter()
            .any(|name| attribute.path().is_ident(name))
    });
    of_schema.filter_map(|attribute| {
        let mut name = None;
        // Ignore errors: rustc reports them. They end the parsing of the attribute.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<proc_macro2::TokenStream>()?;
            } else if meta.path.is_ident("rename") {
                name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            }
            Ok(())
        });
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
#[derive(JsonSchema)]
#[serde(rename_all = \"camelCase\")]
struct Rule {
    host_name: String,
    #[schemars(extend(\"x\" = 1))]
    #[serde(default = \"port\", rename = \"number\")]
    port: i32,
    r#type: String,
}
enum Source {
    Git { #[serde(rename(deserialize = \"at\"))] url: String },
    Folder { path_name: String },
}
";

    #[test]
    fn fields_are_found_by_their_names_in_json() {
        let files = [SourceFile {
            path: "src/api/foo.rs".into(),
            syntax: syn::parse_file(CODE).unwrap(),
        }];
        let kind_file = Path::new("src/api/foo.rs");
        let line = |ty: &str, field: &str| field_place(&files, ty, field, kind_file).map(|(_, line)| line);
        assert_eq!(line("Rule", "spec.rules[].hostName"), Some(5));
        assert_eq!(line("Rule", "spec.rules[].number"), Some(8));
        assert_eq!(line("Rule", "type"), Some(9));
        assert_eq!(line("Source", "spec.url[][]"), Some(12));
        assert_eq!(line("Source", "pathName"), Some(13));
        assert_eq!(line("Source", "flattened"), Some(11), "the type's");
        assert_eq!(line("Other", "a"), None);
    }
}
