"""Runs both sides of each benchmark alternately and compares their medians. Called by scripts/bench."""

import http.server
import json
import os
import resource
import socketserver
import statistics
import subprocess
import sys
import threading
import time

PREFIX, *WORDS = sys.argv[1:]
ROUNDS = int(WORDS[WORDS.index("--rounds") + 1]) if "--rounds" in WORDS else 5
NAMES = [word for word in WORDS if not word.startswith("--") and not word.isdigit()]
HTTP, HTTPS, RESUMING, HTTP2, HTTP2_CLEAR = (
    os.environ[f"NIGHTJAR_{name}_URL"] for name in ("HTTP", "HTTPS", "RESUMING", "HTTP2", "HTTP2_CLEAR")
)
ECHO, WWW = os.environ["NIGHTJAR_ECHO_URL"], os.environ["NIGHTJAR_WWW"]


def measure(command, **environment):
    """Runs one side and returns its last line of output, which is JSON."""
    result = subprocess.run(
        [str(word) for word in command], env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(result.stdout.strip().splitlines()[-1])


def compare(name, key, unit, budget, ours, theirs, peer):
    """Runs both sides alternately, so that changes of the machine's load affect both."""
    mine, others = [], []
    for _ in range(ROUNDS):
        mine.append(measure(ours)[key])
        others.append(measure(theirs)[key])
    report(name, statistics.median(mine), peer, statistics.median(others), unit, budget)


def report(name, value, peer, peer_value, unit, budget, **more):
    ratio = round(value / peer_value, 3) if peer_value else None
    line = {"bench": name, "nightjar": round(value, 3), "peer": peer, "peer_value": peer_value and round(peer_value, 3)}
    print(json.dumps({**line, "unit": unit, "ratio": ratio, "budget": budget, **more}), flush=True)


def sides(mode, url, count, *more):
    return ([f"{PREFIX}/nightjar-side", mode, url, count, *more], [f"{PREFIX}/libcurl-side", mode, url, count, *more])


def http1():
    compare("http1", "cpu_us", "cpu_us_per_request", 0.6, *sides("many", f"{HTTP}/1k", 100_000), "libcurl-multi")


def http1_policies():
    """Calls with retries, a login, a rate limit, a concurrency limit and a circuit breaker."""
    ours, theirs = sides("many", f"{HTTP}/1k", 100_000)
    ours[1] = "policies"
    compare("http1-policies", "cpu_us", "cpu_us_per_request", 0.65, ours, theirs, "libcurl-multi")


class Slow(http.server.BaseHTTPRequestHandler):
    """Responds after one second, when all coalesced calls have started."""

    protocol_version = "HTTP/1.1"
    received = 0

    def do_GET(self):
        Slow.received += 1
        time.sleep(1)
        self.send_response(200)
        self.send_header("Content-Length", "1024")
        self.end_headers()
        self.wfile.write(b"x" * 1024)

    def log_message(self, *_):
        pass


def coalesce():
    """10,000 identical concurrent calls, measured from the first start to the last response."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/1k"
    Slow.received = 0
    costs = [measure([f"{PREFIX}/nightjar-side", "coalesce", url, 10_000])["cpu_us"] for _ in range(ROUNDS)]
    report("coalesce", statistics.median(costs), None, None, "cpu_us_per_waiter", 3, upstream=Slow.received / ROUNDS)
    server.shutdown()


def cache_hit():
    """Fresh hits of the memory cache, from C on one thread and from Lua, one call after the other."""
    mine = [measure([f"{PREFIX}/nightjar-side", "cached", f"{HTTP}/cached", 300_000])["wall_us"] for _ in range(ROUNDS)]
    report("cache-hit", statistics.median(mine), None, None, "wall_us_per_call", 3)
    script = os.path.join("Benchmarks", "lua", "cached.lua")
    rates = [measure([f"{PREFIX}/bin/nightjar", script, HTTP, 300_000])["calls_per_s"] for _ in range(ROUNDS)]
    report("cache-hit-lua", statistics.median(rates), None, None, "calls_per_s", 300_000)


def http1_cache():
    """Calls with uncacheable responses, with the cache on and off."""
    ours, _ = sides("many", f"{HTTP}/uncached", 100_000)
    compare("http1-cache", "cpu_us", "cpu_us_per_request", 1.05, [ours[0], "uncached", *ours[2:]], ours, "cache off")


def blocking():
    compare("blocking", "wall_us", "wall_us_per_request", 1.25, *sides("blocking", f"{HTTP}/1k", 20_000), "curl-easy")


def http1_tls():
    compare("http1-tls", "cpu_us", "cpu_us_per_request", 0.5, *sides("many", f"{HTTPS}/1k", 50_000), "libcurl-multi")


def h2load(url, count):
    """Runs h2load on one connection and returns its CPU time per request. h2load reads and discards the responses."""
    process = subprocess.Popen(
        ["h2load", "-n", str(count), "-c", "1", "-m", "64", url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or f"status codes: {count} 2xx" not in output or "Application protocol: h2" not in output:
        sys.exit(f"bench: h2load failed:\n{output}")
    return (usage.ru_utime + usage.ru_stime) * 1e6 / count


def http2():
    """64 requests in flight on one TLS connection. All clients check the version of HTTP and the number of connections."""
    ours, theirs = sides("http2", f"{HTTP2}/1k", 100_000)
    mine, others, floors = [], [], []
    for _ in range(ROUNDS):
        mine.append(measure(ours))
        others.append(measure(theirs)["cpu_us"])
        floors.append(h2load(f"{HTTP2}/1k", 100_000))
    value, peer, floor = statistics.median(run["cpu_us"] for run in mine), statistics.median(others), statistics.median(floors)
    report(
        "http2", value, "libcurl-multi", peer, "cpu_us_per_request", 0.35, h2load=round(floor, 3),
        h2load_ratio=round(floor / peer, 3))
    growth = max(run["growth_kib"] for run in mine) / 1024
    report("http2-growth", growth, None, None, "rss_mib_after_a_tenth_of_100000_requests", 1)


def http2_clear():
    """Without TLS. libcurl 7.88 is no peer: with prior knowledge it takes six times the time that it takes over TLS."""
    ours, _ = sides("http2", f"{HTTP2_CLEAR}/1k", 100_000)
    mine, floors = [], []
    for _ in range(ROUNDS):
        mine.append(measure(ours)["cpu_us"])
        floors.append(h2load(f"{HTTP2_CLEAR}/1k", 100_000))
    report("http2-clear", statistics.median(mine), "h2load", statistics.median(floors), "cpu_us_per_request", None)


def memory_http2():
    """1000 streams of one connection that wait for their responses."""
    with Holder(HTTP2_SETTINGS) as url:
        each = measure([f"{PREFIX}/nightjar-side", "memory-http2", url, 1000])["bytes_each"]
    report("memory-http2", each / 1024, None, None, "kib_per_request_at_1000_streams", 8)


def handshake():
    """Full handshakes of TLS 1.3. The server issues no tickets, and both sides check or disable resumption."""
    compare("handshake", "cpu_us", "cpu_us_per_connection", 0.5, *sides("handshake", f"{HTTPS}/close", 500), "curl-easy")


def handshake_resumed():
    """Connections that resume a session, compared with full handshakes of libcurl."""
    ours, _ = sides("handshake-resumed", f"{RESUMING}/close", 1000)
    _, theirs = sides("handshake", f"{HTTPS}/close", 500)
    compare("handshake-resumed", "cpu_us", "cpu_us_per_connection", 0.3, ours, theirs, "curl-easy, full handshakes")


def download():
    with open(f"{WWW}/1g", "wb") as file:
        for _ in range(1024):
            file.write(os.urandom(1 << 20))
    target = f"{WWW}/downloaded"
    ours, theirs = sides("download", f"{HTTP}/1g", 1, target)
    mine, others = [], []
    for _ in range(5):  # alternately, so that other activity affects both sides
        for command, results in ((ours, mine), (theirs, others)):
            if os.path.exists(target):
                os.remove(target)
            os.sync()  # otherwise, a side may have to write the pages of the other one to the disk
            results.append(measure(command))
    same = subprocess.run(["cmp", f"{WWW}/1g", target]).returncode == 0
    median = lambda rows, key: statistics.median(row[key] for row in rows)
    report(
        "download", median(mine, "cpu_us") / 1e6, "curl-easy", median(others, "cpu_us") / 1e6, "cpu_s_per_gib", 0.9,
        peak_mib=round(median(mine, "peak_kib") / 1024, 1), peer_peak_mib=round(median(others, "peak_kib") / 1024, 1),
        peak_budget_mib=20, content_is_whole=same,
    )


class Sink(socketserver.BaseRequestHandler):
    """Reads the body of a request, and responds with 200."""

    received = 0

    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.request.recv(65536)
        head, rest = head.split(b"\r\n\r\n", 1)
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if b"expect" in fields:
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        left, buffer = int(fields[b"content-length"]) - len(rest), bytearray(1 << 20)
        while left > 0 and (count := self.request.recv_into(buffer)):
            left -= count
        Sink.received = int(fields[b"content-length"]) - left
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def upload():
    with open(f"{WWW}/1g", "wb") as file:
        for _ in range(1024):
            file.write(os.urandom(1 << 20))
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sides_of_upload = sides("upload", f"http://127.0.0.1:{server.server_address[1]}/1g", 1, f"{WWW}/1g")
    results, is_whole = ([], []), True
    for _ in range(3):
        for command, rows in zip(sides_of_upload, results):
            rows.append(measure(command))
            is_whole = is_whole and Sink.received == 1 << 30
    server.shutdown()
    median = lambda rows, key: statistics.median(row[key] for row in rows)
    mine, others = results
    report(
        "upload", median(mine, "cpu_us") / 1e6, "curl-easy", median(others, "cpu_us") / 1e6, "cpu_s_per_gib", 0.9,
        peak_mib=round(median(mine, "peak_kib") / 1024, 1), peer_peak_mib=round(median(others, "peak_kib") / 1024, 1),
        peak_budget_mib=20, content_is_whole=is_whole,
    )


def download_parallel():
    """Four connections against one, through a relay that delays each direction by 25 ms."""
    with open(f"{WWW}/32m", "wb") as file:
        file.write(os.urandom(32 << 20))
    relay = subprocess.Popen([sys.executable, "Benchmarks/delay.py", HTTP], stdout=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{relay.stdout.readline().strip()}/32m"
        walls = [
            measure([f"{PREFIX}/nightjar-side", "download", url, 1, f"{WWW}/downloaded", connections])["wall_us"] / 1e6
            for connections in (4, 1)
        ]
    finally:
        relay.terminate()
    report("download-parallel", walls[0], "one connection", walls[1], "seconds", 0.4)


def memory():
    idle = measure([f"{PREFIX}/nightjar-side", "memory-idle", f"{HTTP}/1k", 1])["rss_kib"] / 1024
    report("memory", idle, None, None, "idle_client_rss_mib", 14)
    for name, mode in (("memory-in-flight", "memory-flight"),):
        with Holder() as url:
            each = measure([f"{PREFIX}/nightjar-side", mode, url, 10_000])["bytes_each"]
        report(name, each / 1024, None, None, "kib_per_request_at_10000_in_flight", 8)


def lua():
    script = lambda name: os.path.join("Benchmarks", "lua", name)
    # Debian installs lua-http and its dependencies for Lua 5.3 and 5.2. They are plain Lua and also run in 5.4.
    os.environ["LUA_PATH"] = ";".join(f"/usr/share/lua/{v}/{name}" for v in ("5.4", "5.3", "5.2") for name in ("?.lua", "?/init.lua"))
    ours = [f"{PREFIX}/bin/nightjar", script("nightjar.lua"), HTTP, 50_000]
    compare("lua", "cpu_us", "cpu_us_per_request", 0.25, ours, ["lua5.4", script("lua_http.lua"), HTTP, 5_000], "lua-http")
    compare("lua-curl", "cpu_us", "cpu_us_per_request", 0.6, ours, ["lua5.2", script("lua_curl.lua"), HTTP, 20_000], "lua-curl")


def sse():
    """An event stream of 200 bytes for each event, read by a script."""
    count, data = 100_000, "x" * 172
    with open(f"{WWW}/events", "w", encoding="ascii") as file:
        for number in range(count):
            file.write(f"id: {number:06}\nevent: t\ndata: {data}\n\n")  # 200 bytes
    side = [f"{PREFIX}/bin/nightjar", os.path.join("Benchmarks", "lua", "sse.lua"), f"{HTTP}/events", count]
    report("sse", statistics.median(measure(side)["us"] for _ in range(ROUNDS)), None, None, "cpu_us_per_event", 2)


def websocket_sides(mode, count):
    return ([f"{PREFIX}/{side}-side", mode, ECHO, count] for side in ("websocket", "libwebsockets"))


def websocket():
    """Texts of 1 KiB to an echo server and back over 64 connections, without compression."""
    compare("websocket", "cpu_us", "cpu_us_per_message", 1.0, *websocket_sides("messages", 200_000), "libwebsockets")


def memory_websocket():
    """1000 idle WebSockets after one message each. Also the part that the allocator has handed out."""
    allow_descriptors()
    growth("memory-websocket", "rss_kib_per_idle_websocket", None, *websocket_sides("memory", 1000), "libwebsockets")


def json_decode():
    records = [
        {
            "id": i, "title": f"Article number {i}", "tags": ["swift", "lua", "http"], "score": i / 7, "published": i % 2 == 0,
            "author": {"name": f"Author {i % 17}", "email": None}, "body": "Lorem ipsum dolor sit amet, \u00e9t\u00e9. " * 4,
        }
        for i in range(2850)
    ]
    document = f"{WWW}/document.json"
    with open(document, "w", encoding="utf-8") as file:
        json.dump({"results": records}, file)
    os.environ["LUA_CPATH"] = f"{PREFIX}/lib/lua/5.4/?.so;;"
    side = lambda name: ["lua5.4", os.path.join("Benchmarks", "lua", "json.lua"), name, document]
    compare("json", "ms", "ms_per_megabyte", 0.65, side("nightjar"), side("cjson"), "lua-cjson")


def shared_loop():
    """1000 clients with one shared loop, each with an idle connection after one response."""
    allow_descriptors()
    seen = measure([f"{PREFIX}/nightjar-side", "memory-clients", f"{HTTP}/1k", 1000])
    report("shared-loop-threads", seen["threads"] - 1, None, None, "threads_of_the_library", 4)
    report("shared-loop-descriptors", seen["descriptors_each"], None, None, "descriptors_per_client", 1.01)
    report("shared-loop-memory", seen["bytes_each"] / 1024, None, None, "rss_kib_per_client", 64)


def memory_tls():
    """1000 idle TLS connections after one response each. Also the part that the allocator has handed out."""
    allow_descriptors()
    growth("memory-tls", "rss_kib_per_idle_connection", 1.0, *sides("memory-tls", f"{HTTPS}/1k", 1000), "libcurl-multi")


def growth(name, unit, budget, ours, theirs, peer):
    """Compares the memory for each connection."""
    ours, theirs = measure(ours), measure(theirs)
    report(
        name, ours["bytes_each"] / 1024, peer, theirs["bytes_each"] / 1024, unit, budget,
        allocated_kib=round(ours["allocated_each"] / 1024, 1), peer_allocated_kib=round(theirs["allocated_each"] / 1024, 1),
        connections=ours["connections"], peer_connections=theirs["connections"],
    )


def allow_descriptors():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


# SETTINGS_MAX_CONCURRENT_STREAMS = 4000, and the acknowledgement of the client's SETTINGS.
HTTP2_SETTINGS = bytes.fromhex("000006" "04" "00" "00000000" "0003" "00000fa0") + bytes.fromhex("000000" "04" "01" "00000000")


class Holder:
    """A server that accepts connections and never responds to a request. It sends `greeting` first."""

    def __init__(self, greeting=b""):
        self.greeting = greeting

    def __enter__(self):
        allow_descriptors()
        program = (
            "import socket,selectors,sys\n"
            "s=socket.create_server(('127.0.0.1',0),backlog=20000);print(s.getsockname()[1],flush=True)\n"
            "kept=[]\n"
            "while True:\n kept.append(s.accept()[0])\n kept[-1].sendall(bytes.fromhex(sys.argv[1]))\n"
        )
        self.process = subprocess.Popen([sys.executable, "-c", program, self.greeting.hex()], stdout=subprocess.PIPE, text=True)
        return f"http://127.0.0.1:{self.process.stdout.readline().strip()}/held"

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def load():
    library = os.path.realpath(f"{PREFIX}/lib/libnightjar.so.0")
    times = [measure([f"{PREFIX}/load", library])["dlopen_ms"] for _ in range(11)]
    report("load", statistics.median(times), None, None, "dlopen_ms", 5)
    report("load-size", os.path.getsize(library) / (1 << 20), None, None, "stripped_mib", 25)


class Demo:
    """The demo API."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [f"{PREFIX}/bin/nightjar", "demo", "--port", "0"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "http://" in line:
                return "http://" + line.split("http://")[1].split()[0].rstrip("/")
        sys.exit("bench: the demo API did not start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def prefetch():
    """50 pages with 20 ms of latency and 20 ms of work each, with and without prefetching."""
    with Demo() as url:
        side = lambda ahead: [f"{PREFIX}/pages", "work", f"{url}/v1/lists/bench/cursor?count=500&limit=10&delay=20", 50, ahead]
        compare("prefetch", "wall_us", "wall_us", 0.6, side(1), side(0), "nightjar without prefetch")


def pages_memory():
    """A million items, read one by one. Compares the resident memory at the end with the memory after a tenth."""
    with Demo() as url:
        list = f"{url}/v1/lists/million/cursor?count=1000000&limit=1000"
        seen = measure([f"{PREFIX}/pages", "memory", list, 1_000_000, 1])
    report(
        "pages-memory", seen["late_kib"] / 1024, "after a tenth", seen["early_kib"] / 1024, "rss_mib", 1.1,
        peak_mib=round(seen["peak_kib"] / 1024, 1), cpu_us_per_item=seen["cpu_us_per_item"],
    )


def openapi():
    """Published documents, compared with common libraries."""
    folder = os.path.join("..", "shared", "openapi")
    if not os.path.isdir(folder):
        return print("bench: ../shared/openapi does not exist; skipping openapi", file=sys.stderr)
    readers = {
        "openai.yaml": ("PyYAML over libyaml", "import yaml; read = lambda f: yaml.load(f, Loader=yaml.CSafeLoader)", 500),
        "discord.json": ("Python's json", "import json; read = json.load", 100),
    }
    for name, (peer, code, budget) in readers.items():
        path = os.path.join(folder, name)
        timed = f"import sys, time\n{code}\nstart = time.monotonic()\nread(open(sys.argv[1], encoding='utf-8'))\n" \
            "print('{\"ms\": %.3f}' % ((time.monotonic() - start) * 1e3))"
        ours = [measure([f"{PREFIX}/openapi", path]) for _ in range(ROUNDS)]
        theirs = [measure([sys.executable, "-c", timed, path])["ms"] for _ in range(ROUNDS)]
        report(
            f"openapi-{name}", statistics.median(run["ms"] for run in ours), peer, statistics.median(theirs), "ms", budget,
            peak_over_size=max(run["peak_over_size"] for run in ours), peak_budget=20, endpoints=ours[0]["endpoints"],
        )


BENCHES = {
    "http1": http1, "http1-policies": http1_policies, "coalesce": coalesce, "cache-hit": cache_hit,
    "http1-cache": http1_cache, "blocking": blocking, "http1-tls": http1_tls, "http2": http2, "http2-clear": http2_clear,
    "handshake": handshake,
    "handshake-resumed": handshake_resumed, "download": download, "upload": upload,
    "download-parallel": download_parallel, "lua": lua, "sse": sse, "websocket": websocket,
    "memory": memory, "memory-http2": memory_http2, "memory-tls": memory_tls, "shared-loop": shared_loop, "memory-websocket": memory_websocket, "load": load, "json": json_decode,
    "prefetch": prefetch, "pages-memory": pages_memory, "openapi": openapi,
}
chosen = list(BENCHES) if NAMES == ["all"] else NAMES
for name in chosen:
    if name not in BENCHES:
        sys.exit(f"bench: there is no benchmark {name}; the benchmarks are {', '.join(BENCHES)}")
for name in chosen:
    BENCHES[name]()
