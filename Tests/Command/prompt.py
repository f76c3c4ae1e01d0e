#!/usr/bin/env python3
"""The prompt as a person meets it, on a terminal of tmux: Tests/Command/prompt.py NIGHTJAR URL

What is typed is typed, and screens are compared; nothing sleeps for a while and hopes. URL is the demo API's."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

NIGHTJAR, URL = os.path.realpath(sys.argv[1]), sys.argv[2]
passed, failed = 0, 0


def check(name, claim, *evidence):
    global passed, failed
    if claim:
        passed += 1
        print(f"ok      {name}")
    else:
        failed += 1
        print(f"NOT OK  {name}")
        for item in evidence:
            print("  | " + str(item).replace("\n", "\n  | "))


class Terminal:
    """The command in a terminal of its own, 80 columns wide and 40 lines high."""

    count = 0

    def __init__(self, *words, state, environment=(), columns=80):
        Terminal.count += 1
        self.socket = os.path.join(state, f"tmux{Terminal.count}")
        variables = {"XDG_STATE_HOME": state, "HOME": state, "TERM": "screen-256color", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        variables.update(environment)
        words = ["env", "-u", "LUA_INIT"] + [f"{name}={value}" for name, value in variables.items()] + [NIGHTJAR, *words]
        shell = 'trap : INT; "$@"; echo "left with $?"; exec sleep 1000'
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "40", "sh", "-c", shell, "sh", *words)

    def tmux(self, *words):
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, env=environment).stdout

    def screen(self, escapes=False):
        text = self.tmux("capture-pane", "-p", "-J", *(["-e"] if escapes else []))
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def wait_for(self, pattern, seconds=20, escapes=False):
        deadline = time.monotonic() + seconds
        while True:
            screen = self.screen(escapes)
            if re.search(pattern, screen, re.M):
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def enter(self, text):
        self.type(text)
        self.keys("Enter")

    def end(self):
        self.tmux("kill-server")

    def expect(self, name, pattern, seconds=20, escapes=False):
        check(name, self.wait_for(pattern, seconds, escapes), "wanted: " + pattern, self.screen(escapes))


def session(state, *words, **options):
    terminal = Terminal(*words, state=state, **options)
    terminal.expect("a prompt", r"^>$")
    return terminal


def typing(state):
    t = session(state)
    t.enter("6 * 7")
    t.expect("an expression is shown", r"^> 6 \* 7\n42\n>$")
    t.enter("=_ + 1")
    t.expect("= shows, _ is the last result", r"^43\n>$")
    t.type("retrn 5")
    t.keys("C-a", "Right", "Right", "Right")
    t.type("u")
    t.keys("Enter")
    t.expect("keys edit the line", r"^> return 5\n5\n>$")
    t.enter("for i = 1, 2 do")
    t.expect("an unfinished statement goes on", r"^> for i = 1, 2 do\n>>$")
    t.enter("print('line', i) end")
    t.expect("and runs when it is whole", r"^line\t?\s+1\nline\s+2\n>$")
    t.keys("Up")
    t.expect("the up key brings the whole statement", r"^> for i = 1, 2 do\n *print\('line', i\) end$")
    t.keys("C-c")
    t.expect("Ctrl-C drops a line", r"end\n>$")
    t.enter("'grüße', {1, {2}}, nil")
    t.expect("each result is shown, letters are letters", r'^"grüße"\n\{ 1, \{ 2 \} \}\nnil\n>$')
    t.enter("io.write 'no newline'")
    t.expect("what ends without a newline ends its line", r"^no newline\nfile \(0x\w+\)\n>$")
    t.enter(".nosuch")
    t.expect("a command that is not there", r"^there is no command \.nosuch; \.help tells what there is\n>$")
    t.keys("C-d")
    t.expect("Ctrl-D leaves", r"left with 0$")
    t.end()


def history(state):
    t = session(state)
    t.enter("'first entry'")
    t.expect("an entry", r'^"first entry"\n>$')
    t.enter('api = nightjar.client { base_url = "http://127.0.0.1:1", auth = { type = "bearer", token = "moonlight" } }')
    t.expect("one with a secret", r"moonlight\" } }\n>$")
    t.enter(" 'begins with a space'")
    t.expect("one that begins with a space", r'^"begins with a space"\n>$')
    t.enter("for i = 1, 1 do")
    t.expect("a statement", r"^>>$")
    t.enter("print 'two\\nlines' end")
    t.expect("of two lines", r"^two\nlines\n>$")
    t.keys("C-d")
    t.expect("the session ends", r"left with 0$")
    t.end()
    path = os.path.join(state, "nightjar/history")
    with open(path) as file:
        kept = file.read()
    check("what is kept", kept == "'first entry'\nfor i = 1, 1 do\\nprint 'two\\\\nlines' end\n", kept)
    check("for its owner alone", os.stat(path).st_mode & 0o777 == 0o600)
    t = session(state)
    t.keys("Up", "Up")
    t.expect("another session has it", r"^> 'first entry'$")
    t.keys("C-c")
    t.keys("C-r")
    t.type("two")
    t.expect("Ctrl-R finds an entry", r"^> for i = 1, 1 do\n *print 'two")
    t.keys("Enter")
    t.expect("and Enter runs it", r"^two\nlines\n>$")
    t.end()


def completion(state):
    t = session(state)
    t.type("nightjar.ma")
    t.keys("Tab")
    t.expect("a field", r"^> nightjar\.map$")
    t.keys("C-u")
    t.type("string.up")
    t.keys("Tab")
    t.expect("one that is the only one", r"^> string\.upper$")
    t.keys("C-u")
    t.enter("guarded = setmetatable({ seen = 1 }, { __index = function() ran = true end })")
    t.type("guarded.inner.")
    t.keys("Tab")
    t.keys("C-u")
    t.enter("ran")
    t.expect("no function of a script runs", r"^> ran\nnil\n>$")
    t.enter("api = nightjar.client { base_url = '%s', endpoints = { article = { path = '/v1/articles/{id}', "
            "parameters = { id = 'integer', fields = 'string' } }, articles = { path = '/v1/articles' } } }" % URL)
    t.keys("C-l")
    t.type("api:lo")
    t.keys("Tab")
    t.expect("methods", r"^load_openapi +log_in\n> api:lo$")
    t.keys("C-u")
    t.type("api.endpoints.article")
    t.keys("Tab")
    t.expect("endpoints", r"^article +articles\n> api\.endpoints\.article$")
    t.type(" { ")
    t.keys("Tab")
    t.expect("their parameters", r"^fields +id\n> api\.endpoints\.article \{$")
    t.keys("C-u")
    t.type("api:get('/x', { time")
    t.keys("Tab")
    t.type("{ c")
    t.keys("Tab")
    t.expect("options, and those within them", r"^> api:get\('/x', \{ timeout = \{ connect =$")
    t.keys("C-u")
    t.type('api:get("/x", { headers = { ["content-t')
    t.keys("Tab")
    t.expect("headers", r'headers = \{ \["content-type"\] =$')
    t.keys("C-u")
    t.type("api:get '/v1/articles/")
    t.keys("Tab")
    t.expect("paths", r"^> api:get '/v1/articles/\{id\}$")
    t.keys("C-u")
    t.type(".tr")
    t.keys("Tab")
    t.expect("commands", r"^> \.trace$")
    t.end()


def calls(state):
    t = session(state)
    t.enter("api = nightjar.client { base_url = '%s/v1' }" % URL)
    t.keys("C-l")
    t.enter("api:get '/articles/1'")
    t.expect("a response: status, timing, headers, body", r"^200 OK  \d.*first byte[^\n]*\n(.+\n)*content-type: application/json\n(.+\n)*"
             r"\n\{\n  \"id\": 1,\n")
    t.keys("C-l")
    t.enter("_.json.title")
    t.expect("_ is the response", r'^"The bird that flies by moonlight"\n>$')
    t.enter("api:get('/articles', { query = { per_page = 3 } }).json.results")
    t.expect("records are a table", r"^id +title")
    t.keys("C-l")
    t.enter("api:get '/nowhere'")
    t.expect("an error and the hint what to do", r"^not_found: GET answered 404[^>]*\nhint: check the path; [^>]*\n>$")
    t.enter("api:gett '/'")
    t.expect("a field that is not there", r"did you mean '?get'?\?")
    t.keys("C-l")
    t.enter("help(nightjar.map)")
    t.expect("help of a function", r"^nightjar\.map\(list: any\[\], f: fun[^>]*\n  Calls f with each item")
    t.keys("C-l")
    t.enter(".trace on")
    t.enter("api:get('/articles/1').status")
    t.expect("calls are traced", r"^GET +200 .*/v1/articles/1\n200\n>$")
    t.enter(".trace off")
    t.enter("secret = nightjar.client { base_url = 'http://127.0.0.1:1', auth = { type = 'bearer', token = 'moonlight' } }")
    t.enter("local x = 1")
    t.enter("error 'not kept'")
    path = os.path.join(state, "saved.lua")
    t.enter(".save " + path)
    t.expect("what worked is saved", r"^\d lines in .*saved\.lua; set NIGHTJAR_TOKEN to run it\n>$")
    with open(path) as file:
        script = file.read()
    check("without what failed, and without secrets", "not kept" not in script and "moonlight" not in script
          and "token = (os.getenv \"NIGHTJAR_TOKEN\")" in script and "_ = api:get '/articles/1'\n" in script, script)
    ran = subprocess.run([NIGHTJAR, path], capture_output=True, text=True, env={**os.environ, "NIGHTJAR_TOKEN": "x"})
    check("the script runs", ran.returncode == 0, ran)
    t.end()


def interruptions(state):
    t = session(state)
    t.enter("api = nightjar.client { base_url = '%s', timeout = 60 }" % URL)
    t.enter("api:get '/delay/30'")
    t.expect("a slow call", r"delay/30'\n\Z|delay/30'$")
    t.keys("C-c")
    t.expect("Ctrl-C cancels it", r"^(\^C)?interrupted\n>$")
    t.enter("while true do pcall(function() while true do end end) end")
    t.expect("a loop", r"end\) end$")
    t.keys("C-c")
    t.expect("Ctrl-C ends it", r"end\) end\n(\^C)?interrupted\n>$")
    t.enter("local done <close> = setmetatable({}, { __close = function() print 'closed' end }) nightjar.sleep(60)")
    t.expect("a call with something to close", r"sleep\(60\)$")
    t.keys("C-c")
    t.expect("is closed", r"^(\^C)?closed\ninterrupted\n>$")
    t.enter("'still here'")
    t.expect("the session goes on", r'^"still here"\n>$')
    t.keys("C-l")
    t.enter("task = nightjar.spawn(function() for i = 1, 3 do nightjar.sleep(0.1) print('tick ' .. i) end error 'late' end)")
    t.type("'half typed'")
    t.expect("tasks go on at the prompt and leave the line alone",
             r"^tick 1\ntick 2\ntick 3\na task in the background has failed:\nstdin:1: late\n(stack.*\n(.+\n)*)?> 'half typed'$")
    t.keys("Enter")
    t.expect("which is what it was", r'^"half typed"\n>$')
    t.enter("nightjar.spawn(function() while true do end end) nightjar.sleep(0)")
    t.expect("a task that does not let go", r"sleep\(0\)$")
    t.keys("C-c")
    t.keys("C-c")
    t.enter("'and on'")
    t.expect("is ended, too", r'^"and on"\n>$')
    t.enter(".quit")
    t.expect(".quit leaves", r"left with 0$")
    t.end()


def progress(state):
    t = session(state)
    t.enter("n = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function() nightjar.sleep(0.5) end, { concurrency = 1 })")
    t.expect("a bar with rate and time left", r"^\[[#.]+\] +\d+%  \d of 8  [\d.]+ items/s  [\d.]+ m?s left$")
    t.expect("which leaves nothing behind", r"concurrency = 1 \}\)\n>$")
    t.keys("C-l")
    t.enter("api = nightjar.client { base_url = '%s', timeout = 60 }" % URL)
    t.enter("for part in api:get('/drip?bytes=40&delay=0.05', { stream = true }):chunks() do end")
    t.expect("one for a body that comes in parts", r"^\[[#.]+\] +\d+%  \d+ B of 40 B  \d+ B/s  [\d.]+ m?s left$")
    t.expect("and goes", r"do end\n>$")
    t.end()


def login(state):
    t = session(state)
    t.enter("api = nightjar.client { base_url = '%s', auth = { type = 'oauth2', grant = 'device_code', "
            "token_url = '/v1/oauth/token', client_id = 'demo', device_url = '/v1/oauth/device?interval=0.05' } }" % URL)
    t.enter("api:log_in()")
    t.expect("a login says where to go", r"^To log in, open http\S+/v1/oauth/device and type \S+$")
    code = re.search(r"and type (\S+)$", t.screen(), re.M)
    answer = urllib.parse.urlencode({"user_code": code.group(1), "allow": "1"}).encode()
    urllib.request.urlopen(URL + "/v1/oauth/device/decide", answer).close()
    t.expect("and goes on when it is done", r"and type \S+\n>$")
    t.enter("api:get('/v1/me').status")
    t.expect("the login is there", r"^200\n>$")
    t.end()


def colors(state):
    t = session(state, environment=(("NO_COLOR", ""),))
    t.enter("{ a = 1 }")
    t.expect("colours on a terminal", "\x1b\\[[\\d;]*34m *a", escapes=True)
    t.end()
    t = session(state)
    t.enter("{ a = 1 }")
    t.expect("the value", r"^\{ a = 1 \}\n>$")
    check("NO_COLOR has none", "\x1b[3" not in t.screen(escapes=True), t.screen(escapes=True))
    t.end()


def narrow(state):
    t = session(state, columns=30)
    t.type("'a line that is wider than the terminal is'")
    t.keys("C-a")
    t.type("nightjar.spawn(function() print 'in between' end) and ")
    t.keys("Enter")
    t.expect("wide lines", r'^"a line that is wider than the\n? ?terminal is"')
    t.end()


def pipes(state):
    environment = {**os.environ, "XDG_STATE_HOME": state, "TERM": "xterm"}
    result = subprocess.run([NIGHTJAR, "-i"], input="'a' .. 'b'\n{} == nil\nerror 'no'\n", capture_output=True, text=True,
                            env=environment)
    check("a pipe has what it had", result.stdout.endswith("> ab\n> false\n> > \n") and "\x1b" not in result.stdout
          and result.stderr.startswith("nightjar: stdin:1: no\nstack traceback:\n"), result)


with tempfile.TemporaryDirectory() as folder:
    for number, part in enumerate((typing, history, completion, calls, interruptions, progress, login, colors, narrow, pipes)):
        if len(sys.argv) > 3 and part.__name__ not in sys.argv[3:]:
            continue
        state = os.path.join(folder, str(number))
        os.mkdir(state)
        part(state)

print(f"the prompt: {passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
