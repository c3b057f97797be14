//! Every key of the recommender.
//!
//! The nightly load writes what all users share, and on a cluster that lies in one slot; what belongs to a user lies in
//! the user's. Category codes count from 0, the numbers in key names from 1.

use keyrack_keys::declare::*;

parts! {
    /// A category of challenges: its code plus one.
    number CategoryNumber 1..=5;
    /// A user of the app.
    text UserId;
}

const POST: Encoding = COUNT;
const CHALLENGE: Encoding = COUNT;

/// The tag of everything that all users share.
const SHARED: Shard = Shard::Front("recommender");

keys! {
    owner = "recommender", origin = Document(&["004"]), shard = SHARED;

    /// The recommender's settings and its day counter. The nightly load moves `day_index` on.
    parameters() = "rs_param"
        => hash(fields! {
            /// How many days a post may be recommended; 7 if absent.
            max_post_age: Optional(&POSITIVE),
            /// How many categories there are; 5 if absent.
            distinct_category: Optional(&POSITIVE),
            /// The day of the latest load, from 0 to `max_post_age` - 1 and round again; absent before the first.
            day_index: Optional(&COUNT),
        }),
        removed = "never",
        example = "rs_param";

    /// How many rows each table had at the last load.
    table_lengths() = "db_len"
        => hash(fields! {
            /// Challenges.
            clg: Optional(&COUNT),
            /// Members of challenges.
            mmbr: Optional(&COUNT),
            /// Posts.
            post: Optional(&COUNT),
            /// Reactions.
            reaction: Optional(&COUNT),
            /// Who follows whom.
            tracking: Optional(&COUNT),
        }),
        removed = "never",
        example = "db_len";

    /// The posts of a category that may be recommended. Written by the nightly load.
    recent_posts(category: CategoryNumber) = "recent_posts_for_category<category>"
        => sorted_set(POST.means("the post"), COUNT.means("the `day_index` of the load that added it")),
        removed = "the load takes out posts whose day comes round again",
        example = "recent_posts_for_category1";

    /// The challenges that are going on. Written by the nightly load.
    challenges() = "on_clg_info"
        => map(
            CHALLENGE.means("the challenge"),
            Tuple(fields! {
                /// Category code, from 0.
                category: COUNT,
                /// Whether everybody may see it; written as `1` or `0`.
                is_public: Words(&["1", "0", "True", "False", "true", "false"]),
                /// Planned length in days.
                duration: COUNT,
                /// Planned last day.
                finished_date: Like(&["0000-00-00"]),
            }).means("what is known about it"),
        ),
        removed = "the load drops a challenge when none of its posts can be recommended any more",
        example = "on_clg_info";

    /// How many days each user has given to each category. Written by the nightly load.
    contributions() = "user_contribution"
        => map(Id(&UserId::KIND).means("the user"), List(&COUNT, 5).means("days for each category code from 0 to 4")),
        removed = "never",
        example = "user_contribution";

    /// Which challenge a post belongs to, for posts that may be recommended. Written by the nightly load.
    post_challenges() = "post_clg_pair"
        => map(POST.means("the post"), CHALLENGE.means("its challenge")),
        removed = "the load takes out posts that leave their category",
        example = "post_clg_pair";

    /// The posts a user has reacted to; they are not recommended again. Written by the nightly load.
    liked_posts(user_id: UserId) = "<user_id>_liked_posts"
        => set(POST.means("a post")),
        shard = Shard::Part("user_id"),
        removed = "the load drops posts that can no longer be recommended",
        example = "123_liked_posts";

    /// How much a user cares for each challenge.
    /// Written by the nightly load: more for a reaction, less for one taken back.
    preferences(user_id: UserId) = "<user_id>_clgs_preference"
        => sorted_set(CHALLENGE.means("the challenge"), Float.means("reactions, those taken back counting less")),
        shard = Shard::Part("user_id"),
        removed = "challenges that have ended are dropped when they are met",
        example = "123_clgs_preference";
}
