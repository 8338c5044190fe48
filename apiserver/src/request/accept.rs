//! The Accept header, parsed and ordered as kube-apiserver does.

/// A media type that the client accepts.
#[derive(Clone, Debug)]
pub(crate) struct AcceptedType<'h> {
    main: &'h str,
    subtype: &'h str,
    quality: f64,
    parameters: Vec<(&'h str, &'h str)>,
}

impl<'h> AcceptedType<'h> {
    /// Returns the accepted types in the order in which they are tried. Invalid ones are left out.
    pub(crate) fn parse_all(header: &'h str) -> Vec<Self> {
        let mut types: Vec<Self> = header.split(',').filter_map(Self::parse).collect();
        // `precedes` is not transitive, so that the algorithm decides: Go sorts short slices by insertion.
        for end in 1..types.len() {
            for at in (1..=end).rev() {
                if !types[at].precedes(&types[at - 1]) {
                    break;
                }
                types.swap(at, at - 1);
            }
        }
        types
    }

    /// Whether this is the media type, or a pattern that includes it.
    pub(crate) fn includes(&self, media_type: &str) -> bool {
        let (main, subtype) = media_type.split_once('/').unwrap_or((media_type, ""));
        match (self.main, self.subtype) {
            ("*", "*") => true,
            (own, "*") => own == main,
            own => own == (main, subtype),
        }
    }

    /// Returns the last value of a parameter, and an empty text if there is none.
    pub(crate) fn parameter(&self, name: &str) -> &'h str {
        let mut parameters = self.parameters.iter().rev();
        let found = parameters.find(|(parameter, _)| *parameter == name);
        found.map_or("", |(_, value)| value)
    }

    fn parse(clause: &'h str) -> Option<Self> {
        let mut parts = clause.trim_matches(' ').split(';');
        let media_type = parts.next()?;
        let (main, subtype) = media_type.split_once('/').unwrap_or((media_type, ""));
        let (main, subtype) = match (main.trim_matches(' '), subtype.trim_matches(' ')) {
            ("*", "") => ("*", "*"),
            (_, subtype) if subtype.is_empty() || subtype.contains('/') => return None,
            names => names,
        };
        let (mut quality, mut parameters) = (1.0, vec![]);
        for part in parts {
            match part.split_once('=') {
                Some((_, value)) if value.is_empty() || value.contains('=') => {}
                // Without a valid quality, a type is the last choice.
                Some((name, value)) if name.trim_matches(' ') == "q" => {
                    quality = value.parse().unwrap_or(0.0);
                }
                Some((name, value)) => parameters.push((name.trim_matches(' '), value.trim_matches(' '))),
                None => {}
            }
        }
        Some(Self {
            main,
            subtype,
            quality,
            parameters,
        })
    }

    fn precedes(&self, other: &Self) -> bool {
        self.quality > other.quality
            || self.main != "*" && other.main == "*"
            || self.subtype != "*" && other.subtype == "*"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_ordered_by_quality_and_patterns_come_later() {
        let order = |header| {
            let types = AcceptedType::parse_all(header);
            let names: Vec<String> = types
                .iter()
                .map(|one| format!("{}/{}", one.main, one.subtype))
                .collect();
            names.join(" ")
        };
        for (header, expected) in [
            ("", ""),
            ("text, a/b/c, /,", ""),
            ("*", "*/*"),
            ("a/a;q=0.5,b/b", "b/b a/a"),
            ("a/a;q=x,b/b;q=0", "a/a b/b"),
            ("*/*,a/*,a/a", "a/a a/* */*"),
            ("*/*;q=0.9,a/a;q=0.5", "a/a */*"),
            ("a/a;q=0.5,*/*;q=0.9", "*/* a/a"),
            (" a/a ; q=0.2 , b/b ;q=0.1", "a/a b/b"),
        ] {
            assert_eq!(order(header), expected, "{header}");
        }
    }

    #[test]
    fn parameters_are_found_by_name() {
        let types = AcceptedType::parse_all("a/b; g=x ;v=1;v=2;w;x=;y=1=2");
        let values = ["g", "v", "w", "x", "y", "q"].map(|name| types[0].parameter(name));
        assert_eq!(values, ["x", "2", "", "", "", ""]);
        assert!(types[0].includes("a/b") && !types[0].includes("a/B"));
    }
}
