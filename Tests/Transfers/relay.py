"""Downloads a file through a relay that resets all connections again and again. Run by Tests/Transfers/relay_resets:

    relay.py NIGHTJAR SIZE SECONDS RATE

The relay resets its connections every SECONDS. RATE is in bytes per second. Fails if the file has another digest, if nothing
was reset, or if the server has sent more than 1.05 times the size.
"""

import asyncio
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

NIGHTJAR, (SIZE, SECONDS, RATE) = sys.argv[1], [float(argument) for argument in sys.argv[2:5]]
ORIGIN = os.environ["NIGHTJAR_DEMO_URL"]
# Larger buffers would hold bytes that are lost by a reset.
BUFFER = 64 * 1024


class Relay:
    """Forwards connections on loopback to the demo API, on a thread of its own."""

    def __init__(self, port):
        self.target = port
        self.writers = []
        self.resets = 0
        is_ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve(is_ready)), daemon=True).start()
        is_ready.wait()

    async def serve(self, is_ready):
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0, limit=BUFFER)
        self.port = server.sockets[0].getsockname()[1]
        is_ready.set()
        while True:
            await asyncio.sleep(SECONDS)
            writers, self.writers = self.writers, []
            for writer in writers:
                writer.transport.abort()
            self.resets += 1 if writers else 0

    async def accept(self, client, to_client):
        server, to_server = await asyncio.open_connection("127.0.0.1", self.target, limit=BUFFER)
        for writer in (to_client, to_server):
            one = writer.get_extra_info("socket")
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            # A socket that is closed with this option sends a reset.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.set_write_buffer_limits(BUFFER)
            self.writers.append(writer)
        await asyncio.gather(self.forward(client, to_server), self.forward(server, to_client))

    async def forward(self, reader, writer):
        try:
            while data := await reader.read(BUFFER):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()


def fetch(path):
    return json.load(urllib.request.urlopen(ORIGIN + path))


def check(connections, relay, folder):
    run = f"relay-{connections}-{os.getpid()}"
    query = {"size": int(SIZE), "seed": 5, "rate": int(RATE / connections), "run": run}
    path = os.path.join(folder, run)
    environment = os.environ | {"NIGHTJAR_DEMO_URL": f"http://127.0.0.1:{relay.port}"}
    start, resets = time.monotonic(), relay.resets
    subprocess.run([NIGHTJAR, "download.lua", path, json.dumps(query), str(connections)], env=environment, check=True)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    log = fetch("/__transfers/" + run)
    ratio = log["body_bytes"] / SIZE
    print(f"{connections} connections: {time.monotonic() - start:.1f} s, {relay.resets - resets} resets, "
          f"{log['count']} requests, {ratio:.4f} times the size")
    expected = fetch("/__file?" + urllib.parse.urlencode({"size": int(SIZE), "seed": 5}))["sha256"]
    if digest.hexdigest() != expected:
        sys.exit("the file has the wrong digest")
    if relay.resets == resets:
        sys.exit("no connection was reset; use a larger file")
    if ratio > 1.05:
        sys.exit(f"the server has sent {log['body_bytes']} bytes: {json.dumps(log['requests'], indent=1)}")


def main():
    relay = Relay(urllib.parse.urlsplit(ORIGIN).port)
    with tempfile.TemporaryDirectory() as folder:
        for connections in (1, 4):
            check(connections, relay, folder)


main()
