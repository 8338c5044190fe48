//! Templates with blanks, and the random values that fill them.

use memchr::memmem;

use super::PodVersion;

/// Resource versions have ten digits, as those of a cluster that is some years old.
pub(super) const FIRST_VERSION: u64 = 1_000_000_000;
/// 2026-01-01T00:00:00Z.
const YEAR: u64 = 1_767_225_600;
/// 2200-01-01T00:00:00Z: the times that stand in blanks are the seconds after it.
const BLANK_YEAR: u64 = 7_258_118_400;
/// Days before each month of 2026.
const MONTHS: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
/// What Kubernetes makes names of.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const NODES: u64 = 500;

/// What fills a blank. Each has one length, so that a template needs no parsing again, neither as JSON nor as protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// The resource version.
    Version,
    /// The end of the name.
    Suffix,
    Uuid,
    /// The id of a container, as long as a SHA-256.
    Id,
    /// An address of four numbers of up to three digits.
    Address,
    /// The number of the node.
    Node,
    /// A time in 2026, that of the Pod's creation.
    Time,
    /// A time that differs from version to version.
    LastTime,
}

impl Filling {
    const ALL: [Self; 8] = [
        Self::Version,
        Self::Suffix,
        Self::Uuid,
        Self::Id,
        Self::Address,
        Self::Node,
        Self::Time,
        Self::LastTime,
    ];

    /// How the blank stands in a template. `number` tells blanks of one kind apart.
    pub(super) fn blank(self, number: usize) -> String {
        let kind = char::from(b'A' + self as u8);
        let length = match self {
            Self::Time | Self::LastTime => {
                let minute = u8::from(self == Self::LastTime);
                return format!("2200-01-01T00:{minute:02}:{number:02}Z");
            }
            Self::Version => 10,
            Self::Suffix => 5,
            Self::Uuid => 36,
            Self::Id => 64,
            Self::Address => 14,
            Self::Node => 4,
        };
        // Two signs are enough to find it, and no more fit everywhere.
        let digit = char::from(b'a' + u8::try_from(number).unwrap_or(u8::MAX) % 26);
        format!("~{kind}{digit}{}", "~".repeat(length - 3))
    }

    /// How it stands in protobuf: texts as they are, times as a number of seconds in five bytes.
    fn protobuf_blank(self, number: usize) -> Vec<u8> {
        match self {
            Self::Time | Self::LastTime => {
                let minute = u64::from(self == Self::LastTime);
                seconds_field(BLANK_YEAR + 60 * minute + number as u64).to_vec()
            }
            _ => self.blank(number).into_bytes(),
        }
    }
}

/// How many blanks of one kind a template can have.
const NUMBERS: usize = 12;

/// The template of one application's Pods in one encoding.
#[derive(Debug)]
pub struct Form {
    bytes: Vec<u8>,
    /// Where the blanks are, in order, with their kind and number.
    places: Vec<(usize, Filling, usize)>,
    is_protobuf: bool,
}

/// A template lacks blanks.
#[derive(Debug, PartialEq, Eq)]
pub struct FormError {
    found: usize,
    expected: usize,
}

impl std::fmt::Display for FormError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { found, expected } = self;
        write!(f, "a template has {found} blanks instead of {expected}")
    }
}

impl std::error::Error for FormError {}

impl Form {
    pub(super) fn json(bytes: Vec<u8>) -> Result<Self, FormError> {
        let form = Self::new(bytes, false);
        // A name, a uid and a version at least.
        let expected = form.places.len().max(3);
        form.expecting(expected)
    }

    pub(super) fn protobuf(bytes: Vec<u8>, json: &Self) -> Result<Self, FormError> {
        Self::new(bytes, true).expecting(json.places.len())
    }

    fn new(bytes: Vec<u8>, is_protobuf: bool) -> Self {
        let mut places = Vec::new();
        for filling in Filling::ALL {
            for number in 0..NUMBERS {
                let blank = if is_protobuf {
                    filling.protobuf_blank(number)
                } else {
                    filling.blank(number).into_bytes()
                };
                places.extend(memmem::find_iter(&bytes, &blank).map(|at| (at, filling, number)));
            }
        }
        places.sort_unstable_by_key(|(at, ..)| *at);
        Self {
            bytes,
            places,
            is_protobuf,
        }
    }

    fn expecting(self, expected: usize) -> Result<Self, FormError> {
        let found = self.places.len();
        if found == expected {
            Ok(self)
        } else {
            Err(FormError { found, expected })
        }
    }

    pub(super) fn template(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn write(&self, pod: PodVersion, replica: usize, to: &mut Vec<u8>) {
        let start = to.len();
        to.extend_from_slice(&self.bytes);
        let pod_bytes = &mut to[start..];
        for &(at, filling, number) in &self.places {
            self.fill(filling, number, pod, replica, &mut pod_bytes[at..]);
        }
    }

    fn fill(&self, filling: Filling, number: usize, pod: PodVersion, replica: usize, to: &mut [u8]) {
        let random = random(pod.ordinal, filling, number);
        match filling {
            Filling::Version => digits(FIRST_VERSION + u64::from(pod.version), &mut to[..10]),
            Filling::Suffix => {
                // Times a number that 27 ^ 5 has no divisor in common with: no two replicas get the same.
                let mut left = (replica as u64 * 7_919_393 + 4_242_424) % 27_u64.pow(5);
                for byte in &mut to[..5] {
                    *byte = LETTERS[usize::try_from(left % 27).unwrap_or_default()];
                    left /= 27;
                }
            }
            Filling::Uuid => {
                hex(random, &mut to[..36]);
                for at in [8, 13, 18, 23] {
                    to[at] = b'-';
                }
                to[14] = b'4';
            }
            Filling::Id => hex(random, &mut to[..64]),
            Filling::Address => {
                to[..3].copy_from_slice(b"10.");
                for (part, at) in [(0, 3), (8, 7), (16, 11)] {
                    digits(100 + (random >> part) % 156, &mut to[at..at + 3]);
                }
                to[6] = b'.';
                to[10] = b'.';
            }
            Filling::Node => digits(random % NODES, &mut to[..4]),
            Filling::Time => self.time(random, to),
            Filling::LastTime => self.time(mix(random ^ u64::from(pod.version)), to),
        }
    }

    /// Months count 28 days here.
    fn time(&self, random: u64, to: &mut [u8]) {
        let (month, day, second) = (random % 12, (random >> 8) % 28, (random >> 16) % 86_400);
        if self.is_protobuf {
            let month = MONTHS[usize::try_from(month).unwrap_or_default()];
            to[..6].copy_from_slice(&seconds_field(YEAR + (month + day) * 86_400 + second));
            return;
        }
        to[..20].copy_from_slice(b"2026-00-00T00:00:00Z");
        let parts = [month + 1, day + 1, second / 3600, second / 60 % 60, second % 60];
        for (part, at) in parts.into_iter().zip([5, 8, 11, 14, 17]) {
            digits(part, &mut to[at..at + 2]);
        }
    }
}

/// The first field of protobuf's timestamps. Seconds between 1978 and 3058 take five bytes.
fn seconds_field(seconds: u64) -> [u8; 6] {
    let byte = |position: u32| u8::try_from(seconds >> (7 * position) & 0x7f).unwrap_or_default() | 0x80;
    [8, byte(0), byte(1), byte(2), byte(3), byte(4) & 0x7f]
}

fn digits(mut number: u64, to: &mut [u8]) {
    for byte in to.iter_mut().rev() {
        *byte = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

fn hex(mut random: u64, to: &mut [u8]) {
    for part in to.chunks_mut(16) {
        random = mix(random);
        for (position, byte) in part.iter_mut().enumerate() {
            *byte = b"0123456789abcdef"[usize::try_from(random >> (4 * position) & 15).unwrap_or_default()];
        }
    }
}

/// The same for the same Pod and blank, whatever the encoding and the version.
fn random(ordinal: u32, filling: Filling, number: usize) -> u64 {
    mix(u64::from(ordinal) << 16 | (filling as u64) << 8 | number as u64)
}

/// SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
