"""Removes the symbols that `import Nightjar` does not show from the symbol graph of Nightjar.

    python3 visible_symbols.py GRAPH EXPORTS

The extracted graph has all public types of the modules whose types Exports.swift re-exports. This program keeps the types of
Nightjar, the types that Exports.swift names, and the types for which a kept type has another name, such as Response.Head.

Fails if the declaration of a kept symbol has a type that is not kept, because programs then cannot name this type.
"""
import json
import re
import sys

# Types in functions that are public for the other targets of this package, and that programs do not call; and the details of a
# decision of the cache, of which programs read the text.
INTERNAL = {
    "BodyFraming", "BodyPieces", "CacheStatus", "CacheVerdict", "CookieJar", "ForwardedFields", "JSONMismatch",
    "PreparedRequest", "ProofKey", "ProxyRules", "SchemaPlace", "SchemaSource", "TokenResponse",
}

path, exports = sys.argv[1:]
with open(path) as file:
    graph = json.load(file)
with open(exports) as file:
    kept = set(re.findall(r"^@_exported import \w+ \w+\.(\w+)$", file.read(), re.MULTILINE))
symbols = graph["symbols"]
top = {s["identifier"]["precise"]: s["pathComponents"][0] for s in symbols if len(s["pathComponents"]) == 1}
kept |= {name for precise, name in top.items() if precise.startswith("s:8Nightjar")}
before = 0
while len(kept) > before:
    before = len(kept)
    for symbol in symbols:
        if symbol["kind"]["identifier"] == "swift.typealias" and symbol["pathComponents"][0] in kept:
            fragments = symbol["declarationFragments"]
            kept |= {top[f["preciseIdentifier"]] for f in fragments if f.get("preciseIdentifier") in top}
graph["symbols"] = [s for s in symbols if s["pathComponents"][0] in kept]
hidden = {}
for symbol in graph["symbols"]:
    for fragment in symbol["declarationFragments"]:
        name = top.get(fragment.get("preciseIdentifier"))
        if name and name not in kept | INTERNAL:
            hidden.setdefault(name, ".".join(symbol["pathComponents"]))
for name, user in sorted(hidden.items()):
    print(f"{user}: programs cannot name the type {name}; add a typealias to a type that they can name", file=sys.stderr)
if hidden:
    sys.exit(1)
known = {s["identifier"]["precise"] for s in graph["symbols"]}
graph["relationships"] = [r for r in graph["relationships"] if r["source"] in known]
with open(path, "w") as file:
    json.dump(graph, file)
