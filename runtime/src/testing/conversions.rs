//! [`Harness::assert_conversions`]: converts random objects there and back.

use serde_json::{Value, json};

use super::{Harness, same_fields};
use crate::{
    Scope,
    conversion::{Converter, Converters, equal},
    random_values::Random,
};

impl Harness {
    /// Converts random objects there and back, and compares them: for each kind of [`Setup::versions`](crate::controller::Setup::versions), from
    /// the hub to each other version and back, and from that version to the hub and back; `cases` objects each.
    ///
    /// The objects are those that the version's schema allows, without CEL rules. They are the same in every run. An object that cannot be
    /// converted is a failure, because the API server accepts it and then cannot serve it in the other version: restrict the schema
    /// (`#[schemars(range(…))]`, `#[schemars(regex(…))]`), or convert the value to some other.
    ///
    /// Fields of the same path, type and description in both versions must be carried over: a value that gets into another field, or nowhere, is a
    /// failure, although the way back restores it. If such fields are not the same, describe them differently. A field that fewer than 20 of the
    /// objects have is not checked, nor are fields within items of lists and values of maps: small values are equal by chance.
    ///
    /// # Panics
    /// If an object differs: the message names the versions, the path and both values. If there is nothing to convert.
    #[track_caller]
    pub fn assert_conversions(&self, cases: u32) {
        let converters = self.setup.converters();
        let mut pairs = 0;
        for registered in self.setup.registered_versions() {
            let kind = &registered.converter;
            let mut versions = kind.versions();
            let hub = versions.next().unwrap_or_default();
            for other in versions {
                pairs += 1;
                for (from, to) in [(hub, other), (other, hub)] {
                    let converted = (0..cases).map(|case| convert_back(&converters, kind, [from, to], case));
                    let objects = converted.collect::<Result<Vec<_>, _>>();
                    let objects = objects.unwrap_or_else(|failure| panic!("{failure}"));
                    let schemas = [kind.schema(from), kind.schema(to)];
                    if let Some(failure) = same_fields::misplaced(&objects, schemas, [from, to]) {
                        panic!("{} ({}): {failure}", kind.info.kind, kind.info.group);
                    }
                }
            }
        }
        assert!(
            pairs > 0 && cases > 0,
            "no version is converted: add one with `kubewright add version`, or delete this test"
        );
    }
}

/// Converts one object there and back. Returns it, and what it is in the other version.
///
/// # Errors
/// It is another object afterwards, or cannot be converted.
fn convert_back(
    converters: &Converters,
    kind: &Converter,
    [from, to]: [&str; 2],
    case: u32,
) -> Result<(Value, Value), String> {
    let info = &kind.info;
    let object = object(kind, from, case);
    let api_version = |version: &str| format!("{}/{version}", info.group);
    let title = format!(
        "{} ({}), {from} to {to} and back, case {case}",
        info.kind, info.group
    );
    let convert = |object: &Value, version: &str| {
        let result = converters.convert(object.clone(), &api_version(version));
        result.map(Value::Object).map_err(|error| {
            format!("{title}: {error}: restrict the schema of {from}, or convert the value\n\nthe object: {object:#}")
        })
    };
    let there = convert(&object, to)?;
    let back = convert(&there, from)?;
    let Some((path, before, after)) = first_difference(Some(&object), Some(&back), String::new()) else {
        return Ok((object, there));
    };
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    Err(format!(
        "{title}: {path} was {} and became {}\n\nthe object: {object:#}\n\nin {to}: {there:#}",
        text(before),
        text(after)
    ))
}

/// Returns a random object of a version.
fn object(kind: &Converter, version: &str, case: u32) -> Value {
    let info = &kind.info;
    let mut random = Random::new(u64::from(case));
    let mut object = random.value(kind.schema(version));
    let mut metadata = json!({"name": "random", "labels": {"a": "b"}, "generation": 3});
    if info.scope == Scope::Namespaced {
        metadata["namespace"] = json!("default");
    }
    if random.one_in(2) {
        metadata["annotations"] = json!({"example.com/note": "text"});
    }
    object["apiVersion"] = json!(format!("{}/{version}", info.group));
    object["kind"] = json!(info.kind);
    object["metadata"] = metadata;
    object
}

/// A path, and the values there.
type Difference<'a> = (String, Option<&'a Value>, Option<&'a Value>);

fn first_difference<'a>(
    before: Option<&'a Value>,
    after: Option<&'a Value>,
    path: String,
) -> Option<Difference<'a>> {
    match (before, after) {
        (Some(one), Some(other)) if equal(one, other) => None,
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names = one
                .keys()
                .chain(other.keys().filter(|name| !one.contains_key(*name)));
            let separator = if path.is_empty() { "" } else { "." };
            names
                .map(|name| (name, format!("{path}{separator}{name}")))
                .find_map(|(name, path)| first_difference(one.get(name), other.get(name), path))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => (0..one.len().max(other.len()))
            .find_map(|at| first_difference(one.get(at), other.get(at), format!("{path}[{at}]"))),
        (before, after) => Some((path, before, after)),
    }
}

#[cfg(test)]
#[path = "conversions_tests.rs"]
mod tests;
