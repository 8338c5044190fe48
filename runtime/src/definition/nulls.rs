//! Decides which fields are nullable: those that the operator may write as null.

use serde_json::{Map, Value};

use super::{keywords::names, references::unwrap_null, variants::variant_name};

/// Makes fields not nullable that are optional when read and are left out when written, as with `skip_serializing_if`.
///
/// `read` and `written` are the schemas of one type for deserialization and serialization. Other optional fields stay nullable: `None` is
/// written as null, which the API server refuses in an apply of a field that is not nullable. The fields of the root, `spec` and `status`, are never
/// null.
pub(super) fn restrict(read: &mut Value, written: &Value) {
    restrict_nested(read, written);
    let Value::Object(root) = read else { return };
    for (_, field) in root
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        drop_null(field);
    }
}

fn restrict_nested(read: &mut Value, written: &Value) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            restrict_fields(read, written);
            for (key, nested) in read {
                match (key.as_str(), nested, written.get(key)) {
                    ("anyOf" | "oneOf", Value::Array(read), Some(Value::Array(written))) => {
                        restrict_variants(read, written);
                    }
                    (_, nested, Some(written)) => restrict_nested(nested, written),
                    _ => {}
                }
            }
        }
        (Value::Array(read), Value::Array(written)) if read.len() == written.len() => {
            for (read, written) in read.iter_mut().zip(written) {
                restrict_nested(read, written);
            }
        }
        _ => {}
    }
}

/// Variants have their names: with `skip_serializing`, for example, one of them is only read. Those without a name have their order.
fn restrict_variants(read: &mut [Value], written: &[Value]) {
    let name = |variant: &Value| variant.as_object().and_then(variant_name);
    let has_same_order = read.len() == written.len();
    for (at, variant) in read.iter_mut().enumerate() {
        let written = match name(variant) {
            None if has_same_order => written.get(at),
            None => None,
            read_name => written.iter().find(|written| name(written) == read_name),
        };
        if let Some(written) = written {
            restrict_nested(variant, written);
        }
    }
}

fn restrict_fields(read: &mut Map<String, Value>, written: &Map<String, Value>) {
    let (Some(_), Some(Value::Object(written_fields))) = (read.get("properties"), written.get("properties"))
    else {
        return;
    };
    let always_read = names(read.get("required"));
    let always_written = names(written.get("required"));
    for (name, field) in read
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        let is_optional = !always_read.contains(name) && !always_written.contains(name);
        if is_optional && written_fields.contains_key(name) {
            drop_null(field);
        }
    }
}

/// Removes null from the values of a field, unless the field is marked as nullable.
fn drop_null(field: &mut Value) {
    let Value::Object(field) = field else { return };
    if field.get("nullable") == Some(&Value::Bool(true)) {
        return;
    }
    unwrap_null(field);
    field.remove("nullable");
    if field.get("default") == Some(&Value::Null) {
        field.remove("default");
    }
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|ty| ty != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            field.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}
