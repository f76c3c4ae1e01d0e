#!/usr/bin/env python3
"""Renames identifiers by the tables beside this file. Run it in the root of a checkout.

swift.tsv, c.tsv and lua.tsv: old TAB new TAB scope TAB reason. The first row whose scope matches wins.
A scope is empty (everywhere in files of that language) or a comma-separated list of GLOB[@CONTEXT...]:
  @member        the identifier follows a "."
  @bare          it does not
  @call          it is followed by "("
  @after:REGEX   the text of the line before it matches REGEX (end it with $)
  @before:REGEX  the text after it matches REGEX
A comma inside REGEX is written as \\x2c.

Swift identifiers are renamed in code and in interpolations. In comments, Markdown and other text they are renamed
if they are in backticks or have an inner capital; in string literals only if they have an inner capital.
Names of C functions and types (nj_, njl_, NJ_, NJL_) are renamed in every file. Other rows of c.tsv apply to code of
.c, .h and .cpp files.
text.tsv: glob TAB regex TAB replacement TAB reason, for wire formats, options, commands and prose that is generated.
files.tsv: old name TAB new name of files in any folder, or of a folder where it ends in "/" (git mv).

--check   print what would change
--report  also print rows that match nothing, and possible collisions
Idempotent: no new name is an old name of the same scope, and files that have moved are skipped.
"""
import fnmatch, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOTS = ["Sources", "Tests", "include", "docs", "share", "scripts", "Benchmarks", "README.md", "CHANGELOG.md",
         "Package.swift", "CONTRIBUTING.md"]
SKIP = re.compile(r"^(scripts/rename-plan/|scripts/check-language$|Tests/Vectors/)")
ID = re.compile(r"[A-Za-z_]\w*")
STEM = re.compile(r"^(nj[a-z]?_|NJ[A-Z]?_|luaopen_)")


def rows(name, width):
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        yield (fields + [""] * width)[:width] + [f"{name}:{number}"]


class Scope:
    def __init__(self, text):
        self.parts = []
        for part in text.split(","):
            glob, *contexts = re.split(r"@(?=member|bare|call|after:|before:)", part.strip())
            self.parts.append((glob, contexts))

    def candidates(self, path):
        return [c for g, c in self.parts if fnmatch.fnmatch(path, g)]


def holds(contexts, before, after):
    for c in contexts:
        if c == "member":
            ok = before.rstrip().endswith(".") and not before.rstrip().endswith("..")
        elif c == "bare":
            ok = not before.rstrip().endswith(".") or before.rstrip().endswith("..")
        elif c == "call":
            ok = after.startswith("(")
        elif c.startswith("after:"):
            ok = re.search(c[6:], before) is not None
        else:
            ok = re.match(c[7:], after) is not None
        if not ok:
            return False
    return True


class Table:
    def __init__(self, name):
        self.by_name = {}
        self.used = set()
        self.rows = []
        for old, new, scope, _, where in rows(name, 4):
            row = (old, new, Scope(scope) if scope else None, where)
            self.rows.append(row)
            self.by_name.setdefault(old, []).append(row)

    def for_file(self, path):
        """The rows that can apply to a file, by old name."""
        result = {}
        for old, table in self.by_name.items():
            fitting = []
            for row in table:
                contexts = [[]] if row[2] is None else row[2].candidates(path)
                if contexts:
                    fitting.append((row, contexts))
            if fitting:
                result[old] = fitting
        return result

    def new(self, fitting, old, before, after):
        for row, contexts in fitting.get(old, ()):
            if any(holds(c, before, after) for c in contexts):
                self.used.add(row[3])
                return row[1]
        return None


def segments(t):
    """(kind, text) of Swift source: code, comment, string. Interpolated code is code."""
    n, out = len(t), []
    hashes = re.compile(r'#+"')

    def string(i):
        h, j = 0, i
        while t[j] == "#":
            h += 1
            j += 1
        q = '"""' if MULTILINE.match(t, j) else '"'
        j += len(q)
        s, esc = i, "\\" + "#" * h
        while j < n:
            if t.startswith(q + "#" * h, j):
                j += len(q) + h
                out.append(("string", t[s:j]))
                return j
            if t.startswith(esc, j):
                k = j + len(esc)
                if k < n and t[k] == "(":
                    out.append(("string", t[s:k + 1]))
                    s = j = code(k + 1, True)
                    continue
                j = k + 1
                continue
            if q == '"' and t[j] == "\n":
                out.append(("string", t[s:j]))
                return j
            j += 1
        out.append(("string", t[s:n]))
        return n

    def code(i, nested):
        s, d = i, 0
        while i < n:
            c = t[i]
            if c == "/" and t.startswith(("//", "/*"), i):
                if i > s:
                    out.append(("code", t[s:i]))
                if t[i + 1] == "/":
                    e = t.find("\n", i)
                    e = n if e < 0 else e
                else:
                    e = t.find("*/", i)
                    e = n if e < 0 else e + 2
                out.append(("comment", t[i:e]))
                s = i = e
                continue
            if c == '"' or c == "#" and hashes.match(t, i):
                if i > s:
                    out.append(("code", t[s:i]))
                i = string(i)
                s = i
                continue
            if nested:
                if c == "(":
                    d += 1
                elif c == ")":
                    if d == 0:
                        if i > s:
                            out.append(("code", t[s:i]))
                        return i
                    d -= 1
            i += 1
        if i > s:
            out.append(("code", t[s:i]))
        return i

    code(0, False)
    return out


def c_segments(t):
    out, last = [], 0
    for m in re.finditer(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', t, re.S):
        if m.start() > last:
            out.append(("code", t[last:m.start()]))
        out.append(("string" if m[0][0] == '"' else "comment", m[0]))
        last = m.end()
    out.append(("code", t[last:]))
    return out


LUA_PARTS = re.compile(r"""(--[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""")
UNDERSCORED = re.compile(r"\b[a-z]+_\w+")
MULTILINE = re.compile(r'"""[ \t]*\n')
INNER = re.compile(r"[a-z0-9][A-Z]")
TICKED = re.compile(r"(``?)([^`\n]+)\1")


def replace_code(text, table, fitting, whole, start):
    """Replaces identifiers of a code segment that begins at `start` of the file `whole`."""
    def one(m):
        if m[0] not in fitting:
            return m[0]
        a, b = start + m.start(), start + m.end()
        line = whole.rfind("\n", 0, a) + 1
        return table.new(fitting, m[0], whole[line:a], whole[b:b + 200]) or m[0]
    return ID.sub(one, text)


def replace_prose(text, table, fitting, ticks=True):
    def name(m):
        if m[0] in fitting and INNER.search(m[0]):
            return table.new(fitting, m[0], "", "") or m[0]
        return m[0]

    def ticked(m):
        inner = ID.sub(lambda k: table.new(fitting, k[0], "", "") or k[0] if k[0] in fitting else k[0], m[2])
        return m[1] + inner + m[1]
    if ticks:
        text = TICKED.sub(ticked, text)
    return ID.sub(name, text)


def main():
    check, report = "--check" in sys.argv, "--report" in sys.argv
    swift, c, lua = Table("swift.tsv"), Table("c.tsv"), Table("lua.tsv")
    stems = {old: new for old, new, _, _ in c.rows if STEM.match(old)}
    for row in c.rows:
        if STEM.match(row[0]):
            c.used.add(row[3])
    text_rows = []
    for glob, regex, replacement, _, where in rows("text.tsv", 4):
        text_rows.append((glob.split(","), re.compile(regex, re.M), replacement, where))
    text_used = set()

    # Files first. Scopes are matched against the path that a file had when the plan was made (paths.txt), found by its
    # name where files have moved since.
    planned = {}
    for line in open(os.path.join(HERE, "paths.txt"), encoding="utf-8"):
        planned.setdefault(os.path.basename(line.strip()), []).append(line.strip())
    names, folders = {}, []
    for old, new, *_ in rows("files.tsv", 2):
        if old.endswith("/"):
            folders.append((old, new))
        else:
            names[old] = new
    former = {new: old for old, new in names.items()}
    for path in subprocess.check_output(["git", "ls-files", "Sources", "Tests", "scripts"], text=True).split("\n"):
        to = path
        for old, new in folders:
            if to.startswith(old):
                to = new + to[len(old):]
        base = os.path.basename(to)
        if base in names:
            to = os.path.join(os.path.dirname(to), names[base])
        if path and to != path and not check and not path.startswith("scripts/rename-plan/"):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            subprocess.check_call(["git", "mv", path, to])

    def old_path(path):
        base = os.path.basename(path)
        candidates = planned.get(base) or planned.get(former.get(base, ""), [])
        if len(candidates) == 1:
            return candidates[0]
        for new, old in [(n, o) for o, n in folders]:
            if path.startswith(new):
                path = old + path[len(new):]
        for candidate in (path, os.path.join(os.path.dirname(path), former.get(base, base))):
            if candidate in candidates:
                return candidate
        return path

    files = subprocess.check_output(["git", "ls-files"] + ROOTS, text=True).split("\n")
    changed = 0
    for path in files:
        if not path or SKIP.match(path) or os.path.islink(path):
            continue
        try:
            text = open(path, encoding="utf-8", newline="").read()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        was = text
        place = old_path(path)
        text = re.sub(r"\b(?:nj[a-z]?_|NJ[A-Z]?_|luaopen_)\w+", lambda m: stems.get(m[0], m[0]), text)
        if path.endswith(".swift"):
            fitting = swift.for_file(place)
            out, at = [], 0
            for kind, s in segments(text):
                if kind == "code":
                    out.append(replace_code(s, swift, fitting, text, at))
                elif kind == "comment":
                    out.append(replace_prose(s, swift, fitting))
                else:
                    out.append(replace_prose(s, swift, fitting, ticks=False))
                at += len(s)
            text = "".join(out)
        elif re.search(r"\.(c|h|cpp)$", path):
            fitting = c.for_file(place)
            out, at = [], 0
            for kind, s in c_segments(text):
                if kind == "code":
                    out.append(replace_code(s, c, fitting, text, at))
                elif kind == "comment":
                    out.append(TICKED.sub(lambda m: m[1] + replace_code(m[2], c, fitting, m[2], 0) + m[1], s))
                else:
                    out.append(s)
                at += len(s)
            text = "".join(out)
        elif path.endswith(".lua"):
            fitting = lua.for_file(place)
            out, at = [], 0
            for s in LUA_PARTS.split(text):
                prose = s.startswith(("--", '"', "'"))
                out.append(UNDERSCORED.sub(lambda m: lua.new(fitting, m[0], "", "") or m[0], s) if prose
                           else replace_code(s, lua, fitting, text, at))
                at += len(s)
            text = "".join(out)
        elif re.search(r"\.(md|py|txt)$", path) or "." not in os.path.basename(path):
            text = replace_prose(text, swift, swift.for_file(place), ticks=path.endswith(".md"))
        for globs, regex, replacement, where in text_rows:
            if any(fnmatch.fnmatch(place, g) or fnmatch.fnmatch(path, g) for g in globs):
                text, n = regex.subn(replacement, text)
                if n:
                    text_used.add(where)
        if text != was:
            changed += 1
            if check:
                print(path)
            else:
                mode = os.stat(path).st_mode
                with open(path, "w", encoding="utf-8", newline="") as f:
                    f.write(text)
                os.chmod(path, mode)
    print(f"{changed} files changed", file=sys.stderr)
    if report:
        for table in (swift, c, lua):
            for row in table.rows:
                if row[3] not in table.used and not STEM.match(row[0]):
                    print("unused", row[3], row[0], "->", row[1])
        for _, regex, _, where in text_rows:
            if where not in text_used:
                print("unused", where, regex.pattern)


if __name__ == "__main__":
    main()
