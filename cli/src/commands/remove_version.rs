//! `kubewright remove version`: removes a version that is neither the hub nor stored.

use std::path::Path;

use super::{source_edits, uses};
use crate::{
    Context, Error,
    args::RemoveVersion,
    error::VersionError,
    format::keep_formatted,
    manifests::crds,
    migration,
    plan::{self, Plan, slashed},
    project::Project,
    samples,
    source::{self, ModuleTree},
    versions::{VersionedKind, in_file},
    yaml,
};

/// Removes the version, unless something needs it.
pub fn run(args: &RemoveVersion, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let kind = VersionedKind::find(&project, &sources, &args.kind)?;
    let version = args.version.as_str();
    check(&kind, version)?;
    let plan = plan(&kind, version, &project, context)?;
    let places = uses(&kind, version, &project, &plan)?;
    if !places.is_empty() {
        return Err(VersionError::InUse {
            kind: kind.kind,
            version: version.to_owned(),
            places,
        }
        .into());
    }
    let (definition, definition_file) = definition(&kind, &project)?;
    if let Some(cluster) = &args.cluster {
        let stored = migration::stored_versions(cluster, &definition)?;
        if stored.iter().any(|stored| stored == version) {
            return Err(VersionError::StoredInCluster {
                kind: kind.kind,
                version: version.to_owned(),
                context: cluster.clone(),
                definition,
            }
            .into());
        }
    }
    if !source_edits::rewrite(&plan, &project, args.write, context)? {
        return Ok(());
    }
    context.message("\nnext:\n  kubewright generate")?;
    if args.cluster.is_none() {
        context.message(format_args!(
            "\nbefore you apply the manifests, check that no cluster stores {version}:\n  kubectl get crd {definition} -o jsonpath='{{.status.storedVersions}}'"
        ))?;
    }
    if kind.others().count() == 1 {
        context.message(format_args!(
            "\nwhere the operator converts {} now, replace its definition once: `kubectl apply` leaves the CA bundle that the operator wrote,\n\
             which the API server refuses without a conversion webhook\n  kubectl replace -f {definition_file}",
            kind.kind
        ))?;
    }
    Ok(())
}

/// Refuses versions that the operator needs.
fn check(kind: &VersionedKind, version: &str) -> Result<(), VersionError> {
    if kind.version(version).is_none() {
        return Err(kind.unknown_version(version));
    }
    let (name, hub, version) = (kind.kind.clone(), kind.hub.clone(), version.to_owned());
    if version == hub {
        return Err(VersionError::Hub { kind: name, version });
    }
    if version == kind.stored {
        return Err(VersionError::Stored {
            kind: name,
            version,
            hub,
        });
    }
    Ok(())
}

fn plan(
    kind: &VersionedKind,
    version: &str,
    project: &Project,
    context: &Context<'_>,
) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    let path = kind.path_of(version);
    let text = project.read(&path)?.unwrap_or_default();
    plan.delete(path, text, Vec::new());
    let path = kind.module_path();
    let text = project.read(&path)?.unwrap_or_default();
    let edited = source::remove_version(&text, &kind.kind, version).map_err(|error| in_file(&path, error))?;
    let edited = keep_formatted(context, &text, edited)?;
    plan.write(path, Some(text), edited);
    let path = kind.test_path();
    if kind.others().count() == 1
        && let Some(text) = project.read(&path)?
    {
        plan.delete(path, text, vec!["no version is left to convert".to_owned()]);
    }
    Ok(plan)
}

/// Returns the places that name the version after the plan was applied.
fn uses(kind: &VersionedKind, version: &str, project: &Project, plan: &Plan) -> Result<Vec<String>, Error> {
    let module = kind.module();
    let mut tree = ModuleTree::read(&project.root, &source_edits::crate_name(project)?)?;
    tree.select(&kind.path_of(version));
    let mut places = uses::in_code(project, plan, &|path, text| {
        let items = tree.items().in_file(path);
        if path.starts_with(&kind.folder) {
            source::module_lines(text, items, None, version)
        } else if path == kind.test_path() {
            source::literal_lines(text, version)
        } else {
            source::module_lines(text, items, Some(&module), version)
        }
    })?;
    let api_version = format!("{}/{version}", kind.group);
    for file in samples::read(&project.root)? {
        let path = slashed(&file.path);
        // `generate` reports what does not parse.
        for document in file.documents.unwrap_or_default() {
            if document.value["kind"] == *kind.kind && document.value["apiVersion"] == *api_version {
                places.push(format!("{path}:{}", document.line("apiVersion")));
            }
        }
    }
    Ok(places)
}

/// Returns the name of the kind's definition, and its file.
pub(super) fn definition(kind: &VersionedKind, project: &Project) -> Result<(String, String), Error> {
    for file in plan::files_with_extension(&project.root.join(crds::FOLDER), "yaml")? {
        let text = plan::read(&file)?.unwrap_or_default();
        for document in yaml::read_all(&text).unwrap_or_default() {
            let spec = &document["spec"];
            if spec["group"] == *kind.group && spec["names"]["kind"] == *kind.kind {
                let name = document["metadata"]["name"].as_str().unwrap_or_default();
                let file = Path::new(crds::FOLDER).join(file.file_name().unwrap_or_default());
                return Ok((name.to_owned(), slashed(&file)));
            }
        }
    }
    let lower = kind.kind.to_lowercase();
    let plural = kind.kind.parse().map_or_else(
        |_| format!("{lower}s"),
        |kind: crate::names::KindName| kind.plural(),
    );
    let file = format!("{}/{}_{plural}.yaml", crds::FOLDER, kind.group);
    Ok((format!("{plural}.{}", kind.group), file))
}
