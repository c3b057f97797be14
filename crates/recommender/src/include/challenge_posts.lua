-- The key of a challenge's posts, under the tag of pair. A test compares it with the declaration.
local function challenge_posts(challenge)
  return string.sub(pair, 1, -#'post_clg_pair' - 1) .. 'clg' .. challenge .. 'posts'
end
