//! Several changes of one schema at random places: each that crdify refuses is reported, at its place, and nothing else is.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    crdify_rows::{Row, rows},
    tests::diff,
};

/// How a schema is nested in another one.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// A field of an object that has other fields, one of them required.
    Field(&'static str),
    /// The items of a list.
    Items,
    /// The values of a map.
    Values,
}

impl Level {
    fn schema(self, below: &Value) -> Value {
        match self {
            Self::Field(name) => json!({
                "type": "object", "description": "An object.", "required": ["other"],
                "properties": {name: below, "other": {"type": "string", "maxLength": 3}, "more": {"type": "integer"}},
            }),
            Self::Items => json!({"type": "array", "items": below, "maxItems": 9}),
            Self::Values => json!({"type": "object", "additionalProperties": below}),
        }
    }

    fn path(self) -> String {
        match self {
            Self::Field(name) => format!(".{name}"),
            Self::Items => "[]".to_owned(),
            Self::Values => ".*".to_owned(),
        }
    }
}

/// A row of the table below some levels, the outermost first.
#[derive(Clone, Debug)]
struct Change {
    row: usize,
    levels: Vec<Level>,
}

fn change(rows: usize) -> impl Strategy<Value = Change> {
    let level = prop_oneof![
        3 => prop::sample::select(&["b", "items", "properties", "description", "a-b"][..]).prop_map(Level::Field),
        1 => Just(Level::Items),
        1 => Just(Level::Values),
    ];
    (0..rows, prop::collection::vec(level, 0..5)).prop_map(|(row, levels)| Change { row, levels })
}

/// Returns the line of the change in the field `name` of the spec.
fn line(row: &Row, levels: &[Level], name: &str) -> String {
    // The type of a list or map names that of its values, and a type its format: a change of it is reported at the outermost list or map.
    let is_type = row.old["type"] != row.new["type"] || row.old["format"] != row.new["format"];
    let inner = levels
        .iter()
        .rev()
        .take_while(|level| is_type && !matches!(level, Level::Field(_)));
    let (outer, inner) = levels.split_at(levels.len() - inner.count());
    let path: String = outer.iter().map(|level| level.path()).collect();
    let place = format!("spec.{name}{path}");
    if inner.is_empty() {
        return row.expected.replacen("spec.a", &place, 1);
    }
    let of = |ty: &str| {
        let names = inner.iter().map(|level| match level {
            Level::Items => "list of ",
            Level::Field(_) | Level::Values => "map of ",
        });
        names.collect::<String>() + ty
    };
    let types = row.expected.split_once(": ").unwrap().1;
    let (old, new) = types.split_once(" → ").unwrap();
    format!("BREAKING {place}: {} → {}", of(old), of(new))
}

/// Returns a schema of the spec, with the changes' old or new schemas in fields of their own.
fn spec(changes: &[Change], rows: &[Row], schema: fn(&Row) -> &Value) -> Value {
    let nested = |change: &Change| {
        let levels = change.levels.iter().rev();
        levels.fold(schema(&rows[change.row]).clone(), |below, level| {
            level.schema(&below)
        })
    };
    let fields = changes.iter().enumerate();
    let fields = fields.map(|(index, change)| (format!("f{index}"), nested(change)));
    json!({"type": "object", "properties": Value::Object(fields.collect())})
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_change_that_crdify_refuses_is_reported(changes in prop::collection::vec(change(rows().len()), 1..4)) {
        let rows = rows();
        let mut found = diff(&spec(&changes, &rows, |row| &row.old), &spec(&changes, &rows, |row| &row.new));
        let (descriptions, others): (Vec<_>, Vec<_>) =
            changes.iter().enumerate().partition(|(_, change)| rows[change.row].validation == "description");
        let mut expected: Vec<_> =
            others.into_iter().map(|(index, change)| line(&rows[change.row], &change.levels, &format!("f{index}"))).collect();
        expected.extend(match descriptions.len() {
            0 => None,
            1 => Some("1 description changed".to_owned()),
            more => Some(format!("{more} descriptions changed")),
        });
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
