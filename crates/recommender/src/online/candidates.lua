--[[
  Gathers posts that a user may like, and what is known about them.

  KEYS  1 parameters   2 contributions   3 pair   4 authors   5 popularity   6 showings   7 challenges   8 receptions   9 weights
        10 learned   11 categories...
  ARGV  1 user   2 wanted   3 n_newest   4 n_draws   5 n_of_draw   6 n_popular   7 n_of_chosen   8 n_good   9 n_of_good   10 values...
        wanted has a 1 for each category of which posts are wanted, and a 0 for any other; posts of chosen challenges always are.
        The challenges chosen for the user, then the posts that the user liked, then as many random numbers from 0 to 1 as it takes:
        one and n_draws for each category; a draw gives n_of_draw posts that stand together. Each list ends with an empty text.
  Derives challenge_posts(<challenge>) under the same hash tag.
  Returns day_index, the size of the ring, the number of categories, the user's days, the weights that were set, those learned
        and the likes by age, the authors of the liked posts, then posts in columns: id, challenge, author, showings, likes, day; and challenges in
        columns: id, what it is like, reception. The challenge of a post is its place among the challenges, and what a challenge is
        like the place of that in a fourth column, because many are described by the same words.
]]
local parameters, contributions, pair, authors, popularity = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local showings, challenges, receptions, weights, learned = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local CATEGORIES_AT = 11
local n_newest, n_draws, n_of_draw, n_popular =
  tonumber(n_newest), tonumber(n_draws), tonumber(n_of_draw), tonumber(n_popular)
local n_of_chosen, n_good, n_of_good = tonumber(n_of_chosen), tonumber(n_good), tonumber(n_of_good)
--- @include "challenge_posts"

-- As many arguments as Lua's stack surely holds.
local CHUNK = 500

local known = redis.call('HMGET', parameters, 'day_index', 'ring', 'max_post_age', 'distinct_category')
local index = tonumber(known[1] or '0') or 0
local ring = tonumber(known[2] or known[3] or '7') or 7

-- Posts by place, and what is known about each. Nothing is looked up that a source has told already: a look-up in a
-- large hash costs more than all else that is done for a post.
local posts, n_posts, place_of = {}, 0, {}
local challenge_of, day_of, likes_of = {}, {}, {}

-- The place of a post, which may be new.
local function take(post)
  local place = place_of[post]
  if not place then
    place = n_posts + 1
    n_posts = place
    posts[place], place_of[post] = post, place
    challenge_of[place], day_of[place], likes_of[place] = false, false, false
  end
  return place
end

-- Takes posts that stand in a list together with their scores, which belong into a column.
local function take_scored(list, column)
  for at = 1, #list, 2 do column[take(list[at])] = list[at + 1] end
end

local visited = {}
local function visit(challenge, n)
  if visited[challenge] then return false end
  visited[challenge] = true
  local newest = redis.call('ZREVRANGE', challenge_posts(challenge), 0, n - 1)
  for at = 1, #newest do challenge_of[take(newest[at])] = challenge end
  return true
end

-- A list of the arguments, and where the next one begins.
local function list(at)
  local names = {}
  while ARGV[at] ~= '' do
    names[#names + 1] = ARGV[at]
    at = at + 1
  end
  return names, at + 1
end

local chosen, liked, share
chosen, share = list(VALUES_AT)
for _, challenge in ipairs(chosen) do visit(challenge, n_of_chosen) end
liked, share = list(share)
local liked_authors = #liked > 0 and redis.call('HMGET', authors, unpack(liked)) or {}

-- Each category: a window of the newest days, and posts drawn from all days.
for number = CATEGORIES_AT, #KEYS do
  local category = KEYS[number]
  local is_wanted = string.sub(wanted, number - CATEGORIES_AT + 1, number - CATEGORIES_AT + 1) == '1'
  local size = is_wanted and redis.call('ZCARD', category) or 0
  local left = n_newest
  for age = 0, ring - 1 do
    if left <= 0 or size == 0 then break end
    local slot = (index - age) % ring
    local of_day = redis.call('ZCOUNT', category, slot, slot)
    if of_day > 0 then
      -- By rank: to skip posts of a day would take longer the more there are.
      local first = redis.call('ZCOUNT', category, '-inf', '(' .. slot)
      local from = first + math.floor(tonumber(ARGV[share]) * math.max(0, of_day - left + 1))
      local last = math.min(from + left, first + of_day) - 1
      take_scored(redis.call('ZRANGE', category, from, last, 'WITHSCORES'), day_of)
      left = left - of_day
    end
  end
  if size > 0 then
    for draw = 1, n_draws do
      -- It may begin before the first post, so that each is drawn as often as any other.
      local last = math.floor(tonumber(ARGV[share + draw]) * (size + n_of_draw - 1))
      local first = math.max(0, last - n_of_draw + 1)
      take_scored(redis.call('ZRANGE', category, first, last, 'WITHSCORES'), day_of)
    end
  end
  share = share + 1 + n_draws
end

local popular = string.find(wanted, '1') and redis.call('ZREVRANGE', popularity, 0, n_popular - 1, 'WITHSCORES') or {}
take_scored(popular, likes_of)
-- The challenges of the most popular posts have new posts too.
if #popular > 0 and n_good > 0 then
  local first = {}
  for at = 1, math.min(#popular, 4 * n_good), 2 do first[#first + 1] = popular[at] end
  for _, challenge in ipairs(redis.call('HMGET', pair, unpack(first))) do
    if n_good == 0 then break end
    if challenge and visit(challenge, n_of_good) then n_good = n_good - 1 end
  end
end

-- Fills places of a column by a command that takes many names.
local function fill(column, places, names, command, key)
  local n_places = #places
  for from = 1, n_places, CHUNK do
    local n = math.min(CHUNK, n_places - from + 1)
    local some = {}
    for at = 1, n do some[at] = names[places[from + at - 1]] end
    local found = redis.call(command, key, unpack(some))
    for at = 1, n do column[places[from + at - 1]] = found[at] end
  end
end

local function gaps(column, n_names)
  local places, n = {}, 0
  for place = 1, n_names do
    if not column[place] then
      n = n + 1
      places[n] = place
    end
  end
  return places
end

local author_of, shown_of = {}, {}
fill(challenge_of, gaps(challenge_of, n_posts), posts, 'HMGET', pair)
fill(author_of, gaps(author_of, n_posts), posts, 'HMGET', authors)
fill(shown_of, gaps(shown_of, n_posts), posts, 'HMGET', showings)
fill(likes_of, gaps(likes_of, n_posts), posts, 'ZMSCORE', popularity)

-- From here on a challenge is its place among those that were chosen or that there are posts of.
local named, n_named, place_of_name = {}, 0, {}
local function name(challenge)
  local at = place_of_name[challenge]
  if not at then
    at = n_named + 1
    n_named = at
    named[at], place_of_name[challenge] = challenge, at
  end
  return at
end
for place = 1, n_posts do
  local challenge = challenge_of[place]
  if challenge then challenge_of[place] = name(challenge) end
end
for _, challenge in ipairs(chosen) do name(challenge) end

local kind_of, reception_of = {}, {}
fill(reception_of, gaps(reception_of, n_named), named, 'HMGET', receptions)
fill(kind_of, gaps(kind_of, n_named), named, 'HMGET', challenges)
local kinds, place_of_kind, category_of_kind = {}, {}, {}
for at = 1, n_named do
  local info = kind_of[at]
  if info then
    local kind = place_of_kind[info]
    if not kind then
      kind = #kinds + 1
      kinds[kind], place_of_kind[info] = info, kind
      local code = tonumber(string.match(info, '^%s*(%d+)'))
      category_of_kind[kind] = code and KEYS[CATEGORIES_AT + code]
    end
    kind_of[at] = kind
  end
end

-- Only the set of its category knows the day of a post that another source gave. A post that is in no set has none.
local dayless = {}
for number = CATEGORIES_AT, #KEYS do dayless[KEYS[number]] = {} end
for _, place in ipairs(gaps(day_of, n_posts)) do
  local kind = challenge_of[place] and kind_of[challenge_of[place]]
  local places = kind and dayless[category_of_kind[kind]]
  if places then places[#places + 1] = place end
end
for number = CATEGORIES_AT, #KEYS do fill(day_of, dayless[KEYS[number]], posts, 'ZMSCORE', KEYS[number]) end

return {
  index, ring, tonumber(known[4] or '5') or 5,
  redis.call('HGET', contributions, user) or '',
  redis.call('HGETALL', weights), redis.call('HMGET', learned, 'known', 'new', 'likes_by_age'), liked_authors,
  { posts, challenge_of, author_of, shown_of, likes_of, day_of },
  { named, kind_of, reception_of, kinds },
}
