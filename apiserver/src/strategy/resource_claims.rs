//! ResourceClaims: the status of devices.

use serde_json::Value;
use std::collections::BTreeSet;

/// Drops the status of the devices that the update takes from the claim.
pub(super) fn drop_deallocated_devices(claim: &mut Value, old: &Value) {
    let allocated = devices(&claim["status"]["allocation"]["devices"]["results"]);
    let before = devices(&old["status"]["allocation"]["devices"]["results"]);
    let deallocated: BTreeSet<_> = before.difference(&allocated).collect();
    let Some(status) = claim.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(Value::Array(devices)) = status.get_mut("devices") else {
        return;
    };
    devices.retain(|device| !deallocated.contains(&identity(device)));
    if devices.is_empty() {
        status.remove("devices");
    }
}

fn devices(list: &Value) -> BTreeSet<[String; 4]> {
    list.as_array().into_iter().flatten().map(identity).collect()
}

fn identity(device: &Value) -> [String; 4] {
    ["driver", "pool", "device", "shareID"].map(|key| device[key].as_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_status_of_devices_goes_with_their_allocation() {
        let device = |name: &str| json!({ "driver": "d", "pool": "p", "device": name });
        let claim = |allocated: &[&str]| {
            let results: Vec<Value> = allocated.iter().map(|name| device(name)).collect();
            json!({ "status": {
                "allocation": { "devices": { "results": results } }, "devices": [device("a"), device("b"), device("c")],
            } })
        };
        let old = claim(&["a", "b"]);
        let dropped = |allocated: &[&str]| {
            let mut new = claim(allocated);
            drop_deallocated_devices(&mut new, &old);
            new["status"]["devices"].clone()
        };
        // A device that was never allocated stays.
        assert_eq!(dropped(&["b"]), json!([device("b"), device("c")]));
        assert_eq!(dropped(&[]), json!([device("c")]));
        assert_eq!(dropped(&["a", "b"]), old["status"]["devices"]);
        let mut last = json!({ "status": { "devices": [device("a")] } });
        drop_deallocated_devices(&mut last, &old);
        assert_eq!(last, json!({ "status": {} }));
    }
}
