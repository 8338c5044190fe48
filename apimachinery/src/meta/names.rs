//! Formats of names, with kube-apiserver's error messages. Each function returns the messages, or none if the name is valid.

const INVALID_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
                     alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const INVALID_DNS_1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end \
with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const INVALID_UNDERSCORE_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must \
                           start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                           '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const INVALID_HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for \
                      validation is '[-A-Za-z0-9]+')";
const INVALID_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end \
                         with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const INVALID_QUALIFIED_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const INVALID_LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                           with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                           '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const INVALID_CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
                          'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

type ErrorMessages = Vec<&'static str>;

/// Whether a text is a DNS label: lower case, digits and hyphens, at most 63 bytes.
pub fn is_label(text: &str) -> bool {
    label_errors(text).is_empty()
}

/// Whether a text is a DNS subdomain: labels with dots between them, at most 253 bytes.
pub fn is_subdomain(text: &str) -> bool {
    subdomain_errors(text).is_empty()
}

/// Whether a text can be a label's key.
pub fn is_label_key(text: &str) -> bool {
    qualified_name_errors(text).is_empty()
}

/// Whether a text can be a label's value.
pub fn is_label_value(text: &str) -> bool {
    label_value_errors(text).is_empty()
}

fn ends_alphanumeric(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn is_plain_label(text: &str) -> bool {
    ends_alphanumeric(text) && text.bytes().all(is_label_byte)
}

fn is_name_part(text: &str) -> bool {
    ends_alphanumeric(text) && text.bytes().all(is_name_byte)
}

/// A DNS label of RFC 1123.
pub fn label_errors(text: &str) -> ErrorMessages {
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 characters");
    }
    if !is_plain_label(text) {
        let dotted = text.split('.').all(is_plain_label);
        messages.push(if dotted {
            "must not contain dots"
        } else {
            INVALID_LABEL
        });
    }
    messages
}

/// A DNS label of RFC 1035.
pub fn dns_1035_errors(text: &str) -> ErrorMessages {
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 characters");
    }
    if !is_plain_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        messages.push(INVALID_DNS_1035_LABEL);
    }
    messages
}

/// The name of a kind: a DNS label of RFC 1035 but for upper-case letters. Returns what is wrong, as one text.
pub fn kind_error(text: &str) -> Option<String> {
    let messages = dns_1035_errors(&text.to_lowercase());
    let detail = || {
        format!(
            "may have mixed case, but should otherwise match: {}",
            messages.join(",")
        )
    };
    (!messages.is_empty()).then(detail)
}

/// A DNS subdomain of RFC 1123.
pub fn subdomain_errors(text: &str) -> ErrorMessages {
    dotted_name_errors(text, is_plain_label, INVALID_SUBDOMAIN)
}

fn dotted_name_errors(text: &str, is_part: impl Fn(&str) -> bool, otherwise: &'static str) -> ErrorMessages {
    let mut messages = Vec::new();
    if text.len() > 253 {
        messages.push("must be no more than 253 characters");
    }
    if !text.split('.').all(is_part) {
        messages.push(otherwise);
    }
    messages
}

/// A name, or a `generateName` prefix, which may end with a hyphen.
pub fn prefix_errors(text: &str) -> ErrorMessages {
    match text.strip_suffix('-') {
        Some(start) => subdomain_errors(&format!("{start}a")),
        None => subdomain_errors(text),
    }
}

/// A subdomain that may contain underscores, as some name servers allow.
pub fn subdomain_with_underscores_errors(text: &str) -> ErrorMessages {
    let is_part = |part: &str| {
        let plain = part.strip_prefix('_').unwrap_or(part).replace('_', "-");
        is_plain_label(&plain)
    };
    dotted_name_errors(text, is_part, INVALID_UNDERSCORE_SUBDOMAIN)
}

/// The name of an HTTP header.
pub fn http_header_errors(text: &str) -> ErrorMessages {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-');
    if !text.is_empty() && text.bytes().all(fits) {
        return vec![];
    }
    vec![INVALID_HEADER]
}

/// A name with an optional DNS prefix, such as a label key.
pub fn qualified_name_errors(text: &str) -> ErrorMessages {
    let parts: Vec<&str> = text.split('/').collect();
    let mut messages = Vec::new();
    let name = match parts[..] {
        [name] => name,
        ["", name] => {
            messages.push("prefix part must be non-empty");
            name
        }
        [prefix, name] => {
            if prefix.len() > 253 {
                messages.push("prefix part must be no more than 253 bytes");
            }
            if !prefix.split('.').all(is_plain_label) {
                messages.push(INVALID_PREFIX);
            }
            name
        }
        _ => return vec![TOO_MANY_PARTS],
    };
    if name.is_empty() {
        messages.push("name part must be non-empty");
    } else if name.len() > 63 {
        messages.push("name part must be no more than 63 bytes");
    }
    if !is_name_part(name) {
        messages.push(INVALID_QUALIFIED_NAME);
    }
    messages
}

const TOO_MANY_PARTS: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                     character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const INVALID_PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                      and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The value of a label.
pub fn label_value_errors(text: &str) -> ErrorMessages {
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 bytes");
    }
    if !text.is_empty() && !is_name_part(text) {
        messages.push(INVALID_LABEL_VALUE);
    }
    messages
}

/// The name of a port.
pub fn port_name_errors(text: &str) -> ErrorMessages {
    let mut messages = Vec::new();
    if text.len() > 15 {
        messages.push("must be no more than 15 characters");
    }
    if text.is_empty() || !text.bytes().all(is_label_byte) {
        messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        messages.push("must contain at least one letter (a-z)");
    }
    if text.contains("--") {
        messages.push("must not contain consecutive hyphens");
    }
    if text.starts_with('-') || text.ends_with('-') {
        messages.push("must not begin or end with a hyphen");
    }
    messages
}

/// A key of a ConfigMap or Secret.
pub fn config_key_errors(text: &str) -> ErrorMessages {
    let mut messages = Vec::new();
    if text.len() > 253 {
        messages.push("must be no more than 253 characters");
    }
    if text.is_empty() || !text.bytes().all(is_name_byte) {
        messages.push(INVALID_CONFIG_KEY);
    }
    match text {
        "." => messages.push("must not be '.'"),
        ".." => messages.push("must not be '..'"),
        _ if text.starts_with("..") => messages.push("must not start with '..'"),
        _ => {}
    }
    messages
}

/// A name that is used as a path segment.
pub fn path_segment_errors(text: &str) -> ErrorMessages {
    let forbidden = [("/", "may not contain '/'"), ("%", "may not contain '%'")];
    match text {
        "." => vec!["may not be '.'"],
        ".." => vec!["may not be '..'"],
        _ => forbidden
            .into_iter()
            .filter_map(|(part, message)| text.contains(part).then_some(message))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_forms_are_validated() {
        for good in ["a", "a.b", "a-b.c", "1"] {
            assert!(subdomain_errors(good).is_empty(), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", "é", ".a"] {
            assert!(!subdomain_errors(bad).is_empty(), "{bad}");
        }
        assert_eq!(
            label_errors(&"a".repeat(64)),
            ["must be no more than 63 characters"]
        );
        assert_eq!(label_errors("a.b"), ["must not contain dots"]);
        assert!(qualified_name_errors("demo.dev/name").is_empty());
        assert!(!qualified_name_errors("a/b/c").is_empty() && !qualified_name_errors("/a").is_empty());
        assert!(label_value_errors("").is_empty() && !label_value_errors("-").is_empty());
        let long = format!("{}/a", "a".repeat(254));
        assert_eq!(
            qualified_name_errors(&long),
            ["prefix part must be no more than 253 bytes"]
        );
        assert_eq!(path_segment_errors("a/b"), ["may not contain '/'"]);
    }
}
