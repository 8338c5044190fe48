//! The rows of the table.

/// Who is measured.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) label: &'static str,
    pub(crate) program: Program,
    /// The server refuses streaming lists: who asks for one falls back to a list.
    pub(crate) without_streaming: bool,
}

/// What runs, with what stands before the server's address.
#[derive(Debug)]
pub(crate) enum Program {
    /// `bench-subject`
    Rust(&'static str),
    /// `benches/go`
    Go(&'static str),
}

/// The others are compared with the first.
pub(crate) const SUBJECTS: &[Subject] = &[
    subject("kubewright", Program::Rust("kubewright")),
    subject(
        "kubewright, each event's object decoded",
        Program::Rust("kubewright-gets"),
    ),
    subject("kubewright, raw", Program::Rust("kubewright-raw")),
    subject("kubewright, always decoded", Program::Rust("kubewright-decoded")),
    subject(
        "kubewright, projected to three fields",
        Program::Rust("kubewright-projected"),
    ),
    subject("kubewright, metadata only", Program::Rust("kubewright-metadata")),
    Subject {
        without_streaming: true,
        ..subject("kubewright, no streaming list", Program::Rust("kubewright"))
    },
    subject("client-go, protobuf", Program::Go("protobuf")),
    subject("client-go, JSON", Program::Go("json")),
    Subject {
        without_streaming: true,
        ..subject("client-go, protobuf, no streaming list", Program::Go("protobuf"))
    },
    Subject {
        without_streaming: true,
        ..subject("client-go, JSON, no streaming list", Program::Go("json"))
    },
    subject("kube-runtime", Program::Rust("kube-runtime")),
    subject(
        "kube-runtime, managedFields dropped",
        Program::Rust("kube-runtime-trimmed"),
    ),
    subject(
        "kube-runtime, struct of three fields",
        Program::Rust("kube-runtime-slim"),
    ),
    subject("floor: bytes read and thrown away", Program::Rust("floor")),
];

const fn subject(label: &'static str, program: Program) -> Subject {
    Subject {
        label,
        program,
        without_streaming: false,
    }
}

impl Subject {
    /// Whether it keeps nothing, and so has no worker.
    pub(crate) fn is_floor(&self) -> bool {
        matches!(self.program, Program::Rust("floor"))
    }
}
