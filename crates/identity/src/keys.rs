//! Every key of identity.

use keyrack_keys::declare::*;

keys! {
    owner = "identity", origin = Document(&["000", "001"]);

    /// The public keys with which tokens are signed, as the identity provider published them.
    ///
    /// Written after a fetch; when it has expired the next token causes another.
    jwks() = "cognito:jwks"
        => string(Json(&json::Array(&json::Map(&json::Any))).means("the `keys` of the provider's key set")),
        ttl = Ttl::Within(3_600),
        example = "cognito:jwks";
}
