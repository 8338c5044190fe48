//! Validation of CEL expressions about admission requests (match conditions).

use super::syntax_error;
use regex::{Captures, Regex};

/// Returns why an expression is invalid: a syntax error or an undeclared name. Types are not checked.
pub(crate) fn condition_error(expression: &str) -> Option<String> {
    let parsed = cfg!(feature = "cel").then(|| syntax_error(expression));
    parsed.flatten().or_else(|| undeclared(expression))
}

/// The variables of an admission request, and names that CEL predeclares.
const DECLARED_NAMES: &[&str] = &[
    "object",
    "oldObject",
    "namespaceObject",
    "request",
    "authorizer",
    "true",
    "false",
    "null",
    "in",
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
    "google",
    "net",
    "kubernetes",
];

/// Reports undeclared names, with the message of the real server.
fn undeclared(expression: &str) -> Option<String> {
    // Ignore strings and comments, and below also field and function names and string prefixes.
    let skipped = Regex::new(
        r#"(?s)[rRbB]{0,2}("""(\\.|[^\\])*?"""|'''(\\.|[^\\])*?'''|"(\\.|[^"\\])*"|'(\\.|[^'\\])*')|//[^\n]*|[0-9][0-9a-zA-Z.]*"#,
    )
    .ok()?;
    let plain = skipped.replace_all(expression, |text: &Captures<'_>| " ".repeat(text[0].len()));
    let name = Regex::new(r"(\.\s*)?\b([A-Za-z_][A-Za-z0-9_]*)\b(\s*[({])?").ok()?;
    let bound = Regex::new(r"\.\s*\w+\s*\(\s*([A-Za-z_]\w*)\s*,(?:\s*([A-Za-z_]\w*)\s*,)?").ok()?;
    let bound: Vec<&str> = bound
        .captures_iter(&plain)
        .flat_map(|found| [found.get(1), found.get(2)])
        .flatten()
        .map(|found| found.as_str())
        .collect();
    let errors = name.captures_iter(&plain).filter_map(|found| {
        let name = found.get(2)?;
        let is_plain = found.get(1).is_none() && found.get(3).is_none();
        let known = bound.contains(&name.as_str()) || DECLARED_NAMES.contains(&name.as_str());
        (is_plain && !known).then(|| {
            let before = &expression.get(..name.start()).unwrap_or_default();
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = expression.get(start..).and_then(|rest| rest.lines().next());
            let column = before.get(start..).unwrap_or_default().chars().count();
            format!(
                "ERROR: <input>:{}:{}: undeclared reference to '{}' (in container '')\n | {}\n | {}^",
                before.matches('\n').count() + 1,
                column + 1,
                name.as_str(),
                line.unwrap_or_default(),
                ".".repeat(column)
            )
        })
    });
    let errors: Vec<String> = errors.collect();
    (!errors.is_empty()).then(|| errors.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::undeclared;

    #[test]
    fn names_are_those_of_a_request() {
        for good in [
            "true",
            "request.resource.group != 'leases' && !('x' in request.userInfo.groups)",
            "object.spec.containers.all(c, c.image.startsWith(\"x\")) // why",
            "has(object.a) ? size(oldObject.b) > 1u : type(object) == map",
            "authorizer.group('').resource('pods').check('get').allowed()",
        ] {
            assert_eq!(undeclared(good), None, "{good}");
        }
        assert_eq!(
            undeclared("a &&\n b.c").as_deref(),
            Some(
                "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a &&\n | ^\nERROR: <input>:2:2: undeclared \
                 reference to 'b' (in container '')\n |  b.c\n | .^"
            )
        );
    }
}
