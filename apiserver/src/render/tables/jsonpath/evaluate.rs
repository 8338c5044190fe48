//! Evaluation of JSON paths. `None` is an error: the path cannot be evaluated for the object.

use super::{Filter, Node, Slice};
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::cmp::Ordering;

type Values<'a> = Vec<Cow<'a, Value>>;

/// Returns the values at a path.
pub(super) fn evaluate<'a>(nodes: &[Node], object: &'a Value) -> Option<Values<'a>> {
    evaluate_all(nodes, vec![Cow::Borrowed(object)])
}

fn evaluate_all<'a>(nodes: &[Node], input: Values<'a>) -> Option<Values<'a>> {
    nodes.iter().try_fold(input, |values, node| step(node, values))
}

fn step<'a>(node: &Node, input: Values<'a>) -> Option<Values<'a>> {
    let mut output = Vec::new();
    match node {
        // A text is one value, a number or boolean one for each.
        Node::Literal(text @ Value::String(_)) => output.push(Cow::Owned(text.clone())),
        Node::Literal(value) => output.extend(input.iter().map(|_| Cow::Owned(value.clone()))),
        Node::Field(name) => output.extend(input.iter().filter_map(|value| field(value, name))),
        Node::Wildcard => output.extend(input.iter().flat_map(children)),
        Node::Recursive => {
            for value in input {
                descend(value, &mut output);
            }
        }
        Node::Slice(slice) => {
            for value in input.into_iter().filter(|value| !value.is_null()) {
                output.extend(items(slice, &value)?);
            }
        }
        Node::Union(members) => {
            for nodes in members {
                output.extend(evaluate_all(nodes, input.clone())?);
            }
        }
        Node::Filter(filter) => {
            for value in input {
                value.is_array().then_some(())?;
                for item in children(&value) {
                    if matches(filter, &item)? {
                        output.push(item);
                    }
                }
            }
        }
        Node::Keyword => return None,
    }
    Some(output)
}

fn field<'a>(value: &Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(_) => None,
    }
}

/// Returns the values in a list or an object, and the bytes of a text.
fn children<'a>(value: &Cow<'a, Value>) -> Values<'a> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::String(text)) => {
            text.bytes().map(|byte| Cow::Owned(Value::from(byte))).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds a value that contains others, and all such values below it.
fn descend<'a>(value: Cow<'a, Value>, output: &mut Values<'a>) {
    let below = children(&value);
    if !below.is_empty() {
        output.push(value);
        for value in below {
            descend(value, output);
        }
    }
}

fn items<'a>(slice: &Slice, value: &Cow<'a, Value>) -> Option<Values<'a>> {
    let length = i64::try_from(value.as_array()?.len()).ok()?;
    let start = slice.start.unwrap_or(0);
    let start = if start < 0 { start + length } else { start };
    let end = slice.end.unwrap_or(length);
    let is_from_end = end < 0 || end == 0 && slice.is_index;
    let end = if is_from_end { end + length } else { end };
    if start == end {
        return Some(Vec::new());
    }
    let is_valid = (0..length).contains(&start) && (start..=length).contains(&end);
    let step = usize::try_from(slice.step.unwrap_or(1))
        .ok()
        .filter(|step| is_valid && *step > 0)?;
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    Some(
        children(value)
            .into_iter()
            .take(end)
            .skip(start)
            .step_by(step)
            .collect(),
    )
}

fn matches(filter: &Filter, item: &Value) -> Option<bool> {
    let left = evaluate(&filter.left, item);
    let Some(operator) = &filter.operator else {
        return Some(left.is_some_and(|values| !values.is_empty()));
    };
    let left = left?;
    if left.is_empty() {
        return Some(false);
    }
    let right = evaluate(&filter.right, item)?;
    let ([left], [right]) = (left.as_slice(), right.as_slice()) else {
        // Only one value can be compared at a time.
        return (left.len() == 1 && right.is_empty()).then_some(false);
    };
    let (is_equal, order) = compare(left, right)?;
    Some(match operator.as_str() {
        "==" => is_equal,
        "!=" => !is_equal,
        "<" => order? == Ordering::Less,
        "<=" => order? != Ordering::Greater,
        ">" => order? == Ordering::Greater,
        ">=" => order? != Ordering::Less,
        _ => return None,
    })
}

/// Compares values of one type: whether they are equal, and their order, which booleans lack.
fn compare(left: &Value, right: &Value) -> Option<(bool, Option<Ordering>)> {
    let order = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => return Some((left == right, None)),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            (None, None) => compare_floats(left, right)?,
            _ => return None,
        },
        _ => return None,
    };
    Some((order == Ordering::Equal, Some(order)))
}

fn compare_floats(left: &Number, right: &Number) -> Option<Ordering> {
    left.as_f64()?.partial_cmp(&right.as_f64()?)
}
