//! Cleans the tables that kubectl prints: the cells of columns with ages and allocated addresses, by the header line.

use regex::Regex;
use std::sync::LazyLock;

/// Columns with times since something happened, in upper case.
const AGE_COLUMNS: &[&str] = &["AGE", "DURATION", "FIRST SEEN", "LAST SCHEDULE", "LAST SEEN"];
/// The column with the address of a Service.
const ADDRESS_COLUMN: &str = "CLUSTER-IP";

static DURATION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(\d+[smhd])+\b").unwrap());
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b10\.0\.\d+\.\d+\b").unwrap());
/// A word of a header line, which may contain single spaces.
static HEADER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\S+(?: \S+)*").unwrap());

/// Whether a column contains ages.
pub(crate) fn is_age_column(name: &str) -> bool {
    AGE_COLUMNS.contains(&name.to_uppercase().as_str())
}

/// Replaces all durations in a cell.
pub(crate) fn clean_age(cell: &str) -> String {
    DURATION.replace_all(cell, "AGE").into_owned()
}

/// Replaces the ages and addresses in tables of a printed text. An empty line, or one without the table's indentation, ends a table.
pub(crate) fn clean(text: &str) -> String {
    let mut header: Option<Header> = None;
    let mut cleaned = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(new) = Header::parse(line) {
            header = Some(new);
            cleaned += line;
            continue;
        }
        header = header.filter(|header| header.continues(line));
        match &header {
            Some(header) => cleaned += &header.clean(line),
            None => cleaned += line,
        }
    }
    cleaned
}

/// A header line: where its columns start and end, and whether they contain ages or addresses.
struct Header {
    indentation: usize,
    columns: Vec<Column>,
}

struct Column {
    start: usize,
    /// The start of the next column; none for the last one.
    end: Option<usize>,
    pattern: Option<(&'static Regex, &'static str)>,
}

impl Header {
    /// Returns the header, if the line is one of a table with ages or addresses.
    fn parse(line: &str) -> Option<Self> {
        let names: Vec<_> = HEADER.find_iter(line.trim_end()).collect();
        let starts = names.iter().skip(1).map(|name| Some(name.start())).chain([None]);
        let columns: Vec<Column> = names
            .iter()
            .zip(starts)
            .map(|(name, end)| Column {
                start: name.start(),
                end,
                pattern: match name.as_str() {
                    name if AGE_COLUMNS.contains(&name) || name == "Age" => Some((&*DURATION, "AGE")),
                    ADDRESS_COLUMN => Some((&*ADDRESS, "IP")),
                    _ => None,
                },
            })
            .collect();
        let is_table = columns.len() > 1 && columns.iter().any(|column| column.pattern.is_some());
        is_table.then(|| Self {
            indentation: columns[0].start,
            columns,
        })
    }

    fn continues(&self, line: &str) -> bool {
        !line.trim().is_empty() && line.len() - line.trim_start().len() >= self.indentation
    }

    /// Replaces what depends on the server in the cells of a line.
    fn clean(&self, line: &str) -> String {
        let mut cleaned = line.to_owned();
        // From the end, so that the positions of the cells before stay.
        for column in self.columns.iter().rev() {
            let end = column.end.unwrap_or(cleaned.len()).min(cleaned.len());
            if let Some((pattern, replacement)) = column.pattern
                && let Some(cell) = cleaned.get(column.start..end)
            {
                let cell = pattern.replace_all(cell, replacement).into_owned();
                cleaned.replace_range(column.start..end, &cell);
            }
        }
        cleaned
    }
}

#[test]
fn cells_are_cleaned_by_their_column() {
    let printed = "\
NAME   CPU    CLUSTER-IP   AGE     NOTE
10m    67m    10.0.0.9     5m3s    10.0.0.9 since 5s
b      5s     <none>       1h

Age: 5s
LAST SEEN          TYPE
5s (x3 over 6s)    5s
Events:
  Type    Age   Message
  ----    ----  -------
  Normal  5s    waits 5s
  67m     67m
Total: 5s
";
    let cleaned = "\
NAME   CPU    CLUSTER-IP   AGE     NOTE
10m    67m    IP     AGE    10.0.0.9 since 5s
b      5s     <none>       AGE

Age: 5s
LAST SEEN          TYPE
AGE (x3 over AGE)    5s
Events:
  Type    Age   Message
  ----    ----  -------
  Normal  AGE    waits 5s
  67m     AGE
Total: 5s
";
    assert_eq!(clean(printed), cleaned);
}
