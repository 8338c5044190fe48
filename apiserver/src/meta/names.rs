//! Validation of names, labels and annotations, with the messages of the real server.

use crate::kinds::Kind;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end \
with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Validates the name of an object of a kind. With `prefix`, the name is a `generateName`, which may end with a dash.
pub fn object_name(kind: &Kind, name: &str, prefix: bool) -> Vec<String> {
    let shortened = match name.strip_suffix('-') {
        Some(rest) if prefix => format!("{rest}a"),
        _ => name.to_owned(),
    };
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io" | "certificates.k8s.io", _)
        | ("networking.k8s.io", "IPAddress") => path_segment(name),
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => label(&shortened),
        // The real server does not validate the names of core events and of disruption budgets.
        ("", "Event") | ("policy", "PodDisruptionBudget") => vec![],
        _ => subdomain(&shortened),
    }
}

/// Validates a label of RFC 1123.
pub fn label(name: &str) -> Vec<String> {
    let is_valid_form = is_label(name.as_bytes());
    let is_subdomain = name.len() <= 253 && name.split('.').all(|part| is_label(part.as_bytes()));
    form_errors(
        name,
        63,
        is_valid_form,
        if is_subdomain {
            "must not contain dots"
        } else {
            LABEL
        },
    )
}

/// Validates a subdomain of RFC 1123.
pub fn subdomain(name: &str) -> Vec<String> {
    let is_valid_form = name.split('.').all(|part| is_label(part.as_bytes()));
    form_errors(name, 253, is_valid_form, SUBDOMAIN)
}

/// Validates a label of RFC 1035.
pub fn dns_1035(name: &str) -> Vec<String> {
    let is_valid_form = is_label(name.as_bytes()) && name.starts_with(|c: char| c.is_ascii_lowercase());
    form_errors(name, 63, is_valid_form, DNS_1035)
}

/// Validates a qualified name: a key of labels or annotations, or a finalizer.
pub fn qualified_name(name: &str) -> Vec<String> {
    let (prefix, rest) = match name.split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            return vec![
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
                    .to_owned(),
            ];
        }
        Some((prefix, rest)) => (Some(prefix), rest),
        None => (None, name),
    };
    let mut errors = vec![];
    match prefix {
        Some("") => errors.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => errors.extend(
            subdomain(prefix)
                .into_iter()
                .map(|why| format!("prefix part {}", why.replace("253 characters", "253 bytes"))),
        ),
        None => {}
    }
    if rest.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if rest.len() > 63 {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified_part(rest) {
        errors.push(QUALIFIED.to_owned());
    }
    errors
}

/// Validates a label's value.
pub fn label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!value.is_empty() && !is_qualified_part(value)).then(|| LABEL_VALUE.to_owned())
}

/// Validates a path segment.
pub fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let forbidden = ["/", "%"].into_iter().filter(|part| name.contains(part));
    forbidden
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

fn form_errors(name: &str, max_bytes: usize, is_valid_form: bool, why: &str) -> Vec<String> {
    let mut errors = vec![];
    if name.len() > max_bytes {
        errors.push(format!("must be no more than {max_bytes} characters"));
    }
    if !is_valid_form {
        errors.push(why.to_owned());
    }
    errors
}

fn is_label(name: &[u8]) -> bool {
    let inner = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-';
    let ends = [name.first(), name.last()];
    ends.iter().all(|end| end.is_some_and(|c| *c != b'-')) && name.iter().all(inner)
}

fn is_qualified_part(name: &str) -> bool {
    let ends = [name.bytes().next(), name.bytes().last()];
    ends.iter()
        .all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()))
        && name
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_forms_are_validated() {
        for good in ["a", "a.b", "a-b.c", "1"] {
            assert!(subdomain(good).is_empty(), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", "é", ".a"] {
            assert!(!subdomain(bad).is_empty(), "{bad}");
        }
        assert_eq!(label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert_eq!(label("a.b"), ["must not contain dots"]);
        assert!(qualified_name("demo.dev/name").is_empty());
        assert!(!qualified_name("a/b/c").is_empty() && !qualified_name("/a").is_empty());
        assert!(label_value("").is_none() && label_value("-").is_some());
        assert_eq!(path_segment("a/b"), ["may not contain '/'"]);
    }
}
