//! What variants restrict is neither lost nor too strict; where it cannot be in a schema, that is an error.

use super::*;

choice!(formats, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { size: i32, ratio: f32 }, Large { size: i64, ratio: f64 } }
);
choice!(narrow_or_string, { choice: Port }
    #[serde(untagged)]
    enum Port { Number(i32), Name(Name) }
    #[schemars(extend("anyOf" = [{"pattern": "a"}, {"pattern": "b"}]))]
    struct Name(String);
);
choice!(number_or_not, { choice: Port }
    #[serde(untagged)]
    enum Port { Number(i32), Name(Name) }
    #[schemars(extend("not" = {"pattern": "a"}))]
    struct Name(String);
);
choice!(optional_in_one, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { place: One, zone: Option<String> }, Large { place: Other, zone: String } }
    struct One { name: String, rack: Option<String> }
    struct Other { name: String, rack: String }
);
choice!(all_of, { choice: Letter }
    #[schemars(extend("allOf" = [{"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["b", "c"]}]))]
    struct Letter(String);
);
choice!(flattened_units, { choice: Job }
    struct Job { name: String, #[serde(flatten)] size: Size }
    enum Size { Small, Large { zone: String } }
);
choice!(flattened_untagged_unit, { choice: Job }
    struct Job { name: String, #[serde(flatten)] size: Size }
    #[serde(untagged)]
    enum Size { Named { zone: String }, Nothing }
);
choice!(untagged_units, { choice: Size }
    #[serde(untagged)]
    enum Size { Small, Large }
);
choice!(rules, { choice: Size }
    #[serde(tag = "type")]
    enum Size { Small { #[schemars(extend("x-kubernetes-validations" = [{"rule": "self > 1"}]))] size: i32 }, Large { size: i32 } }
);
choice!(any_object, { choice: Size }
    #[serde(tag = "type")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    enum Size { Small { size: i32 }, Large { size: String } }
);
choice!(any_field, { choice: Size }
    #[serde(tag = "type")]
    enum Size {
        Small { #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))] size: i32 },
        Large { #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))] size: String },
    }
);
choice!(restricted_reference, {
    #[schemars(extend("minimum" = 5, "maximum" = 200, "x-kubernetes-validations" = [{"rule": "self != 7"}]))]
    size: Percent
}
    #[schemars(extend("minimum" = 0, "maximum" = 100, "x-kubernetes-validations" = [{"rule": "self != 8"}]))]
    struct Percent(i32);
);
choice!(any_value_and_variant, { choice: Job }
    struct Job { size: Value, #[serde(flatten)] of: Size }
    #[serde(tag = "type")]
    enum Size { Small { size: i32 }, Large }
);
choice!(denies_unknown_beside, { choice: Job }
    #[serde(deny_unknown_fields)]
    struct Job { name: String, #[serde(flatten)] of: Size }
    #[serde(tag = "type")]
    enum Size { Small { size: i32 }, Large }
);
choice!(read_only_variant, { choice: Size }
    #[serde(tag = "type")]
    enum Size {
        #[serde(skip_serializing)]
        Old { zone: Option<String> },
        Small { #[serde(skip_serializing_if = "Option::is_none")] rack: Option<String> },
        Large { row: Option<String> },
    }
);

#[test]
fn limits_of_a_format_stay_where_variants_have_others() {
    let cases = [
        (
            field::<formats::Spec>(),
            json!({"type": "object", "required": ["ratio", "size", "type"],
            "properties": {
                "type": {"type": "string", "enum": ["Small", "Large"]},
                "size": {"type": "integer", "format": "int64"}, "ratio": {"type": "number", "format": "double"},
            },
            "oneOf": [
                {"properties": {"type": {"enum": ["Small"]}, "size": {"minimum": i32::MIN, "maximum": i32::MAX}}},
                {"properties": {"type": {"enum": ["Large"]}}},
            ]}),
        ),
        (
            field::<narrow_or_string::Spec>(),
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
                "allOf": [{"anyOf": [{"pattern": "a"}, {"pattern": "b"}]}], "minimum": i32::MIN, "maximum": i32::MAX}),
        ),
    ];
    assert_equal(cases);
}

#[test]
fn variants_name_the_optional_fields_that_others_restrict() {
    let schema = field::<optional_in_one::Spec>();
    assert_eq!(
        schema["oneOf"],
        json!([
            {"properties": {"type": {"enum": ["Small"]}, "zone": {}, "place": {"properties": {"rack": {}}}}},
            {"properties": {"type": {"enum": ["Large"]}, "place": {"required": ["rack"]}}, "required": ["zone"]},
        ])
    );
    let fields = |at| kubewright_api_types::one_variant(&schema, |_| at)["properties"].take();
    for variant in [0, 1].map(fields) {
        assert!(
            variant["zone"].is_object() && variant["place"]["properties"]["rack"].is_object(),
            "{variant:#}"
        );
    }
}

#[test]
fn restrictions_of_a_type_and_of_what_uses_it_all_apply() {
    let cases = [
        (
            field::<all_of::Spec>(),
            json!({"type": "string", "enum": ["a", "b", "c"], "allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}),
        ),
        (
            field::<restricted_reference::Spec>(),
            json!({"type": "integer", "format": "int32", "minimum": 5, "maximum": 100,
                "x-kubernetes-validations": [{"rule": "self != 7"}, {"rule": "self != 8"}]}),
        ),
    ];
    assert_equal(cases);
}

#[test]
fn mark_accepts_values_that_have_no_common_schema() {
    let any = "x-kubernetes-preserve-unknown-fields";
    assert_equal([(field::<any_object::Spec>(), json!({"type": "object", any: true}))]);
    let schema = field::<any_field::Spec>();
    assert_eq!(schema["properties"]["size"], json!({ any: true }));
    assert_eq!(schema["properties"]["type"]["enum"], json!(["Small", "Large"]));
}

#[test]
fn only_fields_that_schemars_inserts_are_replaced_by_those_of_variants() {
    let schema = field::<denies_unknown_beside::Spec>();
    assert_eq!(
        schema["properties"]["size"],
        json!({"type": "integer", "format": "int32"})
    );
    assert_eq!(
        error::<any_value_and_variant::Spec>(),
        "choice.size is a field of Job and of a variant of an enum that it flattens: rename one of them"
    );
}

#[test]
fn fields_of_a_variant_that_is_only_read_do_not_move_others() {
    let schema = field::<read_only_variant::Spec>();
    let nullable = ["rack", "row"].map(|name| schema["properties"][name]["nullable"] == true);
    assert_eq!(nullable, [false, true], "{schema:#}");
}

#[test]
fn variants_without_data_or_with_other_rules_are_errors_with_the_fix() {
    let cases = [
        (
            error::<number_or_not::Spec>(),
            "choice has different schemas in the variants Number and Name of enum Port (an integer, a string), and a schema of a custom resource \
             has one for all: give all variants named fields and the enum a tag, as with `#[serde(tag = \"type\")]`; or accept any value with \
             `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` at the enum",
        ),
        (
            error::<flattened_units::Spec>(),
            "choice: variants of an enum in Job have no data (Small), and others have (Large), and a struct that flattens the enum has null for \
             them: give each variant data (`Name {}`)",
        ),
        (
            error::<flattened_untagged_unit::Spec>(),
            "choice: variants of an enum in Job have no data (Nothing), and others have (Named), and a struct that flattens the enum has null for \
             them: give each variant data (`Name {}`)",
        ),
        (
            error::<untagged_units::Spec>(),
            "choice: no variant of enum Size has data (Small, Large), and without a tag they are all null: remove `#[serde(untagged)]`",
        ),
        (
            error::<rules::Spec>(),
            "choice.size has different CEL rules in the variants Small and Large of enum Size, and a schema of a custom resource has the same for \
             all: state the rules at the enum, with `#[schemars(extend(\"x-kubernetes-validations\" = […]))]`, each limited to its variant, as in \
             `self.type != 'Small' || …`",
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(error, expected);
    }
}
