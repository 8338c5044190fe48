//! The errors of enums that have no structural schema: with the field's path, the variants and the fix.

use super::{
    keywords::Fields,
    merge::{Conflict, Difference},
    structural::Place,
    variants::{is_null, only_field, variant_name},
};

/// Checks the variants without data of enums that are untagged, or that a struct flattens. serde writes them as null, or as a field that is null,
/// which no object that the API server stores has.
pub(super) fn check_variants_without_data(
    fields: &Fields,
    nulls: &[Fields],
    others: &[Fields],
    place: Place<'_>,
) -> Result<(), String> {
    let Place { path, rust_type } = place;
    let list = |variants: &[&Fields]| {
        variants
            .iter()
            .filter_map(|variant| variant_name(variant))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if others.is_empty() && !nulls.is_empty() {
        let names = list(&nulls.iter().collect::<Vec<_>>());
        return Err(format!(
            "{path}: no variant of enum {rust_type} has data ({names}), and without a tag they are all null: remove `#[serde(untagged)]`"
        ));
    }
    let (mut without, with): (Vec<&Fields>, Vec<&Fields>) =
        others.iter().partition(|variant| has_only_null(variant));
    if fields.contains_key("type") {
        without.extend(nulls);
    }
    if without.is_empty() {
        return Ok(());
    }
    let without = list(&without);
    let with = match list(&with) {
        names if names.is_empty() => names,
        names => format!(" and others have ({names}),"),
    };
    Err(format!(
        "{path}: variants of an enum in {rust_type} have no data ({without}),{with} and a struct that flattens the enum has null for them: give \
         each variant data (`Name {{}}`)"
    ))
}

fn has_only_null(schema: &Fields) -> bool {
    let field = only_field(schema).and_then(|name| schema["properties"][name].as_object());
    field.is_some_and(is_null)
}

/// Returns the error of variants that have no common schema.
pub(super) fn explain(conflict: &Conflict, keyword: &str, place: Place<'_>) -> String {
    let Conflict {
        path,
        variants: [one, other],
        difference,
    } = conflict;
    let Place { rust_type, .. } = place;
    let Difference::Values([value, other_value]) = difference else {
        return format!(
            "{path} has different CEL rules in the variants {one} and {other} of enum {rust_type}, and a schema of a custom resource has the same \
             for all: state the rules at the enum, with `#[schemars(extend(\"x-kubernetes-validations\" = […]))]`, each limited to its variant, \
             as in `self.type != '{one}' || …`"
        );
    };
    let is_whole_value = path == place.path;
    if is_whole_value && keyword == "oneOf" && (value == "a string") != (other_value == "a string") {
        return format!(
            "{path}: enum {rust_type} has variants with and without data, and a schema of a custom resource has one type for all: give each \
             variant data (`Name {{}}`), or none"
        );
    }
    let fix = if is_whole_value {
        "give all variants named fields and the enum a tag, as with `#[serde(tag = \"type\")]`"
    } else {
        "give the field one type in both, or rename it in one; with `#[serde(content = …)]`, give both variants named fields"
    };
    format!(
        "{path} has different schemas in the variants {one} and {other} of enum {rust_type} ({value}, {other_value}), and a schema of a custom \
         resource has one for all: {fix}; or accept any value with `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` at \
         the enum"
    )
}
