"""Kills processes that record and send the writes of an outbox. Run by Tests/Outbox/run:

    kill.py NIGHTJAR ENTRIES
    kill.py NIGHTJAR ENTRIES LIBRARY STEP

30 % of the connections are dropped before, during or after the write. The process is killed every second. Every 5 seconds,
the server cannot be reached for 2 seconds. Each write must have its effect exactly once, in the order of its key.

With LIBRARY, which is Tests/Transfers/kill_at.c as a shared library, the process is killed instead before and after each
STEPth call that changes a file, and then started again.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

NIGHTJAR, ENTRIES = sys.argv[1], int(sys.argv[2])
ORIGIN = os.environ["NIGHTJAR_DEMO_URL"]
KEYS = 50


class Relay:
    """Forwards connections on loopback to the demo API, while it is up."""

    def __init__(self):
        self.target = urllib.parse.urlparse(ORIGIN).port
        self.lock = threading.Lock()
        self.open = []
        self.listener = None
        self.port = 0
        self.up()

    def up(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.listener.listen(64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def down(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            sockets, self.open = self.open, []
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            with self.lock:
                self.open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        with self.lock:
            self.open = [each for each in self.open if each not in (source, sink)]


def count():
    with urllib.request.urlopen(ORIGIN + "/v1/orders/count") as response:
        return json.load(response)


def worker(origin, folder, **variables):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.lua")
    arguments = [NIGHTJAR, script, origin, folder + "/journal.db", str(ENTRIES), str(KEYS)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})


def kill_at_calls(library, step):
    for variable in ("KILL_AT", "KILL_AFTER"):
        number, kills = 1, 0
        while True:
            request = urllib.request.Request(ORIGIN + "/v1/orders", method="DELETE")
            urllib.request.urlopen(request).close()
            with tempfile.TemporaryDirectory() as folder:
                first = worker(ORIGIN, folder, LD_PRELOAD=library, KILL_FOLDER=folder, **{variable: str(number)})
                output = first.communicate(timeout=60)[0]
                if first.returncode != 0:
                    output = worker(ORIGIN, folder).communicate(timeout=60)[0]
            after = count()
            if output.split() != ["done", str(ENTRIES)] or after["created"] != ENTRIES or after["repeated_bodies"] != 0:
                sys.exit(f"{variable}={number}: {output} {after}")
            if first.returncode == 0:
                break
            number, kills = number + step, kills + 1
        print(f"{variable}: {kills} kills")


def main():
    folder = tempfile.TemporaryDirectory()
    relay = Relay()
    before = count()
    kills, outages, start = 0, 0, time.monotonic()
    is_up, next_change = True, start + 5
    while True:
        process = worker(f"http://127.0.0.1:{relay.port}", folder.name)
        # Near the end, the process is not killed: it lists and checks all entries.
        limit = 120 if count()["created"] - before["created"] >= ENTRIES else 1
        end = time.monotonic() + limit
        while process.poll() is None and time.monotonic() < end:
            if time.monotonic() >= next_change:
                is_up = not is_up
                (relay.up if is_up else relay.down)()
                outages += not is_up
                next_change += 5 if is_up else 2
            time.sleep(0.01)
        if process.poll() is None:
            process.kill()
            process.wait()
            kills += 1
            if time.monotonic() - start > 1500:
                sys.exit(f"not done: {count()}")
            continue
        output = process.stdout.read()
        if process.returncode != 0:
            sys.exit(f"the process failed with {process.returncode}: {output}")
        break
    after = count()
    created = after["created"] - before["created"]
    repeated = after["repeated_bodies"] - before["repeated_bodies"]
    requests = after["requests"] - before["requests"]
    print(f"{created} effects of {ENTRIES} entries, {repeated} duplicates, {requests} requests, {kills} kills, "
          f"{outages} outages, {time.monotonic() - start:.0f} s")
    if created != ENTRIES or repeated != 0 or output.split() != ["done", str(ENTRIES)]:
        sys.exit(f"wrong: {output}")
    folder.cleanup()


if len(sys.argv) > 3:
    kill_at_calls(sys.argv[3], int(sys.argv[4]))
else:
    main()
