//! "Did you mean" suggestions: the known name with the smallest edit distance.

/// Returns the name with the smallest edit distance to `unknown`, if that is at most a third of its length.
pub(crate) fn did_you_mean<'a>(unknown: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let max_distance = unknown.chars().count().div_ceil(3);
    names
        .into_iter()
        .map(|name| (edit_distance(unknown, name), name))
        .filter(|(distance, _)| *distance <= max_distance)
        .min()
        .map(|(_, name)| name)
}

/// Returns the Levenshtein distance, ignoring case.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_similar_names() {
        let names = ["replicas", "deploymentName", "image"];
        assert_eq!(did_you_mean("replica", names), Some("replicas"));
        assert_eq!(did_you_mean("deployment_name", names), Some("deploymentName"));
        assert_eq!(did_you_mean("volume", names), None);
    }
}
