//! Validation of numbers as Go's package `validate` does it: integers are compared with bounds that are converted to integers, all others as
//! floats.

use crate::field::FieldError;
use crate::go_format;
use crate::types::{float_to_integer, is_in_integer_range};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// The largest integer up to which floats contain all integers.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
/// From here on, numbers are rounded to an infinite 32-bit float.
const END_OF_FLOATS: f64 = 3.402_823_567_797_336_6e38;

/// Returns what is wrong with a number of a schema that allows these types.
pub(super) fn errors(number: &Number, schema: &Value, types: &[&str], path: &str) -> Vec<FieldError> {
    let ty = match *types {
        [ty] => ty,
        _ => "",
    };
    let format = schema["format"].as_str().unwrap_or_default();
    let mut checks = Checks {
        number,
        ty,
        format: match (ty, format) {
            ("integer", "int32" | "int64") | ("number", "float" | "double") => format,
            _ => "",
        },
        path,
        is_float: false,
        errors: Vec::new(),
    };
    checks.range();
    if let Some(factor) = schema["multipleOf"].as_f64() {
        checks.multiple(factor);
    }
    if let Some(min) = schema["minimum"].as_f64() {
        let is_exclusive = schema["exclusiveMinimum"] == true;
        checks.bound(min, "Minimum boundary", is_exclusive, Ordering::Less, "greater");
    }
    if let Some(max) = schema["maximum"].as_f64() {
        let is_exclusive = schema["exclusiveMaximum"] == true;
        checks.bound(max, "Maximum boundary", is_exclusive, Ordering::Greater, "less");
    }
    checks.errors
}

/// Whether a float counts as an integer (`IsFloat64AJSONInteger` of Go's `swag`): errors of rounding are tolerated.
pub(super) fn is_whole(number: f64) -> bool {
    const TOLERANCE: f64 = 1e-9;
    if !(-MAX_EXACT..=MAX_EXACT).contains(&number) {
        return false;
    }
    let difference = number.fract().abs();
    let sum = number.abs() + number.trunc().abs();
    // Go truncates negative numbers otherwise, so they are whole only if they are exact.
    difference == 0.0 || (number >= 1.0 && difference / sum < TOLERANCE)
}

struct Checks<'a> {
    number: &'a Number,
    ty: &'a str,
    format: &'a str,
    path: &'a str,
    /// Whether the last bound was compared as a float.
    is_float: bool,
    errors: Vec<FieldError>,
}

impl Checks<'_> {
    fn range(&mut self) {
        let number = self.number.as_i64();
        let fits = number.map_or_else(
            || self.fits(self.float()),
            |number| self.ty != "integer" || self.format != "int32" || i32::try_from(number).is_ok(),
        );
        if !fits {
            self.report_range("Checked");
        }
    }

    fn multiple(&mut self, factor: f64) {
        let path = self.path;
        let (factor, is_multiple) = if let Some((number, factor)) = self.integer(factor, "MultipleOf") {
            let is_multiple = factor > 0 && number % factor == 0;
            (Value::from(factor), is_multiple)
        } else {
            let quotient = if factor < 1.0 {
                1.0 / factor * self.float()
            } else {
                self.float() / factor
            };
            (Value::from(factor), factor > 0.0 && is_whole(quotient))
        };
        if factor.as_f64() <= Some(0.0) {
            let why = format!(
                "factor MultipleOf declared for {path} must be positive: {}",
                go_format::show(&factor)
            );
            self.errors.push(FieldError::invalid(path, factor, why));
        } else if !is_multiple {
            self.report(&format!("a multiple of {}", go_format::show(&factor)));
        }
    }

    /// Checks a bound; `beyond` is the order of a number that exceeds it.
    fn bound(&mut self, bound: f64, name: &str, is_exclusive: bool, beyond: Ordering, relation: &str) {
        let (bound, order) = self.compare(bound, name);
        let is_beyond = order == Some(beyond);
        if is_exclusive && (is_beyond || order == Some(Ordering::Equal)) {
            self.report(&format!("{relation} than {bound}"));
        } else if is_beyond {
            self.report(&format!("{relation} than or equal to {bound}"));
        }
    }

    /// Compares the number with a bound, which is returned as messages show it.
    fn compare(&mut self, bound: f64, name: &str) -> (String, Option<Ordering>) {
        let integers = self.integer(bound, name);
        self.is_float = integers.is_none();
        if let Some((number, bound)) = integers {
            (bound.to_string(), Some(number.cmp(&bound)))
        } else {
            (go_format::float(bound), self.float().partial_cmp(&bound))
        }
    }

    fn float(&self) -> f64 {
        self.number.as_f64().unwrap_or_default()
    }

    /// Returns the number and a bound as integers, if they are compared as such. Reports a bound that the schema's type excludes.
    fn integer(&mut self, bound: f64, name: &str) -> Option<(i64, i64)> {
        if !self.fits(bound) {
            self.report_range(name);
            return None;
        }
        Some((self.number.as_i64()?, float_to_integer(bound)))
    }

    /// Whether the schema's type and format include a float.
    fn fits(&self, number: f64) -> bool {
        match (self.ty, self.format) {
            ("integer", "int32") => {
                number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
            }
            ("integer", _) => number.fract() == 0.0 && is_in_integer_range(number),
            ("number", "float") => number.abs() < END_OF_FLOATS,
            _ => true,
        }
    }

    fn report_range(&mut self, name: &str) {
        let with = if self.format.is_empty() {
            "(default format)".to_owned()
        } else {
            format!("with format {}", self.format)
        };
        let why = format!("{name} value must be of type {} {with} in {}", self.ty, self.path);
        self.errors.push(FieldError::invalid("", "", why));
    }

    fn report(&mut self, what: &str) {
        let why = format!("{} in body should be {what}", self.path);
        let shown = if self.is_float {
            self.float().into()
        } else {
            Value::Number(self.number.clone())
        };
        self.errors.push(FieldError::invalid(self.path, shown, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_as_in_go() {
        for (schema, number, expected) in [
            (json!({ "type": "number", "multipleOf": 0.01 }), json!(0.07), ""),
            (json!({ "type": "number", "multipleOf": 0.1 }), json!(1.1), ""),
            (
                json!({ "type": "number", "multipleOf": 3 }),
                json!(9_007_199_254_740_993_i64),
                "",
            ),
            (
                json!({ "type": "number", "multipleOf": 100 }),
                json!(1e20),
                "1e+20: f in body should be a multiple of 100",
            ),
            (
                json!({ "type": "number", "multipleOf": 0.1 }),
                json!(2),
                "0: factor MultipleOf declared for f must be positive: 0",
            ),
            (
                json!({ "type": "integer", "maximum": 3.5 }),
                json!(4),
                "\"\": Maximum boundary value must be of type integer (default format) in f; \
                 4: f in body should be less than or equal to 3.5",
            ),
            (
                json!({ "type": "number", "maximum": 1e21 }),
                json!(0),
                "0: f in body should be less than or equal to -9223372036854775808",
            ),
            (
                json!({ "type": "number", "maximum": 100_000_000 }),
                json!(1e9),
                "1e+09: f in body should be less than or equal to 1e+08",
            ),
            (
                json!({ "type": "number", "format": "float" }),
                json!(1e300),
                "\"\": Checked value must be of type number with format float in f",
            ),
            (
                json!({ "type": "number", "format": "float" }),
                json!(3.402_823_5e38),
                "",
            ),
            (
                json!({ "type": "integer", "minimum": 3, "exclusiveMinimum": true }),
                json!(3),
                "3: f in body should be greater than 3",
            ),
        ] {
            let types: Vec<&str> = schema["type"].as_str().into_iter().collect();
            let found = errors(number.as_number().unwrap(), &schema, &types, "f");
            let found: Vec<String> = found.iter().map(FieldError::body).collect();
            assert_eq!(
                found.join("; ").replace("Invalid value: ", ""),
                expected,
                "{schema}"
            );
        }
    }
}
