//! `kubewright api-server`: the embedded API server as a standalone program.

use std::path::{Path, PathBuf};

use kubewright_apiserver::{
    AdmissionPlugin, ApiServer, HousekeepingTask, ServingCertificate, StartError, Tls, TlsInput,
    auth::AuthorizationMode,
};

use super::signals::termination_signal;
use crate::{
    Context, Error, args,
    dev::write_private,
    plan::IoError,
    project::{create_session_folder, find_root},
};

/// Runs the API server until it is interrupted.
pub fn run(args: &args::ApiServer, context: &mut Context<'_>) -> Result<(), Error> {
    if args.version {
        context.print(&format!("Kubernetes {}\n", args.report_version))?;
        return Ok(());
    }
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Error::ApiServer(error.to_string()))?;
    runtime.block_on(serve(args, context))
}

async fn serve(args: &args::ApiServer, context: &mut Context<'_>) -> Result<(), Error> {
    // Listen for signals before reporting the address: a reader may end the server at once. SIGHUP is not handled, so
    // that the server outlives its terminal under nohup.
    let terminated = termination_signal()?;
    for (flag, reason) in args.upstream.ignored() {
        let reason = reason[..1].to_ascii_lowercase() + &reason[1..];
        context.message(format_args!("--{flag} changes nothing here: {reason}"))?;
    }
    let serving_files = serving_files(args)?;
    let mut builder = ApiServer::builder()
        .address(args.bind_address)
        .port(args.secure_port)
        .version(&args.report_version)
        // The command cannot show the audit log: keep no entries.
        .audit_capacity(0);
    if let Some([certificates, key]) = &serving_files {
        builder = builder.tls(Tls::Given(ServingCertificate {
            chain: read(certificates)?,
            key: read(key)?,
        }));
    } else if args.plain_http {
        builder = builder.tls(Tls::Off);
    }
    if let Some(file) = &args.client_ca_file {
        builder = builder.client_ca(read(file)?);
    }
    if let Some(file) = &args.token_auth_file {
        let text = read(file)?;
        builder = builder
            .token_file(&text)
            .map_err(|error| Error::ApiServer(format!("{}: {error}", file.display())))?;
    }
    let key_error =
        |file: &Path, error| Error::ApiServer(format!("cannot use the key {}: {error}", file.display()));
    if let Some(file) = &args.service_account_signing_key_file {
        let key = read(file)?;
        builder = builder
            .service_account_signing_key(&key)
            .map_err(|error| key_error(file, error))?;
    }
    for file in &args.service_account_key_file {
        let keys = read(file)?;
        builder = builder
            .service_account_keys(&keys)
            .map_err(|error| key_error(file, error))?;
    }
    builder = builder
        .service_account_issuers(&args.service_account_issuer)
        .api_audiences(&args.api_audiences);
    let modes: Vec<AuthorizationMode> = args
        .authorization_mode
        .iter()
        .map(|mode| match mode {
            args::AuthorizationMode::Rbac => AuthorizationMode::Rbac,
            args::AuthorizationMode::AlwaysAllow => AuthorizationMode::AlwaysAllow,
        })
        .collect();
    if args.anonymous_auth && modes.contains(&AuthorizationMode::AlwaysAllow) {
        context.message(format_args!(
            "anonymous authentication is off: AlwaysAllow cannot be combined with it"
        ))?;
    }
    let plugins = AdmissionPlugin::select(&args.enable_admission_plugins, &args.disable_admission_plugins)
        .map_err(|error| Error::ApiServer(error.to_string()))?;
    let tasks =
        HousekeepingTask::select(&args.housekeeping).map_err(|error| Error::ApiServer(error.to_string()))?;
    let mut server = builder
        .housekeeping(&tasks)
        .authorization(&modes)
        .admission_plugins(&plugins)
        .service_network(args.service_cluster_ip_range)
        .anonymous_auth(args.anonymous_auth)
        .start()
        .await
        .map_err(|error| start_error(args, serving_files.as_ref(), &error))?;
    let kubeconfig = kubeconfig_path(args, &context.cwd)?;
    server
        .write_kubeconfig(&kubeconfig)
        .map_err(|source| IoError::new("write", kubeconfig.as_path(), source))?;
    context.message(format_args!(
        "serving at {}, for development and tests only",
        server.url()
    ))?;
    let line = format!("KUBECONFIG={}\n", kubeconfig.display());
    context.print(&line)?;
    tokio::select! {
        () = server.wait() => {}
        () = terminated => {}
    }
    server.stop().await;
    Ok(())
}

/// Returns the files of the serving certificate and its key, which are generated if the certificate folder lacks them; none without that folder.
fn serving_files(args: &args::ApiServer) -> Result<Option<[PathBuf; 2]>, Error> {
    if let (Some(certificates), Some(key)) = (&args.tls_cert_file, &args.tls_private_key_file) {
        return Ok(Some([certificates.clone(), key.clone()]));
    }
    let Some(folder) = &args.cert_dir else {
        return Ok(None);
    };
    std::fs::create_dir_all(folder).map_err(|source| IoError::new("create", folder.as_path(), source))?;
    if args.plain_http {
        return Ok(None);
    }
    let files = ["apiserver.crt", "apiserver.key"].map(|name| folder.join(name));
    if !files.iter().all(|file| file.is_file()) {
        let generated = ServingCertificate::generate(args.bind_address)
            .map_err(|error| Error::ApiServer(error.to_string()))?;
        for (file, text) in files.iter().zip([generated.chain, generated.key]) {
            write_private(file, &text)?;
        }
    }
    Ok(Some(files))
}

/// Returns where the kubeconfig is written. In a project, git should not see it.
fn kubeconfig_path(args: &args::ApiServer, cwd: &Path) -> Result<PathBuf, IoError> {
    let in_cert_dir = args
        .cert_dir
        .as_ref()
        .map(|folder| folder.join("kubeconfig.json"));
    match (args.kubeconfig.as_ref().or(in_cert_dir.as_ref()), find_root(cwd)) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(root)) => Ok(create_session_folder(root)?.join("api-server.kubeconfig")),
        (None, None) => Ok("kubeconfig.json".into()),
    }
}

fn read(path: &Path) -> Result<String, Error> {
    Ok(std::fs::read_to_string(path).map_err(|source| IoError::new("read", path, source))?)
}

/// Returns the error with the file that is at fault, if one is.
fn start_error(args: &args::ApiServer, serving_files: Option<&[PathBuf; 2]>, error: &StartError) -> Error {
    let serving_file = |at: usize| serving_files.map(|files| files[at].as_path());
    let file = match error {
        StartError::Certificate { input, .. } => match input {
            TlsInput::Certificates => serving_file(0),
            TlsInput::Key => serving_file(1),
            TlsInput::ClientCa => args.client_ca_file.as_deref(),
        },
        _ => None,
    };
    Error::ApiServer(match file {
        Some(file) => format!("{}: {error}", file.display()),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn kubeconfig_is_below_target_in_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let path = |arguments: &[&str], cwd: &str| {
            let line = ["kubewright", "api-server"].iter().chain(arguments);
            let args::Command::ApiServer(args) = args::Cli::try_parse_from(line).unwrap().command else {
                panic!("another command");
            };
            kubeconfig_path(&args, &folder.path().join(cwd)).unwrap()
        };
        assert_eq!(path(&[], "src"), Path::new("kubeconfig.json"));
        std::fs::write(folder.path().join("kubewright.toml"), "").unwrap();
        let expected = folder.path().join("target/kubewright/api-server.kubeconfig");
        assert_eq!(path(&[], "src"), expected);
        assert!(expected.parent().unwrap().is_dir());
        assert_eq!(
            path(&["--cert-dir=certs"], "src"),
            Path::new("certs/kubeconfig.json")
        );
        assert_eq!(
            path(&["--kubeconfig=a.yaml", "--cert-dir=certs"], "src"),
            Path::new("a.yaml")
        );
    }
}
