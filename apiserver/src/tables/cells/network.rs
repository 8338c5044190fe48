//! The cells of what connects.

use super::{
    NONE, UNSET, created, joined, labels, list, name, number, or, selector_or_none, shortened, text,
};
use serde_json::{Value, json};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (spec, age) = (&object["spec"], json!(created(object)));
    let name = name(object).clone();
    Some(match kind {
        "Service" => vec![
            name,
            spec["type"].clone(),
            list(spec, "clusterIPs").first().cloned().unwrap_or(json!(NONE)),
            json!(external(object)),
            json!(or(&ports(spec), NONE)),
            age,
            json!(labels(&spec["selector"])),
        ],
        "Endpoints" => vec![name, json!(endpoints(object)), age],
        "EndpointSlice" => {
            let ports =
                list(object, "ports")
                    .iter()
                    .map(|port| match (&port["port"], port["name"].as_str()) {
                        (Value::Null, name) => name.unwrap_or("*").to_owned(),
                        (port, _) => port.to_string(),
                    });
            let addresses = list(object, "endpoints")
                .iter()
                .flat_map(|endpoint| list(endpoint, "addresses"));
            let addresses = addresses.map(|address| address.as_str().unwrap_or_default().to_owned());
            let shown = |texts: Vec<String>| json!(or(&shortened(&texts), UNSET));
            vec![
                name,
                object["addressType"].clone(),
                shown(ports.collect()),
                shown(addresses.collect()),
                age,
            ]
        }
        "Ingress" => vec![
            name,
            json!(spec["ingressClassName"].as_str().unwrap_or(NONE)),
            json!(hosts(list(spec, "rules"))),
            json!(balanced(object)),
            json!(if list(spec, "tls").is_empty() {
                "80"
            } else {
                "80, 443"
            }),
            age,
        ],
        "IngressClass" => {
            let parameters = &spec["parameters"];
            let group = parameters["apiGroup"].as_str().map(|group| format!(".{group}"));
            let shown = match parameters {
                Value::Null => NONE.to_owned(),
                of => format!(
                    "{}{}/{}",
                    text(of, "kind"),
                    group.unwrap_or_default(),
                    text(of, "name")
                ),
            };
            let name = super::storage::marked(object, &["ingressclass.kubernetes.io/is-default-class"]);
            vec![json!(name), json!(text(spec, "controller")), json!(shown), age]
        }
        "NetworkPolicy" => vec![name, json!(selector_or_none(&spec["podSelector"])), age],
        _ => return None,
    })
}

/// Where a service is reached from outside.
fn external(service: &Value) -> String {
    let spec = &service["spec"];
    let given: Vec<&str> = list(spec, "externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match text(spec, "type") {
        "ClusterIP" | "NodePort" => or(&given.join(","), NONE).to_owned(),
        "LoadBalancer" => {
            let balanced = balanced(service);
            let all: Vec<&str> = [balanced.as_str()]
                .into_iter()
                .filter(|text| !text.is_empty())
                .chain(given)
                .collect();
            or(&all.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text(spec, "externalName").to_owned(),
        _ => super::UNKNOWN.to_owned(),
    }
}

/// The addresses that a load balancer has, each once.
fn balanced(object: &Value) -> String {
    let points = list(&object["status"]["loadBalancer"], "ingress").iter();
    let mut points: Vec<&str> = points
        .map(|point| or(text(point, "ip"), text(point, "hostname")))
        .filter(|point| !point.is_empty())
        .collect();
    points.sort_unstable();
    points.dedup();
    points.join(",")
}

fn ports(spec: &Value) -> String {
    let ports = list(spec, "ports").iter().map(|port| {
        let node = match number(&port["nodePort"]) {
            0 => String::new(),
            node => format!(":{node}"),
        };
        format!("{}{node}/{}", number(&port["port"]), text(port, "protocol"))
    });
    ports.collect::<Vec<_>>().join(",")
}

/// Each address with each port; without ports, each address.
fn endpoints(object: &Value) -> String {
    let mut found = vec![];
    let subsets = list(object, "subsets");
    for subset in subsets {
        let addresses = list(subset, "addresses");
        if list(subset, "ports").is_empty() {
            found.extend(addresses.iter().map(|address| text(address, "ip").to_owned()));
        }
        for port in list(subset, "ports") {
            found.extend(addresses.iter().map(|address| match text(address, "ip") {
                ip if ip.contains(':') => format!("[{ip}]:{}", number(&port["port"])),
                ip => format!("{ip}:{}", number(&port["port"])),
            }));
        }
    }
    if subsets.is_empty() {
        NONE.to_owned()
    } else {
        shortened(&found)
    }
}

fn hosts(rules: &[Value]) -> String {
    const MOST: usize = 3;
    let named: Vec<Value> = rules
        .iter()
        .filter(|rule| !text(rule, "host").is_empty())
        .cloned()
        .collect();
    if named.is_empty() {
        return "*".to_owned();
    }
    let shown = joined(&named[..named.len().min(MOST)], "host");
    // The real server counts rules, not hosts, and only when a rule follows the third host.
    let third = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| !text(rule, "host").is_empty())
        .nth(MOST - 1);
    match third {
        Some((at, _)) if at + 1 < rules.len() => format!("{shown} + {} more...", rules.len() - MOST),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_say_where_they_are_reached() {
        let service = json!({
            "spec": { "type": "LoadBalancer", "externalIPs": ["1.1.1.1"], "ports": [{ "port": 80, "nodePort": 30000, "protocol": "TCP" }] },
            "status": { "loadBalancer": { "ingress": [{ "hostname": "h" }, { "ip": "2.2.2.2" }] } },
        });
        assert_eq!(external(&service), "2.2.2.2,h,1.1.1.1");
        assert_eq!(ports(&service["spec"]), "80:30000/TCP");
        assert_eq!(
            external(&json!({ "spec": { "type": "LoadBalancer" } })),
            "<pending>"
        );
    }

    #[test]
    fn hosts_are_counted_by_rules() {
        let rule = |host: &str| json!({ "host": host });
        assert_eq!(hosts(&[json!({})]), "*");
        assert_eq!(hosts(&[rule("a"), rule("b"), rule("c")]), "a,b,c");
        assert_eq!(
            hosts(&[rule("a"), rule("b"), rule("c"), rule("d"), json!({})]),
            "a,b,c + 2 more..."
        );
    }
}
