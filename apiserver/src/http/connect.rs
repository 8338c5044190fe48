//! The subresources that connect to a node, a pod or a service: `log`, `exec`, `attach`, `portforward` and `proxy`.
//!
//! Requests are checked as by kube-apiserver, up to the connection: this server has no kubelets to connect to, so every request ends with
//! an error, in a message of the WebSocket where that server has opened one by then, or with an empty log for a pod without a node. No
//! request reaches a handler of the object itself. Webhooks and policies see all but `log`, as the operation CONNECT, before the object is
//! read.

use super::log_options::LogOptions;
use super::resources::{RequestContext, write_context};
use super::web_socket::remote_command;
use crate::admission::Operation;
use crate::meta;
use crate::quote::quoted;
use crate::registry::{Registry, Target};
use crate::render::{ApiResponse, respond};
use crate::request::{Query, RequestInfo, WriteOptions, connect_options};
use crate::status::ApiError;
use serde_json::Value;
use std::net::IpAddr;

/// Why a connection to an address fails.
const NO_CONNECTIONS: &str = "this server does not connect to nodes and pods";

/// The types of node addresses that can be connected to, the preferred ones first.
const NODE_ADDRESS_TYPES: &[&str] = &[
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "ExternalDNS",
    "ExternalIP",
];

/// True if the request connects to a node, a pod or a service: it is answered by [`handle`].
pub(super) fn is_connection(info: &RequestInfo) -> bool {
    let subresource = info.subresource.as_str();
    info.group.is_empty()
        && match info.resource.as_str() {
            "pods" => matches!(subresource, "log" | "exec" | "attach" | "portforward" | "proxy"),
            "services" | "nodes" => subresource == "proxy",
            _ => false,
        }
}

/// True if webhooks and policies see the request as the operation CONNECT.
pub(super) fn is_admitted(info: &RequestInfo) -> bool {
    is_connection(info) && info.subresource != "log"
}

/// Answers a request to a subresource that connects.
pub(super) fn handle(context: &RequestContext<'_>, target: &Target) -> Result<ApiResponse, ApiError> {
    let (registry, info) = (&context.state.registry, context.info);
    if !is_admitted(info) {
        return log(registry, target, context.query);
    }
    let Some(subresource) = target.kind.subresource(&info.subresource) else {
        return Err(ApiError::method_not_allowed());
    };
    let kind = target.kind.for_subresource(subresource).kind;
    let mut options = connect_options(info, context.query, &kind)?;
    let write_options = WriteOptions::default();
    let write = write_context(context, &write_options);
    let warnings = registry.admit_virtual_resource(
        target,
        &info.subresource,
        Operation::Connect,
        &mut options,
        write,
    )?;
    let response = check_create_permission(context, target).and_then(|()| connect(context, target, &options));
    response.map_err(|error| error.with_warnings(&warnings))
}

/// What runs in a pod can be changed over a connection: opening one by GET, as WebSockets do, needs the permission for POST as well.
fn check_create_permission(context: &RequestContext<'_>, target: &Target) -> Result<(), ApiError> {
    let info = context.info;
    let is_stream = matches!(info.subresource.as_str(), "exec" | "attach" | "portforward");
    if !is_stream || info.verb == "create" {
        return Ok(());
    }
    let registry = &context.state.registry;
    let info = RequestInfo {
        verb: "create".to_owned(),
        ..info.clone()
    };
    let allowed = registry
        .authorizer
        .authorize(&registry.store, context.user, &info);
    // As in kube-apiserver, the error says no reason.
    allowed.map_err(|_| ApiError::forbidden(&*target.kind, &target.name, ""))
}

/// Returns the error of the connection, or sends it over a WebSocket.
fn connect(context: &RequestContext<'_>, target: &Target, options: &Value) -> Result<ApiResponse, ApiError> {
    let registry = &context.state.registry;
    match (context.info.resource.as_str(), context.info.subresource.as_str()) {
        ("services", _) => proxy_service(registry, target),
        ("nodes", _) => proxy_node(registry, target),
        (_, "proxy") => proxy_pod(registry, target),
        (_, subresource) => {
            let pod = registry.get(target)?;
            if subresource != "portforward" {
                check_container(pod.value(), options["container"].as_str().unwrap_or_default())?;
            }
            stream(context, target, options, pod.value())
        }
    }
}

/// Returns the log of a container: empty if the pod has no node.
fn log(registry: &Registry, target: &Target, query: &Query) -> Result<ApiResponse, ApiError> {
    let causes = LogOptions::parse(query)?.validate();
    if !causes.is_empty() {
        return Err(ApiError::invalid_of("", "PodLogOptions", &target.name, &causes));
    }
    let pod = registry.get(target)?;
    check_container(pod.value(), query.get("container"))?;
    let node = node_name(pod.value());
    if node.is_empty() {
        return Ok(respond::status(http::StatusCode::NO_CONTENT));
    }
    check_node_address(registry, target, node)?;
    Err(ApiError::new(500, "", format!("node {node}: {NO_CONNECTIONS}")))
}

/// Answers exec, attach and portforward.
fn stream(
    context: &RequestContext<'_>,
    target: &Target,
    options: &Value,
    pod: &Value,
) -> Result<ApiResponse, ApiError> {
    let node = node_name(pod);
    if node.is_empty() {
        let why = format!("pod {} does not have a host assigned", target.name);
        return Err(ApiError::bad_request(why));
    }
    check_node_address(&context.state.registry, target, node)?;
    if !context.parts.headers.contains_key(http::header::UPGRADE) {
        return Err(ApiError::bad_request("Upgrade request required"));
    }
    if context.info.subresource != "portforward" && remote_command::is_requested(context.parts) {
        let error = ApiError::internal(format_args!("error sending request: {NO_CONNECTIONS}"));
        return Ok(remote_command::refuse(context.parts, options, &error));
    }
    let why = format!("error dialing backend: {NO_CONNECTIONS}");
    Err(ApiError::new(500, "", why))
}

fn proxy_pod(registry: &Registry, target: &Target) -> Result<ApiResponse, ApiError> {
    let (name, _) = split_address(target, "pod")?;
    let pod = registry.get(&Target::new(&target.kind, &target.namespace, name))?;
    let address = pod.value()["status"]["podIPs"][0]["ip"].as_str();
    let address = address.and_then(|address| address.parse::<IpAddr>().ok());
    if !address.is_some_and(is_global_unicast) {
        return Err(ApiError::bad_request("address not allowed"));
    }
    Err(unreachable_service())
}

fn proxy_service(registry: &Registry, target: &Target) -> Result<ApiResponse, ApiError> {
    let unavailable = |why: String| ApiError::new(503, "ServiceUnavailable", why);
    let (name, mut port) = split_address(target, "service")?;
    let service;
    if let Ok(number) = port.parse::<i64>() {
        service = registry.get(&Target::new(&target.kind, &target.namespace, name))?;
        let ports = service.value()["spec"]["ports"].as_array();
        let found = ports
            .into_iter()
            .flatten()
            .find(|port| port["port"].as_i64() == Some(number));
        let Some(found) = found else {
            let why = format!("no service port {number} found for service {}", quoted(name));
            return Err(unavailable(why));
        };
        // Endpoints have the name of the service's port.
        port = found["name"].as_str().unwrap_or_default();
    }
    let endpoints = registry.resource("", "endpoints")?;
    let endpoints = registry.get(&Target::new(&endpoints, &target.namespace, name));
    // The error names the service, which may well exist.
    let endpoints = endpoints.map_err(|_| ApiError::not_found(&target.kind, name))?;
    let mut subsets = endpoints.value()["subsets"].as_array().into_iter().flatten();
    let is_ready = subsets.any(|subset| {
        let mut ports = subset["ports"].as_array().into_iter().flatten();
        subset["addresses"]
            .as_array()
            .is_some_and(|addresses| !addresses.is_empty())
            && ports.any(|known| known["name"].as_str().unwrap_or_default() == port)
    });
    if !is_ready {
        let why = format!("no endpoints available for service {}", quoted(name));
        return Err(unavailable(why));
    }
    Err(unreachable_service())
}

fn proxy_node(registry: &Registry, target: &Target) -> Result<ApiResponse, ApiError> {
    let (name, _) = split_address(target, "node")?;
    let address = check_node_address(registry, target, name)?;
    let is_allowed = match address.parse() {
        Ok(address) => is_global_unicast(address),
        Err(_) => address != "localhost",
    };
    if !is_allowed {
        return Err(ApiError::bad_request("address not allowed"));
    }
    Err(unreachable_service())
}

/// Splits a name of the form `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT` into name and port.
fn split_address<'a>(target: &'a Target, what: &str) -> Result<(&'a str, &'a str), ApiError> {
    let parts: Vec<&str> = target.name.split(':').collect();
    match parts.as_slice() {
        [name] => Ok((name, "")),
        [name, port] | ["" | "http" | "https", name, port] if !name.is_empty() => Ok((name, port)),
        _ => {
            let why = format!("invalid {what} request {}", quoted(&target.name));
            Err(ApiError::bad_request(why))
        }
    }
}

fn unreachable_service() -> ApiError {
    let why = format!("error trying to reach service: {NO_CONNECTIONS}");
    ApiError::new(503, "ServiceUnavailable", why)
}

fn node_name(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

/// Checks that a node exists and has an address to connect to, and returns this. The error about a missing node names the kind of the request, as
/// kube-apiserver's does.
fn check_node_address(registry: &Registry, target: &Target, name: &str) -> Result<String, ApiError> {
    let nodes = registry.resource("", "nodes")?;
    let node = registry.get(&Target::new(&nodes, "", name));
    let node = node.map_err(|_| ApiError::not_found(&target.kind, name))?;
    let addresses = node.value()["status"]["addresses"].as_array();
    let addresses = addresses.map(Vec::as_slice).unwrap_or_default();
    let text = |address: &Value, key: &str| address[key].as_str().unwrap_or_default().to_owned();
    let of_type = |ty: &&str| addresses.iter().find(|address| text(address, "type") == *ty);
    if let Some(address) = NODE_ADDRESS_TYPES.iter().find_map(of_type) {
        return Ok(text(address, "address"));
    }
    let known: Vec<String> = addresses
        .iter()
        .map(|address| format!("{{{} {}}}", text(address, "type"), text(address, "address")))
        .collect();
    let why = format!(
        "no preferred addresses found; known addresses: [{}]",
        known.join(" ")
    );
    Err(ApiError::new(500, "", why))
}

/// True for addresses that pods and nodes can have: no loopback, link-local, multicast or broadcast address.
fn is_global_unicast(address: IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(is_local || address.is_unspecified() || address.is_loopback() || address.is_multicast())
}

/// Checks that the pod has the named container, or a single one if no name is given.
fn check_container(pod: &Value, container: &str) -> Result<(), ApiError> {
    let names = |key: &str| -> Vec<String> {
        let containers = pod["spec"][key].as_array().into_iter().flatten();
        containers
            .filter_map(|container| container["name"].as_str().map(str::to_owned))
            .collect()
    };
    let containers = names("containers");
    let all = [
        names("initContainers"),
        containers.clone(),
        names("ephemeralContainers"),
    ]
    .concat();
    let pod_name = meta::name(pod);
    let why = match (container, containers.len()) {
        ("", 1) => return Ok(()),
        ("", 0) => format!("a container name must be specified for pod {pod_name}"),
        ("", _) => format!(
            "a container name must be specified for pod {pod_name}, choose one of: [{}]",
            all.join(" ")
        ),
        (name, _) if all.iter().any(|known| known == name) => return Ok(()),
        (name, _) => format!("container {name} is not valid for pod {pod_name}"),
    };
    Err(ApiError::bad_request(why))
}
