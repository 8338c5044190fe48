//! Conversions between two versions: all rules, nested types and enums.
#![deny(warnings, unused, unreachable_pub)]

use std::collections::{BTreeMap, HashMap};

use kubewright::{Convert, conversion::Convert as _};

/// The hub.
pub mod v1 {
    use std::collections::{BTreeMap, HashMap};

    #[derive(Clone, Debug, PartialEq)]
    pub struct Spec {
        pub same: String,
        pub same_list: Vec<Option<String>>,
        pub new_name: i32,
        pub port: Port,
        pub maybe: Option<Port>,
        pub ports: Vec<Port>,
        pub nested: Option<Vec<Box<Port>>>,
        pub by_name: BTreeMap<String, Port>,
        pub hashed: HashMap<String, Vec<Port>>,
        pub mode: Mode,
        pub number: i64,
        pub duration: u64,
        pub r#type: String,
        pub sum: i32,
        pub kept: u8,
        pub shared: super::Shared,
        pub alias: super::Ports,
    }

    #[derive(Clone, Debug, PartialEq)]
    pub struct Port(pub u16, pub Protocol);

    #[derive(Clone, Debug, PartialEq)]
    pub enum Protocol {
        Tcp,
        Udp,
    }

    #[derive(Clone, Debug, PartialEq)]
    pub enum Mode {
        Off,
        Fixed { size: u32, port: Port },
        Pair(String, Port),
        Turbo(u8),
    }
}

/// A type that both versions use.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared;

/// An alias that both versions use.
pub type Ports = Vec<u16>;

#[derive(Clone, Convert, Debug, PartialEq)]
#[convert(hub = v1::Spec, hub_only(sum, from = sum))]
#[convert(hub_only(kept, default = 7))]
pub struct Spec {
    same: String,
    same_list: Vec<Option<String>>,
    #[convert(renamed = "new_name")]
    old_name: i32,
    port: Port,
    maybe: Option<Port>,
    ports: Vec<Port>,
    nested: Option<Vec<Box<Port>>>,
    by_name: BTreeMap<String, Port>,
    hashed: HashMap<String, Vec<Port>>,
    mode: Mode,
    #[convert(with = text)]
    number: String,
    #[convert(renamed = "duration", with(to_hub = parse_seconds, from_hub = format_seconds))]
    timeout: String,
    r#type: String,
    #[convert(dropped)]
    a: i32,
    #[convert(dropped, default = 3)]
    b: i32,
    #[convert(dropped, from = all)]
    c: String,
    #[convert(dropped, from = checked)]
    d: i32,
    shared: Shared,
    alias: Ports,
}

#[derive(Clone, Convert, Debug, PartialEq)]
#[convert(hub = v1::Port)]
pub struct Port(u16, Protocol);

#[derive(Clone, Convert, Debug, PartialEq)]
#[convert(hub = v1::Protocol)]
pub enum Protocol {
    #[convert(renamed = "Tcp")]
    Stream,
    Udp,
    #[convert(dropped, default = v1::Protocol::Udp)]
    Sctp,
}

#[derive(Clone, Convert, Debug, PartialEq)]
#[convert(hub = v1::Mode, hub_only(Turbo, default = Mode::Off))]
pub enum Mode {
    Off,
    Fixed {
        #[convert(renamed = "size")]
        amount: u32,
        port: Port,
        #[convert(dropped, default = "none".to_owned())]
        note: String,
    },
    Pair(String, Port),
}

#[derive(Convert)]
#[convert(hub = Empty, crate = ::kubewright)]
pub struct Empty {}

mod text {
    pub(crate) fn to_hub(text: String) -> Result<i64, std::num::ParseIntError> {
        text.parse()
    }

    pub(crate) fn from_hub(number: i64) -> String {
        number.to_string()
    }
}

fn parse_seconds(text: String) -> Result<u64, String> {
    let number = text.strip_suffix('s').ok_or_else(|| format!("{text:?} has no unit"))?;
    number.parse().map_err(|_| "no number".to_owned())
}

fn format_seconds(seconds: u64) -> String {
    format!("{seconds}s")
}

fn sum(spec: &Spec) -> i32 {
    spec.a + spec.b
}

fn all(hub: &v1::Spec) -> String {
    format!("{} {}", hub.same, hub.number)
}

fn checked(hub: &v1::Spec) -> Result<i32, String> {
    if hub.sum < 0 { Err("below zero".to_owned()) } else { Ok(hub.sum) }
}

fn spec() -> Spec {
    let port = || Port(80, Protocol::Stream);
    Spec {
        same: "a".to_owned(),
        same_list: vec![None],
        old_name: 1,
        port: port(),
        maybe: Some(Port(1, Protocol::Sctp)),
        ports: vec![port(), Port(2, Protocol::Udp)],
        nested: Some(vec![Box::new(port())]),
        by_name: BTreeMap::from([("x".to_owned(), port())]),
        hashed: HashMap::from([("y".to_owned(), vec![port()])]),
        mode: Mode::Fixed { amount: 5, port: port(), note: "lost".to_owned() },
        number: "12".to_owned(),
        timeout: "30s".to_owned(),
        r#type: "t".to_owned(),
        a: 1,
        b: 2,
        c: String::new(),
        d: 0,
        shared: Shared,
        alias: vec![1],
    }
}

fn main() {
    let hub = spec().to_hub().unwrap();
    assert_eq!((hub.new_name, hub.number, hub.duration, hub.sum, hub.kept), (1, 12, 30, 3, 7));
    assert_eq!(hub.maybe, Some(v1::Port(1, v1::Protocol::Udp)));
    assert_eq!(hub.mode, v1::Mode::Fixed { size: 5, port: v1::Port(80, v1::Protocol::Tcp) });
    assert_eq!(hub.hashed["y"], [v1::Port(80, v1::Protocol::Tcp)]);

    let back = Spec::from_hub(hub.clone()).unwrap();
    let expected = Spec {
        maybe: Some(Port(1, Protocol::Udp)),
        mode: Mode::Fixed { amount: 5, port: Port(80, Protocol::Stream), note: "none".to_owned() },
        a: 0,
        b: 3,
        c: "a 12".to_owned(),
        d: 3,
        ..spec()
    };
    assert_eq!(back, expected);

    let turbo = v1::Spec { mode: v1::Mode::Turbo(1), ..hub.clone() };
    assert_eq!(Spec::from_hub(turbo).unwrap().mode, Mode::Off);
    let error = |spec: Spec| spec.to_hub().unwrap_err().to_string();
    assert_eq!(error(Spec { timeout: "30".to_owned(), ..spec() }), "timeout: \"30\" has no unit");
    assert_eq!(error(Spec { number: "x".to_owned(), ..spec() }), "number: invalid digit found in string");
    let negative = v1::Spec { sum: -1, ..hub };
    assert_eq!(Spec::from_hub(negative).unwrap_err().to_string(), "d: below zero");
    assert!(Empty {}.to_hub().is_ok());
}
