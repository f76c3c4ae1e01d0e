#!/usr/bin/env python3
"""Many processes share one login whose refresh token rotates: Tests/Faults/processes.py NIGHTJAR [--long]

The demo API ends a login if a refresh token is used twice, so a process that reuses a token would log out all processes.
"""

import glob
import os
import random
import threading
import time

from demo import LONG, Demo, Script, check, eventually, finish, temporary

PROCESSES = 8
KEY = "00112233445566778899aabbccddeeff" * 2

# Makes calls in rounds of three, and prints a line at the end of each round. Two more lines mean that a complete round has
# started and ended meanwhile.
WORKER = """
local nightjar = require "nightjar"
local url, token_url, store, access, refresh = table.unpack(arg)
io.stdout:setvbuf "line"
local kind, path = store:match "^(%w+):(.*)$"
local stores = { encrypted = { file = path, key_env = "HARM_KEY" } }
local api = nightjar.client {
  base_url = url, retry = false, log = function(level, line) if level == "error" then print("LOG " .. line) end end,
  auth = {
    type = "oauth2", token_url = token_url, access_token = access, refresh_token = refresh, skew = 0,
    refresh_limit = 1000000, store = stores[kind] or store,
  },
}
local function me()
  local ok, err = pcall(api.get, api, "/v1/me")
  if not ok then print("FAILED " .. tostring(err):gsub("%s+", " ")) end
end
print "started"
while true do
  nightjar.all { me, me, me }
  print "round"
  nightjar.sleep(0.002)
end
"""


class Fleet:
    """Processes that share a login. Each one starts with the login's tokens in its configuration."""

    def __init__(self, demo, kind, folder, delay=0.0):
        self.demo, self.kind = demo, kind
        self.folder = folder
        grant = demo.ask("POST", "/v1/auth/login", {"email": "ada@example.org", "password": "moonlight", "expires_in": 3600})
        self.words = [demo.url, f"/v1/auth/refresh?delay={delay}", f"{kind}:{folder}/login",
                      grant["access_token"], grant["refresh_token"]]
        self.guard = threading.Lock()
        self.failures = []
        self.killed = 0
        self.workers = [self.start() for _ in range(PROCESSES)]

    def start(self):
        return Script(WORKER, *self.words, environment={"HARM_KEY": KEY})

    def rounds(self, worker):
        return sum(text == "round" for text in worker.texts())

    def passed_a_round(self, timeout=60):
        """Waits until each process, including replacements, has started and finished a round of calls."""
        marks = {}

        def all_have():
            with self.guard:
                workers = list(self.workers)
            for worker in workers:
                rounds = self.rounds(worker)
                # A new process must also complete a round that starts from now on.
                if id(worker) not in marks:
                    marks[id(worker)] = (worker, rounds)
                if rounds < marks[id(worker)][1] + 2:
                    return False
            return True

        with self.guard:
            for worker in self.workers:
                marks[id(worker)] = (worker, self.rounds(worker))
        return eventually(all_have, timeout)

    def kill(self, indices):
        """Kills and replaces processes. Returns the time of the kill."""
        with self.guard:
            for index in indices:
                worker = self.workers[index]
                worker.process.kill()
            over = time.monotonic()
            for index in indices:
                self.settle(self.workers[index])
                self.workers[index] = self.start()
                self.killed += 1
        return over

    def holder(self):
        """Returns the index of the process that holds the store's lock, which redeems the refresh token, or None."""
        for index, worker in enumerate(list(self.workers)):
            for path in glob.glob(f"/proc/{worker.process.pid}/fdinfo/*"):
                try:
                    with open(path) as file:
                        if "OFDLCK" not in file.read():
                            continue
                    # SQLite has its own locks on the data; the lock of the login is a separate file.
                    if os.readlink(path.replace("fdinfo", "fd")).endswith(".lock"):
                        return index
                except OSError:
                    continue
        return None

    def settle(self, worker):
        worker.process.wait()
        worker.end()
        self.failures += [text for text in worker.texts() if text.startswith(("FAILED", "LOG"))]
        if worker.process.returncode != -9 or worker.errors:
            self.failures.append((worker.process.returncode, worker.errors))

    def end(self):
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            self.settle(worker)


def report(name, fleet, expiries, before):
    auth = fleet.demo.stats()["auth"]
    seen = {key: auth[key] - before[key] for key in auth}
    check(f"{name}: no call fails", not fleet.failures, len(fleet.failures), fleet.failures[:5])
    check(f"{name}: no refresh token is redeemed twice, the login is never revoked",
          seen["refresh_reuses"] == 0 and seen["revoked_families"] == 0, seen)
    check(f"{name}: {expiries} expiries cause as many refreshes", seen["refreshes"] == expiries, seen)
    check(f"{name}: no process logs in again", seen["logins"] == 1, seen)
    return seen


def expiries(demo, kind, count):
    name = f"{PROCESSES} processes with one {kind} store"
    with temporary() as folder:
        before = demo.stats()["auth"]
        fleet = Fleet(demo, kind, folder)
        done = 0
        began = time.monotonic()
        while fleet.passed_a_round() and done < count:
            demo.control(expire_access_tokens=True)
            done += 1
        fleet.end()
        check(f"{name}: {count} expiries pass ({time.monotonic() - began:.0f} s)", done == count, done)
        report(name, fleet, done, before)


def kills(demo, kind, seconds, pause, delay):
    """Tokens expire while processes are killed at random times. Every other kill hits the process that holds the lock."""
    name = f"{PROCESSES} processes with one {kind} store, some killed"
    with temporary() as folder:
        before = demo.stats()["auth"]
        fleet = Fleet(demo, kind, folder, delay)
        fleet.passed_a_round()
        over = threading.Event()
        aimed = []

        def killer():
            number = 0
            while not over.wait(pause * random.uniform(0.5, 1.5)):
                number += 1
                index = random.randrange(PROCESSES)
                if number % 2 == 0:
                    until = time.monotonic() + 1
                    holder = None
                    while holder is None and time.monotonic() < until:
                        holder = fleet.holder()
                    if holder is not None:
                        # Kills before, during or after the exchange and the save.
                        time.sleep(random.choice([0, 0, delay * random.random(), delay * random.uniform(0.9, 1.5)]))
                        index = holder
                        aimed.append(index)
                fleet.kill([index])

        thread = threading.Thread(target=killer)
        thread.start()
        done, until = 0, time.monotonic() + seconds
        passes = True
        while passes and time.monotonic() < until:
            demo.control(expire_access_tokens=True)
            done += 1
            passes = fleet.passed_a_round()
        over.set()
        thread.join()
        passes = fleet.passed_a_round() and passes
        fleet.end()
        check(f"{name}: {done} expiries and {fleet.killed} kills ({len(aimed)} of lock holders) stop no process",
              passes and done > 2 and fleet.killed > 2 and aimed, done, fleet.killed, aimed)
        seen = report(name, fleet, done, before)
        print(f"--      {seen['refresh_replays']} exchanges were finished by another process")
        return seen["refresh_replays"]


def middle(demo, kind, count, delay):
    """All processes are killed after the server has redeemed the old token and before it sends the new one."""
    name = f"{PROCESSES} processes with one {kind} store, all killed in an exchange"
    with temporary() as folder:
        before = demo.stats()["auth"]
        fleet = Fleet(demo, kind, folder, delay)
        fleet.passed_a_round()
        done, late = 0, 0
        for _ in range(count):
            seen = demo.stats()["auth"]["refreshes"]
            began = time.monotonic()
            demo.control(expire_access_tokens=True)
            done += 1
            eventually(lambda: demo.stats()["auth"]["refreshes"] > seen)
            # On a busy machine the response may have arrived first.
            late += fleet.kill(range(PROCESSES)) - began >= delay
            if not fleet.passed_a_round():
                break
        fleet.end()
        seen = report(name, fleet, done, before)
        check(f"{name}: later processes complete the exchange with the same key ({late} kills came late)",
              max(count - late, 1) <= seen["refresh_replays"] <= count, seen, late)


with Demo() as demo:
    for kind, count in (("file", 12), ("encrypted", 6), ("sqlite", 6)):
        expiries(demo, kind, 200 if LONG else count)
    for kind in ("file", "encrypted", "sqlite") if LONG else ("file", "sqlite"):
        kills(demo, kind, 60 if LONG else 4, 1 if LONG else 0.3, 0.1)
        middle(demo, kind, 20 if LONG else 2, 0.6)
finish()
