//! What only containers on Windows have.

use super::{Check, container, names};
use crate::field::FieldError;
use serde_json::Value;

/// Who a pod or a container runs as.
pub(super) fn options(check: &mut Check, context: &Value, path: &str) {
    const MOST: usize = 64 * 1024;
    let (options, path) = (&context["windowsOptions"], format!("{path}.windowsOptions"));
    if let Some(name) = options["gmsaCredentialSpecName"].as_str() {
        let field = format!("{path}.gmsaCredentialSpecName");
        check.messages(&field, name, &names::subdomain(name));
    }
    if let Some(credentials) = options["gmsaCredentialSpec"].as_str() {
        let detail = match credentials.len() {
            0 => Some("gmsaCredentialSpec cannot be an empty string"),
            length if length > MOST => Some("gmsaCredentialSpec size must be under 64 KiB"),
            _ => None,
        };
        let field = format!("{path}.gmsaCredentialSpec");
        check.messages(&field, credentials, detail.as_slice());
    }
    if let Some(user) = options["runAsUserName"].as_str() {
        check.messages(&format!("{path}.runAsUserName"), user, &user_faults(user));
    }
}

/// What is wrong with a user's name, which may have a domain before it.
fn user_faults(name: &str) -> Vec<&'static str> {
    const DOMAIN: usize = 256;
    const USER: usize = 104;
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string"];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters"];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, user)) if user.contains('\\') => {
            return vec!["runAsUserName cannot contain more than one backslash"];
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let is_domain = |domain: &str| is_short_domain(domain) || domain.split('.').all(is_part);
    let rules = [
        (
            domain.is_some_and(|domain| domain.len() >= DOMAIN),
            "runAsUserName's Domain length must be under 256 characters",
        ),
        (
            domain.is_some_and(|domain| !is_domain(domain)),
            "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
        ),
        (user.is_empty(), "runAsUserName's User cannot be empty"),
        (
            user.len() > USER,
            "runAsUserName's User length must not be longer than 104 characters",
        ),
        (
            !user.is_empty() && user.chars().all(|c| ". ".contains(c)),
            "runAsUserName's User cannot contain only periods or spaces",
        ),
        (
            user.contains(|c| r#""/\:;|=,+*?<>@[]"#.contains(c)),
            r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#,
        ),
    ];
    rules
        .iter()
        .filter(|(broken, _)| *broken)
        .map(|(_, detail)| *detail)
        .collect()
}

/// A domain as NetBIOS has them.
fn is_short_domain(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(|c| r#"\/:*?"<>|"#.contains(c))
}

/// A part of a domain as DNS has them, in letters of either case.
fn is_part(part: &str) -> bool {
    (1..=63).contains(&part.len())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !part.starts_with('-')
        && !part.ends_with('-')
}

/// Where one container runs on the host itself all do, and share its network.
pub(super) fn host_processes(check: &mut Check, spec: &Value, path: &str) {
    let on_host = |holder: &Value| holder["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
    let of_pod = on_host(spec);
    let (mut all, mut found) = (0, 0);
    for (container, path) in container::all(spec, path) {
        let own = on_host(container);
        if let (Some(pod), Some(own)) = (of_pod, own)
            && pod != own
        {
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            let field = format!("{path}.securityContext.windowsOptions.hostProcess");
            check.push(FieldError::invalid(&field, own, detail));
        }
        all += 1;
        found += i32::from(own.or(of_pod) == Some(true));
    }
    if found == 0 {
        return;
    }
    if found != all {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        check.push(FieldError::invalid(path, "", detail));
    }
    if spec["hostNetwork"] != true {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        check.push(FieldError::invalid(&format!("{path}.hostNetwork"), false, detail));
    }
}
