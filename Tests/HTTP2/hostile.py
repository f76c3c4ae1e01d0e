#!/usr/bin/env python3
"""Servers that violate HTTP/2: Tests/HTTP2/hostile.py NIGHTJAR

Each case is the bytes that the server sends after the request. The client must fail with a clear error, or ignore the
frames, and must never crash or hang.
"""
import concurrent.futures, socket, struct, subprocess, sys, threading

from frames import (CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PRIORITY, PUSH_PROMISE,
                    RST_STREAM, SETTINGS, WINDOW_UPDATE, Frames, field, frame, head)

NIGHTJAR = sys.argv[1]
# A field of 3,000 bytes that enters the dynamic table (RFC 7541 section 6.2.1), and 400 references to it.
BOMB = b"\x40\1a\x7f" + bytes([0x80 | (3000 - 127) % 128, (3000 - 127) // 128]) + b"x" * 3000 + b"\xbe" * 400
SETUP = frame(SETTINGS)
BODY = frame(DATA, b"hello", END_STREAM, 1)
COMPLETE = SETUP + head() + BODY
FLOOD = 60_000
CASES = [
    # name, what the server sends, a part of the error; None: the response is complete
    ("a response", COMPLETE, None),
    ("an unknown frame type", SETUP + frame(0xF0, b"x", 0, 1) + head() + BODY, None),
    ("priorities", SETUP + frame(PRIORITY, b"\0\0\0\0\1", 0, 1) + head() + BODY, None),
    ("padding", SETUP + head() + frame(DATA, b"\3hello\0\0\0", END_STREAM | PADDED, 1), None),
    ("a response that ends with an empty frame", SETUP + head() + frame(DATA, b"hello", 0, 1) + frame(DATA, b"", END_STREAM, 1), None),
    ("HTTP/1", b"HTTP/1.1 400 Bad Request\r\n\r\n", "responded with HTTP/1"),
    ("no SETTINGS", head() + BODY, "violated HTTP/2"),
    ("an oversized frame", SETUP + frame(DATA, b"x" * 16385, 0, 1), "a frame is too large"),
    ("PUSH_PROMISE", SETUP + frame(PUSH_PROMISE, b"\0\0\0\2", END_HEADERS, 1) + COMPLETE, "PUSH_PROMISE"),
    ("too much padding", SETUP + head() + frame(DATA, b"\xffhello", PADDED, 1), "violated HTTP/2"),
    ("data on an idle stream", SETUP + frame(DATA, b"x", 0, 7), "violated HTTP/2"),
    ("a head on an idle stream", SETUP + frame(HEADERS, field(":status", "200"), END_HEADERS, 7), "violated HTTP/2"),
    ("data on stream 0", SETUP + frame(DATA, b"x", 0, 0), "violated HTTP/2"),
    ("SETTINGS on a stream", SETUP + frame(SETTINGS, b"", 0, 1), "violated HTTP/2"),
    ("SETTINGS of a wrong length", SETUP + frame(SETTINGS, b"xxxxx"), "violated HTTP/2"),
    ("PING of a wrong length", SETUP + frame(PING, b"x"), "violated HTTP/2"),
    ("an invalid window", frame(SETTINGS, struct.pack(">HI", 4, 0x80000000)), "violated HTTP/2"),
    ("a window of 0", SETUP + frame(WINDOW_UPDATE, struct.pack(">I", 0)), "violated HTTP/2"),
    ("a window that overflows", SETUP + frame(WINDOW_UPDATE, struct.pack(">I", 0x7FFFFFFF)), "violated HTTP/2"),
    ("invalid compression", SETUP + frame(HEADERS, b"\xff\xff\xff\xff\xff\xff", END_HEADERS, 1), "violated HTTP/2"),
    ("CONTINUATION without HEADERS", SETUP + frame(CONTINUATION, b"", END_HEADERS, 1), "violated HTTP/2"),
    ("another frame between HEADERS and CONTINUATION", SETUP + head(flags=0) + frame(PING, b"x" * 8), "violated HTTP/2"),
    # An error and other invalid frames in one read.
    ("CVE-2026-27135: two violations", SETUP + frame(SETTINGS, b"", 0, 1) + frame(PING, b"x") + frame(SETTINGS, b"x") * 10, "violated HTTP/2"),
    ("no status", SETUP + frame(HEADERS, field("a", "b"), END_HEADERS | END_STREAM, 1), "has no status"),
    ("an upper-case name", SETUP + head(("Server", "x")), "upper-case letter"),
    ("Connection", SETUP + head(("connection", "close")), "not allowed in HTTP/2"),
    ("data before the head", SETUP + BODY, "violated HTTP/2"),
    ("a short body", SETUP + head(("content-length", "9")) + BODY, "before its Content-Length"),
    ("a long body", SETUP + head(("content-length", "2")) + BODY, "longer than its Content-Length"),
    ("trailers without END_STREAM", SETUP + head() + head(), "misplaced"),
    ("a large section", SETUP + head(flags=0) + b"".join(frame(CONTINUATION, field("a", "x" * 100) * 100, 0, 1) for _ in range(30)) + frame(CONTINUATION, b"", END_HEADERS, 1), "exceed|Too many"),
    ("a small section that becomes large", SETUP + frame(HEADERS, field(":status", "200") + BOMB, END_HEADERS, 1), "section is too large"),
    ("endless 1xx", SETUP + head(("link", "x" * 100), status="103") * FLOOD, "exceed"),
    ("CVE-2019-9512: many PINGs", SETUP + frame(PING, b"x" * 8) * FLOOD, "too many frames|violated HTTP/2"),
    ("CVE-2019-9515: many SETTINGS", SETUP * FLOOD, "too many frames|violated HTTP/2"),
    ("CVE-2024-28182: many CONTINUATIONs", SETUP + head(flags=0) + frame(CONTINUATION, b"", 0, 1) * FLOOD, "too many frames|violated HTTP/2"),
    ("CVE-2019-9518: many empty DATA frames", SETUP + head() + frame(DATA, b"", 0, 1) * FLOOD, "too many frames"),
    ("CVE-2019-9514: many resets", SETUP + frame(RST_STREAM, b"\0\0\0\0", 0, 1) * FLOOD, "reset the stream|too many frames|violated"),
    ("many windows", SETUP + frame(WINDOW_UPDATE, struct.pack(">I", 1), 0, 1) * FLOOD, "too many frames|violated"),
    ("CVE-2019-9513: many priorities", SETUP + frame(PRIORITY, b"\0\0\0\0\1", 0, 1) * FLOOD, "too many frames|violated"),
    ("many unknown frames", SETUP + frame(0xF0, b"", 0, 1) * FLOOD, "too many frames"),
    ("a refused stream", SETUP + frame(RST_STREAM, struct.pack(">I", 7), 0, 1), "refused the request|closed the connection"),
    ("GOAWAY without the request", SETUP + frame(GOAWAY, struct.pack(">II", 0, 0)), "without processing the request"),
    # The library does not process GOAWAY frames (Sources/CHTTP2/session.c).
    ("GOAWAY and a violation", SETUP + frame(GOAWAY, struct.pack(">II", 1, 0)) + frame(PING, b"x"), "violated HTTP/2"),
    ("GOAWAY on a stream", SETUP + frame(GOAWAY, struct.pack(">II", 1, 0), 0, 1), "a GOAWAY frame is invalid"),
    ("a short GOAWAY", SETUP + frame(GOAWAY, b"\0\0\0\1"), "a GOAWAY frame is invalid"),
    ("GOAWAY between HEADERS and CONTINUATION", SETUP + head(flags=0) + frame(GOAWAY, struct.pack(">II", 1, 0)), "violated HTTP/2"),
    ("GOAWAY with debug data", SETUP + frame(GOAWAY, struct.pack(">II", 1, 0) + b"debug" * 100) + head() + BODY, None),
    ("two GOAWAY frames", SETUP + frame(GOAWAY, struct.pack(">II", 0x7FFFFFFF, 0)) + frame(GOAWAY, struct.pack(">II", 1, 0)) + head() + BODY, None),
    ("GOAWAY that excludes the request later", SETUP + frame(GOAWAY, struct.pack(">II", 1, 0)) + frame(GOAWAY, struct.pack(">II", 0, 0)), "without processing the request"),
    ("GOAWAY after the request", SETUP + frame(GOAWAY, struct.pack(">II", 1, 0)) + head() + BODY, None),
    ("an end of the connection", SETUP + head(), "closed the connection"),
]


def serve(listener, payload, step):
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            try:
                frames, has_request = Frames(), False
                while not has_request and (part := peer.recv(65536)):
                    has_request = any(kind == HEADERS for kind, *_ in frames.add(part))
                for start in range(0, len(payload), step):
                    peer.sendall(payload[start:start + step])
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):
                    pass
            except OSError:
                pass  # the client has closed the connection


def run(name, payload, expected, step):
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener, payload, step), daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    call = subprocess.run([NIGHTJAR, "get", "--http2-prior-knowledge", "--retry", "1", "--timeout", "20", url],
                          capture_output=True, text=True, timeout=60)
    listener.close()
    text = call.stdout + call.stderr
    ok = call.returncode == 0 and "hello" in text if expected is None else (
        call.returncode > 0 and any(part in text for part in expected.split("|")))
    return ok, name, step, f"status {call.returncode} {text[:300].strip()}"


failures = 0
# The result must not depend on how the bytes are split.
RUNS = [(*case, step) for case in CASES for step in [len(case[1])] + ([1] if len(case[1]) < 300 else [])]
with concurrent.futures.ThreadPoolExecutor(4) as threads:
    for ok, name, step, details in threads.map(lambda run_of: run(*run_of), RUNS):
        failures += not ok
        print("ok     " if ok else "NOT OK ", name, f"({step} bytes at a time)" if step == 1 else "")
        if not ok:
            print("       ", details)
print(f"hostile servers: {failures} failures")
sys.exit(failures > 0)
