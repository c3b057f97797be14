//! The three declaration macros: [`parts!`](crate::parts), [`keys!`](crate::keys) and [`fields!`](crate::fields).

/// Declares part types: the typed values that may stand in a key.
///
/// Each parses from text (`FromStr`, `TryFrom<&str>`), prints, and goes through serde: numbers as numbers, all others as text.
/// Whatever way it takes, a value that may not stand in a key is refused.
///
/// ```
/// keyrack_keys::parts! {
///     /// The name of a queue.
///     text QueueName;
///     /// A job. Queue names stand where its id does, so it may not be one of these words.
///     text JobId except ["all"];
///     /// A worker: `HOST:PID:NUMBER`.
///     colons WorkerId 3;
///     /// A month of the year.
///     number Month 1..=12;
///     /// The width of a bucket.
///     words Interval { Days = "days", Weeks = "weeks" }
/// }
///
/// assert_eq!(QueueName::new("emails")?.as_str(), "emails");
/// assert_eq!("weeks".parse::<Interval>()?, Interval::Weeks);
/// assert!(Month::new(13).is_err());
/// assert!(QueueName::try_from("").is_err());
/// # Ok::<(), keyrack_keys::PartError>(())
/// ```
#[macro_export]
macro_rules! parts {
    () => {};

    ($(#[doc = $prose:literal])+ text $name:ident $(except [$($word:literal),+])?; $($rest:tt)*) => {
        $crate::parts!(@text [$($prose)+] $name $crate::Shape::Text { except: &[$($($word),+)?] });
        $crate::parts!($($rest)*);
    };

    ($(#[doc = $prose:literal])+ colons $name:ident $fields_min:literal; $($rest:tt)*) => {
        $crate::parts!(@text [$($prose)+] $name $crate::Shape::Colons { fields_min: $fields_min });
        $crate::parts!($($rest)*);
    };

    ($(#[doc = $prose:literal])+ number $name:ident $min:literal..=$max:expr; $($rest:tt)*) => {
        $(#[doc = $prose])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u64);

        impl $name {
            /// Takes a number in range.
            pub fn new(number: u64) -> Result<Self, $crate::PartError> {
                <Self as $crate::Part>::KIND.check(&number.to_string())?;
                Ok(Self(number))
            }

            /// The number.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::PartError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                <Self as $crate::Part>::KIND.check(text)?;
                Ok(Self(text.bytes().fold(0, |n, digit| n * 10 + u64::from(digit - b'0'))))
            }
        }

        impl ::std::convert::TryFrom<u64> for $name {
            type Error = $crate::PartError;

            fn try_from(number: u64) -> Result<Self, Self::Error> {
                Self::new(number)
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = <u64 as $crate::serde::Deserialize>::deserialize(deserializer)?;
                Self::new(number).map_err($crate::serde::de::Error::custom)
            }
        }

        $crate::parts!(
            @part [$($prose)+] $name $crate::Shape::Number { min: $min, max: $max },
            |number, out| number.0, out.push_str(&number.0.to_string())
        );
        $crate::parts!($($rest)*);
    };

    ($(#[doc = $prose:literal])+ words $name:ident { $($variant:ident = $word:literal),+ $(,)? } $($rest:tt)*) => {
        $(#[doc = $prose])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`")] $variant),+
        }

        impl $name {
            /// Every value, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Every word, in order of declaration.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word that stands in the key.
            pub const fn as_str(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::PartError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::PartError::NotAWord {
                        kind: $crate::Noun(stringify!($name)),
                        text: text.into(),
                        words: Self::WORDS,
                    }),
                }
            }
        }

        $crate::parts!(@from_text $name);
        $crate::parts!(
            @part [$($prose)+] $name $crate::Shape::Words(Self::WORDS),
            |word, out| word.as_str(), out.push_str(word.as_str())
        );
        $crate::parts!($($rest)*);
    };

    (@text [$($prose:literal)+] $name:ident $shape:expr) => {
        $(#[doc = $prose])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Takes any allowed text; reserved bytes are coded when it becomes part of a key.
            pub fn new(text: impl Into<String>) -> Result<Self, $crate::PartError> {
                let text = text.into();
                <Self as $crate::Part>::KIND.check(&text)?;
                Ok(Self(text))
            }

            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::PartError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl ::std::convert::TryFrom<String> for $name {
            type Error = $crate::PartError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl ::std::convert::AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        $crate::parts!(@from_text $name);
        $crate::parts!(
            @part [$($prose)+] $name $shape,
            |text, out| text.0, <Self as $crate::Part>::KIND.encode(&text.0, out)
        );
    };

    // What every part has that is written as text, in programs and in JSON.
    (@from_text $name:ident) => {
        impl ::std::convert::TryFrom<&str> for $name {
            type Error = $crate::PartError;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as $crate::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    };

    (@part [$($prose:literal)+] $name:ident $shape:expr, |$value:ident, $out:ident| $shown:expr, $write:expr) => {
        impl $crate::Part for $name {
            const KIND: $crate::Kind =
                $crate::Kind::new(stringify!($name), concat!($($prose, "\n"),+), $shape);

            fn write(&self, $out: &mut String) {
                let $value = self;
                $write;
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $value = self;
                ::std::fmt::Display::fmt(&$shown, f)
            }
        }
    };
}

/// Declares key families and channels, each once, and with them the functions that build their keys.
///
/// The first line holds what all declarations of the block share. A declaration then reads: prose, builder with
/// typed parts, name, content, and clauses; every clause is a field of [`Family`](crate::Family).
/// `in group: Group` names a shard that the key's name does not hold.
///
/// ```
/// mod keys {
///     use keyrack_keys::declare::*;
///
///     parts! {
///         /// The name of a queue.
///         text QueueName;
///         /// A job.
///         text JobId;
///     }
///
///     keys! {
///         owner = "jobs", origin = Added;
///
///         /// Jobs waiting to run, lowest score first. Added by `submit`.
///         queue(queue: QueueName) = "queue:<queue>"
///             => sorted_set(Refers(&job::FAMILY).means("the job"), UnixMs.means("when it was submitted")),
///             shard = Shard::Part("queue"), removed = "`claim` takes jobs out", example = "queue:emails";
///
///         /// One job.
///         job(id: JobId) in queue: QueueName = "job:<id>"
///             => hash(fields! {
///                 /// What to do.
///                 task: Text,
///                 /// When it ended.
///                 ended_at: Optional(&UnixMs),
///             }),
///             ttl = Ttl::Within(86_400), example = "job:42";
///     }
/// }
///
/// use keyrack_keys::{Layout, PartError};
///
/// fn main() -> Result<(), PartError> {
///     let emails = keys::QueueName::new("emails")?;
///     let queue = keys::queue(&emails);
///     assert_eq!(queue.name(), "queue:emails");
///     assert_eq!(queue.placed(Layout::Cluster), "queue:{emails}");
///
///     let job = keys::job(&keys::JobId::new("4 2")?, &emails);
///     assert_eq!(job.name(), "job:4%202");
///     assert_eq!(job.placed(Layout::Cluster), "{emails}job:4%202");
///     Ok(())
/// }
/// ```
///
/// A declaration that contradicts itself does not compile. Here the placeholder is not the part:
///
/// ```compile_fail,E0080
/// mod keys {
///     use keyrack_keys::declare::*;
///
///     keys! {
///         owner = "shop", origin = Added;
///
///         /// What a user wants to buy.
///         basket(user_sub: UserSub) = "basket:<user>" => set(Text.means("an article")),
///             ttl = Ttl::Within(3_600), example = "basket:alice";
///     }
/// }
/// ```
#[macro_export]
macro_rules! keys {
    (
        $($default:ident = $default_value:expr),+;
        $(
            $(#[doc = $prose:literal])+
            $name:ident($($part:ident: $kind:ty),*) $(in $shard:ident: $shard_kind:ty)? = $template:literal
                => $content:expr
                $(, $clause:ident = $value:expr)*;
        )+
    ) => {
        const DEFAULTS: $crate::Family = $crate::Family { $($default: $default_value,)+ ..$crate::Family::BLANK };

        /// Every family and channel declared here.
        pub static FAMILIES: &[&$crate::Family] = &[$(&$name::FAMILY),+];

        $(
            $(#[doc = $prose])+
            #[must_use]
            pub fn $name($($part: &$kind,)* $($shard: &$shard_kind)?) -> $crate::Key {
                $crate::Builder::new(&$name::FAMILY)$(.part($part))*$(.outside($shard))?.finish()
            }

            #[doc = concat!("The declaration of `", $template, "`.")]
            pub mod $name {
                use super::*;

                #[doc = concat!("`", $template, "`")]
                pub static FAMILY: $crate::Family = $crate::Family {
                    name: stringify!($name),
                    prose: concat!($($prose, "\n"),+),
                    template: $template,
                    parts: &[$($crate::Slot::of::<$kind>(stringify!($part))),*],
                    outside: &[$($crate::Slot::of::<$shard_kind>(stringify!($shard)))?],
                    content: $content,
                    $($clause: $value,)*
                    ..DEFAULTS
                }
                .checked();
            }
        )+
    };
}

/// Lists the fields of a hash: prose, name, encoding. `Optional(&…)` marks a field that may be absent.
#[macro_export]
macro_rules! fields {
    ($($(#[doc = $prose:literal])+ $name:ident: $encoding:expr),+ $(,)?) => {
        const {
            &[$($crate::Field { name: stringify!($name), prose: concat!($($prose, "\n"),+), encoding: $encoding }),+]
        }
    };
}
