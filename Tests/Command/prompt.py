#!/usr/bin/env python3
"""The prompt on a terminal of tmux: Tests/Command/prompt.py NIGHTJAR URL

Types keys and compares screens. Each step waits for its result. URL is the URL of the demo API."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
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
    """The command in its own terminal, which has 40 lines."""

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
    t.expect("the value of an expression is shown", r"^> 6 \* 7\n42\n>$")
    t.enter("=_ + 1")
    t.expect("= shows a value, and _ is the last result", r"^43\n>$")
    t.type("retrn 5")
    t.keys("C-a", "Right", "Right", "Right")
    t.type("u")
    t.keys("Enter")
    t.expect("the line can be edited", r"^> return 5\n5\n>$")
    t.enter("for i = 1, 2 do")
    t.expect("an unfinished statement is continued", r"^> for i = 1, 2 do\n>>$")
    t.enter("print('line', i) end")
    t.expect("a complete statement runs", r"^line\t?\s+1\nline\s+2\n>$")
    t.keys("Up")
    t.expect("the up key recalls the complete statement", r"^> for i = 1, 2 do\n *print\('line', i\) end$")
    t.keys("C-c")
    t.expect("Ctrl-C discards a line", r"end\n>$")
    t.enter("'grüße', {1, {2}}, nil")
    t.expect("all results are shown, without escaping letters", r'^"grüße"\n\{ 1, \{ 2 \} \}\nnil\n>$')
    t.enter("io.write 'no newline'")
    t.expect("the prompt begins on a new line after output without a newline", r"^no newline\nfile \(0x\w+\)\n>$")
    t.enter(".nosuch")
    t.expect("an unknown command", r"^unknown command \.nosuch; \.help lists the commands\n>$")
    t.keys("C-d")
    t.expect("Ctrl-D ends the session", r"left with 0$")
    t.end()


def history(state):
    t = session(state)
    t.enter("'first entry'")
    t.expect("an entry", r'^"first entry"\n>$')
    t.enter('api = nightjar.client { base_url = "http://127.0.0.1:1", auth = { type = "bearer", token = "moonlight" } }')
    t.expect("a history entry with a secret", r"moonlight\" } }\n>$")
    t.enter(" 'begins with a space'")
    t.expect("a history entry that begins with a space", r'^"begins with a space"\n>$')
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
    check("the content of the history", kept == "'first entry'\nfor i = 1, 1 do\\nprint 'two\\\\nlines' end\n", kept)
    check("the history is readable only by its owner", os.stat(path).st_mode & 0o777 == 0o600)
    t = session(state)
    t.keys("Up", "Up")
    t.expect("another session reads the history", r"^> 'first entry'$")
    t.keys("C-c")
    t.keys("C-r")
    t.type("two")
    t.expect("Ctrl-R finds a history entry", r"^> for i = 1, 1 do\n *print 'two")
    t.keys("Enter")
    t.expect("Enter runs the found entry", r"^two\nlines\n>$")
    t.end()


def completion(state):
    t = session(state)
    t.type("nightjar.ma")
    t.keys("Tab")
    t.expect("a field", r"^> nightjar\.map$")
    t.keys("C-u")
    t.type("string.up")
    t.keys("Tab")
    t.expect("a single completion", r"^> string\.upper$")
    t.keys("C-u")
    t.enter("guarded = setmetatable({ seen = 1 }, { __index = function() ran = true end })")
    t.type("guarded.inner.")
    t.keys("Tab")
    t.keys("C-u")
    t.enter("ran")
    t.expect("completion runs no function of a script", r"^> ran\nnil\n>$")
    t.enter("api = nightjar.client { base_url = '%s', endpoints = { article = { path = '/v1/articles/{id}', "
            "parameters = { id = 'integer', fields = 'string' } }, articles = { path = '/v1/articles' } } }" % URL)
    t.keys("C-l")
    t.type("api:lo")
    t.keys("Tab")
    t.expect("methods", r"^load_openapi +log_in +log_out\n> api:lo$")
    t.keys("C-u")
    t.type("api.endpoints.article")
    t.keys("Tab")
    t.expect("endpoints", r"^article +articles\n> api\.endpoints\.article$")
    t.type(" { ")
    t.keys("Tab")
    t.expect("parameters of endpoints", r"^fields +id\n> api\.endpoints\.article \{$")
    t.keys("C-u")
    t.type("api:get('/x', { time")
    t.keys("Tab")
    t.type("{ c")
    t.keys("Tab")
    t.expect("options and nested options", r"^> api:get\('/x', \{ timeout = \{ connect =$")
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
    t.expect("an error with a hint", r"^not_found: GET returned 404[^>]*\nhint: check the path; [^>]*\n>$")
    t.keys("C-l")
    t.enter("err.kind, err.response.status, res.status")
    t.expect("err is the last error, and res the last response", r'"not_found"\n404\n200\n>$')
    t.enter("help(api.close)")
    t.expect("help shows the methods of a client", r"\napi:close\(\)\n  Cancels")
    t.enter("api:gett '/'")
    t.expect("an unknown field", r"did you mean '?get'?\?")
    t.keys("C-l")
    t.enter("help(nightjar.map)")
    t.expect("help of a function", r"^nightjar\.map\(list: any\[\], f: fun[^>]*\n  Calls f for each item")
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
    t.expect("successful statements are saved", r"^\d lines in .*saved\.lua; set NIGHTJAR_TOKEN to run it\n>$")
    with open(path) as file:
        script = file.read()
    check("failed statements and secrets are not saved", "not kept" not in script and "moonlight" not in script
          and "token = (os.getenv \"NIGHTJAR_TOKEN\")" in script and "_ = api:get '/articles/1'\n" in script, script)
    ran = subprocess.run([NIGHTJAR, path], capture_output=True, text=True, env={**os.environ, "NIGHTJAR_TOKEN": "x"})
    check("the saved script runs", ran.returncode == 0, ran)
    t.end()


class SlowServer:
    """Reads one request slowly, and responds to it."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        connection = self.socket.accept()[0]
        content = b""
        while b"\r\n\r\n" not in content:
            content += connection.recv(65536)
        head, content = content.split(b"\r\n\r\n", 1)
        left = int(re.search(rb"content-length: (\d+)", head, re.I).group(1)) - len(content)
        while left > 0:
            left -= len(connection.recv(65536))
            time.sleep(0.02)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


class Demo:
    """A separate demo API, which can be stopped."""

    def __init__(self):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        self.process = subprocess.Popen([NIGHTJAR, "demo", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=environment)
        self.url = None
        while self.url is None:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the demo API did not start")
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            self.url = found and found.group(0)

    def stop(self):
        self.process.kill()
        self.process.wait()


def fixtures(state):
    demo = Demo()
    secrets = ("moonlight", "ada@example.org", "starlight-key", "sunlight-and-shade", "noonday-token", "k3yz", "=abc", "90210", "shadowland")
    t = session(state, environment=(("DUSK_TOKEN", "noonday-token"), ("DEMO", demo.url)), columns=200)
    t.enter("api = nightjar.client { base_url = os.getenv 'DEMO' .. '/v1', headers = { ['X-Api-Key'] = 'starlight-key' }, "
            "auth = { type = 'login', url = '/auth/login', json = { email = 'ada@example.org', password = 'moonlight' }, "
            "access_token_pointer = '/access_token', refresh_token_pointer = '/refresh_token', store = 'file:%s/tokens' } }" % state)
    t.enter("api:get('/articles/1')")
    t.expect("a call", r"^200 OK  ")
    t.keys("C-l")
    t.enter("_.json.title")
    t.expect("the title of the article", r'^"The bird that flies by moonlight"\n>$')
    t.enter("api:get('/me').json.email")
    t.expect("a call with a login", r'^"ada@example.org"\n>$')
    t.enter("api:get('/nowhere')")
    t.expect("an error", r"^not_found: ")
    t.enter("api:post('/articles', { json = { title = 'noonday-token', body = 'by moonlight', author_id = 1 } }).status")
    t.expect("a write", r"^201\n>$")
    t.enter("other = nightjar.client { base_url = os.getenv 'DEMO', auth = { type = 'bearer', token = os.getenv 'DUSK_TOKEN' } }")
    t.enter("other:get('/echo', { query = { api_key = 'sunlight-and-shade', q = 'two words' } }).json.headers")
    t.expect("a response with secrets", r"noonday-token")
    t.keys("C-l")
    t.enter("for i = 1, 2 do local n = other:get('/v1/articles', { query = { page = i } }).status end")
    t.enter("#other:get('/bytes/5000000').body")
    t.expect("a large body", r"^5000000\n>$")
    t.enter("stream = other:get('/drip?bytes=100000&delay=1', { stream = true })")
    t.enter("local a, b = nightjar.all { function() return other:get('/v1/articles').status end, function() return 7 end }")
    t.enter("other:get('/v1/articles?api_key=abc&page=2', { headers = { Cookie = 'a=1; s=shadowland' } }).status")
    t.enter("other:get('/echo?api_key=abc').status")
    t.enter("other:post('/echo', { json = { pin = 90210, code = 5 } }).status")
    t.enter("t = other:get('/encoded/gzip').headers.content_encoding")
    t.enter("other:get('/encoded/gzip').headers['Content-Encoding']")
    t.enter("other:get('/redirect/2').status")
    t.enter("made = other:post('/echo', { json = { at = os.time() } })")
    t.enter("made.status")
    t.enter("third = nightjar.client { base_url = os.getenv 'DEMO' } third:get('/nowhere')")
    t.enter("third:get('/v1/articles/3').status")
    t.enter("api = api or nothing() nothing()")
    t.enter("api:get('/articles/3').status")
    t.enter("short = nightjar.client { base_url = os.getenv 'DEMO', auth = { type = 'bearer', token = 'k3yz' } }")
    t.enter("short:get('/v1/articles/2').status, nil")
    t.enter("short:get('/echo').json.target")
    t.enter("short:get('/echo').json.headers")
    t.enter("device = nightjar.client { base_url = os.getenv 'DEMO', auth = { type = 'oauth2', grant = 'device_code', "
            "token_url = '/v1/oauth/token', client_id = 'demo', device_url = '/v1/oauth/device?interval=0.05' } }")
    t.enter("device:log_in { prompt = function(info) other:post('/v1/oauth/device/decide', { form = "
            "{ user_code = info.user_code, allow = '1' } }) end }")
    t.enter("device:get('/v1/me').json.handle")
    t.enter("do local socket = other:websocket('/ws/echo?api_key=sunlight-and-shade') socket:send_json { token = 'noonday-token', n = 9 } "
            "heard = socket:receive().json.n socket:close() end")
    t.enter("heard")
    t.enter("return 'at the end'")
    t.expect("all statements were entered", r'^"at the end"\n>$')
    t.keys("C-l")
    path = os.path.join(state, "session_test.lua")
    t.type(".save te")
    t.keys("Tab")
    t.type(path)
    t.keys("Enter")
    t.expect("successful statements become a test", r"^2[34] lines in \S+/session_test\.lua, \d+ exchanges in \S+/session_test\.json, \S+-2\.json, \S+-3\.json, \S+-4\.json\n"
             r"excluded: #other:get\('/bytes/5000000'\)\.body \(GET \S+ has a body that is larger than 4 MiB\)\n"
             r"excluded: stream = other:get\('/drip.* \(one of its calls has not finished\)\n"
             r"(excluded: other:get\('/echo\?api_key=scrubbed-\d+'\)\.status \(it contains a secret that is too short[^)]*\)\n)?"
             r"excluded: made = other:post\('/echo', \{ json = \{ at = os.time\(\) \} \}\) \(it depends on the time or on random values\)\n"
             r"excluded: made\.status \(made is missing\)\n"
             r"excluded: third:get\('/v1/articles/3'\)\.status \(third is missing\)\n"
             r"excluded: short:get\('/echo'\)\.json\.target \(it contains a secret that is too short[^)]*\)\n"
             r"excluded: short:get\('/echo'\)\.json\.headers \(it contains a secret that is too short[^)]*\)\n"
             r"run it with nightjar test \S+\n>$")
    t.enter(".save test " + path)
    t.expect("overwriting is reported", r"-4\.json, overwriting the previous file$")
    with open(os.path.join(state, "by_hand.lua"), "w") as script:
        script.write("-- mine\n")
    t.keys("C-l")
    t.enter(".save " + os.path.join(state, "by_hand.lua"))
    t.expect("a file from elsewhere is not overwritten", r"by_hand\.lua exists and was not written by \.save; use \.save! to overwrite it\n>$")
    t.enter(".save! " + os.path.join(state, "by_hand.lua"))
    t.expect("a file from elsewhere is overwritten on request", r"lines in \S+/by_hand\.lua, overwriting the previous file")
    t.keys("C-l")
    t.enter(".save test " + state + "/other")
    t.expect("an invalid name of a test file", r"^\.save: the file name must end in \.lua, as in \.save test api_test\.lua$")
    t.enter(".save test")
    t.expect(".save without a file", r"^usage: \.save script\.lua, or \.save test api_test\.lua$")
    t.enter("stream:close()")
    t.expect("a closed stream", r"^> stream:close\(\)\n>$")
    t.keys("C-d")
    t.expect("the session ends", r"left with 0$")
    t.end()
    demo.stop()
    with open(os.path.join(state, "tokens"), "rb") as file:
        tokens = file.read()
    content = ""
    for name in ("session_test.lua", "session_test.json", "session_test-2.json", "session_test-3.json", "session_test-4.json"):
        with open(os.path.join(state, name)) as file:
            text = file.read()
        check(f"no secret is in {name}", not any(secret in text for secret in secrets), text)
        content += text
    tokens = [token for token in re.findall(rb'"([\w.~+/=-]{20,})"', tokens) if token.decode() in content]
    check("the test contains no token", not tokens, tokens)
    check("the files are readable only by their owner", os.stat(path).st_mode & 0o777 == 0o600)
    check("the test expects the observed results", all(line in content for line in (
        't1:replay("session_test.json", "session_test-2.json", "session_test-3.json", "session_test-4.json")', 't1:equal(_, "ada")', "t1:equal(_.status, 200)", "t1:equal(_, 201)", '"from": "client"', "t1:equal(_, 9)")), content)
    before = os.stat(os.path.join(state, "tokens")).st_mtime_ns
    ran = subprocess.run([NIGHTJAR, "test", path], capture_output=True, text=True, cwd="/", env={**os.environ, "HOME": state})
    check("the test passes without the server", ran.returncode == 0 and "1 passed, 0 failed" in ran.stdout, ran, content)
    check("the test does not change the login", os.stat(os.path.join(state, "tokens")).st_mtime_ns == before)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("t1:equal(_, 201)", "t1:equal(_, 202)").replace("/articles/1'", "/articles/2'"))
    ran = subprocess.run([NIGHTJAR, "test", path], capture_output=True, text=True)
    check("a different request fails", ran.returncode == 1 and "has no exchange for GET" in ran.stdout, ran)


def interruptions(state):
    t = session(state)
    t.enter("api = nightjar.client { base_url = '%s', timeout = 60 }" % URL)
    t.enter("api:get '/delay/30'")
    t.expect("a slow call", r"delay/30'\n\Z|delay/30'$")
    t.keys("C-c")
    t.expect("Ctrl-C cancels a call", r"^(\^C)?interrupted\n>$")
    t.enter("while true do pcall(function() while true do end end) end")
    t.expect("a loop", r"end\) end$")
    t.keys("C-c")
    t.expect("Ctrl-C ends a loop", r"end\) end\n(\^C)?interrupted\n>$")
    t.enter("local done <close> = setmetatable({}, { __close = function() print 'closed' end }) nightjar.sleep(60)")
    t.expect("a call with a <close> variable", r"sleep\(60\)$")
    t.keys("C-c")
    t.expect("Ctrl-C closes the variable", r"^(\^C)?closed\ninterrupted\n>$")
    t.enter("'still here'")
    t.expect("the session continues", r'^"still here"\n>$')
    t.keys("C-l")
    t.enter("task = nightjar.spawn(function() for i = 1, 3 do nightjar.sleep(0.1) print('tick ' .. i) end error 'late' end)")
    t.type("'half typed'")
    t.expect("tasks run at the prompt without changing the line",
             r"^tick 1\ntick 2\ntick 3\na background task failed:\nstdin:1: late\n(stack.*\n(.+\n)*)?> 'half typed'$")
    t.keys("Enter")
    t.expect("the line is unchanged", r'^"half typed"\n>$')
    t.enter("nightjar.spawn(function() while true do end end) nightjar.sleep(0)")
    t.expect("a task in an endless loop", r"sleep\(0\)$")
    t.keys("C-c")
    t.keys("C-c")
    t.enter("'and on'")
    t.expect("Ctrl-C ends that task too", r'^"and on"\n>$')
    t.enter(".quit")
    t.expect(".quit ends the session", r"left with 0$")
    t.end()


def progress(state):
    t = session(state)
    t.enter("n = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function() nightjar.sleep(0.5) end, { concurrency = 1 })")
    t.expect("a progress bar with rate and remaining time", r"^\[[#.]+\] +\d+%  \d of 8  [\d.]+ items/s  [\d.]+ m?s left$")
    t.expect("the progress bar is removed", r"concurrency = 1 \}\)\n>$")
    t.keys("C-l")
    t.enter("api = nightjar.client { base_url = '%s', timeout = 60 }" % URL)
    t.enter("for part in api:get('/drip?bytes=40&delay=0.05', { stream = true }):chunks() do end")
    t.expect("a progress bar for a streamed body", r"^\[[#.]+\] +\d+%  \d+ B of 40 B  \d+ B/s  [\d.]+ m?s left$")
    t.expect("the progress bar of the streamed body is removed", r"do end\n>$")
    t.keys("C-l")
    t.enter("#api:get('/drip?bytes=40&delay=0.05').body")
    t.expect("a progress bar for a slow call", r"^\[[#.]+\] +\d+%  \d+ B of 40 B  \d+ B/s  [\d.]+ m?s left$")
    t.expect("the progress bar is removed before the result", r"\.body\n40\n>$")
    t.keys("C-l")
    t.enter("#nightjar.all { function() return api:get('/drip?bytes=40&delay=0.05').body end, function() return "
            "api:get('/drip?bytes=60&delay=0.05').body end }")
    t.expect("one progress bar for all running calls", r"^(\[[#.]+\] +)?\d+%  \d+ B of 100 B  \d+ B/s  [\d.]+ m?s left  2 calls$")
    t.expect("the progress bar stays until all calls have ended", r"end \}\n40\n>$")
    t.keys("C-l")
    t.enter("nightjar.all { function() print(#api:get('/drip?bytes=20&delay=0.05').body) end, function() print(#api:get("
            "'/drip?bytes=50&delay=0.05').body) end }")
    t.expect("output during a call is on its own line", r"end \}\n20\n(\[[#.]+\] +)?\d+%  \d+ B of 70 B [^\n]* left$")
    t.expect("output during a call remains", r"end \}\n20\n50\n(nil\n)*>$")
    t.keys("C-l")
    server = SlowServer()
    t.enter("api:post('%s/', { body = ('x'):rep(4000000) }).status" % server.url)
    t.expect("a progress bar for an upload", r"^(\[[#.]+\] +)?\d+%  [\d.]+ [KM]?B of 3\.8 MB  [\d.]+ [KM]B/s  [\d.:]+ (m?s|min) left  sent$")
    t.expect("the progress bar is removed after the upload", r"\.status\n200\n>$")
    t.keys("C-l")
    t.enter("n = nightjar.map({ 1, 2, 3 }, function() return api:get('/drip?bytes=40&delay=0.03').body end, { concurrency = 1 })")
    t.expect("the progress bar of nightjar.map", r"^\[[#.]+\] +\d+%  \d of 3  [\d.]+ items/s  [\d.]+ m?s left$")
    t.expect("the progress bar of nightjar.map is removed", r"concurrency = 1 \}\)\n>$")
    t.keys("C-l")
    t.enter("nightjar.spawn(function() done = #api:get('/drip?bytes=40&delay=0.05').body end) and nil")
    t.expect("background calls show no progress bar", r"^nil\n>$")
    for _ in range(10):
        check("background calls show no progress bar later", "B/s" not in t.screen(), t.screen())
        t.keys("x", "BSpace")
        time.sleep(0.1)
    t.enter("api:get('/drip?bytes=400&delay=0.05')")
    t.expect("a bar", r" B of 400 B ")
    t.keys("C-c")
    t.expect("Ctrl-C removes the progress bar", r"delay=0\.05'\)\n(\^C)?interrupted\n>$")
    t.end()


def login(state):
    t = session(state)
    t.enter("api = nightjar.client { base_url = '%s', auth = { type = 'oauth2', grant = 'device_code', "
            "token_url = '/v1/oauth/token', client_id = 'demo', device_url = '/v1/oauth/device?interval=0.05' } }" % URL)
    t.enter("api:log_in()")
    t.expect("a login prints the URL and the code", r"^To log in, open http\S+/v1/oauth/device and type \S+$")
    code = re.search(r"and type (\S+)$", t.screen(), re.M)
    response = urllib.parse.urlencode({"user_code": code.group(1), "allow": "1"}).encode()
    urllib.request.urlopen(URL + "/v1/oauth/device/decide", response).close()
    t.expect("the login ends after the confirmation", r"and type \S+\n>$")
    t.enter("api:get('/v1/me').status")
    t.expect("the login is used", r"^200\n>$")
    t.keys("C-l")
    t.enter("api:log_out()")
    t.enter("api:get('/v1/me').status")
    t.expect("the error after a logout has a hint", r"^unauthorized: .*\nhint: log in: [^>]*\n>$")
    t.keys("C-l")
    t.enter("api:log_in()")
    t.expect("a login that is not confirmed", r"^To log in, open \S+ and type \S+$")
    given_up = re.search(r"and type (\S+)$", t.screen(), re.M).group(1)
    t.keys("C-c")
    t.expect("Ctrl-C cancels the login", r"and type \S+\n(\^C)?interrupted\n>$")
    t.keys("C-l")
    t.enter("api:log_in()")
    t.expect("another login can begin", r"^To log in, open \S+ and type \S+$")
    code = re.search(r"and type (\S+)$", t.screen(), re.M).group(1)
    check("the other login has another code", code != given_up, code, given_up)
    urllib.request.urlopen(URL + "/v1/oauth/device/decide", urllib.parse.urlencode({"user_code": code, "allow": "0"}).encode()).close()
    t.expect("a refused login is reported", r"^unauthorized: .*\n(hint: .*\n)?>$")
    t.enter("api:get('/v1/me').status")
    t.keys("C-l")
    t.enter("nightjar.spawn(function() api:log_in() print('logged in meanwhile') end) and nil")
    t.expect("a login in the background", r"^To log in, open \S+\n? and type \S+\n(nil\n)?> ?$")
    code = re.search(r"and type (\S+)$", t.screen(), re.M).group(1)
    t.type("api:get('/v1/me').status")
    urllib.request.urlopen(URL + "/v1/oauth/device/decide", urllib.parse.urlencode({"user_code": code, "allow": "1"}).encode()).close()
    t.expect("the background login ends while a line is edited", r"^logged in meanwhile\n> api:get\('/v1/me'\)\.status$")
    t.keys("Enter")
    t.expect("the edited line uses the login", r"^200\n>$")
    t.end()


def colors(state):
    t = session(state, environment=(("NO_COLOR", ""),))
    t.enter("{ a = 1 }")
    t.expect("colors on a terminal", "\x1b\\[[\\d;]*34m *a", escapes=True)
    t.end()
    t = session(state)
    t.enter("{ a = 1 }")
    t.expect("a value without colors", r"^\{ a = 1 \}\n>$")
    check("NO_COLOR disables colors", "\x1b[3" not in t.screen(escapes=True), t.screen(escapes=True))
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
    check("output to a pipe has no terminal sequences", result.stdout.endswith("> ab\n> false\n> > \n") and "\x1b" not in result.stdout
          and result.stderr.startswith("nightjar: stdin:1: no\nstack traceback:\n"), result)


with tempfile.TemporaryDirectory() as folder:
    for number, part in enumerate((typing, history, completion, calls, fixtures, interruptions, progress, login, colors, narrow, pipes)):
        if len(sys.argv) > 3 and part.__name__ not in sys.argv[3:]:
            continue
        state = os.path.join(folder, str(number))
        os.mkdir(state)
        part(state)

print(f"the prompt: {passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
