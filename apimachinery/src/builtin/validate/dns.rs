//! Validation of a pod's DNS configuration and host aliases.

use super::{Check, Constraint, addresses, array, items, names, text};
use serde_json::Value;

const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCH_PATHS: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2048;

pub(super) fn validate_dns_config(check: &mut Check, spec: &Value, path: &str) {
    let config = &spec["dnsConfig"];
    let count = |list: &str| array(&config[list]).len();
    if spec["dnsPolicy"] == "None" {
        if config.is_null() {
            return check.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if count("nameservers") == 0 {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return check.required(&format!("{path}.nameservers"), detail);
        }
    }
    for (list, max, what) in [
        ("nameservers", MAX_NAMESERVERS, "nameservers"),
        ("searches", MAX_SEARCH_PATHS, "search paths"),
    ] {
        if count(list) > max {
            let detail = format!("must not have more than {max} {what}");
            check.invalid(&format!("{path}.{list}"), config[list].clone(), detail);
        }
    }
    check.apply(
        &[("nameservers[]", Constraint::Text(addresses::ip_errors))],
        config,
        None,
        path,
    );
    let searches: Vec<&str> = items(config, "searches", path)
        .map(|(search, _)| search.as_str().unwrap_or_default())
        .collect();
    if searches.join(" ").len() > MAX_SEARCH_CHARACTERS {
        let detail = format!(
            "must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        );
        let field = format!("{path}.searches");
        check.invalid(&field, config["searches"].clone(), detail);
    }
    for (at, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        let field = format!("{path}.searches[{at}]");
        check.validate_format(&field, search, names::subdomain_with_underscores_errors);
    }
    for (option, path) in items(config, "options", path) {
        if text(option, "name").is_empty() {
            check.required(&path, "must not be empty");
        }
    }
}
