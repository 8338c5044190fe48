//! The groups of extension servers, as their APIServices name them. Their resources are not known here.

use crate::kinds::Catalog;
use crate::registry::{API_SERVICES, Registry};
use crate::strategy;
use memchr::memmem;

/// Groups with their versions.
pub(super) type Extensions = Vec<(String, Vec<String>)>;

/// Returns the groups that only extension servers have, in the order of their APIServices.
pub(super) fn extensions(registry: &Registry, catalog: &Catalog) -> Extensions {
    let mut groups: Extensions = vec![];
    for object in registry.store.objects(API_SERVICES, "") {
        // Most have none, and are not decoded.
        if memmem::find(object.json(), br#""service":{"#).is_none() {
            continue;
        }
        let api_service = object.value();
        let spec = &api_service["spec"];
        let field = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
        let (group, version) = (field("group"), field("version"));
        if !strategy::has_service(api_service) || !catalog.group(&group).is_empty() {
            continue;
        }
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, versions)) => versions.push(version),
            None => groups.push((group, vec![version])),
        }
    }
    groups
}
