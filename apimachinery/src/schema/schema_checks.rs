//! Checks of each schema in the schema of a CustomResourceDefinition: keywords, list types and rules.

use super::list_types;
use super::rule_checks;
use super::rule_costs::{self, RuleCosts};
use crate::field::FieldError;
use serde_json::Value;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED_KEYWORDS: [&str; 6] = [
    "$ref",
    "dependencies",
    "patternProperties",
    "additionalItems",
    "id",
    "definitions",
];

/// Returns the keywords of a schema that no definition may use.
pub(super) fn unsupported_keywords(schema: &Value) -> impl Iterator<Item = &'static str> {
    UNSUPPORTED_KEYWORDS
        .into_iter()
        .filter(move |name| !schema[name].is_null())
}

/// The errors of the schemas that were visited.
pub(super) struct SchemaChecks {
    /// Those that keep the rules of the same schema, and of those around it, from being checked.
    errors: Vec<FieldError>,
    /// Those of rules.
    rule_errors: Vec<FieldError>,
    costs: RuleCosts,
}

/// What a nested schema inherits.
#[derive(Clone, Copy)]
pub(super) struct SchemaContext<'a> {
    /// Whether the schema is that of a whole object.
    pub(super) is_root: bool,
    /// Within the metadata, `apiVersion` or `kind` of a resource.
    is_metadata: bool,
    /// Where no defaults may be set, if they may not.
    forbids_defaults: Option<&'static str>,
    /// Whether rules are checked.
    checks_rules: bool,
    /// The ancestor below which old and new values cannot be matched.
    pub(super) uncorrelated: Option<&'a str>,
    /// How many values with this schema an object can have; None if no limit is set.
    pub(super) max_values: Option<u64>,
}

impl SchemaChecks {
    /// Returns the errors of a schema and of those within it: those of rules last, if they are checked.
    pub(super) fn run(schema: &Value, path: &str, checks_rules: bool) -> Vec<FieldError> {
        let mut checks = Self {
            errors: vec![],
            rule_errors: vec![],
            costs: RuleCosts::default(),
        };
        let root = SchemaContext {
            is_root: true,
            is_metadata: false,
            forbids_defaults: None,
            checks_rules,
            uncorrelated: None,
            max_values: Some(1),
        };
        checks.visit(schema, root, path);
        let mut errors = checks.errors;
        errors.extend(checks.rule_errors);
        errors.extend(checks.costs.total_errors(path));
        errors
    }

    /// Visits nested schemas first: their errors are those of this one, too.
    fn visit(&mut self, schema: &Value, context: SchemaContext<'_>, path: &str) {
        if !schema.is_object() {
            return;
        }
        let known_errors = self.errors.len();
        self.check_keywords(schema, path);
        self.check_metadata(schema, context, path);
        self.visit_nested(schema, context, path);
        list_types::check_lists(schema, path, &mut self.errors);
        rule_checks::check_texts(schema, path, &mut self.errors);
        if context.checks_rules && self.errors.len() == known_errors {
            let (costs, errors) = (&mut self.costs, &mut self.rule_errors);
            rule_checks::check_expressions(schema, context, path, costs, errors);
        }
    }

    fn visit_nested(&mut self, schema: &Value, context: SchemaContext<'_>, path: &str) {
        let at = |name: &str| format!("{path}.{name}");
        let own_max = rule_costs::max_values(schema);
        let max_values = context.max_values.zip(own_max);
        let max_values = max_values.map(|(outer, own)| outer.saturating_mul(own));
        let of = |correlates: bool| SchemaContext {
            is_root: false,
            uncorrelated: context.uncorrelated.or((!correlates).then_some(path)),
            max_values,
            ..context
        };
        let mut of_values = of(true);
        if context.is_metadata {
            of_values.forbids_defaults = Some("inside additionalProperties applying to object metadata");
        }
        self.visit(
            &schema["additionalProperties"],
            of_values,
            &at("additionalProperties"),
        );
        let is_embedded = schema["x-kubernetes-embedded-resource"] == true;
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let mut of_field = of(true);
            let forbidden = match name.as_str() {
                "metadata" => Some("in top-level metadata"),
                "apiVersion" => Some("in top-level apiVersion"),
                "kind" => Some("in top-level kind"),
                _ => None,
            };
            if forbidden.is_some() && (context.is_root || is_embedded) {
                of_field.is_metadata = true;
                if context.is_root {
                    of_field.forbids_defaults = forbidden;
                }
            }
            self.visit(schema, of_field, &format!("{path}.properties[{name}]"));
        }
        let of_branches = SchemaContext {
            checks_rules: false,
            ..of(true)
        };
        self.visit(&schema["not"], of_branches, &at("not"));
        for name in ["allOf", "oneOf", "anyOf"] {
            for (index, branch) in schema[name].as_array().into_iter().flatten().enumerate() {
                self.visit(branch, of_branches, &format!("{path}.{name}[{index}]"));
            }
        }
        let of_items = of(schema["x-kubernetes-list-type"] == "map");
        self.visit(&schema["items"], of_items, &at("items"));
    }

    fn check_metadata(&mut self, schema: &Value, context: SchemaContext<'_>, path: &str) {
        if let Some(place) = context.forbids_defaults
            && !schema["default"].is_null()
        {
            let detail = format!("must not be set {place}");
            self.errors
                .push(FieldError::forbidden(&format!("{path}.default"), detail));
        }
        if context.is_metadata && schema["x-kubernetes-embedded-resource"] == true {
            let field = format!("{path}.x-kubernetes-embedded-resource");
            let detail = "must not be used inside of resource meta";
            self.errors.push(FieldError::forbidden(&field, detail));
        }
    }

    fn check_keywords(&mut self, schema: &Value, path: &str) {
        const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
        let at = |name: &str| format!("{path}.{name}");
        let mut forbid = |name: &str, detail: &str| {
            self.errors.push(FieldError::forbidden(&at(name), detail));
        };
        for name in unsupported_keywords(schema) {
            forbid(name, &format!("{name} is not supported"));
        }
        if schema["uniqueItems"] == true {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            forbid("uniqueItems", detail);
        }
        if schema["items"].is_array() {
            forbid("items", "items must be a schema object and not an array");
        }
        let values = &schema["additionalProperties"];
        let properties = schema["properties"].as_object();
        // True beside properties has no effect that would contradict them.
        if properties.is_some_and(|properties| !properties.is_empty())
            && (values.is_object() || *values == false)
        {
            let detail = "additionalProperties and properties are mutual exclusive";
            forbid("additionalProperties", detail);
        }
        let ty = schema["type"].as_str().unwrap_or_default();
        if ty == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            forbid("type", detail);
        }
        if !ty.is_empty() && !TYPES.contains(&ty) {
            self.errors
                .push(FieldError::not_supported(&at("type"), ty, TYPES));
        }
        if schema[PRESERVE] == false {
            let detail = "must be true or undefined";
            self.errors
                .push(FieldError::invalid(&at(PRESERVE), false, detail));
        }
    }
}
