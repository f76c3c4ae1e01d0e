#!/usr/bin/env python3
"""HTTP/2 connections after changes of the network, and after a long idle time: PING.

  Tests/Network/http2.py NIGHTJAR [--long]      --long adds a case that takes half a minute

The server is nghttpd, whose log has the frames.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

from namespaces import ENVIRONMENT, Network, Script, check, clock, finish, SERVER4, PORT

URL = f"http://{SERVER4}:{PORT + 1}/file"
# Prints the address of the client's interface, the stream, and whether the connection was reused.
CALLS = """
  local api = nightjar.client { retry = false, timeout = 20, http = { versions = { "2" } }, idle_connection_lifetime = 3600 }
  local function get() local res = api:get(arg[1]) print(res.body, res.timing.stream, res.timing.reused) end
  get() get()
  for _ = 1, 2 do io.read() get() end
"""


class Server:
    def __init__(self, network):
        self.folder = tempfile.TemporaryDirectory()
        with open(f"{self.folder.name}/file", "w") as file:
            file.write("hello")
        self.log = open(f"{self.folder.name}/log", "w+")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", network.server, "stdbuf", "-oL", "nghttpd", "--verbose", "--no-tls", "--address", SERVER4,
             "--htdocs", self.folder.name, str(PORT + 1)], stdout=self.log, stderr=subprocess.STDOUT)

    def __enter__(self):
        for _ in range(100):
            if "listen" in self.frames():
                break
            time.sleep(0.05)
        return self

    def frames(self):
        with open(self.log.name) as log:
            return log.read()

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()


class SlowBus:
    """A D-Bus socket whose server does not respond for some time."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/bus"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Timer(0.7, connection.close).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.folder.cleanup()


def change_at_start():
    """The network changes while the client connects to the bus, before it has reported the first status."""
    with Network() as network, Server(network) as server, SlowBus() as bus:
        network.connect()
        script = Script(network, CALLS, URL, environment=ENVIRONMENT | {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={bus.path}"})
        script.line(), script.line()
        network.client_ip("addr add 10.77.0.9/24 dev c0")
        time.sleep(2.5)
        script.go()
        line = script.line()
        check("a change at the start is noticed", server.frames().count("recv PING frame") == 1, line, server.frames())
        check("the client has used the bus", bus.connections != [])


def changes():
    with Network() as network, Server(network) as server:
        network.connect()
        script = Script(network, CALLS, URL)
        first, second = script.line(), script.line()
        check("streams share a connection", (first, second) == ("hello\t1\tfalse", "hello\t3\ttrue"), first, second)
        check("no PING is sent without a reason", "recv PING frame" not in server.frames(), server.frames())
        network.client_ip("addr add 10.77.0.9/24 dev c0")  # a change that does not concern the connection
        time.sleep(1.5)
        script.go()
        line = script.line()
        check("a connection that answers PING is used after a change", line == "hello\t5\ttrue", line)
        check("one PING is sent after a change", server.frames().count("recv PING frame") == 1, server.frames())
        network.change_address()
        time.sleep(1)
        script.go()
        line, seconds = clock(script.line)
        check("a connection from a removed address is not used", line == "hello\t1\tfalse" and seconds < 1, line, seconds)
        script.end()


def long_idle():
    with Network() as network, Server(network) as server:
        network.connect()
        script = Script(network, CALLS, URL)
        script.line(), script.line()
        time.sleep(31)
        script.go()
        line = script.line()
        check("a PING precedes a request after a long idle time", server.frames().count("recv PING frame") == 1, server.frames())
        script.go()
        check("the connection is used after the answer", (again := script.line()) == "hello\t5\ttrue"
              or line == "hello\t5\ttrue", line, again)
        script.end()


changes()
change_at_start()
if "--long" in sys.argv:
    long_idle()
finish()
