//! Tests of `cargo xtask control-plane`, with a script in place of Go.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Records its arguments, and imitates a build.
const FAKE_GO: &str = r#"#!/bin/sh
echo "$CGO_ENABLED $*" >> "$0.calls"
case $1 in
env) echo go1.26.8 ;;
build) test -s go.mod && test -s go.sum && touch server kube-apiserver kube-controller-manager kube-scheduler kubectl ;;
esac
"#;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new(go: Option<&str>) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        fs::create_dir(machine.path("bin")).unwrap();
        if let Some(script) = go {
            fs::write(machine.path("bin/go"), script).unwrap();
            fs::set_permissions(machine.path("bin/go"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("control-plane")
            .args(arguments)
            .env("KUBEWRIGHT_CACHE", self.path("cache"))
            .env_remove("KUBEBUILDER_ASSETS")
            // The fake Go comes first.
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .output()
            .unwrap()
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("bin/go.calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// The cache's content besides the lock.
    fn builds(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("cache/control-plane")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "build.lock").collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn control_plane_is_built_once_and_its_folder_printed() {
    let machine = Machine::new(Some(FAKE_GO));
    let first = machine.run(&[]);
    assert!(first.status.success(), "{}", stderr(&first));
    let printed = String::from_utf8(first.stdout).unwrap();
    let folder = Path::new(printed.trim());
    assert!(
        folder.starts_with(machine.path("cache/control-plane")),
        "{printed}"
    );
    for program in ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] {
        assert!(folder.join(program).is_file(), "{program}");
    }
    assert_eq!(
        machine.builds(),
        [folder.file_name().unwrap().to_str().unwrap()],
        "no intermediate folder remains"
    );
    let calls = machine.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].starts_with("0 build -mod=readonly "), "{calls:?}");
    assert!(
        calls[1].contains("component-base/version.gitVersion=v1."),
        "{calls:?}"
    );

    let second = machine.run(&[]);
    assert_eq!(String::from_utf8(second.stdout).unwrap(), printed);
    let print = machine.run(&["--print"]);
    assert_eq!(String::from_utf8(print.stdout).unwrap(), printed);
    assert_eq!(machine.calls().len(), 2, "go must not be called again");
}

#[test]
fn deleted_program_is_rebuilt() {
    let machine = Machine::new(Some(FAKE_GO));
    let folder = String::from_utf8(machine.run(&[]).stdout).unwrap();
    let lost = Path::new(folder.trim()).join("kubectl");
    fs::remove_file(&lost).unwrap();
    assert!(machine.run(&[]).status.success());
    assert!(lost.is_file());
}

#[test]
fn print_does_not_build() {
    let machine = Machine::new(Some(FAKE_GO));
    let output = machine.run(&["--print"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(
        stderr(&output).contains("build it with `cargo xtask control-plane`"),
        "{}",
        stderr(&output)
    );
    assert!(machine.calls().is_empty());
}

#[test]
fn failed_build_leaves_no_folder() {
    let machine = Machine::new(Some(
        "#!/bin/sh\n[ $1 = env ] && echo go1.26.8 && exit\necho no network >&2\nexit 1\n",
    ));
    let output = machine.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no network"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("error: go build: exit status: 1"),
        "{}",
        stderr(&output)
    );
    assert!(
        machine.builds().iter().all(|name| name.ends_with(".building")),
        "{:?}",
        machine.builds()
    );
    assert_eq!(machine.run(&["--print"]).status.code(), Some(1));
}

#[test]
fn unsuitable_go_error_has_advice() {
    let old = Machine::new(Some("#!/bin/sh\necho go1.19.8\n"));
    let error = stderr(&old.run(&[]));
    assert!(error.contains("go1.19.8 is too old: install Go 1.26"), "{error}");

    let local = Machine::new(Some(
        "#!/bin/sh\necho 'go.mod requires go >= 1.26.0' >&2\nexit 1\n",
    ));
    let error = stderr(&local.run(&[]));
    assert!(
        error.contains("requires go >= 1.26.0: install Go 1.26"),
        "{error}"
    );
}

#[test]
fn missing_go_error_has_advice() {
    let machine = Machine::new(None);
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("control-plane")
        .env("KUBEWRIGHT_CACHE", machine.path("cache"))
        .env("PATH", machine.path("bin"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("`go` is not on PATH: install Go 1.26"), "{error}");
    assert!(error.contains("KUBEBUILDER_ASSETS"), "{error}");
}
