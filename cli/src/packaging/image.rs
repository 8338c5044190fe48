//! References of container images.

use std::fmt;

/// An image, as in `registry.example/shop:0.1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// Registry and repository.
    pub(super) name: String,
    pub(super) tag: Option<String>,
    /// The digest, as in `sha256:…`.
    pub(super) digest: Option<String>,
}

impl Image {
    pub(super) fn parse(text: &str) -> Self {
        let (text, digest) = match text.split_once('@') {
            Some((text, digest)) => (text, Some(digest.to_owned())),
            None => (text, None),
        };
        // A colon before the last slash begins a port.
        let (name, tag) = match text.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag.to_owned())),
            _ => (text, None),
        };
        Self {
            name: name.to_owned(),
            tag,
            digest,
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_tags_and_digests_are_distinguished() {
        for (text, name, tag, digest) in [
            ("shop", "shop", None, None),
            ("host:5000/shop", "host:5000/shop", None, None),
            ("host:5000/shop:1", "host:5000/shop", Some("1"), None),
            ("a/shop:1@sha256:ab", "a/shop", Some("1"), Some("sha256:ab")),
            ("a/shop@sha256:ab", "a/shop", None, Some("sha256:ab")),
        ] {
            let image = Image::parse(text);
            assert_eq!(
                (&*image.name, image.tag.as_deref(), image.digest.as_deref()),
                (name, tag, digest)
            );
            assert_eq!(image.to_string(), text);
        }
    }
}
