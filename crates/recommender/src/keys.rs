//! Every key of the recommender.
//!
//! What all users share lies in one slot of a cluster, and what belongs to a user in the user's. Category codes count from 0,
//! the numbers in key names from 1.

use keyrack_keys::declare::*;

parts! {
    /// A category of challenges: its code plus one.
    number CategoryNumber 1..=5;
    /// A user of the app.
    text UserId;
    /// A challenge.
    number ChallengeId 0..=9_007_199_254_740_991;
}

const POST: Encoding = COUNT;
const CHALLENGE: Encoding = COUNT;

const INTERVAL: json::Schema =
    json::Object(&[("value", json::Number), ("low", json::Number), ("high", json::Number)]);

const MEASURED: json::Schema = json::Object(&[
    ("name", json::String),
    ("scores", json::Map(&json::Number)),
    ("ndcg", INTERVAL),
    ("coverage", json::Number),
]);

const ADOPTED: json::Schema = json::Object(&[
    ("adopted_at_ms", json::Number),
    (
        "evaluation",
        json::Object(&[
            ("users", json::Number),
            ("left_out", json::Number),
            ("measured", json::Array(&MEASURED)),
            ("ratio", INTERVAL),
            ("weights", json::Array(&json::Number)),
        ]),
    ),
]);

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
            /// The calendar day of the latest load. Added by keyrack.
            last_run: Optional(&Like(&["0000-00-00"])),
            /// The `max_post_age` by which the days were counted at the latest load. Added by keyrack.
            ring: Optional(&POSITIVE),
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

    /// The posts of a category that may be recommended. Written by the nightly load, and at once for a post that is told.
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
        removed = "the load drops challenges that are no longer going on",
        example = "123_clgs_preference";

    /// How far the load has read tables that only grow: the highest id of each.
    watermarks() = "rs_watermark"
        => hash(fields! {
            /// Posts.
            post: Optional(&COUNT),
            /// Reactions.
            reaction: Optional(&COUNT),
            /// Present while the first load reads posts: those are dated by when they were written.
            filling: Optional(&Words(&["1"])),
        }),
        origin = Added,
        removed = "a rebuild",
        example = "rs_watermark";

    /// Users who have keys of their own. A user enters before the first of them is written.
    users() = "rs_users"
        => set(Id(&UserId::KIND).means("the user")),
        origin = Added,
        removed = "a rebuild",
        example = "rs_users";

    /// Days on which users had a break instead of posting; they are taken off `user_contribution`.
    breaks() = "rs_breaks"
        => map(Id(&UserId::KIND).means("the user"), List(&COUNT, 5).means("breaks for each category code from 0 to 4")),
        origin = Added,
        removed = "a rebuild",
        example = "rs_breaks";

    /// Reactions that were told at once and that the load has still to read: it must not count them again.
    told_reactions() = "rs_told"
        => sorted_set(COUNT.means("the reaction"), COUNT.means("the same")),
        origin = Added,
        removed = "the load, when it has read so far",
        example = "rs_told";

    /// Who wrote a post, for posts that may be recommended. Written together with `post_clg_pair`.
    authors() = "post_author"
        => map(POST.means("the post"), Id(&UserId::KIND).means("its author")),
        origin = Added,
        removed = "together with the post",
        example = "post_author";

    /// How many likes a post has, those taken back not counted; for posts that may be recommended.
    popularity() = "post_popularity"
        => sorted_set(POST.means("the post"), COUNT.means("likes")),
        origin = Added,
        removed = "together with the post",
        example = "post_popularity";

    /// How often a post was shown, for posts that may be recommended.
    showings() = "post_shown"
        => map(POST.means("the post"), POSITIVE.means("how often")),
        origin = Added,
        removed = "together with the post",
        example = "post_shown";

    /// The posts of a challenge that may be recommended: `post_clg_pair` the other way round.
    challenge_posts(challenge: ChallengeId) = "clg<challenge>posts"
        => sorted_set(POST.means("the post"), COUNT.means("the same, so that the newest is last")),
        origin = Added,
        removed = "posts leave it together with their category",
        example = "clg111posts";

    /// Challenges that please the same users: the item-to-item model. Made anew by each load.
    neighbours() = "clg_neighbours"
        => map(
            CHALLENGE.means("the challenge"),
            Json(&json::Array(&json::Array(&json::Number))).means("the challenges that a reaction to it speaks for, the strongest first, each with its weight from 0 to 1"),
        ),
        origin = Added,
        removed = "the load drops challenges that are no longer going on",
        example = "clg_neighbours";

    /// How the posts of a challenge were received, those that may be recommended. Made anew by each load.
    receptions() = "clg_reception"
        => map(
            CHALLENGE.means("the challenge"),
            Tuple(fields! {
                /// Its posts.
                posts: COUNT,
                /// Their likes.
                likes: COUNT,
                /// The likes that as many posts of the same ages have on average.
                expected: Float,
                /// How often they were shown.
                showings: COUNT,
            }).means("all posts together"),
        ),
        origin = Added,
        removed = "the load drops challenges without posts",
        example = "clg_reception";

    /// How much each signal counts, as the first load of each day learns it from what users were shown and liked.
    learned() = "rs_learned"
        => hash(fields! {
            /// The calendar day of the latest load that learned.
            day: Like(&["0000-00-00"]),
            /// The mean likes of a post by its age, from 0 nights on. Made anew by each load.
            likes_by_age: Optional(&Json(&json::Array(&json::Number))),
            /// The weights for users who have reacted.
            known: Optional(&Json(&json::Map(&json::Number))),
            /// How sure they are: a matrix row by row, in the order of the signals in the guide.
            known_precision: Optional(&Json(&json::Array(&json::Number))),
            /// The weights for users who have not.
            new: Optional(&Json(&json::Map(&json::Number))),
            /// How sure they are.
            new_precision: Optional(&Json(&json::Array(&json::Number))),
        }),
        origin = Added,
        removed = "a rebuild",
        example = "rs_learned";

    /// How much each signal counts when posts are ranked; what is absent counts as learned, or as built in. Written by whoever sets weights.
    weights() = "rs_weights"
        => map(Text.means("the signal"), Float.means("its weight")),
        origin = Added,
        removed = "never",
        example = "rs_weights";

    /// What was found when the weights in force were learned. Written together with `rs_weights`.
    evaluation() = "rs_evaluation"
        => string(Json(&ADOPTED).means("since when they are in force, and how good lists were beside simple ones")),
        origin = Added,
        removed = "never",
        example = "rs_evaluation";

    /// The latest reactions that were counted for a user, so that none is counted twice when a load is repeated.
    counted(user_id: UserId) = "<user_id>_counted_reactions"
        => sorted_set(COUNT.means("the reaction"), COUNT.means("the same")),
        origin = Added,
        shard = Shard::Part("user_id"),
        removed = "the load, when it has read so far",
        example = "123_counted_reactions";

    /// The challenges a user follows. Written by the nightly load.
    follows(user_id: UserId) = "<user_id>_followed_clgs"
        => set(CHALLENGE.means("the challenge")),
        origin = Added,
        shard = Shard::Part("user_id"),
        removed = "the load, when the user follows it no more or it is no longer going on",
        example = "123_followed_clgs";

    /// The posts that a user was shown; they come again only when there is nothing else.
    shown_posts(user_id: UserId) = "<user_id>_shown_posts"
        => sorted_set(POST.means("the post"), UnixMs.means("when it was shown last")),
        origin = Added,
        shard = Shard::Part("user_id"),
        removed = "the load drops posts that can no longer be recommended",
        example = "123_shown_posts";

    /// The posts that a user wants to see no more.
    hidden_posts(user_id: UserId) = "<user_id>_hidden_posts"
        => set(POST.means("the post")),
        origin = Added,
        shard = Shard::Part("user_id"),
        removed = "the load drops posts that can no longer be recommended",
        example = "123_hidden_posts";

    /// The users whose posts a user does not want to see.
    blocked_users(user_id: UserId) = "<user_id>_blocked_users"
        => set(Id(&UserId::KIND).means("the other user")),
        origin = Added,
        shard = Shard::Part("user_id"),
        removed = "when the user takes it back",
        example = "123_blocked_users";
}
