//! Match conditions of webhooks and policies.

use crate::cel::{Activation, Authorize, Expression, OVER_BUDGET, Outcome};

/// Evaluates match conditions: one that is false wins over others that cannot be evaluated.
///
/// # Errors
///
/// Returns kube-apiserver's message if no condition is false and some cannot be evaluated, or if all together cost too much.
pub(super) fn are_met(
    conditions: &[Expression],
    activation: &Activation,
    authorize: Authorize<'_>,
) -> Result<bool, String> {
    let mut errors: Vec<String> = vec![];
    let mut is_met = true;
    for condition in conditions {
        match activation.evaluate(condition, authorize) {
            Ok(Outcome::Bool(false)) => is_met = false,
            Ok(_) => {}
            Err(why) if why == OVER_BUDGET => return Err(why),
            Err(why) if errors.contains(&why) => {}
            Err(why) => errors.push(why),
        }
    }
    match errors.as_slice() {
        _ if !is_met => Ok(false),
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
