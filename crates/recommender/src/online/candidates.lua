--[[
  Gathers posts that a user may like, and what is known about them.

  KEYS  1 parameters   2 contributions   3 pair   4 authors   5 popularity   6 showings   7 challenges   8 neighbours   9 weights
        10 categories...
  ARGV  1 user   2 n_newest   3 n_draws   4 n_of_draw   5 n_popular   6 n_of_liked   7 n_alike   8 n_of_alike   9 n_preferred
        10 values...
        The challenges that the user likes, then those followed, then as many random numbers from 0 to 1 as it takes:
        one and n_draws for each category; a draw gives n_of_draw posts that stand together. A list of challenges ends with an empty text.
  Derives challenge_posts(<challenge>) under the same hash tag.
  Returns day_index, the size of the ring, the number of categories, the user's days, the weights, the neighbours of liked
        challenges, then posts in columns: id, challenge, author, showings, likes, day; and challenges in columns: id, what it is
        like. The challenge of a post is its place among the challenges, and what a challenge is like the place of that in a third
        column, because many are described by the same words.
]]
local parameters, contributions, pair, authors, popularity = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local showings, challenges, neighbours, weights = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local n_newest, n_draws, n_of_draw, n_popular =
  tonumber(n_newest), tonumber(n_draws), tonumber(n_of_draw), tonumber(n_popular)
local n_of_liked, n_alike, n_of_alike, n_preferred =
  tonumber(n_of_liked), tonumber(n_alike), tonumber(n_of_alike), tonumber(n_preferred)
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

-- Challenges liked, followed, and like those liked.
local near = {}
local visited = {}
local function visit(challenge, n)
  if visited[challenge] then return false end
  visited[challenge] = true
  local newest = redis.call('ZREVRANGE', challenge_posts(challenge), 0, n - 1)
  for at = 1, #newest do challenge_of[take(newest[at])] = challenge end
  return true
end

local at = VALUES_AT
local liked = {}
while ARGV[at] ~= '' do
  visit(ARGV[at], n_of_liked)
  if #liked < n_preferred then liked[#liked + 1] = ARGV[at] end
  at = at + 1
end
if #liked > 0 then
  local lists = redis.call('HMGET', neighbours, unpack(liked))
  for place, list in ipairs(lists) do
    if list then
      near[#near + 1] = liked[place]
      near[#near + 1] = list
      local number = 0
      -- The first of each pair, without reading the whole list for the sake of a few.
      for challenge in string.gmatch(list, '%[%s*(%d+)') do
        number = number + 1
        if n_alike == 0 or number > 5 then break end
        if visit(challenge, n_of_alike) then n_alike = n_alike - 1 end
      end
    end
  end
end

-- Each category: a window of the newest days, and posts drawn from all days.
local share = at + 1
for number = 10, #KEYS do
  local category = KEYS[number]
  local size = redis.call('ZCARD', category)
  local wanted = n_newest
  for age = 0, ring - 1 do
    if wanted <= 0 or size == 0 then break end
    local slot = (index - age) % ring
    local of_day = redis.call('ZCOUNT', category, slot, slot)
    if of_day > 0 then
      -- By rank: to skip posts of a day would take longer the more there are.
      local first = redis.call('ZCOUNT', category, '-inf', '(' .. slot)
      local from = first + math.floor(tonumber(ARGV[share]) * math.max(0, of_day - wanted + 1))
      local last = math.min(from + wanted, first + of_day) - 1
      take_scored(redis.call('ZRANGE', category, from, last, 'WITHSCORES'), day_of)
      wanted = wanted - of_day
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

take_scored(redis.call('ZREVRANGE', popularity, 0, n_popular - 1, 'WITHSCORES'), likes_of)

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

-- From here on a challenge is its place among those that there are posts of.
local named, n_named, place_of_name = {}, 0, {}
for place = 1, n_posts do
  local challenge = challenge_of[place]
  if challenge then
    local at = place_of_name[challenge]
    if not at then
      at = n_named + 1
      n_named = at
      named[at], place_of_name[challenge] = challenge, at
    end
    challenge_of[place] = at
  end
end

local kind_of = {}
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
      category_of_kind[kind] = code and KEYS[10 + code]
    end
    kind_of[at] = kind
  end
end

-- Only the set of its category knows the day of a post that another source gave. A post that is in no set has none.
local dayless = {}
for number = 10, #KEYS do dayless[KEYS[number]] = {} end
for _, place in ipairs(gaps(day_of, n_posts)) do
  local kind = challenge_of[place] and kind_of[challenge_of[place]]
  local places = kind and dayless[category_of_kind[kind]]
  if places then places[#places + 1] = place end
end
for number = 10, #KEYS do fill(day_of, dayless[KEYS[number]], posts, 'ZMSCORE', KEYS[number]) end

return {
  index, ring, tonumber(known[4] or '5') or 5,
  redis.call('HGET', contributions, user) or '',
  redis.call('HGETALL', weights), near,
  { posts, challenge_of, author_of, shown_of, likes_of, day_of },
  { named, kind_of, kinds },
}
