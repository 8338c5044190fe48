//! Validation of a pod's DNS configuration and host aliases.

use super::{Check, addresses, items, names, text};
use crate::field::FieldError;
use serde_json::Value;

const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCH_PATHS: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2048;

pub(super) fn validate_dns_config(check: &mut Check, spec: &Value, path: &str) {
    let config = &spec["dnsConfig"];
    let count = |list: &str| config[list].as_array().map_or(0, Vec::len);
    if spec["dnsPolicy"] == "None" {
        let missing = if config.is_null() {
            Some((
                path.to_owned(),
                "must provide `dnsConfig` when `dnsPolicy` is None",
            ))
        } else if count("nameservers") == 0 {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            Some((format!("{path}.nameservers"), detail))
        } else {
            None
        };
        if let Some((path, detail)) = missing {
            return check.push(FieldError::required(&path, detail));
        }
    }
    for (list, max, what) in [
        ("nameservers", MAX_NAMESERVERS, "nameservers"),
        ("searches", MAX_SEARCH_PATHS, "search paths"),
    ] {
        if count(list) > max {
            let detail = format!("must not have more than {max} {what}");
            check.push(FieldError::invalid(
                &format!("{path}.{list}"),
                config[list].clone(),
                detail,
            ));
        }
    }
    for (server, path) in items(config, "nameservers", path) {
        validate_ip_address(check, server, &path);
    }
    let searches: Vec<&str> = items(config, "searches", path)
        .map(|(search, _)| search.as_str().unwrap_or_default())
        .collect();
    if searches.join(" ").len() > MAX_SEARCH_CHARACTERS {
        let detail = format!(
            "must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        );
        let field = format!("{path}.searches");
        check.push(FieldError::invalid(&field, config["searches"].clone(), detail));
    }
    for (at, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        let field = format!("{path}.searches[{at}]");
        check.push_messages(&field, search, &names::subdomain_with_underscores_errors(search));
    }
    for (option, path) in items(config, "options", path) {
        if text(option, "name").is_empty() {
            check.push(FieldError::required(&path, "must not be empty"));
        }
    }
}

/// Validates host aliases.
pub(super) fn validate_host_aliases(check: &mut Check, spec: &Value, path: &str) {
    for (alias, path) in items(spec, "hostAliases", path) {
        validate_ip_address(check, &alias["ip"], &format!("{path}.ip"));
        for (name, path) in items(alias, "hostnames", &path) {
            let name = name.as_str().unwrap_or_default();
            check.push_messages(&path, name, &names::subdomain_errors(name));
        }
    }
}

fn validate_ip_address(check: &mut Check, value: &Value, path: &str) {
    let ip_address = value.as_str().unwrap_or_default();
    if let Some(reason) = addresses::ip_error(ip_address) {
        check.push(FieldError::invalid(path, ip_address, reason));
    }
}
