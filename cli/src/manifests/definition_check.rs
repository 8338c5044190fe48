//! Checks the CRDs before they are written: what the API server would refuse, and what no object could satisfy.

use std::collections::BTreeSet;

use kubewright_apimachinery::{schema::check_structural, status::Cause};
use serde_json::Value;

use super::{KindManifest, definition_reasons, rule_costs, schema_path};

/// Formats of Rust's integers that the API server does not know.
const UNKNOWN_FORMATS: [(&str, &str); 4] = [
    ("uint64", "u64"),
    ("uint", "usize"),
    ("int128", "i128"),
    ("uint128", "u128"),
];

/// Pairs of keywords of which the first must not exceed the second.
const RANGES: [(&str, &str); 4] = [
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

/// A reason why a definition is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The version of the kind.
    pub version: String,
    /// The Rust type that has the field or the rule, if the problem is about one and the operator printed its name.
    pub rust_type: Option<String>,
    /// The path of the field of that type; none if the problem is about the type.
    pub field: Option<String>,
    /// The kind, the field, the Rust type, the reason and the fix.
    pub text: String,
}

/// Returns the problems of a kind's definition, each with the field, the Rust type and the fix.
pub fn problems(kind: &KindManifest, crd: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default();
        let schema = &version["schema"]["openAPIV3Schema"];
        let place = Place { kind, version: name };
        let mut errors = check_structural(schema, "");
        let contributions = rule_costs::take_contributions(&mut errors);
        let fields = contributions
            .iter()
            .map(|error| field_and_keyword(&error.field).0);
        let most_expensive: BTreeSet<String> = fields.collect();
        // A field with several errors is reported once: the first names the cause.
        let mut reported = BTreeSet::new();
        for error in errors {
            let (path, keyword) = field_and_keyword(&error.field);
            if !reported.insert(path.clone()) {
                continue;
            }
            let of_costs = rule_costs::reason(schema, &path, &keyword, &error.detail, &most_expensive);
            let reason = of_costs
                .unwrap_or_else(|| definition_reasons::reason(schema, &path, &keyword, &error).to_string());
            problems.push(if keyword.starts_with(definition_reasons::RULES) {
                place.problem_of_rule(&path, &reason)
            } else {
                place.problem(&path, &reason)
            });
        }
        check_values(schema, "", &mut |path, reason| {
            problems.push(place.problem(path, &reason));
        });
        problems.extend(check_paths(version, schema).map(|problem| Problem {
            version: name.to_owned(),
            rust_type: None,
            field: None,
            text: format!("{}: {problem}", place.kind_and_version()),
        }));
    }
    problems.extend(refusals(kind, crd, &problems));
    problems
}

/// Returns what the API server refuses beside schemas: names, printer columns, subresources. Paths that were found before are left out.
fn refusals(kind: &KindManifest, crd: &Value, found: &[Problem]) -> Vec<Problem> {
    let mut causes = kubewright_apiserver::validate_definition(crd);
    causes.retain(|cause| {
        let value = cause.message.split('"').nth(1).unwrap_or_default();
        let is_found = |problem: &Problem| !value.is_empty() && problem.text.contains(&format!("`{value}`"));
        !cause.field.contains("openAPIV3Schema") && !found.iter().any(is_found)
    });
    let problem = |cause: &Cause| {
        // The API server leaves out the index of an only version.
        let version = &crd["spec"]["versions"][index(&cause.field, "versions").unwrap_or_default()];
        let (what, attribute) = described(&cause.field, version);
        Problem {
            version: version["name"].as_str().unwrap_or_default().to_owned(),
            rust_type: None,
            field: None,
            text: format!(
                "{} ({}): {what}: {}: correct `#[kube({attribute})]`",
                kind.kind, kind.group, cause.message
            ),
        }
    };
    causes.iter().map(problem).collect()
}

/// Returns the index in a list that a path such as `spec.versions[1].name` has.
fn index(path: &str, list: &str) -> Option<usize> {
    let (_, rest) = path.split_once(&format!("{list}["))?;
    rest.split_once(']')?.0.parse().ok()
}

/// Names a field of a definition as its author does, with the attribute that sets it.
fn described(field: &str, version: &Value) -> (String, &'static str) {
    let index = |list: &str| index(field, list);
    let key = field.rsplit('.').next().unwrap_or(field);
    match (index("additionalPrinterColumns"), index("selectableFields")) {
        (Some(column), _) => {
            let name = version["additionalPrinterColumns"][column]["name"].as_str();
            let what = format!("printer column {}: {key}", name.unwrap_or_default());
            (what, "printcolumn(…)")
        }
        (_, Some(_)) => ("selectable field".to_owned(), "selectable = …"),
        _ if field.contains(".subresources.scale.") => (format!("scale subresource: {key}"), "scale(…)"),
        _ if field.contains(".shortNames") => ("short name".to_owned(), "shortname = …"),
        _ if field.contains(".categories") => ("category".to_owned(), "category = …"),
        _ => (field.to_owned(), "…"),
    }
}

/// The version of a kind that is checked.
struct Place<'a> {
    kind: &'a KindManifest,
    version: &'a str,
}

impl Place<'_> {
    fn kind_and_version(&self) -> String {
        format!("{} ({}/{})", self.kind.kind, self.kind.group, self.version)
    }

    /// A problem of a field.
    fn problem(&self, path: &str, reason: &str) -> Problem {
        Problem {
            field: Some(self.field_of_type(path).to_owned()),
            ..self.problem_within(path, self.type_around(path), reason)
        }
    }

    /// A problem of a rule, which is declared at a type or at a field.
    fn problem_of_rule(&self, path: &str, reason: &str) -> Problem {
        match self.rust_type(path) {
            Some(declared) => self.problem_within(path, Some(declared), reason),
            None => self.problem(path, reason),
        }
    }

    fn rust_type(&self, path: &str) -> Option<&str> {
        let types = self.kind.rust_types.get(self.version)?;
        types.get(path).map(String::as_str)
    }

    /// Returns the closest type around a field.
    fn type_around(&self, path: &str) -> Option<&str> {
        let (parent, _) = path.rsplit_once('.')?;
        let outer = parent.trim_end_matches("[]");
        self.rust_type(parent)
            .or_else(|| self.rust_type(outer))
            .or_else(|| self.type_around(outer))
    }

    /// Returns the path down to the field of the closest type around it.
    fn field_of_type<'p>(&self, path: &'p str) -> &'p str {
        let Some((parent, _)) = path.rsplit_once('.') else {
            return path;
        };
        let outer = parent.trim_end_matches("[]");
        let is_of_type = self.rust_type(parent).or_else(|| self.rust_type(outer)).is_some();
        if is_of_type || self.type_around(outer).is_none() {
            path
        } else {
            self.field_of_type(outer)
        }
    }

    fn problem_within(&self, path: &str, rust_type: Option<&str>, reason: &str) -> Problem {
        let within = rust_type.map(|name| format!(" of {name}")).unwrap_or_default();
        let path = if path.is_empty() { "the object" } else { path };
        Problem {
            version: self.version.to_owned(),
            rust_type: rust_type.map(str::to_owned),
            field: None,
            text: format!("{}: {path}{within}: {reason}", self.kind_and_version()),
        }
    }
}

/// Splits the path of an error, such as `.properties[spec].properties[sizes].items.type`, into `spec.sizes[]` and `type`.
fn field_and_keyword(path: &str) -> (String, String) {
    let mut field = String::new();
    let mut rest = path;
    loop {
        if let Some((name, after)) = rest
            .strip_prefix(".properties[")
            .and_then(|rest| rest.split_once(']'))
        {
            if !field.is_empty() {
                field.push('.');
            }
            field.push_str(name);
            rest = after;
        } else if let Some(after) = ["items", "additionalProperties"].iter().find_map(|keyword| {
            rest.strip_prefix('.')?
                .strip_prefix(keyword)
                .filter(|after| !after.is_empty())
        }) {
            field.push_str("[]");
            rest = after;
        } else {
            return (field, rest.trim_start_matches('.').to_owned());
        }
    }
}

/// Checks formats and ranges, in which the API server's validation is more lenient than its users want.
fn check_values(schema: &Value, path: &str, report: &mut impl FnMut(&str, String)) {
    let fields = &schema["properties"];
    if fields["secs"]["format"] == "uint64" && fields["nanos"].is_object() {
        let reason = "`std::time::Duration` is an object of `secs` and `nanos`: use `kubewright::Duration`, which is a text such as `1h30m`";
        return report(path, reason.to_owned());
    }
    let format = schema["format"].as_str().unwrap_or_default();
    if let Some((_, rust)) = UNKNOWN_FORMATS.iter().find(|(unknown, _)| *unknown == format) {
        let limit = if rust.starts_with('u') {
            " with `#[schemars(range(min = 0))]`"
        } else {
            ""
        };
        report(
            path,
            format!("Kubernetes has no integers of the size of `{rust}`: use `i64`{limit}, or a `String`"),
        );
    }
    for (low, high) in RANGES {
        if let (Some(least), Some(most)) = (schema[low].as_f64(), schema[high].as_f64())
            && least > most
        {
            report(
                path,
                format!("no value satisfies {low} {least} and {high} {most}: swap or change them"),
            );
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let separator = if path.is_empty() { "" } else { "." };
        check_values(property, &format!("{path}{separator}{name}"), report);
    }
    for nested in ["items", "additionalProperties"] {
        if schema[nested].is_object() {
            check_values(&schema[nested], &format!("{path}[]"), report);
        }
    }
}

/// Checks the paths of printer columns, selectable fields and the scale subresource.
fn check_paths<'v>(version: &'v Value, schema: &'v Value) -> impl Iterator<Item = String> + 'v {
    let columns = version["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|column| {
            let name = column["name"].as_str().unwrap_or_default();
            (format!("printer column {name}"), &column["jsonPath"])
        });
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    let fields = fields.map(|field| ("selectable field".to_owned(), &field["jsonPath"]));
    let scale = &version["subresources"]["scale"];
    let scale = ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"]
        .map(|name| (format!("scale subresource, {name}"), &scale[name]));
    columns.chain(fields).chain(scale).filter_map(|(what, path)| {
        let path = path.as_str()?;
        let reason = schema_path::check(schema, path).err()?;
        Some(format!("{what}: `{path}`: {reason}"))
    })
}

#[cfg(test)]
#[path = "definition_check_tests.rs"]
mod tests;
