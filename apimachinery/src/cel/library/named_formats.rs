//! The formats of texts that expressions name, such as `format.dns1123Label()`.

use crate::cel::functions::{add, opaque, operands};
use crate::go_url::Url;
use crate::meta::names;
use crate::types::{is_base64, is_date, is_time};
use kube_cel::cel::objects::{Opaque, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value};
use std::sync::Arc;

/// A format: its name in expressions, and the function that returns why a text does not have it.
type Format = (&'static str, fn(&str) -> Vec<String>);

const FORMATS: [Format; 13] = [
    ("byte", |text| {
        refused(text.is_empty() || !is_base64(text), "invalid base64")
    }),
    ("date", |text| refused(!is_date(text), "invalid date")),
    ("datetime", |text| {
        refused(!is_time(&text.to_ascii_uppercase()), "invalid datetime")
    }),
    ("dns1035Label", |text| owned(names::dns_1035_errors(text))),
    ("dns1035LabelPrefix", |text| {
        owned(names::dns_1035_errors(&of_prefix(text)))
    }),
    ("dns1123Label", |text| owned(names::label_errors(text))),
    ("dns1123LabelPrefix", |text| {
        owned(names::label_errors(&of_prefix(text)))
    }),
    ("dns1123Subdomain", |text| owned(names::subdomain_errors(text))),
    ("dns1123SubdomainPrefix", |text| owned(names::prefix_errors(text))),
    ("labelValue", |text| owned(names::label_value_errors(text))),
    ("qualifiedName", |text| owned(names::qualified_name_errors(text))),
    ("uri", |text| Url::parse_request(text).err().into_iter().collect()),
    ("uuid", |text| {
        refused(!is_uuid(text), "does not match the UUID format")
    }),
];

/// A format, by its number.
#[derive(Debug, PartialEq, Eq)]
struct NamedFormat(usize);

impl Opaque for NamedFormat {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.NamedFormat"
    }
}

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    for (number, (name, _)) in FORMATS.iter().enumerate() {
        add(context, &format!("format.{name}"), move |_| {
            Ok(opaque(NamedFormat(number)))
        });
    }
    add(context, "format.named", |call| {
        let operands = operands(call)?;
        let Some(Value::String(name)) = operands.last() else {
            return Err(ExecutionError::NoSuchOverload);
        };
        let found = FORMATS.iter().position(|(known, _)| known == &name.as_str());
        let format = found.map(|number| OptionalValue::of(opaque(NamedFormat(number))));
        Ok(opaque(format.unwrap_or_else(OptionalValue::none)))
    });
    add(context, "validate", |call| {
        let operands = operands(call)?;
        let [Value::Opaque(format), Value::String(text)] = &operands[..] else {
            return Err(ExecutionError::NoSuchOverload);
        };
        let format = format
            .downcast_ref::<NamedFormat>()
            .ok_or(ExecutionError::NoSuchOverload)?;
        let errors = FORMATS
            .get(format.0)
            .map(|(_, errors)| errors(text))
            .unwrap_or_default();
        if errors.is_empty() {
            return Ok(opaque(OptionalValue::none()));
        }
        let errors = errors.into_iter().map(|error| Value::String(Arc::new(error)));
        Ok(opaque(OptionalValue::of(Value::List(Arc::new(errors.collect())))))
    });
}

fn owned(errors: Vec<&'static str>) -> Vec<String> {
    errors.into_iter().map(str::to_owned).collect()
}

fn refused(is_refused: bool, why: &str) -> Vec<String> {
    is_refused.then(|| why.to_owned()).into_iter().collect()
}

/// The shortest name with this prefix, which may end with a hyphen.
fn of_prefix(text: &str) -> String {
    text.strip_suffix('-')
        .map_or_else(|| text.to_owned(), |start| format!("{start}a"))
}

/// Five groups of hexadecimal digits, with or without hyphens.
fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((digits, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}
