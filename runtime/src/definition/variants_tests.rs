//! The schemas of enums with data, and the errors of those that have none.

use std::{collections::BTreeMap, panic::catch_unwind};

use k8s_openapi::api::core::v1::ResourceRequirements;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::super::schema;

/// Defines a module with a struct whose field `choice` is an enum.
macro_rules! choice {
    ($module:ident, { $($field:tt)* } $($types:item)*) => {
        #[expect(dead_code, reason = "only the schema is used")]
        mod $module {
            use super::*;

            #[derive(JsonSchema)]
            pub(super) struct Spec { $($field)* }

            $(
                #[derive(JsonSchema)]
                $types
            )*
        }
    };
}

choice!(internally_tagged, { choice: Source }
    /// A source.
    #[serde(tag = "type", rename_all = "camelCase")]
    enum Source { /// Git.
        Git { url: String, branch: Option<String> }, Bucket(Box<Bucket>), Empty }
    struct Bucket { url: String, #[schemars(range(min = 1))] size: i32 }
);
choice!(same_field, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { size: u8, name: String }, Large { size: i32, #[schemars(length(min = 3))] name: String } }
);
choice!(optional_field_with_default, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { #[serde(default)] size: i32 }, Other { #[serde(default)] count: i32 } }
);
choice!(adjacently_tagged, { choices: Vec<Size> }
    #[serde(tag = "type", content = "data")]
    enum Size { Small { size: i32 }, Large { size: i32, zone: String, rack: Option<String> }, Unknown }
);
choice!(denies_unknown, { choice: Size }
    #[serde(tag = "type", deny_unknown_fields)]
    enum Size { Small { size: i32 }, Large { size: i32, zone: String }, Unknown }
);
choice!(denies_unknown_within, { choice: Job }
    #[serde(tag = "type")]
    enum Job { Small { of: Size }, Large { of: Place } }
    #[serde(tag = "kind", deny_unknown_fields)]
    enum Size { Rack { rack: i32 }, Row { row: i32 } }
    #[serde(tag = "kind")]
    enum Place { Rack { zone: String }, Row { row: i32 } }
);
choice!(only_tags, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small, Large }
);
choice!(only_variant, { choice: Size }
    enum Size { /// Of a size.
        Small { size: i32 } }
);
choice!(untagged, { choice: Size }
    #[serde(untagged)]
    enum Size { Named(Named), Counted(Counted), Nothing }
    struct Named { name: String }
    struct Counted { count: i32, unit: Option<String> }
);
choice!(integer_or_string, { choice: Port }
    #[serde(untagged)]
    enum Port { Number(u16), Name(Name) }
    #[schemars(extend("maxLength" = 15))]
    struct Name(String);
);
choice!(any_value, { choice: Anything }
    #[serde(untagged)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    enum Anything { Number(i32), Flag(bool), Item { a: i32 } }
);
choice!(externally_tagged, { choice: Choice }
    enum Choice { /// By number.
        Number(i32), /// By name.
        Named { name: String } }
);
choice!(flattened, { choice: Job }
    struct Job { name: String, #[serde(flatten)] size: Size }
    #[serde(tag = "type")]
    enum Size { Small, Large { zone: String } }
);
choice!(flattened_option, { choice: Job }
    struct Job { name: String, #[serde(flatten)] size: Option<Size> }
    #[serde(tag = "type")]
    enum Size { Small, Large { zone: String } }
);
choice!(two_flattened, { choice: Job }
    struct Job { #[serde(flatten)] size: Size, #[serde(flatten)] place: Place }
    enum Size { Small(i32), Large(i32) }
    enum Place { Here(i32), There(i32) }
);
choice!(built_in, { choice: Limit }
    #[serde(tag = "type")]
    enum Limit { Resources(ResourceRequirements), Unlimited }
);
choice!(written_by_hand, { choice: Limit }
    #[schemars(extend("oneOf" = [{"required": ["soft"]}, {"properties": {"hard": {"minimum": 1}}, "required": ["hard"]}]))]
    struct Limit { soft: Option<i32>, hard: Option<i32> }
);

choice!(different_fields, { choices: BTreeMap<String, Size> }
    #[serde(tag = "type")]
    enum Size { Small { size: i32 }, Large { size: String } }
);
choice!(different_data, { choice: Size }
    #[serde(tag = "type", content = "data")]
    enum Size { Small(i32), Large { zone: String } }
);
choice!(different_nested_fields, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { place: One }, Large { place: Other } }
    struct One { at: Vec<i32> }
    struct Other { at: Vec<String> }
);
choice!(different_list_types, { choice: Size }
    #[serde(untagged)]
    enum Size { Small { #[schemars(extend("x-kubernetes-list-type" = "set"))] names: Vec<String> }, Large { names: Vec<String>, zone: String } }
);
choice!(any_or_typed_field, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))] size: Value }, Large { size: i32 } }
);
choice!(different_values, { choice: Size }
    #[serde(untagged)]
    enum Size { Count(i32), Zone { zone: String } }
);
choice!(with_and_without_data, { choice: Size }
    enum Size { Small, Large { zone: String } }
);
choice!(field_of_both, { choice: Job }
    struct Job { size: String, #[serde(flatten)] of: Size }
    #[serde(tag = "type")]
    enum Size { Small { size: i32 }, Large }
);
choice!(several_types, { choice: Size }
    #[schemars(extend("type" = ["string", "integer"]))]
    struct Size(String);
);

#[path = "variants_restrictions_tests.rs"]
mod restrictions;

/// Returns the schema of the spec's only field.
fn field<K: JsonSchema>() -> Value {
    let mut spec = schema::<K>().0;
    let properties = spec["properties"].as_object_mut().unwrap();
    properties.values_mut().next().unwrap().take()
}

fn assert_equal<const COUNT: usize>(cases: [(Value, Value); COUNT]) {
    for (schema, expected) in cases {
        assert_eq!(schema, expected, "{schema:#}");
    }
}

#[test]
fn variants_with_a_tag_have_its_values_and_their_required_fields() {
    let cases = [
        (
            field::<internally_tagged::Spec>(),
            json!({"type": "object", "description": "A source.", "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["git", "bucket", "empty"]},
                "url": {"type": "string"},
                "branch": {"type": "string", "nullable": true},
                "size": {"type": "integer", "format": "int32", "minimum": 1},
            },
            "oneOf": [
                {"required": ["url"], "properties": {"type": {"enum": ["git"]}, "branch": {}}},
                {"required": ["size", "url"], "properties": {"type": {"enum": ["bucket"]}}},
                {"properties": {"type": {"enum": ["empty"]}}},
            ]}),
        ),
        (
            field::<same_field::Spec>(),
            json!({"type": "object", "required": ["name", "size", "type"],
            "properties": {
                "type": {"type": "string", "enum": ["Small", "Large"]},
                "size": {"type": "integer", "format": "int32"},
                "name": {"type": "string"},
            },
            "oneOf": [
                {"properties": {"type": {"enum": ["Small"]}, "size": {"minimum": 0, "maximum": 255}}},
                {"properties": {"type": {"enum": ["Large"]}, "name": {"minLength": 3}}},
            ]}),
        ),
        (
            // The API server would set a default in objects of other variants, too.
            field::<optional_field_with_default::Spec>(),
            json!({"type": "object", "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["Small", "Other"]},
                "size": {"type": "integer", "format": "int32"},
                "count": {"type": "integer", "format": "int32"},
            },
            "oneOf": [
                {"properties": {"type": {"enum": ["Small"]}, "size": {}}},
                {"properties": {"type": {"enum": ["Other"]}, "count": {}}},
            ]}),
        ),
    ];
    assert_equal(cases);
}

#[test]
fn data_beside_a_tag_has_the_fields_of_all_variants() {
    let cases = [
        (
            field::<adjacently_tagged::Spec>()["items"].take(),
            json!({"type": "object", "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["Small", "Large", "Unknown"]},
                "data": {"type": "object", "required": ["size"], "properties": {
                    "size": {"type": "integer", "format": "int32"}, "zone": {"type": "string"},
                    "rack": {"type": "string", "nullable": true},
                }},
            },
            "oneOf": [
                {"required": ["data"], "properties": {"type": {"enum": ["Small"]}}},
                {"required": ["data"], "properties": {"type": {"enum": ["Large"]},
                    "data": {"required": ["zone"], "properties": {"rack": {}}}}},
                {"properties": {"type": {"enum": ["Unknown"]}}},
            ]}),
        ),
        (
            field::<denies_unknown::Spec>(),
            json!({"type": "object", "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": ["Small", "Large", "Unknown"]},
                "size": {"type": "integer", "format": "int32"}, "zone": {"type": "string"},
            },
            "oneOf": [
                {"required": ["size"], "properties": {"type": {"enum": ["Small"]}}, "not": {"required": ["zone"]}},
                {"required": ["size", "zone"], "properties": {"type": {"enum": ["Large"]}}},
                {"properties": {"type": {"enum": ["Unknown"]}},
                    "not": {"anyOf": [{"required": ["size"]}, {"required": ["zone"]}]}},
            ]}),
        ),
    ];
    assert_equal(cases);
}

/// The fields of the other variants' enums are excluded, too.
#[test]
fn enum_that_denies_unknown_fields_does_so_within_variants() {
    let schema = field::<denies_unknown_within::Spec>();
    let of = &schema["properties"]["of"];
    assert_eq!(of["additionalProperties"], Value::Null, "{schema:#}");
    assert_eq!(of["properties"].as_object().unwrap().len(), 4, "{schema:#}");
    let [small, large] = [0, 1].map(|at| &schema["oneOf"][at]["properties"]["of"]);
    assert_eq!(small["not"], json!({"required": ["zone"]}), "{schema:#}");
    assert_eq!(
        small["oneOf"][0]["not"],
        json!({"required": ["row"]}),
        "{schema:#}"
    );
    assert_eq!(large["not"], Value::Null, "{schema:#}");
}

#[test]
fn enums_without_a_tag_have_one_schema() {
    let cases = [
        (
            field::<only_tags::Spec>(),
            json!({"type": "object", "required": ["type"],
                "properties": {"type": {"type": "string", "enum": ["Small", "Large"]}}}),
        ),
        (
            field::<only_variant::Spec>(),
            json!({"type": "object", "required": ["Small"], "properties": {"Small": {
                "type": "object", "description": "Of a size.", "required": ["size"],
                "properties": {"size": {"type": "integer", "format": "int32"}}}}}),
        ),
        (
            field::<untagged::Spec>(),
            json!({"type": "object", "nullable": true,
                "properties": {
                    "name": {"type": "string"}, "count": {"type": "integer", "format": "int32"},
                    "unit": {"type": "string", "nullable": true},
                },
                "anyOf": [{"required": ["name"]}, {"required": ["count"], "properties": {"unit": {}}}]}),
        ),
        (
            field::<integer_or_string::Spec>(),
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
                "minimum": 0, "maximum": 65535, "maxLength": 15}),
        ),
        (
            field::<any_value::Spec>(),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
        ),
        (
            field::<externally_tagged::Spec>(),
            json!({"type": "object",
                "properties": {
                    "Number": {"type": "integer", "format": "int32", "description": "By number."},
                    "Named": {"type": "object", "description": "By name.", "required": ["name"],
                        "properties": {"name": {"type": "string"}}},
                },
                "oneOf": [{"required": ["Number"]}, {"required": ["Named"]}]}),
        ),
    ];
    assert_equal(cases);
}

#[test]
fn flattened_enums_have_their_fields_in_the_struct() {
    let cases = [
        (
            field::<flattened::Spec>(),
            json!({"type": "object", "required": ["name", "type"],
            "properties": {
                "name": {"type": "string"}, "type": {"type": "string", "enum": ["Small", "Large"]}, "zone": {"type": "string"},
            },
            "oneOf": [
                {"properties": {"type": {"enum": ["Small"]}}},
                {"required": ["zone"], "properties": {"type": {"enum": ["Large"]}}},
            ]}),
        ),
        (
            field::<flattened_option::Spec>(),
            json!({"type": "object", "required": ["name"],
            "properties": {
                "name": {"type": "string"}, "type": {"type": "string", "enum": ["Small", "Large"]}, "zone": {"type": "string"},
            },
            "anyOf": [
                {"required": ["type"], "properties": {"zone": {}}, "oneOf": [
                    {"properties": {"type": {"enum": ["Small"]}}},
                    {"required": ["zone"], "properties": {"type": {"enum": ["Large"]}}},
                ]},
                {},
            ]}),
        ),
        (
            field::<two_flattened::Spec>(),
            json!({"type": "object",
            "properties": {
                "Small": {"type": "integer", "format": "int32"}, "Large": {"type": "integer", "format": "int32"},
                "Here": {"type": "integer", "format": "int32"}, "There": {"type": "integer", "format": "int32"},
            },
            "allOf": [
                {"oneOf": [{"required": ["Small"]}, {"required": ["Large"]}]},
                {"oneOf": [{"required": ["Here"]}, {"required": ["There"]}]},
            ]}),
        ),
        (
            field::<written_by_hand::Spec>(),
            json!({"type": "object",
                "properties": {
                    "soft": {"type": "integer", "format": "int32", "nullable": true},
                    "hard": {"type": "integer", "format": "int32", "nullable": true},
                },
                "oneOf": [{"required": ["soft"]}, {"properties": {"hard": {"minimum": 1}}, "required": ["hard"]}]}),
        ),
    ];
    assert_equal(cases);
}

#[test]
fn variant_may_be_a_type_of_kubernetes() {
    let schema = field::<built_in::Spec>();
    assert_eq!(schema["required"], json!(["type"]));
    let fields = &schema["properties"];
    assert_eq!(
        fields["claims"]["x-kubernetes-list-map-keys"],
        json!(["name"]),
        "{schema:#}"
    );
    assert_eq!(fields["type"]["enum"], json!(["Resources", "Unlimited"]));
    assert_eq!(
        schema["oneOf"],
        json!([
            {"properties": {"type": {"enum": ["Resources"]}, "claims": {}, "limits": {}, "requests": {}}},
            {"properties": {"type": {"enum": ["Unlimited"]}}},
        ])
    );
}

/// Returns the error of a kind without a schema.
fn error<K: JsonSchema>() -> String {
    let payload = catch_unwind(|| schema::<K>()).unwrap_err();
    payload.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn enum_without_a_structural_schema_is_an_error_with_path_variants_and_fix() {
    let same_type = "give the field one type in both, or rename it in one; with `#[serde(content = …)]`, give both variants named fields; or accept \
                     any value with `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` at the enum";
    let one = "and a schema of a custom resource has one for all";
    let cases = [
        (
            error::<different_fields::Spec>(),
            format!("choices[].size has different schemas in the variants Small and Large of enum Size (an integer, a string), {one}: {same_type}"),
        ),
        (
            error::<different_data::Spec>(),
            format!("choice.data has different schemas in the variants Small and Large of enum Size (an integer, an object), {one}: {same_type}"),
        ),
        (
            error::<different_nested_fields::Spec>(),
            format!("choice.place.at[] has different schemas in the variants Small and Large of enum Size (an integer, a string), {one}: {same_type}"),
        ),
        (
            error::<different_list_types::Spec>(),
            format!(
                "choice.names has different schemas in the variants Small and Large of enum Size (`x-kubernetes-list-type` \"set\", no \
                 `x-kubernetes-list-type`), {one}: {same_type}"
            ),
        ),
        (
            error::<any_or_typed_field::Spec>(),
            format!(
                "choice.size has different schemas in the variants Small and Large of enum Size (any value, an integer), {one}: {same_type}"
            ),
        ),
        (
            error::<different_values::Spec>(),
            format!(
                "choice has different schemas in the variants Count and Zone of enum Size (an integer, an object), {one}: give all variants named \
                 fields and the enum a tag, as with `#[serde(tag = \"type\")]`; or accept any value with \
                 `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` at the enum"
            ),
        ),
        (
            error::<with_and_without_data::Spec>(),
            "choice: enum Size has variants with and without data, and a schema of a custom resource has one type for all: give each variant data \
             (`Name {}`), or none"
                .to_owned(),
        ),
        (
            error::<field_of_both::Spec>(),
            "choice.size is a field of Job and of a variant of an enum that it flattens: rename one of them".to_owned(),
        ),
        (
            error::<several_types::Spec>(),
            "choice of Size has the types string and integer, and a schema of a custom resource has one: choose one, or replace `type` by \
             `\"x-kubernetes-preserve-unknown-fields\" = true`, which accepts any value"
                .to_owned(),
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(error, expected);
    }
}
