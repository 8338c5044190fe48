//! Compares the constraints on the values of one field.

use kubewright_api_types::allowed_values;
use serde_json::{Value, json};

use super::{Impact, SchemaDiff, or_none};

impl SchemaDiff {
    /// Compares all constraints except the type and the child fields.
    pub(super) fn constraints(&mut self, field: &str, old: &Value, new: &Value) {
        self.allowed_values(field, old, new);
        self.bounds(field, old, new);
        self.flags_and_formats(field, old, new);
        self.rules(field, old, new);
    }

    fn allowed_values(&mut self, field: &str, old: &Value, new: &Value) {
        let (was, is) = (allowed_values(old), allowed_values(new));
        if was != is {
            match (was, is) {
                (None, Some(is)) => self.add_breaking(format!("{field}: restricted to {}", json!(is))),
                (Some(was), Some(is)) => {
                    let removed: Vec<_> = was
                        .iter()
                        .filter(|value| !is.contains(value))
                        .map(ToString::to_string)
                        .collect();
                    let added: Vec<_> = is
                        .iter()
                        .filter(|value| !was.contains(value))
                        .map(ToString::to_string)
                        .collect();
                    if !removed.is_empty() {
                        self.add_breaking(format!("{field}: no longer allows {}", removed.join(" or ")));
                    }
                    if !added.is_empty() {
                        self.push(
                            Impact::Clients,
                            format!("{field}: also allows {}", added.join(" or ")),
                        );
                    }
                }
                _ => self.push(Impact::Clients, format!("{field}: allows any value")),
            }
        }
    }

    fn bounds(&mut self, field: &str, old: &Value, new: &Value) {
        for (key, is_lower_bound) in [
            ("minimum", true),
            ("minLength", true),
            ("minItems", true),
            ("minProperties", true),
            ("maximum", false),
            ("maxLength", false),
            ("maxItems", false),
            ("maxProperties", false),
        ] {
            let (was, is) = (old[key].as_f64(), new[key].as_f64());
            let narrower = match (was, is) {
                (None, Some(_)) => true,
                (Some(was), Some(is)) => {
                    if is_lower_bound {
                        is > was
                    } else {
                        is < was
                    }
                }
                _ => false,
            };
            if was != is {
                let text = format!("{field}: {key} {} → {}", or_none(&old[key]), or_none(&new[key]));
                let impact = if narrower {
                    Impact::Objects
                } else {
                    Impact::Nothing
                };
                self.push(impact, text);
            }
        }
    }

    fn flags_and_formats(&mut self, field: &str, old: &Value, new: &Value) {
        for (key, is_strict) in [
            ("exclusiveMinimum", true),
            ("exclusiveMaximum", true),
            ("uniqueItems", true),
            ("x-kubernetes-embedded-resource", true),
            ("nullable", false),
        ] {
            let (was, is) = (old[key] == true, new[key] == true);
            if was != is {
                let text = format!("{field}: {}{key}", if is { "" } else { "no longer " });
                self.push(impact(is == is_strict), text);
            }
        }
        for key in ["pattern", "multipleOf", "format"] {
            if old[key] != new[key] {
                let text = format!("{field}: {key} {} → {}", or_none(&old[key]), or_none(&new[key]));
                self.push(impact(!new[key].is_null()), text);
            }
        }
        let unknown = "x-kubernetes-preserve-unknown-fields";
        match (old[unknown] == true, new[unknown] == true) {
            (true, false) => self.add_breaking(format!("{field}: unknown fields are dropped")),
            (false, true) => self.push(Impact::Clients, format!("{field}: unknown fields are kept")),
            _ => {}
        }
    }

    fn rules(&mut self, field: &str, old: &Value, new: &Value) {
        let rules = |schema: &Value| {
            schema["x-kubernetes-validations"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        };
        let (was, is) = (rules(old), rules(new));
        for rule in is
            .iter()
            .filter(|rule| !was.iter().any(|other| other["rule"] == rule["rule"]))
        {
            self.add_breaking(format!("{field}: new rule {}", rule["rule"]));
        }
        for rule in was
            .iter()
            .filter(|rule| !is.iter().any(|other| other["rule"] == rule["rule"]))
        {
            self.push(Impact::Clients, format!("{field}: rule {} removed", rule["rule"]));
        }
        for rule in &is {
            let Some(before) = was.iter().find(|other| other["rule"] == rule["rule"]) else {
                continue;
            };
            for key in ["message", "messageExpression", "reason", "fieldPath"] {
                if before[key] != rule[key] {
                    self.add(format!("{field}: {key} of rule {} changed", rule["rule"]));
                }
            }
        }
    }
}

/// What a constraint breaks that became stricter or looser: clients may rely on the strict one.
fn impact(is_stricter: bool) -> Impact {
    if is_stricter {
        Impact::Objects
    } else {
        Impact::Clients
    }
}
