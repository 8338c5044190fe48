//! Object templates with blanks, and the random values that fill the blanks.

use memchr::memmem;

use super::PodVersion;

/// The first resource version. Versions have ten digits, as in a cluster that is some years old.
pub(super) const FIRST_VERSION: u64 = 1_000_000_000;
/// 2026-01-01T00:00:00Z, in seconds since the epoch.
const YEAR_START: u64 = 1_767_225_600;
/// 2200-01-01T00:00:00Z, in seconds since the epoch. Placeholders of times are the seconds after it.
const PLACEHOLDER_TIME: u64 = 7_258_118_400;
/// Days before each month of 2026.
const DAYS_BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
/// The characters of generated names in Kubernetes.
const NAME_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const NODE_COUNT: u64 = 500;

/// A kind of blank. All values of a kind have the same length, so a template is filled in place, in JSON and in protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blank {
    /// The resource version.
    Version,
    /// The random suffix of the name.
    Suffix,
    Uuid,
    /// A container id, as long as a SHA-256 in hexadecimal.
    Id,
    /// An IPv4 address.
    Address,
    /// The number of the node.
    Node,
    /// A time in 2026 that is the same in all versions of the Pod, such as its creation.
    Time,
    /// A time that differs from version to version.
    LastTime,
}

impl Blank {
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

    /// Returns the placeholder of the blank in a JSON template. `number` distinguishes blanks of the same kind.
    pub(super) fn placeholder(self, number: usize) -> String {
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
        // Kind and number identify the placeholder; there is no room for more in the shortest one.
        let digit = char::from(b'a' + u8::try_from(number).unwrap_or(u8::MAX) % 26);
        format!("~{kind}{digit}{}", "~".repeat(length - 3))
    }

    /// Returns the placeholder in a protobuf template: strings as in JSON, times as a five-byte number of seconds.
    fn protobuf_placeholder(self, number: usize) -> Vec<u8> {
        match self {
            Self::Time | Self::LastTime => {
                let minute = u64::from(self == Self::LastTime);
                seconds_field(PLACEHOLDER_TIME + 60 * minute + number as u64).to_vec()
            }
            _ => self.placeholder(number).into_bytes(),
        }
    }
}

/// Maximum number of blanks of one kind in a template.
const MAX_BLANKS_PER_KIND: usize = 12;

/// The template of one application's Pods, in one encoding.
#[derive(Debug)]
pub struct ObjectTemplate {
    bytes: Vec<u8>,
    /// Offset, kind and number of each blank, sorted by offset.
    blanks: Vec<(usize, Blank, usize)>,
    is_protobuf: bool,
}

/// A template does not have the expected number of blanks.
#[derive(Debug, PartialEq, Eq)]
pub struct BlankCountError {
    found: usize,
    expected: usize,
}

impl std::fmt::Display for BlankCountError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { found, expected } = self;
        write!(f, "a template has {found} blanks instead of {expected}")
    }
}

impl std::error::Error for BlankCountError {}

impl ObjectTemplate {
    pub(super) fn json(bytes: Vec<u8>) -> Result<Self, BlankCountError> {
        let template = Self::new(bytes, false);
        // At least a name, a uid and a version.
        let expected = template.blanks.len().max(3);
        template.with_blank_count(expected)
    }

    pub(super) fn protobuf(bytes: Vec<u8>, json: &Self) -> Result<Self, BlankCountError> {
        Self::new(bytes, true).with_blank_count(json.blanks.len())
    }

    fn new(bytes: Vec<u8>, is_protobuf: bool) -> Self {
        let mut blanks = Vec::new();
        for blank in Blank::ALL {
            for number in 0..MAX_BLANKS_PER_KIND {
                let placeholder = if is_protobuf {
                    blank.protobuf_placeholder(number)
                } else {
                    blank.placeholder(number).into_bytes()
                };
                blanks.extend(memmem::find_iter(&bytes, &placeholder).map(|at| (at, blank, number)));
            }
        }
        blanks.sort_unstable_by_key(|(at, ..)| *at);
        Self {
            bytes,
            blanks,
            is_protobuf,
        }
    }

    fn with_blank_count(self, expected: usize) -> Result<Self, BlankCountError> {
        let found = self.blanks.len();
        if found == expected {
            Ok(self)
        } else {
            Err(BlankCountError { found, expected })
        }
    }

    pub(super) fn template(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn write(&self, pod: PodVersion, replica: usize, to: &mut Vec<u8>) {
        let start = to.len();
        to.extend_from_slice(&self.bytes);
        let pod_bytes = &mut to[start..];
        for &(at, blank, number) in &self.blanks {
            self.fill(blank, number, pod, replica, &mut pod_bytes[at..]);
        }
    }

    fn fill(&self, blank: Blank, number: usize, pod: PodVersion, replica: usize, to: &mut [u8]) {
        let random = random(pod.ordinal, blank, number);
        match blank {
            Blank::Version => write_digits(FIRST_VERSION + u64::from(pod.version), &mut to[..10]),
            Blank::Suffix => {
                // The factor is coprime to 27^5, so replicas get different suffixes.
                let mut left = (replica as u64 * 7_919_393 + 4_242_424) % 27_u64.pow(5);
                for byte in &mut to[..5] {
                    *byte = NAME_LETTERS[usize::try_from(left % 27).unwrap_or_default()];
                    left /= 27;
                }
            }
            Blank::Uuid => {
                write_hex(random, &mut to[..36]);
                for at in [8, 13, 18, 23] {
                    to[at] = b'-';
                }
                to[14] = b'4';
            }
            Blank::Id => write_hex(random, &mut to[..64]),
            Blank::Address => {
                to[..3].copy_from_slice(b"10.");
                for (part, at) in [(0, 3), (8, 7), (16, 11)] {
                    write_digits(100 + (random >> part) % 156, &mut to[at..at + 3]);
                }
                to[6] = b'.';
                to[10] = b'.';
            }
            Blank::Node => write_digits(random % NODE_COUNT, &mut to[..4]),
            Blank::Time => self.time(random, to),
            Blank::LastTime => self.time(mix(random ^ u64::from(pod.version)), to),
        }
    }

    /// Writes a random time in 2026, on the 1st to 28th of a month.
    fn time(&self, random: u64, to: &mut [u8]) {
        let (month, day, second) = (random % 12, (random >> 8) % 28, (random >> 16) % 86_400);
        if self.is_protobuf {
            let month = DAYS_BEFORE_MONTH[usize::try_from(month).unwrap_or_default()];
            to[..6].copy_from_slice(&seconds_field(YEAR_START + (month + day) * 86_400 + second));
            return;
        }
        to[..20].copy_from_slice(b"2026-00-00T00:00:00Z");
        let parts = [month + 1, day + 1, second / 3600, second / 60 % 60, second % 60];
        for (part, at) in parts.into_iter().zip([5, 8, 11, 14, 17]) {
            write_digits(part, &mut to[at..at + 2]);
        }
    }
}

/// Returns the `seconds` field of a protobuf timestamp. Seconds between 1978 and 3058 take five bytes.
fn seconds_field(seconds: u64) -> [u8; 6] {
    let byte = |position: u32| u8::try_from(seconds >> (7 * position) & 0x7f).unwrap_or_default() | 0x80;
    [8, byte(0), byte(1), byte(2), byte(3), byte(4) & 0x7f]
}

fn write_digits(mut number: u64, to: &mut [u8]) {
    for byte in to.iter_mut().rev() {
        *byte = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

fn write_hex(mut random: u64, to: &mut [u8]) {
    for part in to.chunks_mut(16) {
        random = mix(random);
        for (position, byte) in part.iter_mut().enumerate() {
            *byte = b"0123456789abcdef"[usize::try_from(random >> (4 * position) & 15).unwrap_or_default()];
        }
    }
}

/// Returns a random number that depends only on the Pod and the blank, not on the encoding or the version.
fn random(ordinal: u32, blank: Blank, number: usize) -> u64 {
    mix(u64::from(ordinal) << 16 | (blank as u64) << 8 | number as u64)
}

/// The SplitMix64 hash function.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}
