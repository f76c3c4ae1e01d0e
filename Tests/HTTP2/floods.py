#!/usr/bin/env python3
"""Servers that cost a client time or memory: Tests/HTTP2/floods.py NIGHTJAR

Each case replays a vulnerability of other implementations, as far as it concerns a client. The call must end with one
clear error, and use little time and memory.
"""
import concurrent.futures, os, socket, struct, subprocess, sys, threading, time

from frames import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS,
                    WINDOW_UPDATE, Frames, field, frame, head)

NIGHTJAR = sys.argv[1]
SETUP = frame(SETTINGS)
HERE = os.path.dirname(os.path.realpath(__file__))
MIB = 1024  # in KiB
FULL = 16_384


def endless(part, *, before=SETUP, limit=60 << 20):
    """A server that sends `part` after a request, until the client closes the connection."""
    def serve(peer, opened):
        for kind, _, stream, _ in received(peer):
            if kind == HEADERS:
                opened.append(stream)
                peer.sendall(before)
                parts = part * max(1, 65_536 // len(part))
                for _ in range(limit // len(parts)):
                    peer.sendall(parts)
    return serve


def once(payload):
    def serve(peer, opened):
        for kind, _, stream, _ in received(peer):
            if kind == HEADERS:
                opened.append(stream)
                peer.sendall(payload)
    return serve


def received(peer):
    frames = Frames()
    while data := peer.recv(65_536):
        yield from frames.add(data)


def resets(code):
    """A server that resets each request at once."""
    def serve(peer, opened):
        peer.sendall(SETUP)
        for kind, _, stream, _ in received(peer):
            if kind == HEADERS:
                opened.append(stream)
                peer.sendall(frame(RST_STREAM, struct.pack(">I", code), 0, stream))
    return serve


def dribble(peer, opened):
    """A server that lets the client send one byte at a time."""
    peer.sendall(frame(SETTINGS, struct.pack(">HI", 4, 1)))
    count = 0
    for kind, _, stream, payload in received(peer):
        if kind == HEADERS:
            opened.append(stream)
        if kind == DATA:
            count += len(payload)
            # The client uses the initial window of 65,535 bytes before it receives SETTINGS.
            more = struct.pack(">I", 65_535 if count == 65_535 else 1)
            if count >= 65_535:
                peer.sendall(frame(WINDOW_UPDATE, more, 0, stream) + frame(WINDOW_UPDATE, struct.pack(">I", 1)))


def unread(peer, opened):
    """A server that opens the windows completely and then reads nothing."""
    peer.sendall(frame(SETTINGS, struct.pack(">HI", 4, 0x7FFFFFFF)) + frame(WINDOW_UPDATE, struct.pack(">I", 0x7FFE0000)))
    for kind, _, stream, _ in received(peer):
        if kind == HEADERS:
            opened.append(stream)
            time.sleep(8)


def invalid_after_end(peer, opened):
    """CVE-2026-27135: frames after the one that has terminated the session, in all combinations of two."""
    endings = [frame(GOAWAY, struct.pack(">II", 1, 0)), frame(GOAWAY, struct.pack(">II", 0, 2)), frame(SETTINGS, b"", 0, 1),
               frame(PING, b"x"), frame(WINDOW_UPDATE, struct.pack(">I", 0))]
    invalid = [frame(SETTINGS, b"x"), frame(PING, b"x"), frame(0xF0, b"x" * 100), frame(0x0A, b"\0\3"), frame(0x0C, b"x"),
               frame(HEADERS, b"\xff" * 20, END_HEADERS, 1), frame(CONTINUATION, b"", 0, 1), frame(DATA, b"x", 8, 1),
               frame(RST_STREAM, b"", 0, 1), frame(WINDOW_UPDATE, b"", 0, 1), b"\0\0\4\0\0"]
    pairs = [first + second for first in endings for second in invalid]
    for kind, _, stream, _ in received(peer):
        if kind == HEADERS:
            with LOCK:
                TURN[0] += 1
                number = TURN[0]
            opened.append(stream)
            peer.sendall(SETUP + pairs[number % len(pairs)] + invalid[number % len(invalid)] * 3)
            peer.shutdown(socket.SHUT_WR)


LOCK, TURN = threading.Lock(), [0]
BOMB = b"\x88" + b"\x40\1a\x7f" + b"\xa1\x1e" + b"x" * 4000 + b"\xbe" * 12_000
EMPTY_FIELD = b"\0\0\0"
OPEN = SETUP + frame(HEADERS, b"\x88", 0, 1)
# name, server, method, calls, timeout, parts of which each error contains one, limit of the memory in MiB
CASES = [
    ("CVE-2024-28182, endless CONTINUATION", endless(frame(CONTINUATION, field("a", "x" * 120) * 130, 0, 1), before=OPEN),
     "GET", 1, 20, "violated HTTP/2", 32),
    ("CVE-2024-28182, endless empty CONTINUATION", endless(frame(CONTINUATION, b"", 0, 1), before=OPEN),
     "GET", 1, 20, "violated HTTP/2", 32),
    ("CVE-2024-28182, CONTINUATION that repeats a field", endless(frame(CONTINUATION, b"\xbe" * FULL, 0, 1), before=SETUP
     + frame(HEADERS, b"\x88" + b"\x40\1a\1b", 0, 1)), "GET", 1, 20, "violated HTTP/2", 32),
    ("CVE-2024-28182, many CONTINUATION frames and an end", once(
        OPEN + frame(CONTINUATION, b"", 0, 1) * 30_000 + frame(CONTINUATION, b"", END_HEADERS, 1)
        + frame(DATA, b"x", END_STREAM, 1)), "GET", 1, 20, "violated HTTP/2", 32),
    ("CVE-2024-28182, CONTINUATION after a closed stream", endless(
        frame(CONTINUATION, field("a", "x" * 120) * 130, 0, 1), before=SETUP
        + frame(RST_STREAM, struct.pack(">I", 8), 0, 1) + frame(HEADERS, b"\x88", 0, 1)),
     "GET", 1, 20, "reset the stream", 32),
    ("CVE-2026-27135", invalid_after_end, "GET", 110, 20, "violated HTTP/2|without processing|closed the connection", 32),
    ("CVE-2023-44487, resets with CANCEL", resets(8), "GET", 300, 20, "reset the stream", 32),
    ("CVE-2023-44487, resets with REFUSED_STREAM", resets(7), "GET", 300, 20, "refused the request|reset the stream", 32),
    ("CVE-2019-9511, one byte at a time", dribble, "PUT", 1, 20, "violated HTTP/2: it sent too many frames", 32),
    ("CVE-2019-9512, PING", endless(frame(PING, b"x" * 8)), "GET", 1, 20, "violated HTTP/2", 32),
    ("CVE-2019-9513, PRIORITY", endless(frame(2, b"\0\0\0\0\1", 0, 1) + frame(2, b"\0\0\0\1\1", 0, 3)), "GET", 1, 20,
     "violated HTTP/2", 32),
    ("CVE-2019-9514, frames that require RST_STREAM", endless(frame(DATA, b"x", 0, 1),
     before=SETUP + head() + frame(DATA, b"hello", END_STREAM, 1)), "GET", 2, 20, "ok|violated HTTP/2", 32),
    ("CVE-2019-9515, SETTINGS", endless(SETUP), "GET", 1, 20, "violated HTTP/2", 32),
    ("CVE-2019-9515, SETTINGS with many values", endless(frame(SETTINGS, struct.pack(">HI", 4, 1) * 2700)), "GET", 1, 20,
     "violated HTTP/2", 32),
    ("CVE-2019-9516, empty fields", endless(frame(CONTINUATION, EMPTY_FIELD * 5000, 0, 1), before=OPEN), "GET", 1, 20,
     "violated HTTP/2", 32),
    ("CVE-2019-9517, a body that the server does not read", unread, "POST", 1, 3, "timeout", 48),
    ("CVE-2019-9518, empty DATA", endless(frame(DATA, b"", 0, 1), before=SETUP + head()), "GET", 1, 20, "violated HTTP/2", 32),
    ("small DATA frames of a response that is not read", once(
        SETUP + head() + (frame(DATA, b"x" * 16, 0, 1) + frame(0xF0, b"x" * 16_000) * 4) * 1500
        + frame(DATA, b"", END_STREAM, 1)), "STREAM", 1, 20, "ok", 32),
    ("an HPACK bomb", once(SETUP + frame(HEADERS, BOMB, END_HEADERS | END_STREAM, 1)), "GET", 1, 20,
     "violated HTTP/2: a field section is too large", 64),
    ("HPACK bombs in 1xx responses", endless(frame(HEADERS, b"\x08\x03103" + b"\xbe" * 20, END_HEADERS, 1), before=SETUP
     + frame(HEADERS, b"\x08\x03103" + b"\x40\1a\x7f\xa1\x1e" + b"x" * 4000, END_HEADERS, 1)), "GET", 1, 20,
     "exceed|violated HTTP/2", 32),
]


def run(name, serve, method, calls, timeout, expected, memory):
    opened = []

    def accept():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=guarded, args=(peer,), daemon=True).start()

    def guarded(peer):
        with peer:
            try:
                serve(peer, opened)
            except OSError:
                pass  # the client has closed the connection

    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        threading.Thread(target=accept, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        began = time.monotonic()
        call = subprocess.run([NIGHTJAR, f"{HERE}/flood.lua", url, method, str(calls), str(timeout)], capture_output=True,
                              text=True, timeout=60)
        took = time.monotonic() - began
    lines = call.stdout.splitlines()
    if call.returncode != 0 or len(lines) != calls + 1:
        return name, False, f"status {call.returncode}", call.stdout[-300:], call.stderr[-300:]
    peak, cpu, sent = map(int, map(float, lines.pop().split()))
    wrong = {line for line in lines if not any(part in line for part in expected.split("|"))}
    # A request that the server has not processed is repeated once.
    ok = not wrong and peak < memory * MIB and cpu < 3000 and took < timeout + 5 and len(opened) <= 2 * calls + 2
    return name, ok, f"{peak} KiB, {cpu} ms of CPU, {took:.1f} s, {len(opened)} streams, {sent} bytes", wrong


failures = 0
with concurrent.futures.ThreadPoolExecutor(4) as threads:
    for name, ok, *details in threads.map(lambda case: run(*case), CASES):
        failures += not ok
        print("ok     " if ok else "NOT OK ", name, "" if ok and len(sys.argv) == 2 else details)
print(f"floods: {failures} failures")
sys.exit(failures > 0)
