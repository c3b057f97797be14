-- Tenants of a queue take turns: as many jobs of each stand in the working queue as its weight says, and the others are parked.
-- One that is paused, or has started as many jobs as it may in its time, has none that could start.
--- @include "events"
--- @include "rate"

-- Tenants that are looked at in one call because their time has come; the next call goes on.
local WOKEN_MAX = 100

-- What a tenant may, by its name and queue: every call reads it once.
local rules_of = {}
local function tenant_rules(queue, tenant)
  local known = queue .. '\n' .. tenant
  if not rules_of[known] then
    local of = function(name) return name .. ':' .. tenant end
    local s = call('HMGET', settings_key(queue), of('tenant_concurrency'), 'tenant_concurrency', of('tenant_weight'),
      of('tenant_paused'), of('tenant_rate_max'), of('tenant_rate_ms'), 'tenant_rate_max', 'tenant_rate_ms')
    local own = s[5] and s[6]
    rules_of[known] = {
      limit = tonumber(s[1] or s[2] or '0'), weight = tonumber(s[3] or '1'), paused = s[4] == '1',
      rate_max = tonumber(own and s[5] or s[7] or nil), rate_ms = tonumber(own and s[6] or s[8] or nil),
    }
  end
  return rules_of[known]
end

-- The jobs of a tenant that stand in the working queue, a space between them.
local function standing(queue, tenant) return call('HGET', tenants_key(queue), tenant) or '' end

-- How many jobs of the tenant may start now: none if it is paused. If it has started so many that fewer than wanted may,
-- it is looked at again when one more may.
local function tenant_allows(queue, tenant, wanted)
  local rules = tenant_rules(queue, tenant)
  if rules.paused then return 0 end
  if not rules.rate_max then return wanted end
  local left, again_at = rate_allows(tenant_rate_key(queue, tenant, rules.rate_ms), rules.rate_max, rules.rate_ms)
  if left < wanted then call('ZADD', tenant_wakes_key(queue), string.format('%.0f', math.max(again_at, now + 1)), tenant) end
  return left
end

-- Whether one more job of the tenant may stand beside these.
local function may_stand(queue, tenant, stood)
  local rules, _, n = tenant_rules(queue, tenant), stood:gsub('%S+', '')
  if n >= rules.weight then return false end
  if rules.limit > 0 and call('SCARD', tenant_running_key(queue, tenant)) + n >= rules.limit then return false end
  return tenant_allows(queue, tenant, n + 1) > n
end

-- Whether there is a place for the job among those that stand; if so, it is taken.
local function takes_place(jid, queue, tenant)
  local stood = standing(queue, tenant)
  local may = may_stand(queue, tenant, stood)
  if may then
    call('HSET', tenants_key(queue), tenant, stood == '' and jid or stood .. ' ' .. jid)
  elseif stood == '' then
    call('HSET', tenants_key(queue), tenant, '')
  end
  return may
end

-- A tenant's job has left the working queue: claimed, or canceled.
local function left_queue(jid, queue, tenant)
  local stood = standing(queue, tenant)
  if stood == '' then return end
  if stood == jid then return call('HSET', tenants_key(queue), tenant, '') end
  local others = {}
  for other in stood:gmatch('%S+') do
    if other ~= jid then others[#others + 1] = other end
  end
  call('HSET', tenants_key(queue), tenant, table.concat(others, ' '))
end
