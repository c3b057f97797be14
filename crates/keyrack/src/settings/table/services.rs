//! Settings of entitlements, files, journeys, the recommender, updates and webhooks.

use super::{FlagScope, Setting};

pub(crate) static ENTITLEMENTS: Setting = Setting {
    key: "entitlements",
    value_name: "NAMES",
    help: "Names of the entitlements, separated by commas; the checkout sells the first",
    default: Some("pro"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static REVENUE_CAT_URL: Setting = Setting {
    key: "revenue-cat-url",
    value_name: "URL",
    help: "Base URL of RevenueCat",
    default: Some("https://api.revenuecat.com"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static REVENUE_CAT_KEY: Setting = Setting {
    key: "revenue-cat-key",
    value_name: "TEXT",
    help: "Secret API key of the RevenueCat project",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static REVENUE_CAT_STRIPE_KEY: Setting = Setting {
    key: "revenue-cat-stripe-key",
    value_name: "TEXT",
    help: "Public key of the RevenueCat project's Stripe app",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static STRIPE_URL: Setting = Setting {
    key: "stripe-url",
    value_name: "URL",
    help: "Base URL of Stripe",
    default: Some("https://api.stripe.com"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static STRIPE_KEY: Setting = Setting {
    key: "stripe-key",
    value_name: "TEXT",
    help: "Secret API key of the Stripe account",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static STRIPE_PRICE: Setting = Setting {
    key: "stripe-price",
    value_name: "ID",
    help: "Id of the Stripe price that the checkout sells",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static STRIPE_WEBHOOK_SECRET: Setting = Setting {
    key: "stripe-webhook-secret",
    value_name: "TEXT",
    help: "Secret that verifies Stripe webhooks",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static FRONTEND_URL: Setting = Setting {
    key: "frontend-url",
    value_name: "URL",
    help: "Base URL of the site to which buyers return",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static CHECKOUT_PATHS: Setting = Setting {
    key: "checkout-paths",
    value_name: "PATHS",
    help: "Paths of that site to which buyers may return, separated by commas",
    default: Some("/admin"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static FILES: Setting = Setting {
    key: "files",
    value_name: "URL",
    help: "Where uploaded files are: file:DIR, s3: or s3:https://HOST, with credentials in AWS_* variables",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static FILES_SWEEP: Setting = Setting {
    key: "files-sweep",
    value_name: "CRON|off",
    help: "When to delete files that are due: a cron expression in UTC",
    default: Some("*/10 * * * *"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static JOURNEY_SECRET: Setting = Setting {
    key: "journey-secret",
    value_name: "TEXT",
    help: "Secret that signs the tickets for journeys",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static JOURNEY_ISSUER: Setting = Setting {
    key: "journey-issuer",
    value_name: "TEXT",
    help: "Issuer (\"iss\") of the tickets for journeys; their audience (\"aud\") is TEXT-journey",
    default: Some(keyrack_journeys::DEFAULT_ISSUER),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_FROM: Setting = Setting {
    key: "recommend-from",
    value_name: "URL|DIR",
    help: "Tables of the app whose posts are recommended: sqlite:FILE, postgres://…, mysql://… or a folder",
    default: None,
    flag: FlagScope::None,
    // A database's URL may hold a password.
    secret: true,
};

pub(crate) static RECOMMEND_RENAME: Setting = Setting {
    key: "recommend-rename",
    value_name: "NAMES",
    help: "Names of the app's tables and columns, separated by commas: post=posts,post.written_text=body",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_MAP: Setting = Setting {
    key: "recommend-map",
    value_name: "FILE",
    help: "File that says which tables of the app have items, groups and feedback",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_ZONE: Setting = Setting {
    key: "recommend-zone",
    value_name: "ZONE",
    help: "Time zone that defines a day for recommendations",
    default: Some("UTC"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_DATABASE_ZONE: Setting = Setting {
    key: "recommend-database-zone",
    value_name: "ZONE",
    help: "Time zone of timestamps in the tables that have none",
    default: Some("UTC"),
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static RECOMMEND_BREAK_TEXT: Setting = Setting {
    key: "recommend-break-text",
    value_name: "TEXT",
    help: "Text of posts that only announce a break, and are not recommended; case and punctuation are ignored",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static DEPLOY_SECRET: Setting = Setting {
    key: "deploy-secret",
    value_name: "TEXT",
    help: "Secret that allows announcing updates of repositories over HTTP",
    default: None,
    flag: FlagScope::None,
    secret: true,
};

pub(crate) static DEPLOY_REPOS: Setting = Setting {
    key: "deploy-repos",
    value_name: "NAMES",
    help: "Repositories that may be announced over HTTP, separated by commas; needed with deploy-secret",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};

pub(crate) static WEBHOOKS_ALLOW_PRIVATE: Setting = Setting {
    key: "webhooks-allow-private",
    value_name: "LIST",
    help: "Private addresses, networks and hosts that webhooks may call, separated by commas: 10.1.0.0/16,hooks.internal",
    default: None,
    flag: FlagScope::Serve,
    secret: false,
};
