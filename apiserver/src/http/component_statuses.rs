//! ComponentStatuses: whether the other components of a control plane run on this machine, checked when they are read.

use super::resources::RequestContext;
use crate::quote::quoted;
use crate::registry::Target;
use crate::render::{ApiResponse, Representation, respond, table};
use crate::request::ListOptions;
use crate::status::{self, ApiError};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::net::TcpStream;

/// The components with the ports of their health endpoints. The storage is part of this server.
const COMPONENTS: [(&str, Option<u16>); 3] = [
    ("controller-manager", Some(10257)),
    ("etcd-0", None),
    ("scheduler", Some(10259)),
];

/// How long a component may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Reads one component, or lists those that the selectors match.
pub(super) async fn handle(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    if context.info.verb == "watch" {
        let message = "watch is not supported on resources of kind \"componentstatuses\"";
        let details = json!({ "kind": "componentstatuses" });
        return Err(ApiError::with_details(405, "MethodNotAllowed", message, details));
    }
    let (kind, format, name) = (&target.kind, context.format, target.name.as_str());
    let options = ListOptions::parse(context.query, false)?;
    let mut found = vec![];
    for (component, port) in COMPONENTS {
        let metadata = json!({ "metadata": { "name": component } });
        let field_value = |field: &str| kind.field_value(&metadata, field);
        let is_selected = match name {
            "" => options.labels.matches(&metadata) && options.fields.matches(field_value),
            name => name == component,
        };
        if is_selected {
            found.push(component_status(component, port).await);
        }
    }
    if !name.is_empty() && found.is_empty() {
        let message = format!("componentstatus {} not found", quoted(name));
        let details = status::details(name, "", "componentstatus");
        return Err(ApiError::with_details(404, "NotFound", message, details));
    }
    let value = match (format.representation, found.as_mut_slice()) {
        (Representation::Table, found) => {
            let rows: Vec<&Value> = found.iter().collect();
            table(format, kind, &rows, &json!({}), true)
        }
        (_, [component]) if !name.is_empty() => {
            component["kind"] = json!(kind.kind);
            component["apiVersion"] = json!("v1");
            return respond::unstored(200, format, kind, component);
        }
        (Representation::PartialMetadata, _) => return Err(respond::is_a_list(kind)),
        (Representation::PartialMetadataList, found) => {
            respond::metadata_list(format, found.iter(), &json!({}))
        }
        (Representation::Objects, found) => {
            json!({ "kind": kind.list_kind(), "apiVersion": "v1", "metadata": {}, "items": found })
        }
    };
    Ok(respond::value(200, format, &value))
}

/// Checks a component: one that accepts connections counts as healthy.
async fn component_status(name: &str, port: Option<u16>) -> Value {
    let problem = match port {
        Some(port) => connection_problem(port).await,
        None => None,
    };
    let is_healthy = if problem.is_none() { "True" } else { "False" };
    let message = problem.unwrap_or_else(|| "ok".to_owned());
    let condition = json!({ "type": "Healthy", "status": is_healthy, "message": message });
    json!({ "metadata": { "name": name }, "conditions": [condition] })
}

/// Returns why a port of this machine accepts no connection, in the words of Go's HTTP client.
async fn connection_problem(port: u16) -> Option<String> {
    let connecting = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    let cause = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(Ok(_)) => return None,
        Ok(Err(_)) => "connect: connection refused",
        Err(_) => "i/o timeout",
    };
    Some(format!(
        "Get \"https://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: {cause}"
    ))
}
