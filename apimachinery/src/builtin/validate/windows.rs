//! Validation of Windows options.

use super::{Check, Constraint, FieldRule, container, names};
use serde_json::Value;

#[rustfmt::skip]
const OPTIONS: &[FieldRule] = &[
    ("gmsaCredentialSpecName", Constraint::Format(names::subdomain_errors)),
    ("gmsaCredentialSpec", Constraint::Format(credential_spec_errors)),
    ("runAsUserName", Constraint::Format(user_name_errors)),
];

/// Validates the Windows options of a pod or container.
pub(super) fn validate_windows_options(check: &mut Check, context: &Value, path: &str) {
    let path = format!("{path}.windowsOptions");
    check.apply(OPTIONS, &context["windowsOptions"], None, &path);
}

fn credential_spec_errors(credentials: &str) -> Vec<&'static str> {
    const MAX_BYTES: usize = 64 * 1024;
    match credentials.len() {
        0 => vec!["gmsaCredentialSpec cannot be an empty string"],
        1..=MAX_BYTES => vec![],
        _ => vec!["gmsaCredentialSpec size must be under 64 KiB"],
    }
}

/// Returns the errors of a user name, which may have a domain prefix.
fn user_name_errors(name: &str) -> Vec<&'static str> {
    const MAX_DOMAIN_LENGTH: usize = 256;
    const MAX_USER_LENGTH: usize = 104;
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
    // DNS labels have letters of either case.
    let is_label = |part: &str| names::is_label(&part.to_ascii_lowercase());
    let is_domain = |domain: &str| is_netbios_domain(domain) || domain.split('.').all(is_label);
    let rules = [
        (
            domain.is_some_and(|domain| domain.len() >= MAX_DOMAIN_LENGTH),
            "runAsUserName's Domain length must be under 256 characters",
        ),
        (
            domain.is_some_and(|domain| !is_domain(domain)),
            "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
        ),
        (user.is_empty(), "runAsUserName's User cannot be empty"),
        (
            user.len() > MAX_USER_LENGTH,
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

/// Whether a text is a NetBIOS domain.
fn is_netbios_domain(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(|c| r#"\/:*?"<>|"#.contains(c))
}

/// Validates host process containers: either all containers are, or none, and they require the host network.
pub(super) fn validate_host_processes(check: &mut Check, spec: &Value, path: &str) {
    let on_host = |holder: &Value| holder["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
    let pod_setting = on_host(spec);
    let (mut total, mut host_process_count) = (0, 0);
    for (container, path) in container::all_containers(spec, path) {
        let own = on_host(container);
        if let (Some(pod), Some(own)) = (pod_setting, own)
            && pod != own
        {
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            let field = format!("{path}.securityContext.windowsOptions.hostProcess");
            check.invalid(&field, own, detail);
        }
        total += 1;
        host_process_count += i32::from(own.or(pod_setting) == Some(true));
    }
    if host_process_count == 0 {
        return;
    }
    if host_process_count != total {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        check.invalid(path, "", detail);
    }
    if spec["hostNetwork"] != true {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        check.invalid(&format!("{path}.hostNetwork"), false, detail);
    }
}
