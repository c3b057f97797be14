local text = cjson.encode({a = {1, 2, cjson.null}, b = 'x/"'})
local packed = cmsgpack.pack(cjson.decode(text), 2^53, -1, 'x')
local a, b = cmsgpack.unpack(packed)
return {text, #packed, b, struct.unpack('>I2i4s', struct.pack('>I2i4s', 1, -2, 'z')), bit.tohex(bit.bxor(5, 3)), redis.sha1hex(text)}
