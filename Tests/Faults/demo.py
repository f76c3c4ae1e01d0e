"""Helpers of the programs in this folder: the demo API, its statistics, Lua scripts, and checks."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

NIGHTJAR = os.path.realpath(sys.argv[1])
LONG = "--long" in sys.argv[2:]
PROXY_VARIABLES = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in PROXY_VARIABLES} | {"LC_ALL": "C.UTF-8"}
passed, failed = 0, 0
lock = threading.Lock()


def check(name, claim, *evidence):
    global passed, failed
    with lock:
        if claim:
            passed += 1
            print(f"ok      {name}", flush=True)
        else:
            failed += 1
            print(f"NOT OK  {name}: {str(evidence)[-3000:]}", flush=True)


def finish():
    print(f"{os.path.basename(sys.argv[0])}: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


class Demo:
    """A separate demo API server."""

    def __enter__(self):
        self.process = subprocess.Popen([NIGHTJAR, "demo", "--port", "0"], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        line = self.process.stdout.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line)[1])
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, method, path, content=None, connection=None):
        """Returns the JSON response to a plain client, or None."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            body = None if content is None else json.dumps(content)
            own.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = own.getresponse()
            text = response.read()
            assert response.status < 300, (method, path, response.status, text)
            return json.loads(text) if text else None
        finally:
            if not connection:
                own.close()

    def stats(self):
        return self.ask("GET", "/__stats")

    def control(self, **members):
        return self.ask("POST", "/__control", members)

    def read_all(self, paths):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            return [self.ask("GET", path, connection=connection) for path in paths]
        finally:
            connection.close()


class Script:
    """A running Lua script and its output so far, with the time of each line."""

    def __init__(self, source, *words, environment=None):
        self.process = subprocess.Popen([NIGHTJAR, "-e", source, "-", *words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=ENVIRONMENT | (environment or {}))
        self.lines = []
        self.errors = ""
        self.threads = [threading.Thread(target=self.read, daemon=True),
                        threading.Thread(target=self.read_errors, daemon=True)]
        for thread in self.threads:
            thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def read_errors(self):
        self.errors = self.process.stderr.read()

    def texts(self):
        return [text for _, text in list(self.lines)]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.end()

    def end(self):
        for thread in self.threads:
            thread.join(10)
        self.process.stdout.close()
        self.process.stderr.close()

    def wait(self, timeout=600):
        status = self.process.wait(timeout)
        self.end()
        return status


def lua(source, *words, timeout=600):
    """Returns the output lines of a script that succeeds. A failing script is a failed check."""
    script = Script(source, *words)
    status = script.wait(timeout)
    if status != 0:
        check("a script succeeds", False, status, script.errors, script.texts()[-5:])
    return script.texts()


def eventually(claim, timeout=30.0):
    """Returns whether the condition becomes true in time."""
    deadline = time.monotonic() + timeout
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def side_by_side(*works):
    """Runs functions concurrently. An exception is a failed check."""
    def run(work):
        try:
            work()
        except Exception as error:
            import traceback
            check(f"{getattr(work, '__name__', work)} ends", False, repr(error), traceback.format_exc())

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def temporary():
    return tempfile.TemporaryDirectory(prefix="nightjar-harm-")
