//! Match conditions of webhooks and policies.

use crate::cel::{Activation, Authorize, Expression, Outcome};

/// Evaluates match conditions: one that is false wins over others that cannot be evaluated.
///
/// # Errors
///
/// Returns kube-apiserver's message if no condition is false, and some cannot be evaluated.
pub(super) fn are_met(
    conditions: &[Expression],
    activation: &Activation,
    authorize: Authorize<'_>,
) -> Result<bool, String> {
    let mut errors: Vec<String> = vec![];
    for condition in conditions {
        match activation.evaluate(condition, authorize) {
            Ok(Outcome::Bool(false)) => return Ok(false),
            Ok(_) => {}
            Err(why) if errors.contains(&why) => {}
            Err(why) => errors.push(why),
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
