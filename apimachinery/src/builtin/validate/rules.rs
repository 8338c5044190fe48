//! Tables of plain rules, and their interpreter.
//!
//! A rule is the path of a field below the object that a table is applied to, and what applies to the field's value. In a path, `[]` stands
//! for each item of a list, and `[*]` for the same where errors name the list instead of the item; `?` ends the rule if the value is absent;
//! `name=other` looks up `name`, but errors name `other`, as in kube-apiserver.

use super::{Check, array, child};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) type FieldRule = (&'static str, Constraint);
type Format = fn(&str) -> Vec<&'static str>;

/// What applies to a value.
#[derive(Clone, Copy)]
pub(super) enum Constraint {
    /// Required, with the detail of the error.
    Required(&'static str),
    /// Not null, with the detail of the error.
    Present(&'static str),
    /// Required, whitespace is not enough, with the detail of the error.
    NotBlank(&'static str),
    /// A list with items, of which `*` is the only one if it is there: the detail if there are none, and what the items are.
    Wildcards(&'static str, &'static str),
    /// Required, and of this format.
    Named(Format),
    /// Of this format; an absent text counts as empty.
    Text(Format),
    /// Absent, or of this format.
    Format(Format),
    /// Absent, empty, or of this format.
    OptionalName(Format),
    /// Absent, or one of these.
    OneOf(&'static [&'static str]),
    /// Required, and one of these.
    RequiredOneOf(&'static [&'static str]),
    /// Absent, empty, or one of these.
    OptionalOneOf(&'static [&'static str]),
    /// One of these; an absent text counts as empty.
    Only(&'static [&'static str]),
    /// Absent, or a number that is not negative.
    NonNegative,
    /// Absent, or a number in this range, with the detail of the error.
    Within(i64, i64, &'static str),
    /// A number in this range; an absent number counts as 0.
    Number(i64, i64, &'static str),
    MaxBytes(usize),
    MaxItems(usize),
    Port,
    PortOrName,
    Labels,
    LabelSelector,
    /// Unchanged in an update.
    Immutable,
    /// Different from the values of other items of the list. An absent text counts as empty.
    Unique,
    /// What a table says of the value's fields.
    Rules(&'static [FieldRule]),
    /// What a function checks, which gets the value and its path.
    Checked(fn(&mut Check, &Value, &str)),
}

/// Whether a list contains `*`.
pub(super) fn has_wildcard(list: &Value) -> bool {
    array(list).iter().any(|item| item == "*")
}

/// Returns the part of a rule's path that leads to its first list.
fn list_of(field: &str) -> Option<&str> {
    field.split_once('[').map(|(list, _)| list)
}

/// Returns what a path without lists leads to.
fn list_at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(object, |object, step| {
        let name = step.split(['=', '?']).next().unwrap_or_default();
        &object[name]
    })
}

impl Check {
    /// Applies a table to an object at this path. `old` is the object before an update. Consecutive rules for the items of one list apply
    /// item by item.
    pub(super) fn apply(&mut self, rules: &[FieldRule], object: &Value, old: Option<&Value>, path: &str) {
        for rules in rules
            .chunk_by(|(field, _), (next, _)| list_of(field).is_some() && list_of(field) == list_of(next))
        {
            let mut seen = vec![BTreeSet::new(); rules.len()];
            let list = list_of(rules[0].0).filter(|_| rules.len() > 1);
            let Some(list) = list else {
                let (field, constraint) = rules[0];
                self.apply_below(field, constraint, (object, old, path), &mut seen[0], None);
                continue;
            };
            let count = array(list_at(object, list)).len();
            for index in 0..count {
                for ((field, constraint), seen) in rules.iter().zip(&mut seen) {
                    self.apply_below(field, *constraint, (object, old, path), seen, Some(index));
                }
            }
        }
    }

    /// Applies a rule to a field of an object. `seen` are the values of previous items of the same list; `only`: the index of the only item
    /// of the first list that the rule applies to.
    fn apply_below<'v>(
        &mut self,
        field: &str,
        constraint: Constraint,
        (object, old, path): (&'v Value, Option<&'v Value>, &str),
        seen: &mut BTreeSet<&'v str>,
        only: Option<usize>,
    ) {
        let (name, rest) = field.split_at(field.find(['.', '[', '?']).unwrap_or(field.len()));
        let (name, shown) = name.split_once('=').unwrap_or((name, name));
        let (value, old, path) = (&object[name], old.map(|old| &old[name]), child(path, shown));
        let (rest, is_optional) = rest.strip_prefix('?').map_or((rest, false), |rest| (rest, true));
        if is_optional && value.is_null() {
            return;
        }
        if let Some((list, rest)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let mut seen_items = BTreeSet::new();
            let seen = if only.is_some() { seen } else { &mut seen_items };
            let items = array(value).iter().enumerate();
            for (index, item) in items.filter(|(index, _)| only.is_none_or(|only| only == *index)) {
                let indexed = format!("{path}[{index}]");
                let path = if list == "*" { &path } else { &indexed };
                match rest.strip_prefix('.') {
                    Some(rest) => self.apply_below(rest, constraint, (item, None, path), seen, None),
                    None => self.apply_to(constraint, item, None, path, seen),
                }
            }
        } else if let Some(rest) = rest.strip_prefix('.') {
            self.apply_below(rest, constraint, (value, old, &path), seen, only);
        } else {
            self.apply_to(constraint, value, old, &path, seen);
        }
    }

    fn apply_to<'v>(
        &mut self,
        constraint: Constraint,
        value: &'v Value,
        old: Option<&Value>,
        path: &str,
        seen: &mut BTreeSet<&'v str>,
    ) {
        let (text, string, number) = (value.as_str().unwrap_or_default(), value.as_str(), value.as_i64());
        match constraint {
            Constraint::Required(detail) => drop(self.require_with(value, path, detail)),
            Constraint::Present(detail) if value.is_null() => self.required(path, detail),
            Constraint::NotBlank(detail) if text.trim().is_empty() => self.required(path, detail),
            Constraint::Wildcards(missing, what) => {
                self.require_with(value, path, missing);
                if has_wildcard(value) && array(value).len() > 1 {
                    let detail = format!("if '*' is present, must not specify other {what}");
                    self.invalid(path, value.clone(), detail);
                }
            }
            Constraint::Named(format) if self.require(value, path) => {
                self.validate_format(path, text, format);
            }
            Constraint::Text(format) => self.validate_format(path, text, format),
            Constraint::Format(format) if string.is_some() => self.validate_format(path, text, format),
            Constraint::OptionalName(format) if !text.is_empty() => self.validate_format(path, text, format),
            Constraint::OneOf(known) if string.is_some() && !known.contains(&text) => {
                self.not_supported(path, text, known);
            }
            Constraint::OptionalOneOf(known) if !text.is_empty() && !known.contains(&text) => {
                self.not_supported(path, text, known);
            }
            Constraint::RequiredOneOf(known) if self.require(value, path) && !known.contains(&text) => {
                self.not_supported(path, text, known);
            }
            Constraint::Only(known) if !known.contains(&text) => self.not_supported(path, text, known),
            Constraint::NonNegative if number < Some(0) && number.is_some() => {
                self.invalid(path, number, "must be greater than or equal to 0");
            }
            Constraint::Within(min, max, detail)
                if number.is_some_and(|number| !(min..=max).contains(&number)) =>
            {
                self.invalid(path, number, detail);
            }
            Constraint::Number(min, max, detail) if !(min..=max).contains(&number.unwrap_or(0)) => {
                self.invalid(path, number.unwrap_or(0), detail);
            }
            Constraint::MaxBytes(max) => self.limit_bytes(text, max, path),
            Constraint::MaxItems(max) => drop(self.limit_items(value, max, path)),
            Constraint::Port => self.validate_port(value, path),
            Constraint::PortOrName => self.validate_port_or_name(value, path),
            Constraint::Labels => self.validate_labels(value, path),
            Constraint::LabelSelector => self.validate_label_selector(value, path),
            Constraint::Immutable if old.is_some_and(|old| old != value) => {
                self.invalid(path, value.clone(), "field is immutable");
            }
            Constraint::Unique if !seen.insert(text) => self.duplicate(path, text),
            Constraint::Rules(rules) => self.apply(rules, value, old, path),
            Constraint::Checked(check) => check(self, value, path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::names;
    use Constraint::*;
    use serde_json::json;

    #[rustfmt::skip]
    const RULES: &[FieldRule] = &[
        ("name", Named(names::label_errors)),
        ("mode", OneOf(&["A", "B"])),
        ("options?.size", Number(1, 9, "must be between 1 and 9")),
        ("items[].id", Unique),
        ("items[].id", Required("")),
        ("items[].tags[*]", Format(names::label_errors)),
        ("class=kind", Immutable),
    ];

    fn errors(object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut check = Check::default();
        check.apply(RULES, object, old, "spec");
        check.errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_apply_along_their_paths() {
        let valid = json!({ "name": "a", "mode": "A", "options": { "size": 9 }, "items": [{ "id": "x", "tags": ["t"] }, { "id": "y" }] });
        assert_eq!(errors(&valid, Some(&valid)), [""; 0]);
        let object = json!({
            "mode": "C", "options": {}, "items": [{ "id": "x", "tags": ["-"] }, { "id": "x" }, {}], "class": 1,
        });
        let errors = errors(&object, Some(&valid));
        let expected = [
            "spec.name: Required value",
            "spec.mode: Unsupported value: \"C\": supported values: \"A\", \"B\"",
            "spec.options.size: Invalid value: 0: must be between 1 and 9",
            "spec.items[0].tags: Invalid value: \"-\": a lowercase RFC 1123 label",
            "spec.items[1].id: Duplicate value: \"x\"",
            "spec.items[2].id: Required value",
            "spec.kind: Invalid value: 1: field is immutable",
        ];
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, expected) in errors.iter().zip(expected) {
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn rule_below_an_absent_object_is_skipped_only_if_its_path_says_so() {
        let object = json!({ "name": "a" });
        assert_eq!(errors(&object, None), [""; 0]);
        let mut check = Check::default();
        check.apply(&[("options.size", Required(""))], &object, None, "");
        assert_eq!(check.errors[0].field, "options.size");
    }
}
