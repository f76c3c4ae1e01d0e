#!/usr/bin/env python3
"""A host that runs out of memory: Tests/Faults/memory.py NIGHTJAR"""

import http.server
import os
import signal
import subprocess
import tempfile
import threading
import zlib

from demo import ENVIRONMENT, NIGHTJAR, check, finish

HERE = os.path.dirname(os.path.realpath(__file__))
PREFIX = os.path.dirname(os.path.dirname(NIGHTJAR))
HUGE, LARGE = 300 << 20, 3 << 20


def gzip(size):
    # The content is about 50 times as long as its compressed form. The client would reject a ratio of more than 1000.
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    part = os.urandom(1024) + bytes(64 * 1024 - 1024)
    return b"".join(encoder.compress(part) for _ in range(size // len(part))) + encoder.flush()


GZIPPED = {"/gzip": gzip(HUGE), "/large-gzip": gzip(LARGE)}
JSON = {"/json": b"[" + b"0," * (6 << 20) + b"0]", "/large-json": b"[" + b"0," * (100 << 10) + b"0]"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Cache-Control", "no-cache")
        try:
            if self.path in GZIPPED:
                self.send_header("Content-Encoding", "gzip")
                self.send_whole(GZIPPED[self.path])
            elif self.path in JSON:
                self.send_whole(JSON[self.path])
            elif self.path in ("/chunked", "/large-chunked"):
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                part = bytes(64 * 1024)
                for _ in range((HUGE if self.path == "/chunked" else LARGE) // len(part)):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")
            elif self.path in ("/known", "/large"):
                size = HUGE if self.path == "/known" else LARGE
                self.send_header("Content-Length", str(size))
                self.end_headers()
                part = bytes(64 * 1024)
                for _ in range(size // len(part)):
                    self.wfile.write(part)
            else:
                self.send_whole(b"small")
        except ConnectionError:
            self.close_connection = True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_whole(b"small")

    def send_whole(self, content):
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a failing client closes its connections in the middle of a response


def build(folder):
    program = os.path.join(folder, "memory")
    subprocess.run(["cc", "-O1", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-rdynamic",
                    f"-I{PREFIX}/include", f"{HERE}/memory.c", "-o", program, f"-L{PREFIX}/lib", "-lnightjar",
                    f"-Wl,-rpath,{PREFIX}/lib"], check=True)
    return program


def run(*words):
    """Returns status, output and errors; the status is None if the program does not end."""
    try:
        result = subprocess.run([str(word) for word in words], env=ENVIRONMENT, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=60)
        return result.returncode, result.stdout, result.stderr
    except subprocess.TimeoutExpired as error:
        return None, error.stdout, error.stderr


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"

with tempfile.TemporaryDirectory() as folder:
    program = build(folder)
    for case in ["default_limit", "response_body", "request_body", "json"]:
        status, output, errors = run(program, case, url)
        check(case, status == 0 and errors == "", status, output, errors)

    script = os.path.join(folder, "script.lua")
    with open(script, "w") as file:
        file.write(f'''
            local nightjar = require "nightjar"
            local api = nightjar.client {{ base_url = "{url}", max_body = 500000000 }}
            for _ = 1, 3 do
              local ok, err = pcall(api.get, api, "/known")
              assert(not ok and err.kind == "no_memory", err)
              local res, err = nightjar.try(api.post, api, "/small", {{ body = ("x"):rep(1000) }})
              assert(res and res.body == "small", err)
            end
            local ok, err = pcall(string.rep, "x", 400000000)
            assert(not ok and tostring(err):find "not enough memory", err)''')
    status, output, errors = run("prlimit", f"--as={400 << 20}", NIGHTJAR, script)
    check("a script under a limit of 400 MB", status == 0 and errors == "", status, output, errors)

    for number in range(200):
        status, output, errors = run(program, "one_fails", url, number)
        if status != 0 or errors:
            check(f"allocation {number} of more than 64 KiB fails", False, status, output, errors)
        if "clean" in (output or ""):
            break
    check("each allocation of more than 64 KiB fails once", number > 5 and "clean" in output, number, status, output)

    size = 64 << 10
    while size < 1 << 30:
        status, output, errors = run(program, "large_fail", url, size)
        if status != 0 or errors:
            check(f"allocations of more than {size >> 10} KiB fail", False, status, output, errors)
        if "clean" in (output or ""):
            break
        size += size // 4
    check("all allocations above a size fail", size > 1 << 20 and "clean" in output, size, status, output)

    # Swift ends the process when a small allocation fails, often with SIGSEGV, because reporting the failure needs
    # memory, too.
    ends = {}
    number = 0
    while number < 20_000:
        status, output, errors = run(program, "all_fail", url, number)
        name = "hang" if status is None else signal.Signals(-status).name if status < 0 else f"status {status}"
        ends.setdefault(name, []).append(number)
        if status == 0 and "clean" in output:
            break
        number += 1 + number // 8
    allowed = {"SIGILL", "SIGTRAP", "SIGABRT", "SIGSEGV", "status 0"}
    check("all allocations fail from the n-th on: the process ends", set(ends) <= allowed, ends)

finish()
