//! Checks that an object contains all values of an apply's intent.

use serde_json::Value;

/// Returns whether `object` contains every value of `intent`.
///
/// Of an object every field must be there, with a value that contains the intent's. Of an array every element must be contained in an
/// element of the object's array, in the same order; the object's array may have more elements, because lists of items with keys are merged.
/// Everything else must be equal, `null` too.
///
/// It errs on the side of `false`: a quantity that the API server writes in another form, for instance, is not contained.
pub(super) fn contains_intent(object: &Value, intent: &Value) -> bool {
    match (object, intent) {
        (Value::Object(object), Value::Object(intent)) => intent.iter().all(|(field, value)| {
            object
                .get(field)
                .is_some_and(|found| contains_intent(found, value))
        }),
        (Value::Array(object), Value::Array(intent)) => {
            let mut rest = object.iter();
            intent
                .iter()
                .all(|value| rest.any(|found| contains_intent(found, value)))
        }
        (object, intent) => object == intent,
    }
}

#[cfg(test)]
#[path = "apply_intent_tests.rs"]
mod tests;
