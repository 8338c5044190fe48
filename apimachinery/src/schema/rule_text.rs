//! Rewrites the text of a rule where kube-cel reads it in another way than the real server does.

use crate::cel::RESERVED_WORDS;
use serde_json::Value;

/// Returns the expression as kube-cel needs it:
///
/// - with `oldSelf` as a CEL optional, if `old_is_optional`: kube-cel passes a missing old value as null;
/// - with the escaped names of fields that are reserved words, which the real server accepts unescaped. If the schema has such a field, all
///   selections of this name are taken for it, also those of maps.
pub(super) fn for_evaluation(expression: &str, schema: &Value, old_is_optional: bool) -> String {
    replace_identifiers(expression, |name, place| match (name, place) {
        ("oldSelf", Place::Alone) if old_is_optional => {
            Some("(oldSelf == null ? optional.none() : optional.of(oldSelf))".to_owned())
        }
        (word, Place::Selected) if RESERVED_WORDS.contains(&word) && has_field(schema, word) => {
            Some(format!("__{word}__"))
        }
        _ => None,
    })
}

/// Returns an error message of kube-cel with the names of fields as the rule has them: the real server names what the rule selects.
pub(super) fn as_written(message: &str, rule: &str) -> String {
    RESERVED_WORDS.iter().fold(message.to_owned(), |message, word| {
        let escaped = format!("__{word}__");
        if rule.contains(&escaped) {
            message
        } else {
            message.replace(&escaped, word)
        }
    })
}

/// Where an identifier stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// After a dot: a field, or a function of a value.
    Selected,
    Alone,
}

/// Replaces identifiers outside of literals and comments, by what `replacement` returns for them.
fn replace_identifiers(text: &str, replacement: impl Fn(&str, Place) -> Option<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut follows_dot = false;
    while let Some(first) = rest.chars().next() {
        let length = if is_identifier(first) {
            rest.find(|c| !is_identifier(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        let is_prefix = matches!(token.to_ascii_lowercase().as_str(), "r" | "b" | "rb" | "br");
        let literal = if matches!(first, '"' | '\'') {
            literal_length(rest, false)
        } else if is_prefix && after.starts_with(['"', '\'']) {
            let is_raw = token.contains(['r', 'R']);
            length + literal_length(after, is_raw)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            0
        };
        if literal > 0 {
            result.push_str(&rest[..literal]);
            rest = &rest[literal..];
            // A comment may stand between a dot and a name.
            follows_dot &= first == '/';
            continue;
        }
        let place = if follows_dot {
            Place::Selected
        } else {
            Place::Alone
        };
        match replacement(token, place).filter(|_| is_identifier(first)) {
            Some(replacement) => result.push_str(&replacement),
            None => result.push_str(token),
        }
        follows_dot = first == '.' || follows_dot && (first == '?' || first.is_whitespace());
        rest = after;
    }
    result
}

fn is_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the length of the literal, in quotes or triple quotes, at the start of the text; that of the whole text if it does not end.
fn literal_length(text: &str, is_raw: bool) -> usize {
    let one = &text[..1];
    let quotes = one.repeat(3);
    let end = if text.starts_with(&quotes) { &quotes } else { one };
    let mut at = end.len();
    while let Some(next) = text[at..].chars().next() {
        if text[at..].starts_with(end) {
            return at + end.len();
        }
        at += next.len_utf8();
        if next == '\\' && !is_raw {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

/// Whether the schema, or one within it, has a field of this name.
fn has_field(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(keywords) => {
            let fields = keywords.get("properties").and_then(Value::as_object);
            fields.is_some_and(|fields| fields.contains_key(name))
                || keywords.values().any(|nested| has_field(nested, name))
        }
        Value::Array(items) => items.iter().any(|nested| has_field(nested, name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_name_fields_as_the_rule_does() {
        let message = "no such key: __for__";
        assert_eq!(as_written(message, "self.for == 'x'"), "no such key: for");
        assert_eq!(as_written(message, "self.__for__ == 'x'"), message);
    }

    #[test]
    fn identifiers_are_replaced_outside_of_literals_and_comments() {
        let schema = json!({ "type": "object", "properties": {
            "list": { "type": "array", "items": { "type": "object", "properties": { "namespace": {}, "for": {} } } },
        } });
        for (expression, expected) in [
            ("self.namespace == 'x'", "self.__namespace__ == 'x'"),
            (
                "has(self.for) && self.?for.hasValue()",
                "has(self.__for__) && self.?__for__.hasValue()",
            ),
            (
                "self . namespace // .namespace\n.for",
                "self . __namespace__ // .namespace\n.__for__",
            ),
            ("self. // a dot\nnamespace", "self. // a dot\n__namespace__"),
            // No field of the schema, no selection, no identifier.
            ("self.while + namespace", "self.while + namespace"),
            (
                "self.namespaces + self.__namespace__",
                "self.namespaces + self.__namespace__",
            ),
            ("'.namespace' + \".for\"", "'.namespace' + \".for\""),
            (
                r"'\'.namespace' + r'\' + self.for",
                r"'\'.namespace' + r'\' + self.__for__",
            ),
            (
                "'''a'.for''' + b\"\"\".for\"\"\"",
                "'''a'.for''' + b\"\"\".for\"\"\"",
            ),
            ("'unended .for", "'unended .for"),
            ("'ä'.for == 'ö.for'", "'ä'.__for__ == 'ö.for'"),
        ] {
            assert_eq!(for_evaluation(expression, &schema, false), expected);
        }
        let optional = "(oldSelf == null ? optional.none() : optional.of(oldSelf))";
        for (expression, expected) in [
            ("oldSelf.hasValue()", format!("{optional}.hasValue()")),
            (
                "self.oldSelf == 'oldSelf' // oldSelf",
                "self.oldSelf == 'oldSelf' // oldSelf".to_owned(),
            ),
        ] {
            assert_eq!(for_evaluation(expression, &schema, true), expected);
            assert_eq!(for_evaluation(expression, &schema, false), expression);
        }
    }
}
