// Fills a Redis with what rate-limiter-flexible writes.
import Redis from 'ioredis';
import rlf from 'rate-limiter-flexible';

const client = new Redis({ host: '127.0.0.1', port: Number(process.env.PORT) });
const perIp = new rlf.RateLimiterRedis({ storeClient: client, points: 5, duration: 3_600 });
const login = new rlf.RateLimiterRedis({ storeClient: client, keyPrefix: 'login_fail', points: 3, duration: 86_400, blockDuration: 86_400 });
for (let i = 0; i < 12; i++) await perIp.consume(`10.0.0.${i}`);
await perIp.consume('2001:db8::7');
for (let i = 0; i < 4; i++) await login.consume('ann@example.com').catch(() => {});
await login.consume('bob@example.com');
await client.quit();
