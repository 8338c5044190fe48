//! Support code for `#[derive(Projection)]`. Not a public API: it may change with every version.
//!
//! The derive generates a slot for each value and a tree of field names that leads to the values. One visitor, shared by all projections,
//! walks JSON along the tree, fills the slots and skips the rest.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
    forward_to_deserialize_any,
};

/// A node of the tree of paths: the part of a value that is read.
#[derive(Debug)]
pub enum Node {
    /// The whole value, into a slot.
    Value(usize),
    /// Some fields of an object.
    Fields(Fields),
    /// The same part of each element of a list.
    Elements(&'static Node),
}

/// The fields that are read of an object, at most 128.
pub type Fields = &'static [(&'static str, Node)];

/// The slots of a projection, one for each field of the struct.
pub trait Slots<'de> {
    /// The tree of paths.
    const FIELDS: Fields;

    /// Begins the next element of the list that fills the slot.
    fn element(&mut self, _slot: usize) {}

    /// Reads a value into a slot.
    fn take<D: Deserializer<'de>>(&mut self, slot: usize, value: D) -> Result<(), D::Error>;
}

/// Fills the slots from an object and returns them.
pub fn read<'de, S: Slots<'de>, D: Deserializer<'de>>(mut slots: S, object: D) -> Result<S, D::Error> {
    let node = &const { Node::Fields(S::FIELDS) };
    object.deserialize_map(Reader {
        node,
        slots: &mut slots,
    })?;
    Ok(slots)
}

/// Reads a value into a slot for a single value.
pub fn one<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    slot: &mut Option<T>,
    value: D,
) -> Result<(), D::Error> {
    *slot = Option::deserialize(value)?;
    Ok(())
}

/// Reads a value into the current element of a slot for a list.
pub fn each<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    slot: &mut [Option<T>],
    value: D,
) -> Result<(), D::Error> {
    slot.last_mut().map_or(Ok(()), |last| one(last, value))
}

/// Returns the value of a slot. An absent value is `None` for an `Option` type, otherwise an error that names the path.
pub fn present<'de, T: Deserialize<'de>, E: Error>(slot: Option<T>, path: &'static str) -> Result<T, E> {
    slot.map_or_else(|| T::deserialize(AbsentValue(path, PhantomData)), Ok)
}

/// Returns the values of a slot for a list, without elements that have none.
pub fn values<T>(slot: Vec<Option<T>>) -> Vec<T> {
    slot.into_iter().flatten().collect()
}

/// Visits a value along a node of the tree.
struct Reader<'s, S> {
    node: &'static Node,
    slots: &'s mut S,
}

impl<'de, S: Slots<'de>> DeserializeSeed<'de> for Reader<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        match self.node {
            Node::Value(slot) => self.slots.take(*slot, value),
            Node::Fields(_) | Node::Elements(_) => value.deserialize_option(self),
        }
    }
}

impl<'de, S: Slots<'de>> Visitor<'de> for Reader<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.node {
            Node::Value(_) => "a value",
            Node::Fields(_) => "an object",
            Node::Elements(_) => "a list",
        })
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        match self.node {
            Node::Value(_) => self.deserialize(value),
            Node::Fields(_) => value.deserialize_map(self),
            Node::Elements(_) => value.deserialize_seq(self),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Node::Fields(fields) = self.node else {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        };
        let mut seen = 0_u128;
        while let Some(position) = map.next_key_seed(FieldPosition(fields))? {
            let Some(position) = position else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let (name, node) = &fields[position];
            let bit = 1 << position;
            if seen & bit != 0 {
                return Err(A::Error::duplicate_field(name));
            }
            seen |= bit;
            map.next_value_seed(Reader {
                node,
                slots: &mut *self.slots,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Node::Elements(node) = self.node else {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        };
        while let Some(()) = list.next_element_seed(Element(Reader {
            node,
            slots: &mut *self.slots,
        }))? {}
        Ok(())
    }
}

/// Reads an element of a list.
struct Element<'s, S>(Reader<'s, S>);

impl<'de, S: Slots<'de>> DeserializeSeed<'de> for Element<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        begin(self.0.node, self.0.slots);
        self.0.deserialize(value)
    }
}

/// Begins an element for the slots that take one value of each element. Nested lists begin their own elements.
fn begin<'de>(node: &Node, slots: &mut impl Slots<'de>) {
    match node {
        Node::Value(slot) => slots.element(*slot),
        Node::Fields(fields) => fields.iter().for_each(|(_, node)| begin(node, slots)),
        Node::Elements(_) => {}
    }
}

/// Reads a field name as its position in the tree; none for other names.
struct FieldPosition(Fields);

impl<'de> DeserializeSeed<'de> for FieldPosition {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Option<usize>, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldPosition {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|(name, _)| *name == key))
    }
}

/// A deserializer of an absent value at a path: an `Option` is `None`, everything else an error.
struct AbsentValue<E>(&'static str, PhantomData<E>);

impl<'de, E: Error> Deserializer<'de> for AbsentValue<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::custom(format_args!("{} is missing", self.0)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}
