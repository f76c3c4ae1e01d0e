#!/usr/bin/env python3
"""Checks the output of --trace and --har: Tests/Command/archive.py NIGHTJAR DEMO_URL"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from datetime import datetime

NIGHTJAR, ORIGIN = os.path.realpath(sys.argv[1]), sys.argv[2]
passed, failed = 0, 0

SCRIPT = """
local nightjar = require "nightjar"
local api = nightjar.client { base_url = arg[1], retry = false, headers = { Authorization = "Bearer hunter2" } }
api:get("/v1/articles", { query = { per_page = 2, access_token = "hunter2" } })
api:get("/redirect/2")
api:post("/status/201", { form = { password = "hunter2", note = "a b" } })
nightjar.client {}:get(arg[1] .. "/bytes/10")
nightjar.try(api.get, api, "/v1/articles/0")
nightjar.try(api.get, api, "http://127.0.0.1:1/x?token=hunter2")
nightjar.try(api.get, api, "/delay/5", { timeout = 0.05 })
if arg[2] == "die" then io.popen("kill -9 " .. io.open("/proc/self/stat"):read("n")):close() nightjar.sleep(5) end
"""


def check(name, claim, *evidence):
    global passed, failed
    if claim:
        passed += 1
        print(f"ok      {name}")
    else:
        failed += 1
        print(f"NOT OK  {name}: {evidence}")


def run(*options, ending="", environment=None):
    return subprocess.run([NIGHTJAR, *options, script, ORIGIN, ending], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(environment or {})})


def strings(value, *names):
    return all(isinstance(value[name], str) for name in names)


def pairs(values):
    return isinstance(values, list) and all(strings(value, "name", "value") for value in values)


def is_entry(entry):
    """Returns whether the entry has the fields that HAR 1.2 requires, with their types."""
    request, response, timings = entry["request"], entry["response"], entry["timings"]
    datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00"))
    total = sum(timings[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive") if timings[name] > 0)
    return (strings(request, "method", "url", "httpVersion") and pairs(request["headers"])
            and pairs(request["queryString"]) and pairs(request["cookies"])
            and all(isinstance(request[name], int) for name in ("headersSize", "bodySize"))
            and ("postData" not in request or strings(request["postData"], "mimeType", "text"))
            and isinstance(response["status"], int) and strings(response, "statusText", "httpVersion", "redirectURL")
            and pairs(response["headers"]) and pairs(response["cookies"])
            and all(isinstance(response[name], int) for name in ("headersSize", "bodySize"))
            and isinstance(response["content"]["size"], int) and isinstance(response["content"]["mimeType"], str)
            and isinstance(entry["cache"], dict)
            and all(timings[name] >= 0 for name in ("send", "wait", "receive"))
            and timings["connect"] >= timings["ssl"] and abs(total - entry["time"]) < 0.01)


def read(path):
    with open(path) as file:
        log = json.load(file)["log"]
    assert log["version"] == "1.2" and strings(log["creator"], "name", "version")
    return log["entries"]


SOCKETS = """
local nightjar = require "nightjar"
local api = nightjar.client { base_url = arg[1] }
local socket = api:websocket("/ws/echo", { query = { access_token = "hunter2" } })
local function exchange(send, value) send(socket, value) return socket:receive() end
assert(exchange(socket.send, "plain").text == "plain")
assert(exchange(socket.send_json, { token = "hunter2", note = "a" }).json.note == "a")
assert(#exchange(socket.send_binary, "\\0\\255").binary == 2)
assert(#exchange(socket.send, ("x"):rep(2 << 20)).text == 2 << 20)
assert(exchange(socket.send, "late").text == "late")
socket:close(1000)
nightjar.try(function() return api:websocket("/ws/handshake/status-403"):receive() end)
"""


def sockets(folder):
    """The messages of WebSockets are in the archive, in the form of Chromium's developer tools."""
    path, archive = os.path.join(folder, "sockets.lua"), os.path.join(folder, "sockets.har")
    with open(path, "w") as file:
        file.write(SOCKETS)
    result = subprocess.run([NIGHTJAR, "--har", archive, path, ORIGIN], capture_output=True, text=True, timeout=60)
    entries = read(archive) if result.returncode == 0 else []
    check("a WebSocket is an entry", [entry["response"]["status"] for entry in entries] == [101, 403], result, len(entries))
    entry = entries[0]
    messages = entry["_webSocketMessages"]
    check("the entry has the form of HAR 1.2", is_entry(entry))
    check("the messages have their direction and kind", entry["_resourceType"] == "websocket" and
          [(message["type"], message["opcode"]) for message in messages[:6]]
          == [("send", 1), ("receive", 1), ("send", 1), ("receive", 1), ("send", 2), ("receive", 2)], messages[:6])
    check("the messages have their content", [messages[at]["data"] for at in (0, 1, 4, 5)]
          == ["plain", "plain", "AP8=", "AP8="], messages[:6])
    check("secrets in messages are masked", "hunter2" not in json.dumps(entry) and
          json.loads(messages[2]["data"])["note"] == "a", messages[2])
    check("the messages have their time", all(abs(message["time"] - datetime.fromisoformat(
        entry["startedDateTime"].replace("Z", "+00:00")).timestamp()) < 60 for message in messages))
    check("long conversations are truncated", "only the first" in messages[6]["comment"] and len(messages) == 7
          and "3 later messages" in entry["comment"], entry.get("comment"), len(messages))
    check("a rejected handshake has no messages", "_webSocketMessages" not in entries[1])


def refusals(folder):
    """Another user has created a file, link or pipe at the path of the archive."""
    victim, path = os.path.join(folder, "victim"), os.path.join(folder, "planted.har")

    def place_file(make):
        with open(victim, "w") as file:
            file.write("precious")
        make()
        result = run("--har", path)
        os.unlink(path)
        with open(victim) as file:
            return result.returncode != 0 and file.read() == "precious", result.stderr

    check("--har follows no symbolic link", *place_file(lambda: os.symlink(victim, path)))
    check("--har writes into no file with another name", *place_file(lambda: os.link(victim, path)))
    check("--har does not wait for a pipe", *place_file(lambda: os.mkfifo(path)))
    if os.geteuid() == 0:
        def foreign():
            open(path, "w").close()
            os.chown(path, 4711, 4711)
        check("--har writes into no file of another user", *place_file(foreign))
    open(path, "w").close()
    os.chmod(path, 0o666)
    run("--har", path)
    check("--har makes its own file private", os.stat(path).st_mode & 0o777 == 0o600)


with tempfile.TemporaryDirectory() as folder:
    script, archive = os.path.join(folder, "script.lua"), os.path.join(folder, "script.har")
    with open(script, "w") as file:
        file.write(SCRIPT)
    refusals(folder)

    result = run("--har", archive)
    check("--har is silent", result.returncode == 0 and result.stderr == "", result)
    entries = read(archive)
    check("each exchange is an entry", [entry["response"]["status"] for entry in entries]
          == [200, 302, 302, 200, 201, 200, 404, 0, 0], entries)
    check("the entries have the form of HAR 1.2", all(is_entry(entry) for entry in entries), entries)
    check("failed exchanges have a reason", ["connect" in entries[-2]["comment"], "timeout" in entries[-1]["comment"]]
          == [True, True], entries[-2:])
    check("a redirect has its target", entries[1]["response"]["redirectURL"] == "/redirect/1", entries[1])
    check("an entry has the body", json.loads(entries[0]["response"]["content"]["text"])["per_page"] == 2, entries[0])
    check("an entry has the server's address", entries[0]["serverIPAddress"] == "127.0.0.1", entries[0])
    sent = json.dumps([entry["request"] for entry in entries])
    check("secrets are masked", "hunter2" not in sent and "note=a+b&password=***" in sent, sent)
    check("the archive is readable only by its owner", os.stat(archive).st_mode & 0o777 == 0o600)

    run(f"--har={archive}", "--har-secrets")
    check("--har-secrets shows secrets", "Bearer hunter2" in json.dumps(read(archive)))

    sockets(folder)

    result = run("--har", archive, ending="die")
    check("a process that is killed leaves an archive", result.returncode != 0 and len(read(archive)) == 9, result)

    result = run("--har", "/no/such/folder/x.har")
    check("a file that cannot be created is reported", result.returncode == 1 and "cannot be opened: No such file" in result.stderr)
    result = run("--har", "/dev/full")
    check("a device is rejected", result.returncode == 1 and "is not a regular file" in result.stderr, result)
    result = subprocess.run(
        [NIGHTJAR, "--har", archive, script, ORIGIN], capture_output=True, text=True, timeout=60, restore_signals=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
    check("a full disk is reported", "cannot be written: File too large" in result.stderr and read(archive) is not None, result)
    check("--har-secrets without --har is a usage error", run("--har-secrets").returncode == 2)

    result = run("--trace")
    lines = result.stderr.splitlines()
    check("--trace prints a heading and a line for each exchange", len(lines) == 10, lines)
    column = lines[0].index("url")
    check("the columns of the trace are aligned", all(re.match(r"(-> )?http://", line[column:]) for line in lines[1:]), lines)
    check("the trace has statuses and kinds of errors", [line.split()[1] for line in lines[1:]]
          == "200 302 302 200 201 200 404 connect timeout".split(), lines)
    check("the trace has no secrets and no colors", "hunter2" not in result.stderr and "\x1b" not in result.stderr)

print(f"archive: {passed} passed, {failed} failed")
sys.exit(failed > 0)
