//! Several replicas of an operator whose leader election is switched off: all of them would reconcile at once.

use serde_json::Value;

use super::{
    build::{self, ManifestObject, ProjectFiles},
    operator::OperatorContainer,
};
use crate::{plan::Plan, project::Project};

/// The flag and the environment variable of the operator.
const FLAG: &str = "--leader-elect=";
const VARIABLE: &str = "LEADER_ELECT";
/// Values that switch it off, in any case.
const OFF: [&str; 6] = ["false", "no", "off", "0", "f", "n"];

/// Returns the warning for a project's manifests as the plan leaves them. None also if they cannot be packaged: `package` says why.
pub fn warning_after(project: &Project, plan: &Plan) -> Option<String> {
    let files = ProjectFiles {
        root: &project.root,
        plan,
    };
    warning(&build::build(files).ok()?, &project.settings.name)
}

/// Returns a warning if the operator has several replicas, and its arguments or environment switch leader election off.
pub fn warning(objects: &[ManifestObject], name: &str) -> Option<String> {
    let operator = OperatorContainer::find(objects, name).ok()?;
    let object = &objects[operator.deployment];
    let replicas = object.value()["spec"]["replicas"]
        .as_u64()
        .filter(|count| *count > 1)?;
    let container = &object.value()["spec"]["template"]["spec"]["containers"][operator.container];
    let (place, setting) = switched_off(container)?;
    let fix = format!(
        "{setting} with {replicas} replicas, which then all reconcile at once: remove it, or set `disruption_budget = false` in kubewright.toml and \
         run `kubewright generate`, for one replica"
    );
    let path = format!("{}.{place}", operator.path());
    Some(object.error(&path, fix).to_string())
}

/// Returns the path in the container, and the text, of what switches leader election off.
fn switched_off(container: &Value) -> Option<(String, String)> {
    let is_off = |value: &str| OFF.contains(&&*value.to_lowercase());
    let list = |key: &'static str| {
        let items = container[key].as_array().into_iter().flatten();
        items
            .enumerate()
            .map(move |(index, item)| (format!("{key}[{index}]"), item))
    };
    let flag = list("command").chain(list("args")).find_map(|(place, item)| {
        let text = item.as_str()?;
        Some((
            place,
            text,
            text.strip_prefix(FLAG)
                .or((text == "--leader-elect").then_some("true"))?,
        ))
    });
    match flag {
        // The flag overrides the variable.
        Some((place, text, value)) => is_off(value).then(|| (place, format!("`{text}`"))),
        None => list("env").find_map(|(place, variable)| {
            let value = variable["value"].as_str()?;
            (variable["name"] == VARIABLE && is_off(value)).then(|| (place, format!("`{VARIABLE}={value}`")))
        }),
    }
}
