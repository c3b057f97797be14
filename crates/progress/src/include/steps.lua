-- The steps of the trace in KEYS[1] and its pace. A test compares the names with the declarations.
local trace = KEYS[1]

local function step_key(position) return trace .. ':step:' .. string.format('%d', position) end

local pace_key = trace .. ':pace'
