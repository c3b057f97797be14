--[[
  Gathers posts that a user may like, and what is known about them.

  KEYS  1 parameters   2 contributions   3 pair   4 authors   5 popularity   6 showings   7 challenges   8 neighbours   9 weights
        10 categories...
  ARGV  1 user   2 n_newest   3 n_draws   4 n_of_draw   5 n_popular   6 n_of_challenge   7 n_alike   8 n_preferred   9 values...
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
  tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local n_of_challenge, n_alike, n_preferred = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
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
local function visit(challenge)
  if visited[challenge] then return false end
  visited[challenge] = true
  local newest = redis.call('ZREVRANGE', challenge_posts(challenge), 0, n_of_challenge - 1)
  for at = 1, #newest do challenge_of[take(newest[at])] = challenge end
  return true
end

local at = 9
local liked = {}
while ARGV[at] ~= '' do
  visit(ARGV[at])
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
        if visit(challenge) then n_alike = n_alike - 1 end
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

-- Fills the gaps of a column by a command that takes many names; with a code, the gaps of the posts of that category.
local code_of = {}
local function fill(column, names, n_names, command, key, code)
  local some, places, n = {}, {}, 0
  for place = 1, n_names do
    if not column[place] and (not code or code_of[place] == code) then
      n = n + 1
      some[n], places[n] = names[place], place
    end
    if n == CHUNK or (n > 0 and place == n_names) then
      local found = redis.call(command, key, unpack(some, 1, n))
      for at = 1, n do column[places[at]] = found[at] end
      n = 0
    end
  end
end

local author_of, shown_of = {}, {}
fill(challenge_of, posts, n_posts, 'HMGET', pair)
fill(author_of, posts, n_posts, 'HMGET', authors)
fill(shown_of, posts, n_posts, 'HMGET', showings)
fill(likes_of, posts, n_posts, 'ZMSCORE', popularity)

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
fill(kind_of, named, n_named, 'HMGET', challenges)
local kinds, place_of_kind, codes = {}, {}, {}
for at = 1, n_named do
  local info = kind_of[at]
  if info then
    local kind = place_of_kind[info]
    if not kind then
      kind = #kinds + 1
      kinds[kind], place_of_kind[info] = info, kind
      codes[kind] = tonumber(string.match(info, '^%s*(%d+)')) or false
    end
    kind_of[at] = kind
  end
end

-- A post that is in no set has no day.
for place = 1, n_posts do
  local kind = challenge_of[place] and kind_of[challenge_of[place]]
  code_of[place] = kind and codes[kind]
end
for number = 10, #KEYS do fill(day_of, posts, n_posts, 'ZMSCORE', KEYS[number], number - 10) end

return {
  index, ring, tonumber(known[4] or '5') or 5,
  redis.call('HGET', contributions, ARGV[1]) or '',
  redis.call('HGETALL', weights), near,
  { posts, challenge_of, author_of, shown_of, likes_of, day_of },
  { named, kind_of, kinds },
}
