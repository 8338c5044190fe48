//! What the values of one field may be, before and after.

use serde_json::Value;

use super::{Change, Changes, or_none};

impl Changes {
    /// All limits but the type and the fields below.
    pub(super) fn limits(&mut self, place: &str, old: &Value, new: &Value) {
        self.allowed_values(place, old, new);
        self.bounds(place, old, new);
        self.switches(place, old, new);
        self.rules(place, old, new);
    }

    fn allowed_values(&mut self, place: &str, old: &Value, new: &Value) {
        if old["enum"] != new["enum"] {
            let values = |schema: &Value| schema["enum"].as_array().cloned();
            match (values(old), values(new)) {
                (None, Some(_)) => self.breaks(format!("{place}: now one of {}", new["enum"])),
                (Some(was), Some(is)) => {
                    let gone: Vec<_> = was
                        .iter()
                        .filter(|value| !is.contains(value))
                        .map(Value::to_string)
                        .collect();
                    let added: Vec<_> = is
                        .iter()
                        .filter(|value| !was.contains(value))
                        .map(Value::to_string)
                        .collect();
                    if !gone.is_empty() {
                        self.breaks(format!("{place}: no longer {}", gone.join(" or ")));
                    }
                    if !added.is_empty() {
                        self.note(format!("{place}: also {}", added.join(" or ")));
                    }
                }
                _ => self.note(format!("{place}: any value")),
            }
        }
    }

    fn bounds(&mut self, place: &str, old: &Value, new: &Value) {
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
                let text = format!("{place}: {key} {} → {}", or_none(&old[key]), or_none(&new[key]));
                self.0.push(Change {
                    text,
                    breaking: narrower,
                });
            }
        }
    }

    fn switches(&mut self, place: &str, old: &Value, new: &Value) {
        for (key, strict) in [
            ("exclusiveMinimum", true),
            ("exclusiveMaximum", true),
            ("uniqueItems", true),
            ("nullable", false),
        ] {
            let (was, is) = (old[key] == true, new[key] == true);
            if was != is {
                let text = format!("{place}: {}{key}", if is { "" } else { "no longer " });
                self.0.push(Change {
                    text,
                    breaking: is == strict,
                });
            }
        }
        for key in ["pattern", "multipleOf", "format"] {
            if old[key] != new[key] {
                let text = format!("{place}: {key} {} → {}", or_none(&old[key]), or_none(&new[key]));
                self.0.push(Change {
                    text,
                    breaking: !new[key].is_null(),
                });
            }
        }
        let unknown = "x-kubernetes-preserve-unknown-fields";
        match (old[unknown] == true, new[unknown] == true) {
            (true, false) => self.breaks(format!("{place}: unknown fields are dropped")),
            (false, true) => self.note(format!("{place}: unknown fields are kept")),
            _ => {}
        }
    }

    fn rules(&mut self, place: &str, old: &Value, new: &Value) {
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
            self.breaks(format!("{place}: new rule {}", rule["rule"]));
        }
        for rule in was
            .iter()
            .filter(|rule| !is.iter().any(|other| other["rule"] == rule["rule"]))
        {
            self.note(format!("{place}: rule {} removed", rule["rule"]));
        }
    }
}
