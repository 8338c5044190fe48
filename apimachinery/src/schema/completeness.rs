//! The rule that what the junctors (`allOf`, `anyOf`, `oneOf`, `not`) of a schema mention is in the schema itself.

use crate::field::FieldError;
use serde_json::Value;

/// Checks the junctors of the root schema. Those of schemas within it are not checked, as on the real server.
pub(super) fn check_completeness(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    check_junctors(schema, schema, [path, path], errors);
}

/// `paths` are those of the schema and of the branch.
fn check_junctors(branch: &Value, schema: &Value, paths: [&str; 2], errors: &mut Vec<FieldError>) {
    let [path, branch_path] = paths;
    check_branch(
        &branch["not"],
        schema,
        [path, &format!("{branch_path}.not")],
        errors,
    );
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in branch[name].as_array().into_iter().flatten().enumerate() {
            check_branch(
                branch,
                schema,
                [path, &format!("{branch_path}.{name}[{index}]")],
                errors,
            );
        }
    }
}

fn check_branch(branch: &Value, schema: &Value, paths: [&str; 2], errors: &mut Vec<FieldError>) {
    if !branch.is_object() {
        return;
    }
    let [path, branch_path] = paths;
    if !schema.is_object() {
        let detail = format!("because it is defined in {branch_path}");
        errors.push(FieldError::required(path, detail));
        return;
    }
    check_junctors(branch, schema, paths, errors);
    let mut check = |branch: &Value, schema: &Value, step: &str| {
        let paths = [format!("{path}.{step}"), format!("{branch_path}.{step}")];
        check_branch(branch, schema, [&paths[0], &paths[1]], errors);
    };
    check(&branch["items"], &schema["items"], "items");
    for (name, branch) in branch["properties"].as_object().into_iter().flatten() {
        check(
            branch,
            &schema["properties"][name],
            &format!("properties[{name}]"),
        );
    }
}
