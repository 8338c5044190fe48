//! Ranges of sizes, and the costs of operations that grow with them. Nothing overflows: what is too large is [`u64::MAX`].

/// The cost of one character or byte that an operation reads.
pub(super) const TRAVERSAL: f64 = 0.1;
/// The cost of one character of a regular expression, for each unit that reading the text costs.
pub(super) const REGEX: f64 = 0.25;

/// The least and the largest size of a value: the characters of a string, the bytes of bytes, the entries of a list or map. 1 for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };
    /// Contains no size: the start of a union.
    pub(super) const NONE: Self = Self {
        min: u64::MAX,
        max: 0,
    };

    pub(super) fn fixed(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// The cost of reading a value of this size.
    pub(super) fn traversal(self) -> u64 {
        scale(self.max, TRAVERSAL)
    }

    /// The cost of matching a text of this size with a regular expression of another size.
    pub(super) fn regex_match(self, regex: Self) -> u64 {
        // An empty text has a cost, too.
        let text = self.add(Self::fixed(1));
        text.traversal().saturating_mul(scale(regex.max, REGEX))
    }
}

/// The sizes of the keys (or indices) and values of a list or map that the expression itself makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntrySize {
    pub(super) is_list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

impl EntrySize {
    pub(super) fn union(self, other: Self) -> Self {
        Self {
            is_list: self.is_list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

/// Multiplies with a factor and rounds up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "as kube-apiserver rounds; the cast saturates, and the factors are not negative"
)]
pub(super) fn scale(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).ceil() as u64
}
