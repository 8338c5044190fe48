//! Rust names of the kinds, fields and values of a definition.

use std::collections::BTreeSet;

use crate::names::{is_keyword, snake_case};

/// Names of Rust's prelude that the generated code uses.
const PRELUDE: [&str; 8] = ["Option", "String", "Vec", "Some", "None", "Ok", "Err", "Result"];
/// Keywords that are no raw identifiers.
const PATH_KEYWORDS: [&str; 4] = ["self", "Self", "super", "crate"];

/// Whether a type of this name would hide one that the generated code uses.
pub(super) fn is_reserved(name: &str) -> bool {
    PRELUDE.contains(&name) || ["Serialize", "Deserialize", "Self"].contains(&name)
}

/// Returns the name of a module, which is also that of its file.
pub(super) fn module(text: &str) -> String {
    match field(text).strip_prefix("r#") {
        Some(keyword) => format!("{keyword}_"),
        None => field(text),
    }
}

/// Returns the name of a field: `clusterIPs` is `cluster_ips`, and `type` is `r#type`.
pub(super) fn field(json: &str) -> String {
    let words = words(json);
    let snake: Vec<_> = words
        .iter()
        .map(|word| snake_case(&singular_acronym(word)))
        .collect();
    let name = snake.join("_").replace("__", "_");
    if name.is_empty() {
        "field".to_owned()
    } else if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{name}")
    } else if PATH_KEYWORDS.contains(&&*name) {
        format!("{name}_")
    } else if is_keyword(&name) {
        format!("r#{name}")
    } else {
        name
    }
}

/// Returns a name in UpperCamelCase: of a kind, of the part of a type's name that a field adds, or of an enum's variant.
pub(super) fn type_name(json: &str) -> String {
    let upper = |word: &String| {
        let mut chars = word.chars();
        chars
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + chars.as_str())
    };
    let name: String = words(json).iter().filter_map(upper).collect();
    if name.is_empty() {
        "Empty".to_owned()
    } else if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("V{name}")
    } else if PATH_KEYWORDS.contains(&&*name) {
        format!("{name}Value")
    } else {
        name
    }
}

/// Returns the name with a number if it is taken, and takes it.
pub(super) fn take(taken: &mut BTreeSet<String>, name: &str) -> String {
    let plain = name.trim_start_matches("r#");
    let numbered = (2..).map(|number| format!("{plain}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).unwrap_or_default()
}

/// Returns the name that serde gives a field with `rename_all = "camelCase"`.
pub(super) fn camel_case(field: &str) -> String {
    let mut camel = String::new();
    let mut is_upper = false;
    for c in field.trim_start_matches("r#").chars() {
        if c == '_' {
            is_upper = true;
        } else if is_upper && !camel.is_empty() {
            camel.push(c.to_ascii_uppercase());
            is_upper = false;
        } else {
            camel.push(c);
            is_upper = false;
        }
    }
    camel
}

/// Returns the parts of a text that are letters and digits.
fn words(json: &str) -> Vec<String> {
    let parts = json.split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Makes the plural of an acronym one word for the snake case: `clusterIPs` becomes `clusterIps`.
fn singular_acronym(word: &str) -> String {
    let chars: Vec<char> = word.chars().collect();
    let mut result = String::new();
    let mut at = 0;
    while at < chars.len() {
        let run = chars[at..].iter().take_while(|c| c.is_ascii_uppercase()).count();
        let after = chars.get(at + run + 1);
        let is_plural =
            run >= 2 && chars.get(at + run) == Some(&'s') && after.is_none_or(char::is_ascii_uppercase);
        if is_plural {
            result.push(chars[at]);
            result.extend(chars[at + 1..=at + run].iter().map(char::to_ascii_lowercase));
            at += run + 1;
        } else {
            let count = run.max(1);
            result.extend(&chars[at..at + count]);
            at += count;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_valid_identifiers_in_snake_case() {
        for (json, name) in [
            ("secretName", "secret_name"),
            ("clusterIPs", "cluster_ips"),
            ("externalURLs", "external_urls"),
            ("podCIDRsOfNode", "pod_cidrs_of_node"),
            ("caBundle", "ca_bundle"),
            ("hostIPC", "host_ipc"),
            ("type", "r#type"),
            ("self", "self_"),
            ("$ref", "r#ref"),
            ("x-kubernetes-group", "x_kubernetes_group"),
            ("3scale", "_3scale"),
            ("-", "field"),
            ("größe", "gr_e"),
        ] {
            assert_eq!(field(json), name, "{json}");
            assert!(syn::parse_str::<syn::Ident>(&field(json)).is_ok() || json == "type" || json == "$ref");
        }
    }

    #[test]
    fn types_and_variants_are_valid_identifiers_in_camel_case() {
        for (json, name) in [
            ("issuerRef", "IssuerRef"),
            ("", "Empty"),
            ("digital signature", "DigitalSignature"),
            ("1.2", "V12"),
            ("Self", "SelfValue"),
            ("ECDSA", "ECDSA"),
        ] {
            assert_eq!(type_name(json), name, "{json}");
        }
    }

    #[test]
    fn collisions_get_numbers() {
        let mut taken = BTreeSet::new();
        let names = ["a", "a", "r#type", "r#type"].map(|name| take(&mut taken, name));
        assert_eq!(names, ["a", "a2", "r#type", "type2"]);
    }

    #[test]
    fn camel_case_is_that_of_serde() {
        for (field, json) in [
            ("secret_name", "secretName"),
            ("r#type", "type"),
            ("self_", "self"),
        ] {
            assert_eq!(camel_case(field), json);
        }
    }
}
