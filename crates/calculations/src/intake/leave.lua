--[[
  Puts back what a process has taken and not stored: it takes no more.

  KEYS  1 waiting   2 taken   3 takers
  ARGV  1 taker
]]
--- @include "put_back"
put_back(KEYS[1], KEYS[2], KEYS[3], taker)
return 1
