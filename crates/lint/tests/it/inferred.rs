use keyrack_keys::declare::*;

parts! {
    /// What stands in `cart:<cart>:items`.
    number CartId 0..=u64::MAX;
    /// What stands in `seen:<seen>`.
    text SeenId;
    /// What stands in `session:<session>`.
    text SessionId;
    /// What stands in `user:<user>`.
    number UserId 0..=u64::MAX;
    /// What stands in `stock:warehouse<warehouse>`.
    number WarehouseId 0..=u64::MAX;
}

keys! {
    owner = "inferred", origin = Added;

    /// Purpose not known; 12 keys found.
    cart_items(cart: CartId) = "cart:<cart>:items"
        => sorted_set(Text.means("such as `sku-0`"), UnixMs.means("such as `1667950000123`")),
        removed = "not known",
        example = "cart:10:items";

    /// Purpose not known; 1 key found.
    mail_outbox() = "mail:outbox"
        => list(Text.means("such as `hello`")),
        removed = "not known",
        example = "mail:outbox";

    /// Purpose not known; 12 keys found.
    seen(seen: SeenId) = "seen:<seen>"
        => set(COUNT.means("such as `1`")),
        removed = "not known",
        example = "seen:bbb";

    /// Purpose not known; 12 keys found.
    session(session: SessionId) = "session:<session>"
        => string(Json(&json::Object(&[("admin", json::Bool), ("user", json::Number)])).means("such as `{\"user\":1,\"admin\":true}`")),
        ttl = Ttl::Within(1_800),
        example = "session:0000000000000001000000000000feed";

    /// Purpose not known; 3 keys found.
    stock_warehouse(warehouse: WarehouseId) = "stock:warehouse<warehouse>"
        => map(Text.means("such as `sku-1`"), Integer { min: i64::MIN as i128, max: i64::MAX as i128 }.means("such as `-4`")),
        removed = "not known",
        example = "stock:warehouse0";

    /// Purpose not known; 1 key found.
    user_count() = "user:count"
        => string(COUNT.means("such as `12`")),
        removed = "not known",
        example = "user:count";

    /// Purpose not known; 12 keys found.
    user(user: UserId) = "user:<user>"
        => hash(fields! {
            /// Such as `1667950001`.
            created_at: UnixSeconds,
            /// Such as `u10@example.com`.
            email: Text,
            /// Such as `u1`.
            name: Text,
            /// Such as `555`.
            phone: Optional(&COUNT),
            /// Such as `free`.
            plan: Words(&["free", "paid"]),
        }),
        removed = "not known",
        example = "user:1";
}

// Cannot be declared, as keyrack has no such type or name: stream `events`.
