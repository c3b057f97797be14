//! The declaration of a key family: everything that is known about keys of one name template.

mod checked;
mod referent;

pub use referent::{LateFamily, Referent};

use crate::encoding::Encoding;
use crate::part::{Kind, Part};

/// The most parts a name may have, an outside shard included.
pub(crate) const PARTS_MAX: usize = 8;

/// One declared family of keys, or one family of pub/sub channels.
///
/// Made by [`keys!`](crate::keys) only; its clauses are these fields.
#[derive(Debug)]
pub struct Family {
    /// The builder's name, e.g. `queue`.
    pub name: &'static str,
    /// The crate that owns the family, and the module inside it where there are several: `jobs.bee`.
    pub owner: &'static str,
    /// What the keys are for, who writes them and when.
    pub prose: &'static str,
    /// The documented name, placeholders in angle brackets: `bee:ss:queue:<queue>`.
    pub template: &'static str,
    /// The placeholders, in the order in which they stand in the name.
    pub parts: &'static [Slot],
    /// The shard that is not part of the name: none, or one.
    pub outside: &'static [Slot],
    /// What decides the cluster slot, unless [`Family::outside`] does.
    pub shard: Shard,
    /// Redis type and what is in it.
    pub content: Content,
    /// Whether the keys expire.
    pub ttl: Ttl,
    /// Who takes keys or members away when they do not simply expire.
    pub removed: &'static str,
    /// Which numbered database holds the keys.
    pub database: Database,
    /// Where the declaration comes from.
    pub origin: Origin,
    /// How a key is known to belong to the family.
    pub known_by: KnownBy,
    /// A key of the family under its documented name.
    pub example: &'static str,
    /// Whether only admins may see the keys at all: their names tell of tokens, or what is in them is about people only.
    /// Single values are marked by [`Encoding::Secret`].
    pub secret: bool,
    /// Where the keys of a hash have to be named, by what stands in one of their fields.
    pub listed: &'static [Listed],
    /// What has to stand in a field of the keys that members name.
    pub holds: Option<Holds>,
    /// Whether a hash may have more fields than are declared.
    pub open: bool,
    /// The people who answer for the keys.
    pub team: &'static str,
    /// The programs that write the keys.
    pub writers: &'static [&'static str],
    /// The programs that only read the keys.
    pub readers: &'static [&'static str],
    /// The most items, members, fields or entries of one key.
    pub items_max: Option<u64>,
    /// The most bytes of one string.
    pub bytes_max: Option<u64>,
}

/// Keys that have to be named elsewhere, because nobody would find or remove them otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// The field that decides.
    pub field: &'static str,
    /// With one of these words in the field, the key has to be named.
    pub words: &'static [&'static str],
    /// One of these has to name it. Their parts are the key's own part or its fields of the same names.
    pub by: &'static [By],
    /// Whether a key that expires need not be named.
    pub unless_expiring: bool,
}

/// How a key is named elsewhere. A function, because such families refer to the key's own.
#[derive(Clone, Copy)]
pub enum By {
    /// By a member of a set or sorted set, or by a word in a value of a hash.
    Entry(fn() -> &'static Family),
    /// By a key with the same id.
    Key(fn() -> &'static Family),
    /// As [`By::Entry`], from a file.
    LateEntry(&'static LateFamily),
    /// As [`By::Key`], from a file.
    LateKey(&'static LateFamily),
}

/// What has to stand in a field of the hashes that members name.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// The field, which every such hash has.
    pub field: &'static str,
    /// One of these words stands in it.
    pub words: &'static [&'static str],
}

/// A named place in a key, and the kind of part that fills it.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The placeholder's name.
    pub name: &'static str,
    /// What may stand there.
    pub kind: Kind,
}

impl Slot {
    /// A place for a part of that type.
    #[doc(hidden)]
    pub const fn of<P: Part>(name: &'static str) -> Self {
        Self { name, kind: P::KIND }
    }
}

/// What decides in which cluster slot a key lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shard {
    /// The whole name: the key shares its slot with no other.
    Whole,
    /// The part of that name, tagged in place: `trace:{alice}:import:42`.
    Part(&'static str),
    /// A word of the fixed name, tagged in place: `r{jobs}:hash`.
    Word(&'static str),
    /// A fixed tag in front of the name: `{recommender}rs_param`.
    Front(&'static str),
}

/// Whether a key expires. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// It never has a TTL.
    Never,
    /// It always has a TTL, of at most so many seconds.
    Within(u64),
    /// It always has a TTL; how long is a user's setting.
    Required,
    /// It has a TTL during the last part of its life.
    Optional,
    /// It has a TTL only in the case that these words describe.
    When(&'static str),
    /// The declaration does not say.
    Undeclared,
}

/// The numbered database in which a family lives on a server with databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    /// The one that the store's address names.
    Main,
    /// The account's own, from 100 up.
    Account,
    /// The one of this number.
    Number(u16),
}

/// Where a declaration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The key documents of these numbers.
    Document(&'static [&'static str]),
    /// The original program uses it beside its document, and so does keyrack.
    Original,
    /// Only the original program writes it. keyrack must never do so.
    Foreign,
    /// A key of keyrack's own.
    Added,
    /// A keys file of another program.
    File,
}

/// How a key is known to belong to a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// Its name is enough.
    Name,
    /// The name is of a common form such as `a:b:c:1`, so keys of other programs can have it. A key belongs to the
    /// family only if its database or hash tag is that of a known account and its type and content fit: a hash has one
    /// of these fields, the members of a set can be read.
    Content(&'static [&'static str]),
}

/// The Redis type of a family and what its values look like.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A string.
    String(Value),
    /// A list; all items alike.
    List(Value),
    /// A set; all members alike.
    Set(Value),
    /// A sorted set.
    SortedSet {
        /// What its members are.
        member: Value,
        /// What its scores are.
        score: Value,
    },
    /// A hash with a fixed set of fields.
    Hash(&'static [Field]),
    /// A hash with one field for each of something.
    Map {
        /// What the fields are.
        field: Value,
        /// What their values are.
        value: Value,
    },
    /// A stream, whose entries have these fields.
    Stream(&'static [Field]),
    /// A string of bits; the prose says what each bit stands for.
    Bitmap(Value),
    /// A HyperLogLog; the prose says what it counts.
    HyperLogLog(Value),
    /// No key but a pub/sub channel; all messages alike.
    Channel(Value),
}

/// How a value is written, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// How it is written.
    pub encoding: Encoding,
    /// What it means.
    pub prose: &'static str,
}

/// A named field of a hash.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub prose: &'static str,
    /// How its value is written.
    pub encoding: Encoding,
}

impl Listed {
    /// Does it take this field of the key to know where it has to be named?
    pub fn needs(&self, field: &str) -> bool {
        self.field == field
            || self.by.iter().any(|by| by.family().parts.iter().any(|slot| slot.name == field))
    }
}

impl By {
    /// The family that names the key.
    pub fn family(&self) -> &'static Family {
        match self {
            Self::Entry(family) | Self::Key(family) => family(),
            Self::LateEntry(late) | Self::LateKey(late) => late.family(),
        }
    }

    /// Does a key of that family name it by its mere existence?
    pub fn is_key(&self) -> bool {
        matches!(self, Self::Key(_) | Self::LateKey(_))
    }
}

impl Field {
    /// May the field be absent?
    pub const fn optional(&self) -> bool {
        matches!(self.encoding, Encoding::Optional(_))
    }
}

impl Content {
    /// The type as the TYPE command names it; `channel` for a channel.
    pub const fn redis_type(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::SortedSet { .. } => "zset",
            Self::Hash(_) | Self::Map { .. } => "hash",
            Self::Stream(_) => "stream",
            Self::Bitmap(_) | Self::HyperLogLog(_) => "string",
            Self::Channel(_) => "channel",
        }
    }
}

/// A string that holds `value`.
pub const fn string(value: Value) -> Content {
    Content::String(value)
}

/// A list of `item`s.
pub const fn list(item: Value) -> Content {
    Content::List(item)
}

/// A set of `member`s.
pub const fn set(member: Value) -> Content {
    Content::Set(member)
}

/// A sorted set of `member`s ordered by `score`.
pub const fn sorted_set(member: Value, score: Value) -> Content {
    Content::SortedSet { member, score }
}

/// A hash with these `fields`.
pub const fn hash(fields: &'static [Field]) -> Content {
    Content::Hash(fields)
}

/// A hash from `field` to `value`.
pub const fn map(field: Value, value: Value) -> Content {
    Content::Map { field, value }
}

/// A channel that carries `message`s.
pub const fn channel(message: Value) -> Content {
    Content::Channel(message)
}

impl Family {
    /// The declaration before anything is declared.
    #[doc(hidden)]
    pub const BLANK: Self = Self {
        name: "",
        owner: "",
        prose: "",
        template: "",
        parts: &[],
        outside: &[],
        shard: Shard::Whole,
        content: Content::String(Value { encoding: Encoding::Text, prose: "" }),
        ttl: Ttl::Never,
        removed: "",
        database: Database::Main,
        origin: Origin::Added,
        known_by: KnownBy::Name,
        example: "",
        secret: false,
        listed: &[],
        holds: None,
        open: false,
        team: "",
        writers: &[],
        readers: &[],
        items_max: None,
        bytes_max: None,
    };

    /// The name that no other family has: `jobs.bee.queue`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.owner, self.name)
    }

    /// Is it a family of channels rather than of keys?
    pub const fn is_channel(&self) -> bool {
        matches!(self.content, Content::Channel(_))
    }

    /// Is there anything about its keys that only admins may see?
    pub fn has_secrets(&self) -> bool {
        self.secret || self.content.rows().iter().any(|row| row.secret)
    }

    /// Do its names carry a hash tag on a cluster?
    pub const fn tagged(&self) -> bool {
        !self.outside.is_empty() || !matches!(self.shard, Shard::Whole)
    }

    /// Can keys of other programs have names of this family?
    pub const fn is_ambiguous(&self) -> bool {
        matches!(self.known_by, KnownBy::Content(_))
    }

    /// The crate that owns the family.
    pub fn owner_crate(&self) -> &'static str {
        self.owner.split('.').next().unwrap_or(self.owner)
    }
}
