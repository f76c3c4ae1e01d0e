#!/usr/bin/env python3
"""HTTP/2 connections after changes of the network, and after a long idle time: PING.

  Tests/Network/http2.py NIGHTJAR [--long]      --long adds a case that takes half a minute

The server is nghttpd, whose log has the frames.
"""

import os
import subprocess
import sys
import tempfile
import time

from namespaces import Network, Script, check, clock, finish, SERVER4, PORT

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


def changes():
    with Network() as network, Server(network) as server:
        network.connect()
        script = Script(network, CALLS, URL)
        first, second = script.line(), script.line()
        check("streams share a connection", (first, second) == ("hello\t1\tfalse", "hello\t3\ttrue"), first, second)
        check("no PING is sent without a reason", "recv PING frame" not in server.frames(), server.frames())
        time.sleep(0.5)  # on a slow machine, the client may not yet observe the network
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
if "--long" in sys.argv:
    long_idle()
finish()
