"""Helpers of the programs in this folder: two network namespaces, a server, Lua scripts, and checks.

The client's namespace and the server's namespace are connected by a pair of virtual interfaces: c0 and s0. The name
"server.test" has the server's IPv4 and IPv6 address.
"""

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

NIGHTJAR = os.path.realpath(sys.argv[1])
REMOVED = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
           "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in REMOVED} | {
    "LC_ALL": "C.UTF-8", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}
SERVER4, SERVER6, CLIENT4, CLIENT6 = "10.77.0.1", "fd77::1", "10.77.0.2", "fd77::2"
PORT = 8077
passed, failed = 0, 0

SERVER = """
import http.server, socket, socketserver
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        text = (self.client_address[0].replace("::ffff:", "") + " " + str(self.client_address[1])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    address_family, daemon_threads = socket.AF_INET6, True
    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()
print("ready", flush=True)
Server(("::", %d), Handler).serve_forever()
""" % PORT


def check(name, claim, *evidence):
    global passed, failed
    if claim:
        passed += 1
        print(f"ok      {name}", flush=True)
    else:
        failed += 1
        print(f"NOT OK  {name}: {str(evidence)[-3000:]}", flush=True)


def finish():
    print(f"{os.path.basename(sys.argv[0])}: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


def ip(arguments):
    subprocess.run(["ip"] + arguments.split(), check=True, capture_output=True, text=True)


class Network:
    """The two namespaces. The client has no address at first."""

    def __enter__(self):
        self.client, self.server = f"nj-c{os.getpid()}", f"nj-s{os.getpid()}"
        self.process = None
        self.folder = f"/etc/netns/{self.client}"
        try:
            for name in self.client, self.server:
                ip(f"netns add {name}")
                ip(f"-n {name} link set lo up")
            ip(f"-n {self.client} link add c0 type veth peer name s0 netns {self.server}")
            ip(f"-n {self.server} addr add {SERVER4}/24 dev s0")
            ip(f"-n {self.server} addr add {SERVER6}/64 dev s0 nodad")
            ip(f"-n {self.server} link set s0 up")
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            print(f"skipped: network namespaces cannot be created: {getattr(error, 'stderr', None) or error}")
            sys.exit(0)
        os.makedirs(self.folder)
        with open(f"{self.folder}/hosts", "w") as hosts:
            hosts.write(f"127.0.0.1 localhost\n{SERVER4} server.test\n{SERVER6} server.test\n")
        with open(f"{self.folder}/resolv.conf", "w") as resolv:
            resolv.write("nameserver 10.77.9.9\noptions timeout:1 attempts:1\n")
        self.process = subprocess.Popen(["ip", "netns", "exec", self.server, sys.executable, "-c", SERVER],
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        for name in self.client, self.server:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["rm", "-rf", self.folder])

    def connect(self):
        """Gives the client its addresses and default routes."""
        ip(f"-n {self.client} link set c0 up")
        ip(f"-n {self.client} addr add {CLIENT4}/24 dev c0")
        ip(f"-n {self.client} addr add {CLIENT6}/64 dev c0 nodad")
        ip(f"-n {self.client} route add default via {SERVER4}")
        ip(f"-n {self.client} -6 route add default via {SERVER6}")

    def change_address(self):
        """Replaces the client's IPv4 address by 10.77.0.3."""
        self.client_ip("addr del 10.77.0.2/24 dev c0")
        self.client_ip("addr add 10.77.0.3/24 dev c0")
        self.client_ip(f"route add default via {SERVER4}")

    def client_ip(self, arguments):
        ip(f"-n {self.client} {arguments}")

    def server_ip(self, arguments):
        ip(f"-n {self.server} {arguments}")


class Script:
    """A Lua script in the client's namespace, and the lines that it prints."""

    def __init__(self, network, text, *arguments, environment=None):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".lua")
        self.file.write('local nightjar = require "nightjar"\nio.stdout:setvbuf "line"\n' + text)
        self.file.flush()
        command = ["ip", "netns", "exec", network.client] if network else []
        self.process = subprocess.Popen(command + [NIGHTJAR, self.file.name, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=environment or ENVIRONMENT)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("ended")

    def line(self, seconds=15):
        """Returns the next line. "ended" at the end, "timeout" if there is none in time."""
        try:
            line = self.lines.get(timeout=seconds)
            if line == "ended":
                self.lines.put(line)
            return line
        except queue.Empty:
            return "timeout"

    def go(self):
        """Ends a wait of the script for a line of input."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.file.close()


def clock(work):
    """Returns the result of `work` and the seconds that it took."""
    began = time.monotonic()
    return work(), time.monotonic() - began
