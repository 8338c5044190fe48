//! `metadata.managedFields`: which manager owns which fields.

use super::field_set::FieldSet;
use super::path_element::escaped;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of Update entries; older ones are merged per version.
const MAX_UPDATE_MANAGERS: usize = 10;
const ANCIENT_CHANGES_MANAGER: &str = "ancient-changes";

/// The identity of a manager. An applier is one manager in all API versions; an updater is a separate manager in each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    /// Sorts appliers before updaters.
    pub(super) updates: bool,
    /// Empty for an applier.
    api_version: String,
    subresource: String,
}

impl Manager {
    pub(super) fn new(name: &str, applies: bool, api_version: &str, subresource: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        Self {
            name: name.to_owned(),
            updates: !applies,
            api_version: if applies {
                String::new()
            } else {
                api_version.to_owned()
            },
            subresource: subresource.to_owned(),
        }
    }

    /// Returns the JSON by which the real server identifies and orders managers.
    pub(super) fn identifier(&self) -> String {
        let fields = [
            ("manager", self.name.as_str()),
            ("operation", if self.updates { "Update" } else { "Apply" }),
            ("apiVersion", self.api_version.as_str()),
            ("subresource", self.subresource.as_str()),
        ];
        let present = fields.iter().filter(|(_, value)| !value.is_empty());
        let fields: Vec<String> = present
            .map(|(name, value)| format!("\"{name}\":{}", escaped(&json!(value))))
            .collect();
        format!("{{{}}}", fields.join(","))
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(formatter, " with subresource {:?}", self.subresource)?;
        }
        if self.updates {
            write!(formatter, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// The fields that a manager owns, the API version of their paths, and the time of its last write.
#[derive(Debug, Clone)]
pub(super) struct VersionedSet {
    pub(super) set: FieldSet,
    pub(super) api_version: String,
    pub(super) time: Option<String>,
}

pub(super) type Managers = BTreeMap<Manager, VersionedSet>;

/// Decodes the entries. The error describes the first invalid entry.
pub(super) fn decode(entries: &Value) -> Result<Managers, String> {
    let mut managers = Managers::new();
    for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let applies = match text("operation") {
            "Apply" => true,
            "Update" => false,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => {
                return Err(format!(
                    "invalid fieldsType {other:?} in managed fields entry {index}"
                ));
            }
        }
        let set = FieldSet::decode(&entry["fieldsV1"])
            .ok_or_else(|| format!("error decoding fieldsV1 in managed fields entry {index}"))?;
        let manager = Manager {
            name: text("manager").to_owned(),
            ..Manager::new("", applies, api_version, text("subresource"))
        };
        let time = entry["time"].as_str().map(str::to_owned);
        managers.insert(
            manager,
            VersionedSet {
                set,
                api_version: api_version.to_owned(),
                time,
            },
        );
    }
    Ok(managers)
}

/// Encodes the entries: appliers before updaters, each by time, name, version and subresource.
pub(super) fn encode(managers: &Managers) -> Option<Value> {
    let mut entries: Vec<(&Manager, &VersionedSet)> = managers.iter().collect();
    entries.sort_by_key(|(manager, owned)| {
        (
            manager.updates,
            &owned.time,
            &manager.name,
            &owned.api_version,
            &manager.subresource,
        )
    });
    let entries = entries.into_iter().map(|(manager, owned)| {
        let mut entry = Map::new();
        if !manager.name.is_empty() {
            entry.insert("manager".to_owned(), json!(manager.name));
        }
        entry.insert(
            "operation".to_owned(),
            json!(if manager.updates { "Update" } else { "Apply" }),
        );
        entry.insert("apiVersion".to_owned(), json!(owned.api_version));
        if let Some(time) = &owned.time {
            entry.insert("time".to_owned(), json!(time));
        }
        entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
        entry.insert("fieldsV1".to_owned(), owned.set.encode());
        if !manager.subresource.is_empty() {
            entry.insert("subresource".to_owned(), json!(manager.subresource));
        }
        Value::Object(entry)
    });
    (!managers.is_empty()).then(|| Value::Array(entries.collect()))
}

/// Merges the oldest updaters of each version until [`MAX_UPDATE_MANAGERS`] are left. At least one per version stays.
pub(super) fn cap_update_managers(managers: &mut Managers) {
    let mut updaters: Vec<(Option<String>, Manager)> = managers
        .iter()
        .filter(|(manager, _)| manager.updates)
        .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
        .collect();
    updaters.sort();
    let mut left = updaters.len();
    let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
    for (time, manager) in updaters {
        if left <= MAX_UPDATE_MANAGERS {
            break;
        }
        let version = manager.api_version.clone();
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, manager);
            continue;
        };
        let bucket = Manager::new(ANCIENT_CHANGES_MANAGER, false, &version, "");
        if !managers.contains_key(&bucket)
            && let Some(owned) = managers.remove(first)
        {
            managers.insert(bucket.clone(), owned);
        }
        let Some(merged) = managers.remove(&manager) else {
            continue;
        };
        if let Some(owned) = managers.get_mut(&bucket) {
            owned.set = owned.set.union(&merged.set);
            owned.time = time;
        }
        left -= 1;
    }
}
