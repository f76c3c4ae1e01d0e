#!/usr/bin/env python3
"""The other end of the local socket of a worker, for worker.lua:

  fake_worker.py serve PATH              listens like a worker of the first transfer. Reads the names of the responses from standard
                                         input: each replaces the one before. Writes the names and the requests to standard output.
  fake_worker.py ask PATH COUNT NAME...  sends each request on COUNT connections at the same time. Writes an object with the
                                         responses, and the seconds until the end of the last connection, by name.
  fake_worker.py bind PATH               makes a socket without a listener
  fake_worker.py pass SOCKETS COMMAND... runs a command that inherits sockets, like systemd
"""

import fcntl
import json
import os
import select
import socket
import sys
import threading
import time


def line(value):
    return json.dumps(value).encode() + b"\n"


def progress(value):
    return line({"version": 1, "progress": {"1": value}})


REQUEST = line({"version": 1, "get": "progress"})

RESPONSES = {
    "valid": progress({"transferred": 1234, "total": 5678, "rate": 9.5}),
    "later version": line({"version": 2, "progress": {"1": {"transferred": 1, "total": 2, "rate": 3}}}),
    "no version": line({"progress": {"1": {"transferred": 1}}}),
    "garbage": bytes(range(11, 256)) + b"\n",
    "empty": b"\n",
    "other ids": line({"version": 1, "progress": {"23": {"transferred": 1, "total": 2, "rate": 3}, "": {"transferred": 4}}}),
    "an error": line({"version": 1, "error": "unknown version or request"}),
    "negative": progress({"transferred": -1, "total": -1, "rate": -1}),
    "negative size": progress({"transferred": 5, "total": -1, "rate": -1}),
    "fractions": progress({"transferred": 1.5, "total": 2.5, "rate": 3}),
    "texts": progress({"transferred": "1", "total": "2", "rate": "3"}),
    "no object": progress(7),
    "an array": line({"version": 1, "progress": [1, 2]}),
    "the largest number": progress({"transferred": 2**63 - 1, "total": 2**63 - 1, "rate": 1e308}),
    "too large": progress({"transferred": 2**64, "total": 2**70, "rate": 1}),
    "an infinite rate": b'{"version":1,"progress":{"1":{"transferred":5,"total":6,"rate":1e999}}}\n',
    "nested": b'{"version":1,"progress":' + b"[" * 200000 + b"\n",
    "half a line": b'{"version":1,"prog',
}


def serve(path):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    kind = [sys.stdin.readline().strip()]
    threading.Thread(target=accept, args=(listener, kind), daemon=True).start()
    while kind[0]:
        print(kind[0], flush=True)
        kind[0] = sys.stdin.readline().strip()


def accept(listener, kind):
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=respond, args=(peer, kind[0]), daemon=True).start()


def respond(peer, kind):
    try:
        request = b""
        while not request.endswith(b"\n"):
            data = peer.recv(4096)
            if not data:
                return
            request += data
        if kind == "requests":
            print(request.decode(), end="", flush=True)
        elif kind == "nothing":
            time.sleep(60)
        elif kind == "an endless line":
            while True:
                peer.sendall(b"x" * 65536)
        elif kind == "one byte at a time":
            for byte in RESPONSES["valid"]:
                peer.sendall(bytes([byte]))
                time.sleep(0.1)
        elif kind != "the end":
            peer.sendall(RESPONSES[kind])
    except OSError:
        pass
    finally:
        peer.close()


REQUESTS = {
    "valid": REQUEST,
    "valid, with more lines": REQUEST * 100,
    "wake": line({"version": 1}),
    "later version": line({"version": 2, "get": "progress"}),
    "unknown": line({"version": 1, "get": "files"}),
    "garbage": bytes(range(11, 256)) + b"\n",
    "empty": b"\n",
    "nested": b"[" * 4000 + b"\n",
    "NUL": b"\0" * 100 + b"\n",
    "half a line": b'{"version":1,',
    "nothing": b"",
    "an endless line": b"x" * 1000000,
    "never read": REQUEST,
}


def ask(path, count, kinds):
    results = {}
    threads = [threading.Thread(target=ask_one, args=(path, count, kind, results)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(results))


def ask_one(path, count, kind, results):
    start = time.monotonic()
    peers = []
    for _ in range(count):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(path)
        peers.append(peer)
        try:
            peer.sendall(REQUESTS[kind])
        except OSError:
            pass  # The worker has closed the connection.
    # The end of a connection is reported although nothing is read.
    events = 0 if kind == "never read" else select.POLLIN
    waiting = select.poll()
    left = {peer.fileno(): peer for peer in peers}
    for descriptor in left:
        waiting.register(descriptor, events)
    response = b""
    while left and time.monotonic() - start < 30:
        for descriptor, _ in waiting.poll(100):
            try:
                data = left[descriptor].recv(4096) if events else b""
            except OSError:
                data = b""
            response += data
            if not data:
                waiting.unregister(descriptor)
                left.pop(descriptor).close()
    end = time.monotonic() - start
    results[kind] = {"response": response.decode(errors="replace"), "seconds": end, "open": len(left)}


def bind(path):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    socket.socket(socket.AF_UNIX).bind(path)


def local(path, kind=socket.SOCK_STREAM, listens=True):
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind("\0" + path)
    if listens:
        made.listen()
    return made


def inherit(kind, command):
    name = f"nightjar-test-{os.getpid()}"
    process = os.getpid()
    if kind == "TCP":
        inherited = [socket.create_server(("127.0.0.1", 0))]
    elif kind == "datagrams":
        inherited = [local(name, socket.SOCK_DGRAM, False)]
    elif kind == "one that does not listen":
        inherited = [local(name, listens=False)]
    elif kind == "a file":
        inherited = [open(os.devnull)]
    elif kind == "two":
        inherited = [local(name), local(name + "-2")]
    elif kind == "none":
        inherited = []
    elif kind == "of another process":
        inherited, process = [local(name)], process + 1
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, 100) for each in inherited]
    for place, copy in enumerate(copies):
        os.dup2(copy, 3 + place)
        os.close(copy)
    os.closerange(3 + len(copies), 100)
    os.environ["LISTEN_PID"] = str(process)
    os.environ["LISTEN_FDS"] = str(max(len(copies), 1))
    os.execvp(command[0], command)


action, place, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
if action == "serve":
    serve(place)
elif action == "ask":
    ask(place, int(rest[0]), rest[1:])
elif action == "bind":
    bind(place)
else:
    inherit(place, rest)
