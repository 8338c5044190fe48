use super::*;

/// A doc comment that must not become the program's description.
#[derive(Debug, PartialEq, clap::Args)]
struct Shop {
    /// Number of items in stock
    #[arg(long, default_value_t = 3)]
    stock: i32,
    #[arg(long, short)]
    quick: bool,
    #[arg(long, num_args = 1..)]
    region: Vec<String>,
}

#[derive(Debug, PartialEq, clap::Args)]
struct Mail {
    /// Address of the relay
    #[arg(long)]
    relay: String,
}

#[derive(Debug, clap::Args)]
struct Clashing {
    #[arg(long)]
    context: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Positional {
    file: String,
}

fn line(text: &str) -> CommandLine {
    CommandLine::new("shop", Some("1.2.3"), text.split_whitespace().map(OsString::from))
}

fn parse<T: clap::Args>(line: &CommandLine) -> Result<T, clap::Error> {
    line.parse(T::augment_args)
        .and_then(|matches| T::from_arg_matches(&matches))
}

#[test]
fn each_argument_type_gets_its_own_flags() {
    let line = line(
        "shop --relay post:25 --region eu us --stock 5 --log-format json --unknown value -x -q --leader-elect --other=1 manifests",
    );
    let region = vec!["eu".to_owned(), "us".to_owned()];
    assert_eq!(
        parse::<Shop>(&line).unwrap(),
        Shop {
            stock: 5,
            quick: true,
            region
        }
    );
    assert_eq!(
        parse::<Mail>(&line).unwrap(),
        Mail {
            relay: "post:25".into()
        }
    );
    assert_eq!(
        line.early().unwrap().log_format,
        crate::manager::logging::LogFormat::Json
    );
}

#[test]
fn unknown_flag_consumes_the_next_token_unless_it_is_a_flag() {
    let line = line("shop --unknown --stock 7 --later 8 --quick");
    assert_eq!(
        parse::<Shop>(&line).unwrap(),
        Shop {
            stock: 7,
            quick: true,
            region: Vec::new()
        }
    );
}

#[test]
fn strict_parse_accepts_all_registered_flags() {
    let line =
        line("shop --stock 7 --relay post --watch-namespace a,b --leader-elect=false --grace-period 1m30s");
    parse::<Shop>(&line).unwrap();
    parse::<Mail>(&line).unwrap();
    let Invocation::Run(args) = line.strict().unwrap() else {
        panic!("expected to run the operator")
    };
    assert_eq!(args.watched_namespaces(), ["a", "b"]);
    assert_eq!(args.leader_elect, Some(false));
    assert_eq!(args.grace_period.as_secs(), 90);
}

#[test]
fn last_of_repeated_flags_counts() {
    let line = line("shop --log-format=json --stock 7 --log-format=text --stock 8");
    assert_eq!(parse::<Shop>(&line).unwrap().stock, 8);
    let text = crate::manager::logging::LogFormat::Text;
    assert_eq!(line.early().unwrap().log_format, text);
    let Invocation::Run(args) = line.strict().unwrap() else {
        panic!("expected to run the operator")
    };
    assert_eq!(args.log_format, text);
}

#[test]
fn manifests_subcommand_selects_json_or_yaml() {
    assert!(matches!(
        line("shop manifests").strict(),
        Ok(Invocation::Manifests { yaml: false })
    ));
    let line = line("shop --stock 7 manifests --yaml");
    parse::<Shop>(&line).unwrap();
    assert!(matches!(line.strict(), Ok(Invocation::Manifests { yaml: true })));
}

#[test]
fn invalid_flags_have_clap_messages_and_exit_code_2() {
    let cases = [
        ("shop --stok 7", "--stock"),
        ("shop --grace-period soon", "write one such as `30s`"),
        ("shop --watch-namespace Shop", "invalid namespace"),
        ("shop --metrics-bind-address 8080", "write `host:port`"),
        ("shop --leader-elect=maybe", "--leader-elect"),
        ("shop --log-level info,kube=loud", "write a level"),
        ("shop serve", "serve"),
    ];
    for (text, expected) in cases {
        let line = line(text);
        parse::<Shop>(&line).unwrap();
        let error = line.strict().unwrap_err();
        assert_eq!(error.exit_code(), 2, "{text}");
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let error = parse::<Shop>(&line("shop --stock many")).unwrap_err();
    assert!(
        error.to_string().contains("invalid value 'many' for '--stock"),
        "{error}"
    );
    let error = parse::<Mail>(&line("shop")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
}

#[test]
fn help_lists_operator_flags_even_if_a_required_one_is_missing() {
    let line = line("shop --help");
    parse::<Shop>(&line).unwrap();
    parse::<Mail>(&line).unwrap_err();
    let help = line.strict().unwrap_err();
    assert_eq!((help.kind(), help.exit_code()), (ErrorKind::DisplayHelp, 0));
    let text = help.to_string();
    for flag in ["--stock", "--relay", "--watch-namespace", "manifests"] {
        assert!(text.contains(flag), "{flag} is not in {text}");
    }
    assert!(text.starts_with("Runs the operator shop\n"), "{text}");
    let version = self::line("shop --version").strict().unwrap_err().to_string();
    assert_eq!(
        version,
        concat!("shop 1.2.3 (kubewright ", env!("CARGO_PKG_VERSION"), ")\n")
    );
}

#[test]
fn same_argument_type_twice_is_allowed_and_a_flag_conflict_is_an_error() {
    let line = line("shop --stock 4");
    for _ in 0..2 {
        assert_eq!(parse::<Shop>(&line).unwrap().stock, 4);
    }
    line.strict().unwrap();
    let clash = parse::<Clashing>(&line).unwrap_err().to_string();
    assert!(
        clash.contains("context") && clash.contains("defined by the manager"),
        "{clash}"
    );
    let positional = parse::<Positional>(&line).unwrap_err().to_string();
    assert!(positional.contains("<file> is positional"), "{positional}");
}
