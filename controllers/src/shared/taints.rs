//! Taints of nodes, and the tolerations of pods.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// The effect of a taint that evicts running pods.
pub(crate) const NO_EXECUTE: &str = "NoExecute";
/// The effect of a taint that keeps new pods away.
pub(crate) const NO_SCHEDULE: &str = "NoSchedule";

/// Decides about taints. The operators `Gt` and `Lt` of tolerations are behind a feature gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaintRules {
    pub(crate) compares_numbers: bool,
}

impl TaintRules {
    /// Whether each taint with one of these effects has a toleration.
    pub(crate) fn are_tolerated(
        self,
        taints: &[Taint],
        effects: &[&str],
        tolerations: &[Toleration],
    ) -> bool {
        let mut relevant = taints
            .iter()
            .filter(|taint| effects.contains(&taint.effect.as_str()));
        relevant.all(|taint| {
            tolerations
                .iter()
                .any(|toleration| self.tolerates(toleration, taint))
        })
    }

    /// Whether a toleration matches a taint. An empty effect or key matches all.
    fn tolerates(self, toleration: &Toleration, taint: &Taint) -> bool {
        let matches = |wanted: &Option<String>, actual: &str| match wanted.as_deref() {
            None | Some("") => true,
            Some(wanted) => wanted == actual,
        };
        if !matches(&toleration.effect, &taint.effect) || !matches(&toleration.key, &taint.key) {
            return false;
        }
        let wanted = toleration.value.as_deref().unwrap_or_default();
        let actual = taint.value.as_deref().unwrap_or_default();
        match toleration.operator.as_deref() {
            None | Some("" | "Equal") => wanted == actual,
            Some("Exists") => true,
            Some("Gt") => self.compares_numbers && is_ordered(wanted, actual),
            Some("Lt") => self.compares_numbers && is_ordered(actual, wanted),
            Some(_) => false,
        }
    }
}

/// Whether both are decimal integers as Kubernetes writes them, and the first is the lower one.
fn is_ordered(lower: &str, higher: &str) -> bool {
    let number = |text: &str| {
        let number = text.parse::<i64>().ok()?;
        (number.to_string() == text).then_some(number)
    };
    match (number(lower), number(higher)) {
        (Some(lower), Some(higher)) => lower < higher,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint((key, value, effect): (&str, &str, &str)) -> Taint {
        Taint {
            key: key.to_owned(),
            value: Some(value.to_owned()).filter(|value| !value.is_empty()),
            effect: effect.to_owned(),
            time_added: None,
        }
    }

    fn toleration((key, operator, value, effect): (&str, &str, &str, &str)) -> Toleration {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Toleration {
            key: text(key),
            operator: text(operator),
            value: text(value),
            effect: text(effect),
            toleration_seconds: None,
        }
    }

    const COMPARING: TaintRules = TaintRules {
        compares_numbers: true,
    };
    const PLAIN: TaintRules = TaintRules {
        compares_numbers: false,
    };

    #[test]
    fn tolerations_match_taints_as_upstream_does() {
        for (wanted, given, expected) in [
            (("foo", "Exists", "", NO_SCHEDULE), ("foo", "", NO_SCHEDULE), true),
            (
                ("foo", "Exists", "", NO_SCHEDULE),
                ("foo", "bar", NO_SCHEDULE),
                true,
            ),
            (("", "Exists", "", NO_SCHEDULE), ("foo", "bar", NO_SCHEDULE), true),
            (("", "Exists", "", ""), ("foo", "bar", NO_EXECUTE), true),
            (
                ("foo", "Equal", "bar", NO_SCHEDULE),
                ("foo", "bar", NO_SCHEDULE),
                true,
            ),
            (("foo", "", "bar", NO_SCHEDULE), ("foo", "bar", NO_SCHEDULE), true),
            (
                ("foo", "Equal", "one", NO_SCHEDULE),
                ("foo", "two", NO_SCHEDULE),
                false,
            ),
            (
                ("foo", "Equal", "bar", NO_SCHEDULE),
                ("foo", "bar", NO_EXECUTE),
                false,
            ),
            (
                ("bar", "Exists", "", NO_SCHEDULE),
                ("foo", "", NO_SCHEDULE),
                false,
            ),
            (
                ("foo", "Near", "bar", NO_SCHEDULE),
                ("foo", "bar", NO_SCHEDULE),
                false,
            ),
        ] {
            for rules in [PLAIN, COMPARING] {
                let is_tolerated = rules.tolerates(&toleration(wanted), &taint(given));
                assert_eq!(is_tolerated, expected, "{wanted:?} {given:?}");
            }
        }
    }

    #[test]
    fn numbers_are_compared_behind_the_gate() {
        for (operator, wanted, given, expected) in [
            ("Gt", "950", "800", false),
            ("Gt", "750", "950", true),
            ("Gt", "950", "950", false),
            ("Lt", "800", "950", false),
            ("Lt", "950", "800", true),
            ("Gt", "-100", "-50", true),
            ("Gt", "950", "high", false),
            ("Gt", "high", "950", false),
            ("Gt", "1", "02", false),
            ("Lt", "2", "+1", false),
            ("Gt", "1", "99999999999999999999", false),
        ] {
            let toleration = toleration(("sla", operator, wanted, NO_SCHEDULE));
            let taint = taint(("sla", given, NO_SCHEDULE));
            assert_eq!(
                COMPARING.tolerates(&toleration, &taint),
                expected,
                "{operator} {wanted} {given}"
            );
            assert!(!PLAIN.tolerates(&toleration, &taint));
        }
    }

    #[test]
    fn only_taints_with_the_effects_need_a_toleration() {
        let taints = [
            taint(("foo", "", NO_EXECUTE)),
            taint(("bar", "", NO_SCHEDULE)),
            taint(("later", "", "PreferNoSchedule")),
        ];
        let tolerations = [toleration(("foo", "Exists", "", NO_EXECUTE))];
        for (effects, tolerations, expected) in [
            (&[NO_EXECUTE][..], &tolerations[..], true),
            (&[NO_SCHEDULE], &tolerations, false),
            (&[NO_EXECUTE, NO_SCHEDULE], &tolerations, false),
            (&[NO_EXECUTE], &[], false),
            (&[], &[], true),
        ] {
            assert_eq!(
                PLAIN.are_tolerated(&taints, effects, tolerations),
                expected,
                "{effects:?}"
            );
        }
        assert!(PLAIN.are_tolerated(&[], &[NO_SCHEDULE], &[]));
    }
}
