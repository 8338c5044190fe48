//! "Did you mean": the nearest of the names that there are.

/// The name that differs least from `wrong`, if it differs by little.
pub(super) fn did_you_mean<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = wrong.chars().count().div_ceil(3);
    names
        .into_iter()
        .map(|name| (distance(wrong, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
}

/// How many characters must be inserted, deleted or replaced; upper and lower case are alike.
fn distance(a: &str, b: &str) -> usize {
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
    fn finds_the_nearest_and_nothing_far() {
        let names = ["replicas", "deploymentName", "image"];
        assert_eq!(did_you_mean("replica", names), Some("replicas"));
        assert_eq!(did_you_mean("deployment_name", names), Some("deploymentName"));
        assert_eq!(did_you_mean("volume", names), None);
    }
}
