//! The options of a connection: what the query and the path of `exec`, `attach`, `portforward` and `proxy` say, as webhooks see it.

use super::{Query, RequestInfo};
use crate::quote::quoted;
use crate::status::ApiError;
use serde_json::{Map, Value, json};

/// Returns the options of a request to a subresource of this kind, such as `PodExecOptions`, in version v1.
pub(crate) fn connect_options(info: &RequestInfo, query: &Query, kind: &str) -> Result<Value, ApiError> {
    if query.has("dryRun") {
        return Err(ApiError::bad_request("dryRun is not supported"));
    }
    let mut options = Map::new();
    options.insert("apiVersion".to_owned(), "v1".into());
    options.insert("kind".to_owned(), kind.into());
    match kind {
        "PodExecOptions" | "PodAttachOptions" => {
            for stream in ["stdin", "stdout", "stderr", "tty"] {
                if query.flag(stream) {
                    options.insert(stream.to_owned(), true.into());
                }
            }
            add_text(&mut options, "container", query.get("container"));
            if kind == "PodExecOptions" {
                let command: Vec<&str> = query.values("command").collect();
                let command = if command.is_empty() {
                    Value::Null
                } else {
                    json!(command)
                };
                options.insert("command".to_owned(), command);
            }
        }
        "PodPortForwardOptions" => {
            let ports = ports(query)?;
            if !ports.is_empty() {
                options.insert("ports".to_owned(), json!(ports));
            }
        }
        // The path after `proxy`.
        _ => {
            let mut path = info.rest.join("/");
            if !path.is_empty() && !path.starts_with('/') {
                path.insert(0, '/');
            }
            if info.path.ends_with('/') && !path.ends_with('/') {
                path.push('/');
            }
            add_text(&mut options, "path", &path);
        }
    }
    Ok(options.into())
}

fn add_text(options: &mut Map<String, Value>, field: &str, text: &str) {
    if !text.is_empty() {
        options.insert(field.to_owned(), text.into());
    }
}

fn ports(query: &Query) -> Result<Vec<u16>, ApiError> {
    let ports = query.values("ports").flat_map(|ports| ports.split(','));
    let parsed = ports.map(|port| {
        port.parse().map_err(|_| {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let why = if is_number {
                "value out of range"
            } else {
                "invalid syntax"
            };
            let port = quoted(port);
            ApiError::bad_request(format!(
                "cannot convert to []int32: strconv.ParseUint: parsing {port}: {why}"
            ))
        })
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kind: &str, path: &str, query: &str) -> Value {
        let query = Query::parse(query);
        let info = RequestInfo::new(&http::Method::GET, path, &query);
        connect_options(&info, &query, kind).unwrap_or_else(|error| json!(error.message))
    }

    #[test]
    fn parameters_and_path_are_the_options() {
        let pod = "/api/v1/namespaces/n/pods/p";
        for (kind, path, query, expected) in [
            (
                "PodExecOptions",
                "exec",
                "command=a&command=b+c&stdin=&tty=False&stdout=1&container=x",
                json!({"command": ["a", "b c"], "stdin": true, "stdout": true, "container": "x"}),
            ),
            ("PodExecOptions", "exec", "", json!({"command": null})),
            (
                "PodAttachOptions",
                "attach",
                "stderr=0&tty=x",
                json!({"tty": true}),
            ),
            (
                "PodPortForwardOptions",
                "portforward",
                "ports=1,2&ports=3",
                json!({"ports": [1, 2, 3]}),
            ),
            ("PodProxyOptions", "proxy", "path=/q", json!({})),
            ("PodProxyOptions", "proxy/", "", json!({"path": "/"})),
            ("PodProxyOptions", "proxy/a/b/", "", json!({"path": "/a/b/"})),
        ] {
            let mut expected = expected;
            expected["apiVersion"] = json!("v1");
            expected["kind"] = json!(kind);
            assert_eq!(options(kind, &format!("{pod}/{path}"), query), expected);
        }
    }

    #[test]
    fn wrong_parameters_are_refused() {
        let error = "cannot convert to []int32: strconv.ParseUint: parsing";
        for (query, expected) in [
            ("dryRun=All", "dryRun is not supported".to_owned()),
            ("ports=a", format!("{error} \"a\": invalid syntax")),
            ("ports=1,", format!("{error} \"\": invalid syntax")),
            ("ports=65536", format!("{error} \"65536\": value out of range")),
        ] {
            let path = "/api/v1/namespaces/n/pods/p/portforward";
            assert_eq!(options("PodPortForwardOptions", path, query), json!(expected));
        }
    }
}
