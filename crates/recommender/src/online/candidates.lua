--[[
  Gathers posts that a user may like, and what is known about them.

  KEYS  1 parameters   2 contributions   3 pair   4 authors   5 popularity   6 showings   7 challenges   8 neighbours   9 weights
        10 categories...
  ARGV  1 user   2 n_newest   3 n_draws   4 n_of_draw   5 n_popular   6 n_of_challenge   7 n_alike   8 n_preferred   9 values...
        The challenges that the user likes, then those followed, then as many random numbers from 0 to 1 as it takes:
        one and n_draws for each category; a draw gives n_of_draw posts that stand together. A list of challenges ends with an empty text.
  Derives challenge_posts(<challenge>) under the same hash tag.
  Returns day_index, the size of the ring, the number of categories, the user's days, the weights, the neighbours of liked
        challenges, the challenges of the posts with what is known about them, and six values for each post: id, challenge, author,
        showings, likes and day.
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

local posts, seen = {}, {}
local function take(some)
  for _, post in ipairs(some) do
    if not seen[post] then
      seen[post] = true
      posts[#posts + 1] = post
    end
  end
end

-- Challenges liked, followed, and like those liked.
local near = {}
local visited = {}
local function visit(challenge)
  if visited[challenge] then return false end
  visited[challenge] = true
  take(redis.call('ZREVRANGE', challenge_posts(challenge), 0, n_of_challenge - 1))
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
      for number, entry in ipairs(cjson.decode(list)) do
        if n_alike == 0 or number > 5 then break end
        if visit(string.format('%d', entry[1])) then n_alike = n_alike - 1 end
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
      take(redis.call('ZRANGE', category, from, math.min(from + wanted, first + of_day) - 1))
      wanted = wanted - of_day
    end
  end
  if size > 0 then
    for draw = 1, n_draws do
      -- It may begin before the first post, so that each is drawn as often as any other.
      local last = math.floor(tonumber(ARGV[share + draw]) * (size + n_of_draw - 1))
      take(redis.call('ZRANGE', category, math.max(0, last - n_of_draw + 1), last))
    end
  end
  share = share + 1 + n_draws
end

take(redis.call('ZREVRANGE', popularity, 0, n_popular - 1))

-- What is known about them.
local function chunks(list, act)
  for from = 1, #list, CHUNK do
    local some = {}
    for place = from, math.min(from + CHUNK - 1, #list) do some[#some + 1] = list[place] end
    act(some)
  end
end

local challenge_of, category_of, named = {}, {}, {}
chunks(posts, function(some)
  for place, challenge in ipairs(redis.call('HMGET', pair, unpack(some))) do
    challenge_of[some[place]] = challenge
    if challenge and category_of[challenge] == nil then
      category_of[challenge] = false
      named[#named + 1] = challenge
    end
  end
end)
local infos = {}
chunks(named, function(some)
  for place, info in ipairs(redis.call('HMGET', challenges, unpack(some))) do
    local code = info and tonumber(string.match(info, '^%s*(%d+)'))
    category_of[some[place]] = code and KEYS[10 + code] or false
    if info then
      infos[#infos + 1] = some[place]
      infos[#infos + 1] = info
    end
  end
end)

local rows, places, by_category = {}, {}, {}
chunks(posts, function(some)
  local authors_of = redis.call('HMGET', authors, unpack(some))
  local shown = redis.call('HMGET', showings, unpack(some))
  local likes = redis.call('ZMSCORE', popularity, unpack(some))
  for place, post in ipairs(some) do
    local challenge = challenge_of[post]
    local category = challenge and category_of[challenge]
    if category then
      local row = #rows
      rows[row + 1], rows[row + 2], rows[row + 3] = post, challenge, authors_of[place] or ''
      rows[row + 4], rows[row + 5], rows[row + 6] = shown[place] or '0', likes[place] or '0', '0'
      places[post] = row + 6
      local list = by_category[category] or {}
      list[#list + 1] = post
      by_category[category] = list
    end
  end
end)
for category, list in pairs(by_category) do
  chunks(list, function(some)
    local days = redis.call('ZMSCORE', category, unpack(some))
    -- A post that is in no set is as old as a post can be.
    for place, day in ipairs(days) do rows[places[some[place]]] = day or (index + 1) % ring end
  end)
end

return {
  index, ring, tonumber(known[4] or '5') or 5,
  redis.call('HGET', contributions, ARGV[1]) or '',
  redis.call('HGETALL', weights), near, infos, rows,
}
