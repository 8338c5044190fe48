//! Names and labels of a set's pods and claims. They follow from the ordinal.

/// The label of a pod with its own name.
pub(super) const POD_NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";

/// The label of a pod with its ordinal.
pub(super) const POD_INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

/// The label of a pod with the name of its revision.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";

/// Returns the name of a pod.
pub(super) fn pod_name(set: &str, ordinal: i64) -> String {
    format!("{set}-{ordinal}")
}

/// Returns the name of a pod's claim. Kubernetes' provisioners read the ordinal at its end.
pub(super) fn claim_name(template: &str, set: &str, ordinal: i64) -> String {
    format!("{template}-{set}-{ordinal}")
}

/// Returns the ordinal in a pod's name; none if no set of this name has such a pod.
pub(super) fn ordinal(set: &str, pod: &str) -> Option<i64> {
    let digits = pod.strip_prefix(set)?.strip_prefix('-')?;
    // Neither a sign nor leading zeros: another name would be that of the same ordinal.
    let is_canonical =
        digits == "0" || digits.starts_with(|first: char| first.is_ascii_digit() && first != '0');
    let ordinal: i32 = digits.parse().ok().filter(|_| is_canonical)?;
    Some(ordinal.into())
}

/// Returns the name of the set to which a pod of this name would belong.
pub(super) fn set_of(pod: &str) -> Option<&str> {
    let (set, _) = pod.rsplit_once('-')?;
    ordinal(set, pod).map(|_| set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_are_read_from_names() {
        for (pod, expected) in [
            ("web-0", Some(0)),
            ("web-17", Some(17)),
            ("web-2147483647", Some(2_147_483_647)),
            ("web-2147483648", None),
            ("web-01", None),
            ("web-00", None),
            ("web-+1", None),
            ("web--1", None),
            ("web-", None),
            ("web", None),
            ("web-a", None),
            ("web-1a", None),
            ("web-1-2", None),
            ("shop-web-1", None),
        ] {
            assert_eq!(ordinal("web", pod), expected, "{pod}");
        }
        assert_eq!(ordinal("web-1", "web-1-2"), Some(2));
        assert_eq!(ordinal("web", &pod_name("web", 5)), Some(5));
        assert_eq!(
            (set_of("web-1-2"), set_of("web"), set_of("web-a")),
            (Some("web-1"), None, None)
        );
    }
}
