//! Fields without a rule.

use kubewright::Convert;

mod v1 {
    pub struct FooSpec {
        pub size: i32,
        pub ports: Vec<Port>,
        pub owner: String,
    }

    pub struct Port;

    pub enum Mode {
        On,
        Off,
        Auto,
    }
}

#[derive(Convert)]
#[convert(hub = v1::FooSpec, hub_only(owner))]
struct Missing {
    size: i32,
    ports: Vec<Port>,
    replicas: i32,
}

#[derive(Convert)]
#[convert(hub = v1::FooSpec, hub_only(owner))]
struct Types {
    size: String,
    ports: Vec<NotConverted>,
}

#[derive(Convert)]
#[convert(hub = v1::FooSpec)]
struct HubOnly {
    size: i32,
    ports: Vec<Port>,
}

#[derive(Convert)]
#[convert(hub = v1::Port)]
struct Port;

struct NotConverted;

#[derive(Convert)]
#[convert(hub = v1::Mode)]
enum Mode {
    On,
    Off,
    Slow,
}

#[derive(Convert)]
#[convert(hub = v1::Mode)]
enum OldMode {
    On,
    Off,
}

fn main() {}
