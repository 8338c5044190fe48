//! Objects as the real server shows them where its messages show its own types: all fields, in Go's order and by Go's names. The types are
//! in `internal.txt`, whose head describes it; `cargo xtask api-types` writes it from the Go source.

use crate::quote;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

type Fields = Vec<(&'static str, &'static str)>;

static TYPES: LazyLock<HashMap<&str, Fields>> = LazyLock::new(|| {
    let mut types: HashMap<&str, Fields> = HashMap::new();
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

/// Fields of a pod that the real server keeps in its security context.
const OF_HOST: &[&str] = &[
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

/// A value of such a type, as `core.PodSpec`, in JSON of one line.
pub fn internal(value: &Value, ty: &str) -> String {
    Shown::of(value, ty).text
}

/// What differs between two values of such a type: lines of JSON, with three lines around each difference.
pub fn difference(old: &Value, new: &Value, ty: &str) -> String {
    let (old, new) = (Shown::indented(old, ty).text, Shown::indented(new, ty).text);
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    super::difference::unified(&old, &new)
}

struct Shown {
    text: String,
    indents: bool,
    depth: usize,
}

impl Shown {
    fn of(value: &Value, ty: &str) -> Self {
        Self::written(value, ty, false)
    }

    fn indented(value: &Value, ty: &str) -> Self {
        Self::written(value, ty, true)
    }

    fn written(value: &Value, ty: &str, indents: bool) -> Self {
        let mut shown = Self {
            text: String::new(),
            indents,
            depth: 0,
        };
        shown.value(value, ty);
        shown
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
                Some(items) => self.items(items, |shown, item| shown.value(item, ty)),
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
        } else if TYPES.contains_key(ty) {
            let carried;
            let value = if ty == "core.PodSpec" && value.is_object() {
                carried = carry(value);
                &carried
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
                // What is shown as JSON has it is shown without what is empty.
                let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
                let fields = fields.iter().filter(|(_, value)| !is_empty(value));
                self.fields(fields.map(|(name, value)| (name.clone(), value, "")).collect());
            }
            Value::Array(items) if !items.is_empty() => {
                self.items(items, |shown, item| shown.scalar(item, ""));
            }
            value => self.text.push_str(&quote::json(value)),
        }
    }

    fn fields(&mut self, fields: Vec<(String, &Value, &str)>) {
        self.within('{', '}', fields, |shown, (name, value, ty)| {
            let _ = write!(
                shown.text,
                "{}:{}",
                Value::from(name),
                if shown.indents { " " } else { "" }
            );
            if ty.is_empty() {
                shown.scalar(value, ty);
            } else {
                shown.value(value, ty);
            }
        });
    }

    fn items(&mut self, items: &[Value], show: impl FnMut(&mut Self, &Value)) {
        self.within('[', ']', items, show);
    }

    fn within<T>(
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
            self.line();
            show(self, part);
        }
        self.depth -= 1;
        self.line();
        self.text.push(close);
    }

    fn line(&mut self) {
        if self.indents {
            self.text.push('\n');
            self.text.push_str(&" ".repeat(self.depth));
        }
    }
}

/// The fields of a value of a type, with those of the types within it.
fn collect<'a>(value: &'a Value, ty: &str, fields: &mut Vec<(String, &'a Value, &'static str)>) {
    for &(name, ty) in TYPES.get(ty).into_iter().flatten() {
        match (name, ty) {
            ("+", "metadata") => {
                let metadata = value["metadata"].as_object().into_iter().flatten();
                fields.extend(metadata.map(|(name, value)| (name.clone(), value, "")));
            }
            ("+", ty) => collect(value, ty, fields),
            (name, ty) => {
                let published = published(name);
                // A pod's own fields lie in its security context.
                let value = match value.get(OWNER).filter(|_| OF_HOST.contains(&published.as_str())) {
                    Some(spec) => &spec[published.as_str()],
                    None => &value[published.as_str()],
                };
                fields.push((name.to_owned(), value, ty));
            }
        }
    }
}

/// The specification of a pod, whose security context carries the fields that lie in it.
fn carry(spec: &Value) -> Value {
    let mut carried = spec.clone();
    let own: serde_json::Map<String, Value> = OF_HOST
        .iter()
        .map(|name| ((*name).to_owned(), spec[*name].clone()))
        .collect();
    if let Some(context) = carried.get_mut("securityContext").and_then(Value::as_object_mut) {
        context.insert(OWNER.to_owned(), Value::Object(own));
    }
    carried
}

/// Where a security context carries its pod's fields.
const OWNER: &str = "\0pod";

/// The name of a field in JSON: `dnsPolicy` for `DNSPolicy`.
fn published(name: &str) -> String {
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
    fn values_are_shown_with_all_fields() {
        assert_eq!(
            internal(
                &json!({ "minAvailable": 1, "maxUnavailable": "5%" }),
                "policy.PodDisruptionBudgetSpec"
            ),
            r#"{"MinAvailable":1,"Selector":null,"MaxUnavailable":"5%","UnhealthyPodEvictionPolicy":null}"#
        );
        let spec = internal(&json!({ "hostPID": true, "securityContext": {} }), "core.PodSpec");
        assert!(
            spec.contains(r#""SecurityContext":{"HostNetwork":false,"HostPID":true,"#),
            "{spec}"
        );
        let template = json!({ "metadata": { "labels": { "a": "<" } }, "spec": {} });
        assert!(
            internal(&template, "core.PodTemplateSpec")
                .starts_with(r#"{"labels":{"a":"\u003c"},"Spec":{"Volumes":null"#)
        );
    }

    #[test]
    fn names_of_fields_are_the_published_ones() {
        for (name, expected) in [
            ("DNSPolicy", "dnsPolicy"),
            ("TTY", "tty"),
            ("SELinuxOptions", "seLinuxOptions"),
            ("Name", "name"),
            ("HostIPC", "hostIPC"),
        ] {
            assert_eq!(published(name), expected);
        }
    }

    #[test]
    fn differences_are_shown_in_hunks() {
        let claim = |size: &str, volume: &str| json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } }, "volumeName": volume });
        assert_eq!(
            difference(
                &claim("1Gi", ""),
                &claim("2Gi", ""),
                "core.PersistentVolumeClaimSpec"
            ),
            "@@ -6,7 +6,7 @@\n  \"Resources\": {\n   \"Limits\": null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n\
             +   \"storage\": \"2Gi\"\n   }\n  },\n  \"VolumeName\": \"\",\n"
        );
        let both = difference(
            &claim("1Gi", "a"),
            &claim("2Gi", "b"),
            "core.PersistentVolumeClaimSpec",
        );
        assert_eq!(both.matches("@@ -").count(), 1);
    }
}
