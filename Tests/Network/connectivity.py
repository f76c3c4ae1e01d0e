#!/usr/bin/env python3
"""Offline machines and changes of links, addresses and routes, in network namespaces:
Tests/Network/connectivity.py NIGHTJAR

Requires root. Without the right to create namespaces, the program prints so and succeeds.
"""

import glob
import subprocess
import time

from namespaces import CLIENT4, PORT, SERVER4, Network, Script, check, clock, finish

URL = f"http://{SERVER4}:{PORT}/"

SHOW = """
local function show(status)
  print(string.format("%s %s %s", status.online and "online" or "offline", status.interface or "-",
                      tostring(status.metered)))
end
"""


def offline():
    with Network() as network:
        script = Script(network, SHOW + """
          show(nightjar.network.status())
          local api = nightjar.client { timeout = { connect = 2 }, retry = false }
          for _, url in ipairs(arg) do
            local ok, err = pcall(api.get, api, url)
            print(ok, err.kind, err.reason)
          end
          print(nightjar.network.status().constrained)
          nightjar.network.set_constrained(true)
          print(nightjar.network.status().constrained)
        """, URL, "http://name.test/", "http://127.0.0.1:9/")
        check("a machine without interfaces is offline", (line := script.line()) == "offline - nil", line)
        check("an unreachable address is offline", (line := script.line()) == "false\toffline\tnone", line)
        check("a name that cannot be looked up is offline", (line := script.line()) == "false\toffline\tnone", line)
        check("a loopback host is never offline", (line := script.line()) == "false\tconnect\tnil", line)
        lines = script.line(), script.line()
        check("the program sets the constrained flag", lines == ("false", "true"), lines)
        script.end()


def waiting():
    with Network() as network:
        script = Script(network, """
          local api = nightjar.client { wait_for_connectivity = 20, retry = false }
          local res = api:get(arg[1], { on_waiting = function(reason) print("waits", reason) end })
          print("response", res.status)
          print(res:explain())
        """, URL)
        check("the call waits", (line := script.line()) == "waits\tnone", line)
        time.sleep(1)
        network.connect()
        line, seconds = clock(script.line)
        check("the call is sent when the network appears", line == "response\t200" and seconds < 2, line, seconds)
        check("the wait is explained", "for the network" in (line := script.line()), line)
        script.end()
    with Network() as network:
        script = Script(network, """
          local api = nightjar.client { wait_for_connectivity = 60, retry = false }
          local start = nightjar.time.now()
          local ok, err = pcall(api.get, api, arg[1], { wait_for_connectivity = 1 })
          print(ok, err.kind, err.reason, #err.earlier)
          ok, err = pcall(api.get, api, arg[1], { timeout = 1 })
          print(ok, err.kind, err.phase, err.earlier[1].kind)
          print(pcall(api.get, api, arg[1], { wait_for_connectivity = "soon" }))
        """, URL)
        line, seconds = clock(script.line)
        check("the wait ends", line == "false\toffline\tnone\t1" and 0.9 < seconds < 3, line, seconds)
        line, seconds = clock(script.line)
        check("the total timeout ends the wait", line == "false\ttimeout\ttotal\toffline" and 0.9 < seconds < 3, line, seconds)
        check("the option is checked", "wait_for_connectivity" in (line := script.line()), line)
        script.end()


def constrained():
    with Network() as network:
        network.connect()
        script = Script(network, """
          nightjar.network.set_constrained(true)
          local api = nightjar.client { allow_constrained = false, retry = false }
          local ok, err = pcall(api.get, api, arg[1])
          print(ok, err.kind, err.reason)
          print(api:get(arg[1], { allow_constrained = true }).status)
          nightjar.spawn(function() nightjar.sleep(0.5) nightjar.network.set_constrained(false) end)
          print(api:get(arg[1], { wait_for_connectivity = 5, on_waiting = print }).status)
        """, URL)
        check("a constrained network is refused", (line := script.line()) == "false\toffline\tconstrained", line)
        check("a call can allow it", (line := script.line()) == "200", line)
        lines = script.line(), script.line()
        check("a call waits for the end of the constraint", lines == ("constrained", "200"), lines)
        script.end()


def changes():
    with Network() as network:
        script = Script(network, SHOW + """
          for status in nightjar.network.changes() do show(status) end
        """)
        check("the first status is the current one", (line := script.line()) == "offline - nil", line)
        network.connect()
        check("a new network is reported", (line := script.line()) == "online c0 nil", line)
        network.client_ip("addr del 10.77.0.2/24 dev c0")
        line = script.line(3)
        check("a removed address is reported", line == "online c0 nil", line)
        network.client_ip("link set c0 down")
        check("a link that goes down is reported", (line := script.line(3)) == "offline - nil", line)
        network.client_ip("link set c0 up")
        network.client_ip("addr add 10.77.0.2/24 dev c0")
        network.client_ip(f"route add default via {SERVER4}")
        check("a link that comes up is reported", (line := script.line(3)) == "online c0 nil", line)
        network.server_ip("link set s0 down")
        check("a lost carrier is reported", (line := script.line(3)) == "offline - nil", line)
        network.server_ip("link set s0 up")
        check("a new carrier is reported", (line := script.line(3)) == "online c0 nil", line)
        network.client_ip("route del default")
        check("a removed route is reported", (line := script.line(3)).startswith("offline"), line)
        script.end()


def dead_connections():
    """An idle connection whose address is gone must not be reused: the request would wait for the idle timeout."""
    with Network() as network:
        network.connect()
        script = Script(network, """
          local api = nightjar.client { retry = false, timeout = 20 }
          local function get() print(api:get(arg[1]).body) end
          get() get()
          io.read()
          get()
        """, URL)
        first, second = script.line(), script.line()
        check("an idle connection is reused", first == second and first.startswith(CLIENT4), first, second)
        network.change_address()
        time.sleep(1)
        script.go()
        line, seconds = clock(script.line)
        check("a connection from a removed address is not reused", line.startswith("10.77.0.3") and seconds < 1, line, seconds)
        script.end()
    with Network() as network:
        network.connect()
        script = Script(network, """
          local api = nightjar.client { retry = false, timeout = 20 }
          local function get() print(api:get(arg[1]).body) end
          get()
          io.read()
          get()
        """, URL)
        first = script.line()
        network.client_ip("addr add 10.77.0.9/24 dev c0")  # a change that does not concern the connection
        time.sleep(1.5)
        script.go()
        second = script.line()
        check("a connection whose peer responds is reused after a change", first == second, first, second)
        script.end()


def black_holes():
    """RFC 8305: an address family that does not work delays a connection by a quarter of a second."""
    for family, blackhole, expected in ("IPv6", "-6 route add blackhole fd77::2/128", "10.77.0.2"), \
            ("IPv4", "route add blackhole 10.77.0.2/32", "fd77::2"):
        with Network() as network:
            network.connect()
            network.server_ip(blackhole)
            script = Script(network, """
              local api = nightjar.client { retry = false, timeout = { connect = 5 } }
              io.read()
              local ok, res = pcall(api.get, api, arg[1])
              print(ok and res.body or res.kind .. res.message)
            """, f"http://server.test:{PORT}/")
            script.go()
            line, seconds = clock(script.line)
            used = line.split(" ")[0]
            check(f"a black hole for {family} does not delay the response", used == expected and seconds < 1.5, line, seconds)
            script.end()


def descriptors():
    """The network is not observed for clients that do not need it."""
    with Network() as network:
        network.connect()
        script = Script(network, """
          local api = nightjar.client { retry = false }
          io.read()
          print "client"
          io.read()
          print(pcall(api.get, api, "http://127.0.0.1:9/"))
          io.read()
          print(api:get(arg[1]).status)
          io.read()
          api:close()
          print "closed"
          io.read()
        """, URL)

        def observes():
            pid = subprocess.run(["pgrep", "-P", str(script.process.pid)], capture_output=True, text=True).stdout.split()
            found = []
            for process in pid or [str(script.process.pid)]:
                for path in glob.glob(f"/proc/{process}/task/*/comm"):
                    try:
                        found.append(open(path).read().strip())
                    except OSError:
                        pass
            return "nightjar-net" in found

        script.go()
        script.line()
        check("an idle client does not observe the network", not observes())
        script.go()
        script.line()
        check("a call to a loopback host does not observe the network", not observes())
        script.go()
        script.line()
        time.sleep(0.2)
        check("an idle connection to another machine is protected", observes())
        script.go()
        script.line()
        time.sleep(0.5)
        check("a closed client does not observe the network", not observes())
        script.end()


offline()
waiting()
constrained()
changes()
dead_connections()
black_holes()
descriptors()
finish()
