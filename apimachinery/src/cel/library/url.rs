//! The functions of rules about URLs. The standard for browsers, by which kube-cel reads URLs, knows fewer, changes paths and hosts, and drops
//! default ports.

use crate::cel::functions::opaque;
use crate::go_url::{Url, split_port, unescape_query};
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, Opaque};
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use std::collections::HashMap;
use std::sync::Arc;

impl Opaque for Url {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.URL"
    }
}

/// Returns a part of a URL.
type Part = fn(&Url) -> Value;

const PARTS: [(&str, Part); 6] = [
    ("getScheme", |url| text(&url.scheme)),
    ("getHost", |url| text(&url.host)),
    ("getHostname", |url| {
        let host = split_port(&url.host).0;
        let literal = host
            .strip_prefix('[')
            .and_then(|literal| literal.strip_suffix(']'));
        text(literal.unwrap_or(host))
    }),
    ("getPort", |url| text(split_port(&url.host).1)),
    ("getEscapedPath", |url| text(&url.escaped_path)),
    ("getQuery", |url| query_of(&url.query)),
];

/// Replaces the functions.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("isURL", |text: Arc<String>| Url::parse_request(&text).is_ok());
    context.add_function("url", url);
    for (name, part) in PARTS {
        context.add_function(name, move |This(this): This<Value>| with(&this, part));
    }
}

fn url(This(value): This<Value>) -> ResolveResult {
    let Value::String(value) = value else {
        return Err(ExecutionError::NoSuchOverload);
    };
    // Only the second time as a URL with a fragment, as kube-apiserver does.
    let parsed = Url::parse_request(&value).and_then(|_| Url::parse(&value));
    let parsed = parsed.map_err(|why| {
        let why = format!("URL parse error during conversion from string: {why}");
        ExecutionError::function_error("url", why)
    })?;
    Ok(opaque(parsed))
}

fn with(value: &Value, get: Part) -> ResolveResult {
    match value {
        Value::Opaque(value) => value
            .downcast_ref::<Url>()
            .map(get)
            .ok_or(ExecutionError::NoSuchOverload),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn text(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

/// The values of a query by their names, without pairs that are malformed.
fn query_of(query: &str) -> Value {
    let mut values: HashMap<Key, Vec<Value>> = HashMap::new();
    let pairs = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'));
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let unescaped = unescape_query(name).and_then(|name| Ok((name, unescape_query(value)?)));
        if let Ok((name, value)) = unescaped {
            values.entry(Key::from(name)).or_default().push(text(&value));
        }
    }
    let entries = values
        .into_iter()
        .map(|(name, values)| (name, Value::List(Arc::new(values))));
    let map: HashMap<Key, Value> = entries.collect();
    Value::Map(Map { map: Arc::new(map) })
}
