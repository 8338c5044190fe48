//! What upstream's tests set in Go, and kube-controller-manager has no flag for.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use crate::go_duration;

/// Values by their name in upstream's source, such as `replicaset.burstReplicas`. Durations are Go's: `"100ms"`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knobs(BTreeMap<String, Value>);

/// Knobs that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InvalidKnobs {
    /// The text is not a JSON object.
    #[error("KUBEWRIGHT_KNOBS is no JSON object: {0}")]
    Json(serde_json::Error),
    /// No controller reads the knob.
    #[error("KUBEWRIGHT_KNOBS has {name:?}, which no controller reads: the knobs are {}", KNOWN.map(|(name, _)| name).join(", "))]
    Unknown {
        /// The knob.
        name: String,
    },
    /// The value has the wrong type.
    #[error("KUBEWRIGHT_KNOBS: {name} is {value}: write {expected}")]
    Value {
        /// The knob.
        name: String,
        /// Its value.
        value: Value,
        /// What is expected.
        expected: &'static str,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum KnobType {
    Number,
    Duration,
}

const KNOWN: [(&str, KnobType); 12] = [
    ("replicaset.burstReplicas", KnobType::Number),
    ("job.DefaultJobPodFailureBackOff", KnobType::Duration),
    ("job.MaxJobPodFailureBackOff", KnobType::Duration),
    ("job.SyncJobBatchPeriod", KnobType::Duration),
    ("job.MaxUncountedPods", KnobType::Number),
    ("job.MaxPodCreateDeletePerSync", KnobType::Number),
    ("job.DefaultJobApiBackOff", KnobType::Duration),
    ("job.MaxJobApiBackOff", KnobType::Duration),
    ("garbagecollector.syncPeriod", KnobType::Duration),
    ("podgc.gcCheckPeriod", KnobType::Duration),
    ("podgc.quarantineTime", KnobType::Duration),
    ("legacysatokencleaner.syncInterval", KnobType::Duration),
];

impl Knobs {
    /// Parses a JSON object. An empty text has no knobs.
    pub fn parse(text: &str) -> Result<Self, InvalidKnobs> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let knobs: BTreeMap<String, Value> = serde_json::from_str(text).map_err(InvalidKnobs::Json)?;
        for (name, value) in &knobs {
            let Some((_, kind)) = KNOWN.iter().find(|(known, _)| known == name) else {
                return Err(InvalidKnobs::Unknown { name: name.clone() });
            };
            let (is_valid, expected) = match kind {
                KnobType::Number => (value.is_u64(), "a number"),
                KnobType::Duration => (
                    value
                        .as_str()
                        .is_some_and(|text| go_duration::parse(text).is_ok()),
                    "a duration such as \"100ms\"",
                ),
            };
            if !is_valid {
                return Err(InvalidKnobs::Value {
                    name: name.clone(),
                    value: value.clone(),
                    expected,
                });
            }
        }
        Ok(Self(knobs))
    }

    /// Returns a number, or what upstream uses.
    pub(crate) fn number(&self, name: &str, default: usize) -> usize {
        debug_assert!(KNOWN.contains(&(name, KnobType::Number)), "{name}");
        let number = self.0.get(name).and_then(Value::as_u64);
        number
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(default)
    }

    /// Returns a duration, or what upstream uses.
    pub(crate) fn duration(&self, name: &str, default: Duration) -> Duration {
        debug_assert!(KNOWN.contains(&(name, KnobType::Duration)), "{name}");
        let text = self.0.get(name).and_then(Value::as_str);
        text.and_then(|text| go_duration::parse(text).ok())
            .unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_are_read_and_absent_ones_are_upstreams() {
        let text = r#"{"replicaset.burstReplicas": 7, "job.SyncJobBatchPeriod": "100ms"}"#;
        let knobs = Knobs::parse(text).unwrap();
        assert_eq!(knobs.number("replicaset.burstReplicas", 500), 7);
        assert_eq!(knobs.number("job.MaxUncountedPods", 500), 500);
        let (batch, second) = ("job.SyncJobBatchPeriod", Duration::from_secs(1));
        assert_eq!(knobs.duration(batch, second), Duration::from_millis(100));
        assert_eq!(Knobs::parse("").unwrap().duration(batch, second), second);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("[]", "no JSON object"),
            (r#"{"foo": 1}"#, "no controller reads"),
            (r#"{"replicaset.burstReplicas": "1s"}"#, "write a number"),
            (r#"{"podgc.quarantineTime": 1}"#, "write a duration"),
        ] {
            let error = Knobs::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
