"""Fills a Redis with what Django's cache writes."""
import os

from django.conf import settings

url = f"redis://127.0.0.1:{os.environ['PORT']}"
backend = "django.core.cache.backends.redis.RedisCache"
settings.configure(CACHES={"default": {"BACKEND": backend, "LOCATION": url}, "pages": {"BACKEND": backend, "LOCATION": url, "KEY_PREFIX": "shop", "VERSION": 2}}, SESSION_ENGINE="django.contrib.sessions.backends.cache")
from django.core.cache import caches  # noqa: E402

cache = caches["default"]
for i in range(12):
    cache.set(f"user:{i}:profile", {"name": f"u{i}"}, 3_600)
    cache.set(f"hits:{i}", i, 3_600)
cache.set("forever", [1, 2], None)
caches["pages"].set("home page", b"<html>", 300)
from django.contrib.sessions.backends.cache import SessionStore  # noqa: E402

for i in range(5):
    session = SessionStore()
    session["user"] = i
    session.save()
