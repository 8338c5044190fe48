//! Generates custom resources of 1 to 4 KB. Each has its own structure and values, so none is a replica of another.

use rand::{RngExt as _, rngs::StdRng};
use serde_json::{Map, Value, json};

use super::{
    managed,
    template::Blank::{LastTime, Suffix, Time, Uuid, Version},
};

/// The start of a custom resource's JSON, in lists and in watch events.
pub const CUSTOM_PREFIX: &str = r#"{"apiVersion":"bench.dev/v1","kind":"Mixed","#;

/// Size of the spec. With metadata, status and managedFields, an object has 1 to 4 KB.
const SPEC_BYTES: std::ops::Range<usize> = 150..1_350;
/// Maximum nesting depth of a spec.
const MAX_DEPTH: usize = 3;
const FIELDS: [&str; 24] = [
    "replicas",
    "image",
    "schedule",
    "endpoint",
    "issuerRef",
    "secretName",
    "dnsNames",
    "duration",
    "rules",
    "backend",
    "weight",
    "matchLabels",
    "template",
    "resources",
    "storage",
    "retention",
    "strategy",
    "parameters",
    "region",
    "interval",
    "timeout",
    "mode",
    "selector",
    "targets",
];
const VALUES: [&str; 16] = [
    "always",
    "never",
    "primary",
    "eu-central-1",
    "us-east-2",
    "standard",
    "premium",
    "rolling",
    "recreate",
    "https",
    "grpc",
    "daily",
    "hourly",
    "internal",
    "external",
    "enabled",
];
const CONDITIONS: [&str; 3] = ["Ready", "Synced", "Progressing"];
const MANAGERS: [&str; 4] = ["kubectl-client-side-apply", "helm", "argocd-controller", "flux"];

/// Returns the template of custom resource `number`, with blanks.
pub(super) fn template(number: usize, random: &mut StdRng) -> String {
    let mut size = random.random_range(SPEC_BYTES);
    let spec = random_object(random, &mut size, 0);
    let name = format!("{}-{}", VALUES[number % VALUES.len()], random_word(random));
    let namespace = format!("team-{:03}", random.random_range(0..200));
    let conditions: Vec<Value> = (0..random.random_range(1..4))
        .map(|position| {
            json!({
                "type": CONDITIONS[position], "status": "True", "reason": random_word(random),
                "message": format!("{} {}", random_word(random), random_word(random)), "lastTransitionTime": LastTime.placeholder(position),
            })
        })
        .collect();
    let status = json!({"observedGeneration": random.random_range(1..90), "conditions": conditions});
    let mut labels = json!({"app.kubernetes.io/name": name});
    if random.random_bool(0.6) {
        labels["example.com/team"] = namespace.clone().into();
    }
    let annotations = json!({format!("example.com/{}", random_word(random)): random_word(random)});
    let mut fields = vec![
        ("name", json!(format!("{name}-{}", Suffix.placeholder(0)))),
        ("namespace", json!(namespace)),
        ("uid", json!(Uuid.placeholder(0))),
        ("resourceVersion", json!(Version.placeholder(0))),
        ("generation", json!(random.random_range(1..90))),
        ("creationTimestamp", json!(Time.placeholder(0))),
        ("labels", labels.clone()),
        ("annotations", annotations.clone()),
    ];
    if random.random_bool(0.4) {
        let owner = json!([{
            "apiVersion": "bench.dev/v1", "kind": "Group", "name": random_word(random), "controller": true, "blockOwnerDeletion": true,
            "uid": format!("{}-{}", random_word(random), random_word(random)),
        }]);
        fields.push(("ownerReferences", owner));
    }
    let created = json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": spec});
    let managers = json!([
        managed::entry(
            MANAGERS[number % MANAGERS.len()],
            None,
            &Time.placeholder(1),
            &created
        ),
        managed::entry(
            "controller",
            Some("status"),
            &LastTime.placeholder(0),
            &json!({"status": status})
        ),
    ]);
    fields.push(("managedFields", managers));
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(field, value)| format!("{}:{value}", json!(field)))
        .collect();
    let metadata = fields.join(",");
    format!(r#"{CUSTOM_PREFIX}"metadata":{{{metadata}}},"spec":{spec},"status":{status}}}"#)
}

/// Returns an object with fields of mixed types. Subtracts its size from `size` and stops when nothing is left.
fn random_object(random: &mut StdRng, size: &mut usize, depth: usize) -> Value {
    let mut fields = Map::new();
    let count = if depth == 0 {
        usize::MAX
    } else {
        random.random_range(1..6)
    };
    while fields.len() < count && *size > 0 {
        let name = FIELDS[random.random_range(0..FIELDS.len())];
        let name = if fields.contains_key(name) {
            format!("{name}{}", random.random_range(0..1000))
        } else {
            name.to_owned()
        };
        *size = size.saturating_sub(name.len() + 4);
        let value = random_value(random, size, depth);
        fields.insert(name, value);
    }
    Value::Object(fields)
}

fn random_value(random: &mut StdRng, size: &mut usize, depth: usize) -> Value {
    let value = match random.random_range(0..10) {
        0 | 1 if depth < MAX_DEPTH => return random_object(random, size, depth + 1),
        2 if depth < MAX_DEPTH => {
            let items = (0..random.random_range(1..4)).map(|_| random_object(random, size, depth + 1));
            return Value::Array(items.collect());
        }
        0..=3 => json!(random.random_range(0..100_000)),
        4 => json!(random.random_bool(0.5)),
        5 | 6 => json!(VALUES[random.random_range(0..VALUES.len())]),
        7 => json!(format!(
            "https://{}.example.com/{}",
            random_word(random),
            random_word(random)
        )),
        _ => json!(format!("{}-{}", random_word(random), random_word(random))),
    };
    *size = size.saturating_sub(value.to_string().len() + 1);
    value
}

/// Returns 4 to 15 random letters.
fn random_word(random: &mut StdRng) -> String {
    let length = random.random_range(4..16);
    (0..length)
        .map(|_| char::from(b'a' + random.random_range(0..26_u8)))
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn custom_resources_have_1_to_4_kb_and_differ() {
        let mut random = StdRng::seed_from_u64(1);
        let templates: Vec<String> = (0..2_000).map(|number| template(number, &mut random)).collect();
        for text in &templates {
            let object: Value = serde_json::from_str(text).unwrap();
            assert!(
                (1_000..=4_096).contains(&text.len()),
                "{} bytes: {text}",
                text.len()
            );
            assert_eq!(object["kind"], "Mixed");
        }
        let specs: std::collections::HashSet<String> = templates
            .iter()
            .map(|text| serde_json::from_str::<Value>(text).unwrap()["spec"].to_string())
            .collect();
        assert_eq!(specs.len(), templates.len());
        let mean = templates.iter().map(String::len).sum::<usize>() / templates.len();
        assert!((1_800..=3_200).contains(&mean), "{mean} bytes on average");
    }
}
