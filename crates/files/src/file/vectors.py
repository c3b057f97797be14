"""Prints vectors.json: files, and the members that Python makes of them.

    python3 vectors.py > vectors.json
"""
import json

names = [
    "a/b",
    "path/to/file",
    "with space",
    'quote " and \\ backslash',
    "tab\tnewline\nreturn\rbackspace\bfeed\f",
    "nul\x00 escape\x1b delete\x7f",
    "grüße/straße",
    "日本語/ファイル",
    "clef \U0001d11e and face \U0001f600",
    "line\u2028separator \ufeff \uffff",
    "/slash/ and </script>",
]
files = []
for at, name in enumerate(names):
    bucket = names[-1 - at]
    files.append({"bucket": bucket, "key": name})
    files.append({"key": name, "bucket": bucket, "expected": True})
    files.append({"key": name, "hint": bucket, "expected": True, "bucket": "x"})
    files.append({"hint": name, "key": "k", "bucket": "b"})
vectors = [{"file": file, "member": json.dumps(file, sort_keys=True)} for file in files]
foreign = [
    json.dumps({"bucket": "b", "key": "k", "expected": False}, sort_keys=True),
    json.dumps({"bucket": "b", "key": "k", "added": 1.5, "zone": {"ü": [1, None]}}, sort_keys=True),
    json.dumps({"bucket": "b", "key": "k", "hint": None}, sort_keys=True),
    json.dumps({"key": "k", "bucket": "b"}),
    json.dumps({"bucket": "b", "key": "k"}, separators=(",", ":")),
]
print(json.dumps({"made": vectors, "foreign": foreign}, indent=1))
