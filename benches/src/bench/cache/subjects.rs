//! The subjects: rows of the table.

/// A measured cache.
#[derive(Debug)]
pub(crate) struct CacheSubject {
    pub(crate) label: &'static str,
    pub(crate) program: SubjectProgram,
    /// Whether the server rejects streaming lists, so that clients fall back to ordinary lists.
    pub(crate) without_streaming: bool,
}

/// The program of a subject, with the argument that precedes the server's URL.
#[derive(Debug)]
pub(crate) enum SubjectProgram {
    /// `bench subject SUBJECT`
    Rust(&'static str),
    /// The Go program of `benches/go`, with the encoding.
    Go(&'static str),
}

/// All subjects. The first one is the baseline of the ratios.
pub(crate) const SUBJECTS: &[CacheSubject] = &[
    subject("kubewright", SubjectProgram::Rust("kubewright")),
    subject(
        "kubewright, each event's object decoded",
        SubjectProgram::Rust("kubewright-gets"),
    ),
    subject(
        "kubewright, stored as raw JSON",
        SubjectProgram::Rust("kubewright-raw"),
    ),
    subject(
        "kubewright, stored decoded",
        SubjectProgram::Rust("kubewright-decoded"),
    ),
    subject(
        "kubewright, projected to three fields",
        SubjectProgram::Rust("kubewright-projected"),
    ),
    subject(
        "kubewright, metadata only",
        SubjectProgram::Rust("kubewright-metadata"),
    ),
    CacheSubject {
        without_streaming: true,
        ..subject(
            "kubewright, no streaming list",
            SubjectProgram::Rust("kubewright"),
        )
    },
    subject("client-go, protobuf", SubjectProgram::Go("protobuf")),
    subject("client-go, JSON", SubjectProgram::Go("json")),
    CacheSubject {
        without_streaming: true,
        ..subject(
            "client-go, protobuf, no streaming list",
            SubjectProgram::Go("protobuf"),
        )
    },
    CacheSubject {
        without_streaming: true,
        ..subject("client-go, JSON, no streaming list", SubjectProgram::Go("json"))
    },
    subject("kube-runtime", SubjectProgram::Rust("kube-runtime")),
    subject(
        "kube-runtime, managedFields dropped",
        SubjectProgram::Rust("kube-runtime-trimmed"),
    ),
    subject(
        "kube-runtime, struct of three fields",
        SubjectProgram::Rust("kube-runtime-slim"),
    ),
    subject("floor: bytes read and discarded", SubjectProgram::Rust("floor")),
];

const fn subject(label: &'static str, program: SubjectProgram) -> CacheSubject {
    CacheSubject {
        label,
        program,
        without_streaming: false,
    }
}

impl CacheSubject {
    /// Returns whether this is the floor, which stores nothing and has no worker.
    pub(crate) fn is_floor(&self) -> bool {
        matches!(self.program, SubjectProgram::Rust("floor"))
    }
}
