#!/usr/bin/env python3
"""libnghttp2 is absent, old, or cannot be loaded for a moment: Tests/HTTP2/library.py NIGHTJAR"""
import os, resource, socket, ssl, subprocess, sys, tempfile, threading

from frames import END_HEADERS, END_STREAM, HEADERS, SETTINGS, Frames, frame

NIGHTJAR = sys.argv[1]
HERE = os.path.dirname(os.path.realpath(__file__))


def serve(peer, context):
    """Responds to each request with 200, in the version that ALPN has chosen."""
    try:
        with context.wrap_socket(peer, server_side=True) as secure:
            if secure.selected_alpn_protocol() != "h2":
                while b"\r\n\r\n" in secure.recv(65_536):
                    secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                return
            secure.sendall(frame(SETTINGS))
            frames = Frames()
            while data := secure.recv(65_536):
                for kind, _, stream, _ in frames.add(data):
                    if kind == HEADERS:
                        secure.sendall(frame(HEADERS, b"\x88", END_HEADERS | END_STREAM, stream))
    except OSError:
        pass  # the client has closed the connection


def accept(listener, context):
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=serve, args=(peer, context), daemon=True).start()


def limit_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def check(name, script, *arguments, **options):
    call = subprocess.run([NIGHTJAR, f"{HERE}/library/{script}", *arguments], capture_output=True, text=True, timeout=60, **options)
    print("ok     " if call.returncode == 0 else "NOT OK ", name, call.stdout[-500:], call.stderr[-500:])
    return call.returncode == 0


with tempfile.TemporaryDirectory() as folder:
    for source in ("dlopen", "old"):
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", f"{folder}/{source}.so",
                        f"{HERE}/library/{source}.c"], check=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key.pem",
                    "-out", f"{folder}/cert.pem"], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    context.set_alpn_protocols(["h2", "http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    threading.Thread(target=accept, args=(listener, context), daemon=True).start()
    place = [f"https://127.0.0.1:{listener.getsockname()[1]}", f"{folder}/cert.pem"]

    def environment(mode):
        return os.environ | {"LD_PRELOAD": f"{folder}/dlopen.so", "NIGHTJAR_NGHTTP2": mode}

    results = [
        check("libnghttp2 is absent", "check.lua", "missing", *place, env=environment("missing")),
        check("libnghttp2 lacks functions", "check.lua", "old", *place, env=environment(f"{folder}/old.so")),
        check("libnghttp2 is absent at first", "check.lua", "once", *place, env=environment("once")),
        check("the process has no free descriptors", "descriptors.lua", *place, preexec_fn=limit_descriptors),
    ]
sys.exit(not all(results))
