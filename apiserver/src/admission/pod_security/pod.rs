//! What the checks see of a pod, and the parts of their messages.

use crate::meta::text;
use serde_json::Value;

/// A pod, or a pod template.
#[derive(Clone, Copy)]
pub(super) struct PodView<'a> {
    pub(super) annotations: &'a Value,
    pub(super) spec: &'a Value,
}

impl<'a> PodView<'a> {
    pub(super) fn new(pod: &'a Value) -> Self {
        Self {
            annotations: &pod["metadata"]["annotations"],
            spec: &pod["spec"],
        }
    }

    /// The pod's security context.
    pub(super) fn context(&self) -> &'a Value {
        &self.spec["securityContext"]
    }

    pub(super) fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// True if the users of the pod are not those of the node.
    pub(super) fn has_user_namespace(&self) -> bool {
        self.spec["hostUsers"] == false
    }

    pub(super) fn volumes(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        items(&self.spec["volumes"])
    }

    /// Containers of all types.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let spec = self.spec;
        let fields = ["initContainers", "containers", "ephemeralContainers"];
        fields.into_iter().flat_map(|field| items(&spec[field]))
    }

    /// Returns the names of the containers that violate a check.
    pub(super) fn bad_containers(&self, mut is_bad: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        let bad = self.containers().filter(|container| is_bad(container));
        bad.map(|container| text(container, "name")).collect()
    }

    /// Returns whose security contexts violate a check, the pod's or those of containers, as messages name them.
    pub(super) fn bad_contexts(&self, mut is_bad: impl FnMut(&'a Value) -> bool) -> Vec<String> {
        let pod = is_bad(self.context()).then(|| "pod".to_owned());
        let containers = self.bad_containers(|container| is_bad(&container["securityContext"]));
        let containers = (!containers.is_empty()).then(|| named("container", &containers));
        pod.into_iter().chain(containers).collect()
    }
}

/// The items of a list; none if it is missing.
pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the word in the number of its things.
pub(super) fn plural(word: &str, count: usize) -> String {
    format!("{word}{}", if count == 1 { "" } else { "s" })
}

/// Returns the word in the number of the names, and the names in quotes.
pub(super) fn named<T: AsRef<str>>(word: &str, names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    format!("{} {}", plural(word, names.len()), quoted_list(names))
}

/// Returns the verb for the number of its subjects.
pub(super) fn uses(count: usize) -> &'static str {
    if count == 1 { "uses" } else { "use" }
}

/// Returns the texts in quotes. As in kube-apiserver, nothing in them is escaped.
pub(super) fn quoted_list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts
        .into_iter()
        .map(|text| format!("\"{}\"", text.as_ref()))
        .collect();
    texts.join(", ")
}
