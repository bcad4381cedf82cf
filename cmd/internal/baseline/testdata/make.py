"""Makes pincheck.lock.json from listing.jsonl. Run by hand: python3 make.py"""
import hashlib
import json


def text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


pins = []
for line in open("listing.jsonl", encoding="utf-8"):
    for tool in json.loads(line)["result"].get("tools", []):
        kept = {"name": tool["name"], "description": tool.get("description") or "", "inputSchema": tool.get("inputSchema") or {}}
        if tool.get("annotations") is not None:
            kept["annotations"] = tool["annotations"]
        pins.append({"name": tool["name"], "definition": kept, "sha256": hashlib.sha256(text(kept).encode()).hexdigest()})
lock = {"lockfile_version": 1, "pinned_at": "2026-11-30T12:00:00Z", "source": "acme", "tools": sorted(pins, key=lambda p: p["name"])}
with open("pincheck.lock.json", "w", encoding="utf-8") as out:
    out.write(json.dumps(lock, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
