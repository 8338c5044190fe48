//! `cargo xtask check-packages`: what other programs make of the packages in `tests/golden/packages`.
//!
//! kubectl evaluates the manifests with kustomize, and the package for kubectl must have the same objects. With `--all`, also helm renders
//! the chart, and OLM's validator reads the bundle.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, bail, ensure};
use kubewright_control_plane::KUBECTL;
use serde_json::Value;

use crate::yaml;

const NAME: &str = "shop";
const NAMESPACE: &str = "shop-system";

/// Values that the chart is rendered with; the results are in the folder `rendered` of each snapshot.
const RENDERINGS: [(&str, &str); 3] = [
    (
        "limited",
        "watchNamespaces={a,b},crds.enable=false,image.tag=,image.digest=sha256:ab,replicas=3",
    ),
    (
        "off",
        "metrics.enable=false,webhooks.enable=false,crds.keep=false,imagePullSecrets[0].name=s,image.pullPolicy=Always,\
         image.repository=mirror.example/shop,resources.limits.memory=2Gi,resources.requests.cpu=20m",
    ),
    (
        "scheduled",
        "env[0].name=A,env[0].value=b,extraArgs={--log-level=debug},podAnnotations.a=b,podLabels.c=d,nodeSelector.disk=ssd,\
         tolerations[0].key=x,tolerations[0].operator=Exists,affinity.podAntiAffinity.a=b,priorityClassName=high,\
         topologySpreadConstraints=null,podSecurityContext.runAsUser=1000,serviceAccount.annotations.role=r",
    ),
];

/// Compares all snapshots; `UPDATE_GOLDEN` updates the renderings.
pub(crate) fn run(all: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kubectl = kubewright_control_plane::built()?.join(KUBECTL);
    let tools = if all {
        let helm = build("helm", "helm.sh/helm/v4/cmd/helm")?;
        let validator = build(
            "operator-verify",
            "github.com/operator-framework/api/cmd/operator-verify",
        )?;
        Some((helm, validator))
    } else {
        None
    };
    let golden = root.join("tests/golden/packages");
    for entry in fs::read_dir(&golden).with_context(|| format!("cannot read {}", golden.display()))? {
        let folder = entry?.path();
        let mut kustomize = Command::new(&kubectl);
        kustomize.arg("kustomize").arg(folder.join("manifests"));
        let expected = objects(&output(&mut kustomize)?)?;
        let install = objects(&fs::read_to_string(folder.join("dist/install.yaml"))?)?;
        compare("kubectl kustomize and dist/install.yaml", &expected, &install)?;
        if let Some((helm, validator)) = &tools {
            check_chart(helm, &folder, expected)?;
            check_bundle(validator, &folder.join("bundle"))?;
        }
        eprintln!("{}: ok", folder.display());
    }
    Ok(())
}

/// Checks that a chart renders the manifests with its default values, but for the Namespace, which Helm creates.
fn check_chart(helm: &Path, folder: &Path, mut expected: Objects) -> Result<()> {
    let chart = folder.join("chart");
    let template = |namespace: &str, values: &str| {
        let mut command = Command::new(helm);
        command
            .args(["template", NAME])
            .arg(&chart)
            .args(["--namespace", namespace, "--set", values]);
        command
    };
    output(Command::new(helm).arg("lint").arg(&chart))?;
    let mut with_namespace = template(NAMESPACE, "createNamespace=true");
    let rendered = objects(&output(with_namespace.arg("--include-crds"))?)?;
    compare(
        "kubectl kustomize and helm template with a namespace",
        &expected,
        &rendered,
    )?;
    expected.retain(|_, object| object["kind"] != "Namespace");
    let mut default = template(NAMESPACE, "");
    let rendered = objects(&output(default.arg("--include-crds"))?)?;
    compare("kubectl kustomize and helm template", &expected, &rendered)?;
    for (name, values) in RENDERINGS {
        let rendered = run_program(&mut template("production", values))?;
        let text = if rendered.status.success() {
            String::from_utf8(rendered.stdout)?
        } else {
            String::from_utf8(rendered.stderr)?
        };
        ensure!(
            !text.contains(NAMESPACE),
            "{}: {values}: {NAMESPACE} stands in it:\n{text}",
            chart.display()
        );
        let file = folder.join("rendered").join(format!("{name}.txt"));
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(folder.join("rendered"))?;
            fs::write(file, text)?;
        } else {
            let found = fs::read_to_string(&file).unwrap_or_default();
            ensure!(
                found == text,
                "{} is stale: run with UPDATE_GOLDEN=1 to update it",
                file.display()
            );
        }
    }
    Ok(())
}

/// Checks that OLM's validator finds no error in a bundle: it logs errors, and exits with 0.
fn check_bundle(validator: &Path, bundle: &Path) -> Result<()> {
    let validated = run_program(Command::new(validator).arg("manifests").arg(bundle))?;
    let log = String::from_utf8_lossy(&validated.stdout) + String::from_utf8_lossy(&validated.stderr);
    let has_error = ["level=error", "level=fatal", "ERRO", "FATA"]
        .iter()
        .any(|level| log.contains(level));
    ensure!(
        validated.status.success() && !has_error,
        "OLM's validator refuses {}: {}\n{log}",
        bundle.display(),
        validated.status
    );
    Ok(())
}

/// Objects by group, kind, namespace and name.
type Objects = BTreeMap<[String; 4], Value>;

fn objects(text: &str) -> Result<Objects> {
    let mut objects = Objects::new();
    for mut object in yaml::parse_all(text)? {
        let group = object["apiVersion"].as_str().unwrap_or_default();
        let group = group.rsplit_once('/').map_or("", |(group, _)| group);
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let key = [
            group.to_owned(),
            of(&object["kind"]),
            of(&metadata["namespace"]),
            of(&metadata["name"]),
        ];
        forget_policy(&mut object);
        ensure!(
            objects.insert(key.clone(), object).is_none(),
            "{key:?} occurs twice"
        );
    }
    Ok(objects)
}

/// Removes the annotation by which Helm keeps definitions: the chart adds it.
fn forget_policy(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.remove("helm.sh/resource-policy");
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn compare(what: &str, expected: &Objects, found: &Objects) -> Result<()> {
    let keys = expected.keys().chain(found.keys());
    for key in keys {
        let (one, other) = (expected.get(key), found.get(key));
        if one != other {
            bail!("{what} differ in {key:?}:\n{one:#?}\n{other:#?}");
        }
    }
    Ok(())
}

/// Builds a program from its Go module in `xtask/packages`, with the flags of the control plane's build: so Go's cache has the standard library
/// and packages that both use. It makes later builds fast, too.
fn build(name: &str, package: &str) -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = manifest.join("../target/packages").join(name);
    let status = Command::new("go")
        .current_dir(manifest.join("packages").join(name))
        .envs([("CGO_ENABLED", "0"), ("GOWORK", "off"), ("GOFLAGS", "")])
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"])
        .args(["-gcflags=all=-dwarf=false", "-o"])
        .arg(&program)
        .arg(package)
        .status()
        .context("cannot run go: install Go 1.21 or newer")?;
    ensure!(status.success(), "go build of {package}: {status}");
    Ok(program)
}

fn run_program(command: &mut Command) -> Result<Output> {
    command
        .output()
        .with_context(|| format!("cannot run {command:?}"))
}

fn output(command: &mut Command) -> Result<String> {
    let output = run_program(command)?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
