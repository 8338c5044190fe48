//! Formats objects as kube-apiserver does in messages that print its internal Go types: all fields, in Go's order and with Go's names. The
//! types are in `internal.txt`, which `cargo xtask api-types` writes from the Go source; the head of that file describes its format.

use crate::quote;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

type InternalFields = Vec<(&'static str, &'static str)>;

static INTERNAL_TYPES: LazyLock<HashMap<&str, InternalFields>> = LazyLock::new(|| {
    let mut types: HashMap<&str, InternalFields> = HashMap::new();
    let mut current = "";
    for line in include_str!("internal.txt").lines() {
        if let Some(name) = line.strip_prefix("type ") {
            current = name;
        } else if let Some(field) = line.strip_prefix("  ").and_then(|line| line.split_once(' ')) {
            types.entry(current).or_default().push(field);
        }
    }
    types
});

/// Fields of a pod spec that kube-apiserver's internal type keeps in the pod's security context.
const HOST_FIELDS: &[&str] = &[
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

/// Formats a value of an internal type, such as `core.PodSpec`, as JSON on one line.
pub fn format_internal(value: &Value, ty: &str) -> String {
    InternalFormatter::compact(value, ty).text
}

/// Returns the diff of two values of an internal type: lines of JSON, with three lines of context around each change.
pub fn diff_internal(old: &Value, new: &Value, ty: &str) -> String {
    let (old, new) = (
        InternalFormatter::indented(old, ty).text,
        InternalFormatter::indented(new, ty).text,
    );
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    super::diff::unified_diff(&old, &new)
}

struct InternalFormatter {
    text: String,
    indents: bool,
    depth: usize,
}

impl InternalFormatter {
    fn compact(value: &Value, ty: &str) -> Self {
        Self::format(value, ty, false)
    }

    fn indented(value: &Value, ty: &str) -> Self {
        Self::format(value, ty, true)
    }

    fn format(value: &Value, ty: &str, indents: bool) -> Self {
        let mut formatter = Self {
            text: String::new(),
            indents,
            depth: 0,
        };
        formatter.value(value, ty);
        formatter
    }

    fn value(&mut self, value: &Value, ty: &str) {
        if let Some(ty) = ty.strip_prefix('*') {
            match value {
                Value::Null => self.text.push_str("null"),
                value => self.value(value, ty),
            }
        } else if let Some(ty) = ty.strip_prefix("[]") {
            match value.as_array().map(Vec::as_slice) {
                Some([]) => self.text.push_str("[]"),
                Some(items) => self.items(items, |formatter, item| formatter.value(item, ty)),
                None => self.text.push_str("null"),
            }
        } else if let Some(ty) = ty.strip_prefix("{}") {
            match value.as_object() {
                Some(fields) if fields.is_empty() => self.text.push_str("{}"),
                Some(fields) => {
                    let fields = fields.iter().map(|(name, value)| (name.clone(), value, ty));
                    self.fields(fields.collect());
                }
                None => self.text.push_str("null"),
            }
        } else if INTERNAL_TYPES.contains_key(ty) {
            let moved;
            let value = if ty == "core.PodSpec" && value.is_object() {
                moved = move_host_fields(value);
                &moved
            } else {
                value
            };
            let mut fields = vec![];
            collect(value, ty, &mut fields);
            self.fields(fields);
        } else {
            self.scalar(value, ty);
        }
    }

    fn scalar(&mut self, value: &Value, ty: &str) {
        let zero = match ty {
            "string" => "\"\"",
            "bool" => "false",
            "int" | "int-or-string" => "0",
            "quantity" => "\"0\"",
            "json" => "{}",
            _ => "null",
        };
        match value {
            Value::Null => self.text.push_str(zero),
            Value::Object(fields) if !fields.is_empty() => {
                // Values that are shown as in JSON omit empty fields.
                let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
                let fields = fields.iter().filter(|(_, value)| !is_empty(value));
                self.fields(fields.map(|(name, value)| (name.clone(), value, "")).collect());
            }
            Value::Array(items) if !items.is_empty() => {
                self.items(items, |formatter, item| formatter.scalar(item, ""));
            }
            value => self.text.push_str(&quote::json(value)),
        }
    }

    fn fields(&mut self, fields: Vec<(String, &Value, &str)>) {
        self.delimited('{', '}', fields, |formatter, (name, value, ty)| {
            let _ = write!(
                formatter.text,
                "{}:{}",
                Value::from(name),
                if formatter.indents { " " } else { "" }
            );
            if ty.is_empty() {
                formatter.scalar(value, ty);
            } else {
                formatter.value(value, ty);
            }
        });
    }

    fn items(&mut self, items: &[Value], show: impl FnMut(&mut Self, &Value)) {
        self.delimited('[', ']', items, show);
    }

    fn delimited<T>(
        &mut self,
        open: char,
        close: char,
        parts: impl IntoIterator<Item = T>,
        mut show: impl FnMut(&mut Self, T),
    ) {
        self.text.push(open);
        let mut parts = parts.into_iter().peekable();
        if parts.peek().is_none() {
            return self.text.push(close);
        }
        self.depth += 1;
        for (at, part) in parts.enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            self.line_break();
            show(self, part);
        }
        self.depth -= 1;
        self.line_break();
        self.text.push(close);
    }

    fn line_break(&mut self) {
        if self.indents {
            self.text.push('\n');
            self.text.push_str(&" ".repeat(self.depth));
        }
    }
}

/// Collects the fields of a value of a type, including those of embedded types.
fn collect<'a>(value: &'a Value, ty: &str, fields: &mut Vec<(String, &'a Value, &'static str)>) {
    for &(name, ty) in INTERNAL_TYPES.get(ty).into_iter().flatten() {
        match (name, ty) {
            ("+", "metadata") => {
                let metadata = value["metadata"].as_object().into_iter().flatten();
                fields.extend(metadata.map(|(name, value)| (name.clone(), value, "")));
            }
            ("+", ty) => collect(value, ty, fields),
            (name, ty) => {
                let json_name = json_name(name);
                // The internal type has the pod's host fields in its security context.
                let value = match value
                    .get(HOST_FIELDS_KEY)
                    .filter(|_| HOST_FIELDS.contains(&json_name.as_str()))
                {
                    Some(spec) => &spec[json_name.as_str()],
                    None => &value[json_name.as_str()],
                };
                fields.push((name.to_owned(), value, ty));
            }
        }
    }
}

/// Returns a pod spec with its host fields copied into the security context.
fn move_host_fields(spec: &Value) -> Value {
    let mut moved = spec.clone();
    let own: serde_json::Map<String, Value> = HOST_FIELDS
        .iter()
        .map(|name| ((*name).to_owned(), spec[*name].clone()))
        .collect();
    if let Some(context) = moved.get_mut("securityContext").and_then(Value::as_object_mut) {
        context.insert(HOST_FIELDS_KEY.to_owned(), Value::Object(own));
    }
    moved
}

/// The key under which a security context holds the pod's host fields.
const HOST_FIELDS_KEY: &str = "\0pod";

/// Returns a field's name in JSON: `dnsPolicy` for `DNSPolicy`.
fn json_name(name: &str) -> String {
    let capitals = name.bytes().take_while(u8::is_ascii_uppercase).count();
    let lower = match capitals {
        all if all == name.len() => all,
        0 | 1 => capitals,
        several => several - 1,
    };
    format!("{}{}", name[..lower].to_lowercase(), &name[lower..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_formatted_with_all_fields() {
        assert_eq!(
            format_internal(
                &json!({ "minAvailable": 1, "maxUnavailable": "5%" }),
                "policy.PodDisruptionBudgetSpec"
            ),
            r#"{"MinAvailable":1,"Selector":null,"MaxUnavailable":"5%","UnhealthyPodEvictionPolicy":null}"#
        );
        let spec = format_internal(&json!({ "hostPID": true, "securityContext": {} }), "core.PodSpec");
        assert!(
            spec.contains(r#""SecurityContext":{"HostNetwork":false,"HostPID":true,"#),
            "{spec}"
        );
        let template = json!({ "metadata": { "labels": { "a": "<" } }, "spec": {} });
        assert!(
            format_internal(&template, "core.PodTemplateSpec")
                .starts_with(r#"{"labels":{"a":"\u003c"},"Spec":{"Volumes":null"#)
        );
    }

    #[test]
    fn go_field_names_map_to_json_names() {
        for (name, expected) in [
            ("DNSPolicy", "dnsPolicy"),
            ("TTY", "tty"),
            ("SELinuxOptions", "seLinuxOptions"),
            ("Name", "name"),
            ("HostIPC", "hostIPC"),
        ] {
            assert_eq!(json_name(name), expected);
        }
    }

    #[test]
    fn changes_are_formatted_as_hunks() {
        let claim = |size: &str, volume: &str| json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } }, "volumeName": volume });
        assert_eq!(
            diff_internal(
                &claim("1Gi", ""),
                &claim("2Gi", ""),
                "core.PersistentVolumeClaimSpec"
            ),
            "@@ -6,7 +6,7 @@\n  \"Resources\": {\n   \"Limits\": null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n\
             +   \"storage\": \"2Gi\"\n   }\n  },\n  \"VolumeName\": \"\",\n"
        );
        let both = diff_internal(
            &claim("1Gi", "a"),
            &claim("2Gi", "b"),
            "core.PersistentVolumeClaimSpec",
        );
        assert_eq!(both.matches("@@ -").count(), 1);
    }
}
