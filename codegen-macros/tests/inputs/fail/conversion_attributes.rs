//! Attributes that are wrong or contradict each other.

use kubewright::Convert;

struct Hub {
    a: i32,
}

#[derive(Convert)]
struct NoHub {
    a: i32,
}

#[derive(Convert)]
#[convert(hub = Hub, hub_onyl(a))]
struct Misspelt {
    #[convert(rename = "a")]
    a: i32,
}

#[derive(Convert)]
#[convert(hub = Hub)]
struct Contradictions {
    #[convert(dropped, renamed = "b")]
    a: i32,
    #[convert(default = 1)]
    b: i32,
    #[convert(dropped, default = 1, from = f)]
    c: i32,
    #[convert(renamed = "not a name")]
    d: i32,
    #[convert(with = "module")]
    e: i32,
}

#[derive(Convert)]
#[convert(hub = Hub, hub_only(a, value = 1))]
struct Values {}

#[derive(Convert)]
#[convert(hub = Hub, hub_only(C))]
enum Variants {
    #[convert(dropped)]
    A,
    #[convert(with = module)]
    B,
    D {
        #[convert(dropped, from = f)]
        a: i32,
    },
}

#[derive(Convert)]
#[convert(hub = Hub)]
struct Generic<T> {
    a: T,
}

#[derive(Convert)]
#[convert(hub = Hub)]
union Union {
    a: i32,
}

fn main() {}
