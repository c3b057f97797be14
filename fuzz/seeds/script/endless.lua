#!lua flags=no-writes,allow-stale
while true do end
