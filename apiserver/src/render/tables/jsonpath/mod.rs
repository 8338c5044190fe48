//! The JSON paths of printer columns, in client-go's dialect: `.spec.a`, `.metadata.annotations.x\.y`,
//! `.status.conditions[?(@.type=="Ready")].status`, `.l[0:2]`, `.l[0,2]`, `..name`.

mod evaluate;
mod parse;

use serde_json::Value;
use std::borrow::Cow;

/// A parsed path.
pub(super) struct JsonPath(Vec<Vec<Node>>);

/// A step of a path, which turns values into others.
#[derive(Debug, PartialEq)]
enum Node {
    /// A text, number or boolean instead of each value.
    Literal(Value),
    Field(String),
    Wildcard,
    /// All values below, at any depth.
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter(Filter),
    /// A keyword, which columns do not support.
    Keyword,
}

/// The items of a list from `start` on, before `end`.
#[derive(Debug, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
    /// Whether only the start is given, which selects one item.
    is_index: bool,
}

/// Selects the items of a list for which a comparison is true; without an operator, those that have a value at `left`.
#[derive(Debug, PartialEq)]
struct Filter {
    left: Vec<Node>,
    operator: Option<String>,
    right: Vec<Node>,
}

impl JsonPath {
    /// Parses a path; `None` if it is invalid.
    pub(super) fn parse(path: &str) -> Option<Self> {
        parse::parse(&format!("{{{path}}}")).map(Self)
    }

    /// Returns the first value at the path; `None` if there is none, or the path cannot be evaluated.
    pub(super) fn find<'a>(&self, object: &'a Value) -> Option<Cow<'a, Value>> {
        let mut results = self.0.iter().map(|nodes| evaluate::evaluate(nodes, object));
        let first = results.next()??;
        // A path with braces has several parts, of which each must be valid.
        results.all(|result| result.is_some()).then_some(())?;
        first.into_iter().next()
    }
}

#[cfg(test)]
mod tests {
    use super::JsonPath;
    use serde_json::json;

    #[test]
    fn first_value_at_path_is_found() {
        let object = json!({
            "a": { "b.c": 1, "l": [{ "type": "X", "s": "x", "n": 1 }, { "type": "Y", "s": "y", "n": 2 }] }, "t": "ä", "z": null,
        });
        for (path, expected) in [
            (r".a.b\.c", json!(1)),
            (r#".a.l[?(@.type=="Y")].s"#, json!("y")),
            (".a.l[?(@.n > 1)].s", json!("y")),
            (".a.l[?(@.n!=1)].s", json!("y")),
            (".a.l[?(@.s)].s", json!("x")),
            (".a.l[0].s", json!("x")),
            (".a.l[-1].s", json!("y")),
            (".a.l[-1:].s", json!("y")),
            (".a.l[0:1].s", json!("x")),
            (".a.l[::2].s", json!("x")),
            (".a.l[1,0].s", json!("y")),
            (".a.l[*].s", json!("x")),
            (".a['l'][0].n", json!(1)),
            ("..s", json!("x")),
            (".a.l..n", json!(1)),
            (".z", json!(null)),
            (".t.*", json!(195)),
            (".a } {.x", json!({ "b.c": 1, "l": object["a"]["l"] })),
        ] {
            let path_of = JsonPath::parse(path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(path_of.find(&object).as_deref(), Some(&expected), "{path}");
        }
        for path in [
            ".",
            ".x",
            ".a.l[7]",
            ".a.l[1:0]",
            ".a.l[0:0]",
            ".a.l[0:2:0]",
            ".a[0]",
            ".a.l[?(@.type==\"Z\")].s",
            ".a.l[?(@.n==\"1\")].s",
            ".a.l[?(@.n=1)].s",
            ".a[?(@.x==1)]",
            ".a.l[?(@.type==@.x)]",
            ". range .a.l",
            ".t}{.a[0]",
        ] {
            let path_of = JsonPath::parse(path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(path_of.find(&object), None, "{path}");
        }
        for path in [
            ".a[",
            "[[[",
            ".a[?(@",
            ".a[x]",
            ".a[\"b\"]",
            ".a..[..",
            "....",
            ".a{",
            ".a[?(@.x==1)",
            ".1.2.3 -.",
            ".a[0,x]",
            ".a[99999999999999999999]",
        ] {
            assert!(JsonPath::parse(path).is_none(), "{path}");
        }
    }
}
