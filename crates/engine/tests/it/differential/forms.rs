//! Every command form the differential test draws from.

/// Commands on data. Weighted by how often they stand here.
#[rustfmt::skip]
pub(crate) const DATA: &[&str] = &[
    // Strings.
    "GET $s", "SET $s $v", "SET $s $v", "SET $s $v NX|XX GET?", "SET $s $v EX $ttl",
    "SET $s $v PX $pttl NX|XX|GET?", "SET $s $v EXAT $at", "SET $s $v PXAT $pat", "SET $s $v KEEPTTL",
    "SET $s $v GET", "SET $s $v EX $ttl KEEPTTL", "SETNX $s $v", "SETEX $s $ttl $v", "PSETEX $s $pttl $v",
    "GETSET $s $v", "GETDEL $s", "GETEX $s", "GETEX $s EX $ttl", "GETEX $s PX $pttl", "GETEX $s EXAT $at",
    "GETEX $s PXAT $pat", "GETEX $s PERSIST", "MGET ( $k )+", "MSET ( $s $v )+", "MSETNX ( $s $v )+", "INCR $s",
    "DECR $s", "INCRBY $s $i", "DECRBY $s $i", "INCRBYFLOAT $s $x", "INCRBYFLOAT $s 0.1", "APPEND $s $v",
    "STRLEN $s", "GETRANGE $s $idx $idx", "GETRANGE $s $i $i", "SETRANGE $s $idx $v", "SUBSTR $s $idx $idx",
    // Keys.
    "DEL ( $k )+", "UNLINK ( $k )+", "EXISTS ( $k )+", "TYPE $k", "TYPE $k", "EXPIRE $k $ttl NX|XX|GT|LT?",
    "PEXPIRE $k $pttl NX|XX|GT|LT?", "EXPIREAT $k $at NX|XX|GT|LT?", "PEXPIREAT $k $pat NX|XX|GT|LT?",
    "EXPIRE $k $ttl NX|XX GT|LT", "TTL $k", "PTTL $k", "EXPIRETIME $k", "PEXPIRETIME $k", "PERSIST $k",
    "RENAME $k $k", "RENAMENX $k $k", "KEYS $glob", "RANDOMKEY", "OBJECT ENCODING $k", "OBJECT ENCODING $k",
    "MEMORY USAGE $k", "DBSIZE", "TOUCH ( $k )+", "COPY $k $k REPLACE?", "COPY $k $k DB $p REPLACE?", "MOVE $k $p",
    "OBJECT FREQ $k",
    // Hashes.
    "HSET $h ( $f $v )+", "HSET $h ( $f $v )+", "HSETNX $h $f $v", "HGET $h $f", "HMGET $h ( $f )+",
    "HMSET $h ( $f $v )+", "HGETALL $h", "HDEL $h ( $f )+", "HEXISTS $h $f", "HLEN $h", "HKEYS $h", "HVALS $h",
    "HINCRBY $h $f $i", "HINCRBYFLOAT $h $f $x", "HSTRLEN $h $f", "HRANDFIELD $h", "HRANDFIELD $h $n WITHVALUES?",
    // Sets.
    "SADD $t ( $m )+", "SADD $t ( $m )+", "SREM $t ( $m )+", "SISMEMBER $t $m", "SMISMEMBER $t ( $m )+",
    "SMEMBERS $t", "SCARD $t", "SRANDMEMBER $t", "SRANDMEMBER $t $n", "SRANDMEMBER $t $i", "SMOVE $t $t $m",
    "SINTER ( $t )+", "SINTERCARD $p ( $t )+ LIMIT $n", "SINTERCARD 2 $t $t", "SINTERCARD $i $t", "SUNION ( $t )+",
    "SDIFF ( $t )+", "SINTERSTORE $t ( $t )+", "SUNIONSTORE $t ( $t )+", "SDIFFSTORE $t ( $t )+",
    // Sorted sets. Lex ranges are defined only where all scores are the same, so such sets have keys of their own.
    "ZADD $y ( 0 $m )+", "ZREM $y $m",
    "ZADD $z ( $score $m )+", "ZADD $z ( $score $m )+", "ZADD $z NX|XX? GT|LT? CH? INCR? ( $score $m )+",
    "ZADD $z NX|XX|GT|LT CH? $score $m", "ZADD $z INCR $score $m", "ZINCRBY $z $score $m", "ZREM $z ( $m )+",
    "ZCARD $z", "ZCOUNT $z $bound $bound", "ZLEXCOUNT $y $lex $lex", "ZSCORE $z $m", "ZMSCORE $z ( $m )+",
    "ZRANK $z $m", "ZREVRANK $z $m", "ZRANGE $z $idx $idx REV? WITHSCORES?", "ZRANGE $z $i $i WITHSCORES",
    "ZRANGE $z $bound $bound BYSCORE REV? WITHSCORES?",
    "ZRANGE $z $bound $bound BYSCORE REV? LIMIT $n $n WITHSCORES?", "ZRANGE $y $lex $lex BYLEX REV?",
    "ZRANGE $y $lex $lex BYLEX REV? LIMIT $n $n", "ZRANGE $z $idx $idx LIMIT 0 1",
    "ZREVRANGE $z $idx $idx WITHSCORES?", "ZRANGEBYSCORE $z $bound $bound WITHSCORES? ( LIMIT $n $n )?",
    "ZREVRANGEBYSCORE $z $bound $bound WITHSCORES? ( LIMIT $n $n )?", "ZRANGEBYLEX $y $lex $lex ( LIMIT $n $n )?",
    "ZREVRANGEBYLEX $y $lex $lex ( LIMIT $n $n )?", "ZRANGESTORE $z $z $idx $idx REV?",
    "ZRANGESTORE $z $z $bound $bound BYSCORE REV? ( LIMIT $n $n )?", "ZRANGESTORE $z $y $lex $lex BYLEX",
    "ZREMRANGEBYRANK $z $idx $idx", "ZREMRANGEBYSCORE $z $bound $bound", "ZREMRANGEBYLEX $y $lex $lex",
    "ZPOPMIN $z", "ZPOPMIN $z $n", "ZPOPMAX $z", "ZPOPMAX $z $i",
    "ZUNIONSTORE $z 2 $z $z ( WEIGHTS $weight $weight )? ( AGGREGATE SUM|MIN|MAX )?",
    "ZINTERSTORE $z 2 $z $t ( WEIGHTS $weight $weight )? ( AGGREGATE SUM|MIN|MAX )?", "ZUNIONSTORE $z $i $z $z",
    "ZINTERSTORE $z $p ( $z )+", "ZUNION 2 $z $z WITHSCORES?", "ZINTER 2 $z $t WITHSCORES?", "ZDIFF 2 $z $z WITHSCORES?",
    "ZDIFFSTORE $z 2 $z $z", "ZINTERCARD 2 $z $z ( LIMIT $n )?", "ZMPOP $p ( $z )+ MIN|MAX ( COUNT $n )?",
    "ZRANDMEMBER $z", "ZRANDMEMBER $z $n WITHSCORES?",
    // Lists.
    "LPUSH $l ( $v )+", "RPUSH $l ( $v )+", "RPUSH $l ( $v )+", "LPUSHX $l ( $v )+", "RPUSHX $l ( $v )+", "LPOP $l",
    "LPOP $l $n", "RPOP $l", "RPOP $l $i", "LLEN $l", "LRANGE $l $idx $idx", "LRANGE $l $i $i", "LINDEX $l $idx",
    "LSET $l $idx $v", "LINSERT $l BEFORE|AFTER|x $v $v", "LREM $l $n $v", "LREM $l $i a", "LTRIM $l $idx $idx",
    "LPOS $l $v ( RANK $n )? ( COUNT $n )? ( MAXLEN $n )?", "LPOS $l a RANK $i COUNT $i",
    "LMPOP $p ( $l )+ LEFT|RIGHT ( COUNT $n )?", "LMOVE $l $l LEFT|RIGHT LEFT|RIGHT|x", "RPOPLPUSH $l $l", "BLPOP $l $l abc", "BRPOP $l -1", "BLPOP $l nan",
    // Scripts.
    "SCRIPT EXISTS 1b936e3fe509bcbc9cd0664897bbe8fd0cac101b $v", "SCRIPT LOAD $script",
    "EVALSHA 1b936e3fe509bcbc9cd0664897bbe8fd0cac101b 0", "EVALSHA $v 0", "EVAL $script $i $k $v", "EVAL $script 1 $k ( $v )+",
    "EVAL_RO $script 1 $k $v",
    // Connections and the server.
    "PING", "PING $v", "ECHO $v", "SELECT $d", "SELECT 0", "CLIENT GETNAME", "CLIENT SETNAME $f",
    "CLIENT SETNAME $any", "CONFIG GET appendonlyx*", "COMMAND COUNT x", "COMMAND GETKEYS MSET a 1 b 2",
    "COMMAND GETKEYS ZUNIONSTORE d 2 a b", "COMMAND GETKEYS ZUNIONSTORE d 1e3 a b", "COMMAND GETKEYS ZUNION 4294967298 a b",
    "COMMAND GETKEYS SINTERCARD x a", "COMMAND GETKEYS EVAL x 1x a b", "COMMAND GETKEYS $any", "OBJECT $any $k", "CLIENT $any", "PUBSUB NUMPAT",
    "PUBSUB NUMSUB $ch $ch", "PUBSUB CHANNELS $glob", "PUBSUB SHARDNUMSUB $ch", "PUBLISH $ch $v", "SPUBLISH $ch $v",
    "MULTI", "EXEC", "DISCARD", "WATCH $k $k", "UNWATCH", "HELLO 3", "HELLO 2", "HELLO $i", "AUTH $v", "AUTH $v $v",
    "FLUSHDB ASYNC|SYNC?", "FLUSHDB x", "NOSUCHCOMMAND $v $v",
];

/// Transactions, a command at a time.
#[rustfmt::skip]
pub(crate) const IN_MULTI: &[&str] = &[
    "SET $s $v", "INCR $s", "GET $s", "LPUSH $l ( $v )+", "ZADD $z $score $m", "HGETALL $h", "SMEMBERS $t",
    "EXPIRE $k $ttl", "BLPOP $l 0", "BZPOPMIN $z 0", "EVAL $script 1 $k $v", "SADD $t ( $m )+", "WATCH $k", "NOSUCH", "GET", "DEL ( $k )+", "MULTI", "RENAME $k $k", "FLUSHDB",
    "PUBLISH $ch $v", "SELECT $p",
];

/// Commands that may wait, sent by clients of their own.
#[rustfmt::skip]
pub(crate) const WAITING: &[&str] = &[
    "BLPOP $l $l 0", "BRPOP $l 0", "BLPOP $l $z 0", "BLMOVE $l $l LEFT|RIGHT LEFT|RIGHT 0", "BRPOPLPUSH $l $l 0",
    "BZPOPMIN $z $z 0", "BZPOPMAX $z 0", "BLPOP $l 0.01", "BZPOPMIN $z 0.01", "BLMOVE $l $l LEFT RIGHT 0.01",
];

/// Commands of clients that listen.
#[rustfmt::skip]
pub(crate) const LISTENING: &[&str] = &[
    "SUBSCRIBE ( $ch )+", "PSUBSCRIBE ( $chglob )+", "SSUBSCRIBE ( $ch )+", "UNSUBSCRIBE", "UNSUBSCRIBE ( $ch )+",
    "PUNSUBSCRIBE", "PUNSUBSCRIBE ( $chglob )+", "SUNSUBSCRIBE", "SUNSUBSCRIBE $ch", "GET $s", "SET $s $v",
    "PUBLISH $ch $v", "RESET", "HELLO 3", "HELLO 2",
];

/// Scripts: loops, errors of every kind, conversions, commands that fail inside.
pub(crate) const SCRIPTS: &[&str] = &[
    "return 1",
    "return {1, 2, 3.9, 'x', false, true, {4, {5}}}",
    "return {1, nil, 3}",
    "return redis.call('GET', KEYS[1])",
    "return redis.call('SET', KEYS[1], ARGV[1])",
    "return redis.pcall('INCR', KEYS[1])",
    "return redis.call('INCR', KEYS[1])",
    "local n = 0 for i = 1, 100 do n = n + i end return n",
    "for i = 1, 20 do redis.call('RPUSH', KEYS[1], i) end return redis.call('LLEN', KEYS[1])",
    "for i = 1, 5 do redis.call('ZADD', KEYS[1], i, 'm' .. i) end return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')",
    "redis.call('SET', KEYS[1], 'half') return redis.call('LPUSH', KEYS[1], 'x')",
    "return redis.error_reply('MY error')",
    "return redis.error_reply('WORD')",
    "return redis.status_reply('FINE')",
    "return {err = 'CODE text'}",
    "return {ok = 'yes'}",
    "error('thrown')",
    "error({err = 'TBL thrown'})",
    "local ok, e = pcall(redis.call, 'LPUSH', KEYS[1]) return {tostring(ok), type(e) == 'table' and e.err or e}",
    "return nosuchglobal",
    "leak = 1",
    "return redis.call('NOSUCH')",
    "return redis.call('GET')",
    "return redis.call()",
    "return redis.call('GET', {})",
    "return redis.call('SUBSCRIBE', 'x')",
    "return redis.call('BLPOP', KEYS[1], 0)",
    "return redis.call('SELECT', 1)",
    "redis.call('SELECT', 2) return redis.call('SET', KEYS[1], 'in db 2')",
    "return cjson.encode({a = 1})",
    "return cjson.encode({1, 2, {3}, 'x/y', 1.5, 1e20})",
    "return cjson.decode(ARGV[1])",
    "return cjson.encode(cjson.decode('[1,2.5,\"a\\\\u0041\",null,true,[],{}]'))",
    "return tostring(redis.call('HGET', KEYS[1], 'f1'))",
    "local t = redis.call('HGETALL', KEYS[1]) return #t",
    "local t = redis.call('SMEMBERS', KEYS[1]) table.sort(t) return t",
    "redis.setresp(3) local t = redis.call('HGETALL', KEYS[1]) local n = 0 for _ in pairs(t.map or {}) do n = n + 1 end return n",
    "redis.setresp(3) return redis.call('ZSCORE', KEYS[1], 'm1')",
    "return redis.sha1hex(ARGV[1])",
    "return {bit.band(7, 3), bit.tohex(255), bit.lshift(1, 31)}",
    "return tostring(struct.pack('>I4', 1)):byte(4)",
    "return string.rep('x', 1000)",
    "return math.floor(2.7)",
    "return tonumber(ARGV[1])",
    "return #KEYS + #ARGV",
    "return redis.call('EXPIRE', KEYS[1], 5000)",
    "return redis.call('DEL', KEYS[1])",
    "return redis.call('TYPE', KEYS[1])",
    "return redis.call('TYPE', KEYS[1])['ok']",
    "return redis.call('PING')['ok']",
    "return {redis.call('ECHO', 'a'), redis.call('STRLEN', KEYS[1])}",
    "return redis.call('MGET', KEYS[1], 'nokey', KEYS[1])",
    "local s = 0 for _, v in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do s = s + #v end return s",
    "return math.huge",
    "return -0.5",
    "return {double = 1.5}",
    "return 'bin\\0\\255'",
    "this is no lua",
    "return redis.call('PUBLISH', 'ch1', 'from lua')",
    "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'x')",
    "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])",
    "#!lua flags=bogus\nreturn 1",
];
