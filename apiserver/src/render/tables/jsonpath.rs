//! The JSON paths of printer columns: `.spec.a`, `.metadata.annotations.x\.y`, `.status.conditions[?(@.type=="Ready")].status`.

use serde_json::Value;

/// Returns the first value at a path.
pub(super) fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    walk(object, path)
}

fn walk<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return (!value.is_null()).then_some(value);
    }
    if let Some(rest) = path.strip_prefix('[') {
        let end = rest.find(']')?;
        let (bracket, rest) = (&rest[..end], &rest[end + 1..]);
        if bracket == "*" {
            return value.as_array()?.iter().find_map(|item| walk(item, rest));
        }
        if let Some(condition) = bracket
            .strip_prefix("?(@")
            .and_then(|text| text.strip_suffix(')'))
        {
            let (field, expected) = condition.split_once("==")?;
            let expected = expected.trim().trim_matches(['"', '\'']);
            let mut items = value.as_array()?.iter();
            let item = items.find(|item| {
                let field = walk(item, field.trim());
                field.is_some_and(|field| {
                    field
                        .as_str()
                        .map_or_else(|| field.to_string().as_str() == expected, |text| text == expected)
                })
            })?;
            return walk(item, rest);
        }
        if let Ok(index) = bracket.parse::<i64>() {
            let list = value.as_array()?;
            let index = if index < 0 {
                usize::try_from(index + i64::try_from(list.len()).ok()?)
            } else {
                usize::try_from(index)
            };
            return walk(list.get(index.ok()?)?, rest);
        }
        return walk(value.get(bracket.trim_matches(['"', '\'']))?, rest);
    }
    let rest = path.strip_prefix('.').unwrap_or(path);
    let (key, rest) = split_key(rest);
    if key == "*" {
        return match value {
            Value::Array(list) => list.iter().find_map(|item| walk(item, rest)),
            Value::Object(map) => map.values().find_map(|item| walk(item, rest)),
            _ => None,
        };
    }
    if key.is_empty() && rest.is_empty() {
        return Some(value);
    }
    walk(value.get(&key)?, rest)
}

/// Splits off the first key of a path, with escapes resolved.
fn split_key(path: &str) -> (String, &str) {
    let (mut key, mut escaped) = (String::new(), false);
    for (index, character) in path.char_indices() {
        match character {
            character if escaped => {
                key.push(character);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' | '[' => return (key, &path[index..]),
            other => key.push(other),
        }
    }
    (key, "")
}

#[cfg(test)]
mod tests {
    use super::find;
    use serde_json::json;

    #[test]
    fn first_value_at_path_is_found() {
        let object =
            json!({ "a": { "b.c": 1, "l": [{ "type": "X", "s": "x" }, { "type": "Y", "s": "y" }] } });
        for (path, expected) in [
            (r".a.b\.c", json!(1)),
            (r#".a.l[?(@.type=="Y")].s"#, json!("y")),
            (".a.l[0].s", json!("x")),
            (".a.l[-1].s", json!("y")),
            (".a.l[*].s", json!("x")),
            (".a['b.c']", json!(1)),
        ] {
            assert_eq!(find(&object, path), Some(&expected), "{path}");
        }
        for path in [
            ".x",
            ".a.l[7]",
            ".a.l[?(@.type==\"Z\")].s",
            ".a[",
            "[[[",
            ".a.l[?(@",
        ] {
            assert_eq!(find(&object, path), None, "{path}");
        }
    }
}
