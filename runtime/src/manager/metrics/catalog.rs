//! The metrics of every operator, as `metrics.md` documents them: for dashboards. A test holds the list to the exported metrics.

const TABLE: &str = include_str!("../metrics.md");

/// A metric that every operator exports, if it has what the metric counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricDescription {
    /// Its name, with `_total` if it is a counter.
    pub name: String,
    /// Its type.
    pub kind: MetricKind,
    /// Its labels. `informer` stands for the labels of an informer.
    pub labels: Vec<&'static str>,
    /// What it measures; metrics of one row of the documentation share the text.
    pub meaning: &'static str,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only increases.
    Counter,
    /// A value now.
    Gauge,
    /// A distribution.
    Histogram,
}

/// Returns the metrics, in the order of the documentation.
pub fn metric_catalog() -> Vec<MetricDescription> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let mut cells = row.trim_matches('|').splitn(3, '|').map(str::trim);
        let mut cell = || cells.next().unwrap_or_default();
        let (names, labels, meaning) = (cell(), cell(), cell());
        let labels: Vec<_> = labels.split(", ").filter(|label| !label.is_empty()).collect();
        names_of(names).into_iter().map(move |name| MetricDescription {
            kind: kind_of(&name, meaning),
            name,
            labels: labels.clone(),
            meaning,
        })
    })
    .collect()
}

/// Returns the names in a cell, where `…` is the beginning of the first one.
fn names_of(cell: &str) -> Vec<String> {
    let mut names = cell.split([',', '`', ' ']).filter(|name| !name.is_empty());
    let Some(first) = names.next() else {
        return Vec::new();
    };
    let beginning: Vec<_> = first.split('_').take(2).collect();
    let others = names.map(|name| name.replace('…', &beginning.join("_")));
    [first.to_owned()].into_iter().chain(others).collect()
}

fn kind_of(name: &str, meaning: &str) -> MetricKind {
    if name.ends_with("_total") {
        MetricKind::Counter
    } else if name.ends_with("_seconds") && meaning.starts_with("histogram") {
        MetricKind::Histogram
    } else {
        MetricKind::Gauge
    }
}
