#!/usr/bin/python3
"""Metered and captive networks as the desktop portal reports them, on private buses: Tests/Network/portal.py NIGHTJAR

Uses Debian's python3, because python3-dbusmock is installed for it.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from namespaces import ENVIRONMENT, Script, check, clock, finish

try:
    import dbus
    import dbusmock
except ImportError:
    print("skipped: python3-dbusmock is not installed; run scripts/setup --tests")
    sys.exit(0)

NAME, PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
INTERFACE = "org.freedesktop.portal.NetworkMonitor"
MANAGER, MANAGER_PATH = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"

SCRIPT = """
for status in nightjar.network.changes() do
  print(tostring(status.metered), tostring(status.captive), tostring(status.kind))
end
"""
UNKNOWN = "nil\tnil\tnil"

# Replies that the client must not trust: name, signature, Python code of the reply.
HOSTILE = [
    ("an error", "", "raise dbus.exceptions.DBusException('no', name='org.freedesktop.portal.Error.NotAllowed')"),
    ("an empty reply", "", "pass"),
    ("a number", "u", "ret = dbus.UInt32(1)"),
    ("an array of strings", "as", "ret = ['metered', 'connectivity']"),
    ("a dictionary with numbers as keys", "a{us}", "ret = {dbus.UInt32(1): 'metered'}"),
    ("a dictionary of strings", "a{ss}", "ret = {'metered': 'true', 'connectivity': '3'}"),
    ("values of other types", "a{sv}", "ret = {'metered': dbus.UInt32(1), 'connectivity': dbus.String('3'), "
     "'available': dbus.Array([True], signature='b')}"),
    ("values of other sizes", "a{sv}", "ret = {'metered': dbus.Byte(1), 'connectivity': dbus.UInt64(3)}"),
    ("a value in many variants", "a{sv}", "ret = {'metered': dbus.Boolean(True, variant_level=30)}"),
    ("numbers outside of the range", "a{sv}", "ret = {'connectivity': dbus.UInt32(0xFFFFFFFF)}"),
    ("the names of NetworkManager", "a{sv}", "ret = {'Metered': dbus.UInt32(1), 'Connectivity': dbus.UInt32(2)}"),
    ("no reply in time", "a{sv}", "import time; time.sleep(2); ret = {'metered': dbus.Boolean(True)}"),
]


class Bus(dbusmock.DBusTestCase):
    """A private session bus in a runtime folder whose name needs escapes, with a mock of the portal."""

    def begin(self):
        self.folder = tempfile.mkdtemp(prefix="portal é ")
        services = f"{self.folder}/dbus-1/services"
        os.makedirs(services)
        self.activated = f"{self.folder}/activated"
        with open(f"{services}/{NAME}.service", "w", encoding="utf-8") as file:
            file.write(f"[D-BUS Service]\nName={NAME}\nExec=/usr/bin/touch \"{self.activated}\"\n")
        self.daemon = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address",
             "--address=unix:path=" + dbus_escaped(f"{self.folder}/bus")],
            env=os.environ | {"XDG_RUNTIME_DIR": self.folder}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = os.environ["DBUS_SESSION_BUS_ADDRESS"] = self.daemon.stdout.readline().strip()
        self.connection = self.get_dbus()

    def start(self):
        self.mock = self.spawn_server(NAME, PATH, INTERFACE, stdout=subprocess.DEVNULL)
        self.portal = dbus.Interface(self.connection.get_object(NAME, PATH), dbusmock.MOCK_IFACE)

    def reply(self, signature, code):
        self.portal.AddMethod(INTERFACE, "GetStatus", "", signature, code)
        self.changed()

    def changed(self):
        self.portal.EmitSignal(INTERFACE, "changed", "", dbus.Array([], signature="v"))

    def status(self, metered, connectivity, available=True):
        self.reply("a{sv}", f"ret = {{'available': dbus.Boolean({available}), 'metered': dbus.Boolean({metered}), "
                   f"'connectivity': dbus.UInt32({connectivity})}}")

    def stop(self):
        self.mock.terminate()
        self.mock.wait()

    def end(self):
        self.daemon.terminate()
        self.daemon.wait()
        self.daemon.stdout.close()
        shutil.rmtree(self.folder)


def dbus_escaped(path):
    return "".join(chr(b) if chr(b).isalnum() and b < 128 or chr(b) in "-_/.\\*" else f"%{b:02x}" for b in path.encode())


def states(bus, script):
    check("without the portal, the state is unknown", (line := script.line()) == UNKNOWN, line)
    check("the portal is not activated", not os.path.exists(bus.activated))
    bus.start()
    bus.status(True, 4)
    check("the portal is found when it starts", (line := script.line()) == "true\tfalse\tnil", line)
    bus.status(False, 3)
    check("a captive network is reported", (line := script.line()) == "false\ttrue\tnil", line)
    bus.status(True, 2)
    check("limited connectivity is not captive", (line := script.line()) == "true\tfalse\tnil", line)
    bus.status(False, 1, available=False)
    check("without a network, the state is unknown", (line := script.line()) == UNKNOWN, line)
    bus.status(True, 4)
    check("the network is back", (line := script.line()) == "true\tfalse\tnil", line)
    bus.stop()
    check("the state is unknown when the portal ends", (line := script.line()) == UNKNOWN, line)
    check("the portal is not activated again", not os.path.exists(bus.activated))
    bus.start()
    bus.status(False, 4)
    check("the portal is found when it is back", (line := script.line()) == "false\tfalse\tnil", line)


def calls(bus, environment):
    bus.status(True, 4)
    script = Script(None, """
      local api = nightjar.client { allow_metered = false, retry = false, timeout = 5 }
      local ok, err = pcall(api.get, api, "http://192.0.2.1/")
      print(ok, err.kind, err.reason)
    """, environment=environment)
    check("a metered network is refused", (line := script.line()) == "false\toffline\tmetered", line)
    script.end()


def hostile(bus, script):
    for name, signature, code in HOSTILE:
        bus.status(True, 4)
        first = script.line()
        bus.reply(signature, code)
        second = script.line()
        check(f"{name} is an unknown state", (first, second) == ("true\tfalse\tnil", UNKNOWN), first, second)
    bus.reply("a{sv}", "ret = {'key%d' % i: dbus.UInt32(i) for i in range(20000)}; ret['metered'] = dbus.Boolean(True)")
    check("other entries are ignored", (line := script.line()) == "true\tnil\tnil", line)
    bus.status(True, 3)
    for _ in range(2000):
        bus.changed()
    check("many signals cause one change", (line := script.line()) == "true\ttrue\tnil", line)
    bus.reply("a{sv}", "ret = {'metered': 'x' * 2000000}")
    check("a reply that is too long ends the connection", (line := script.line()) == UNKNOWN, line)
    check("the program continues", script.process.poll() is None)


def preference(bus):
    """NetworkManager on the system bus is preferred."""
    Bus.start_system_bus()
    environment = ENVIRONMENT | {
        "DBUS_SYSTEM_BUS_ADDRESS": os.environ["DBUS_SYSTEM_BUS_ADDRESS"], "DBUS_SESSION_BUS_ADDRESS": bus.address}
    bus.status(True, 3)
    script = Script(None, SCRIPT, environment=environment)
    check("the portal replaces NetworkManager", (line := script.line()) == "true\ttrue\tnil", line)
    process = bus.spawn_server(MANAGER, MANAGER_PATH, MANAGER, system_bus=True, stdout=subprocess.DEVNULL)
    manager = dbus.Interface(bus.get_dbus(system_bus=True).get_object(MANAGER, MANAGER_PATH), dbusmock.MOCK_IFACE)
    properties = {"Metered": dbus.UInt32(2), "Connectivity": dbus.UInt32(4), "PrimaryConnectionType": "802-11-wireless"}
    manager.AddProperties(MANAGER, dbus.Dictionary({name: type(value)() for name, value in properties.items()}, signature="sv"))
    manager.UpdateProperties(MANAGER, dbus.Dictionary(properties, signature="sv"))
    while (line := script.line()) == UNKNOWN:  # NetworkManager has started and has no properties yet
        pass
    check("NetworkManager is preferred", line == "false\tfalse\twifi", line)
    bus.status(False, 3)
    check("the portal is then ignored", (line := script.line(1)) == "timeout", line)
    process.terminate()
    process.wait()
    check("the portal is used again", (line := script.line()) == "false\ttrue\tnil", line)
    script.end()


def addresses(bus):
    """The ways to find a bus, and buses that do not work."""
    bus.status(True, 4)
    show = "print(tostring(nightjar.network.status().metered))"
    script = Script(None, show, environment=ENVIRONMENT | {"XDG_RUNTIME_DIR": bus.folder})
    check("the bus in the runtime folder is found", (line := script.line()) == "true", line)
    script.end()
    with tempfile.TemporaryDirectory() as folder:
        ran = f"{folder}/ran"
        program = f"{folder}/dbus-launch"
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ntouch {ran}\n")
        os.chmod(program, 0o755)
        for address in ("autolaunch:", f"unixexec:path={program}", f"unix:path=/nonexistent;unixexec:path={program}",
                        "tcp:host=example.com,port=1", "", "unix:", "unix:path", "unix:path=%zz", ";"):
            path = f"{folder}:{os.environ['PATH']}"
            environment = ENVIRONMENT | {"DBUS_SESSION_BUS_ADDRESS": address, "PATH": path, "DISPLAY": ":99"}
            script = Script(None, show, environment=environment)
            line, seconds = clock(script.line)
            claim = line == "nil" and seconds < 3 and not os.path.exists(ran)
            check(f"the address {address!r} is not used", claim, line, seconds, os.path.exists(ran))
            script.end()
        silent(f"{folder}/bus")


def silent(path):
    """A bus that accepts connections and sends nothing."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        script = Script(None, "print(nightjar.network.status().online)" + SCRIPT,
                        environment=ENVIRONMENT | {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={path}"})
        line, seconds = clock(script.line)
        check("a silent bus does not delay the status", line in ("true", "false") and seconds < 2, line, seconds)
        line, seconds = clock(script.line)
        check("a silent bus does not stop the observer", line == UNKNOWN and seconds < 4, line, seconds)
        script.end()


def main():
    Bus.setUpClass()
    bus = Bus()
    bus.begin()
    environment = ENVIRONMENT | {"DBUS_SESSION_BUS_ADDRESS": bus.address}
    try:
        script = Script(None, SCRIPT, environment=environment)
        states(bus, script)
        calls(bus, environment)
        script.end()
        script = Script(None, SCRIPT, environment=environment)
        check("the first state is that of the portal", (line := script.line()) == "true\tfalse\tnil", line)
        bus.reply("", "pass")
        check("a reply without values is an unknown state", (line := script.line()) == UNKNOWN, line)
        hostile(bus, script)
        script.end()
        preference(bus)
        addresses(bus)
        bus.stop()
        # The control of the checks above: the service file works.
        try:
            bus.connection.call_blocking("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                         "StartServiceByName", "su", (NAME, dbus.UInt32(0)))
        except dbus.exceptions.DBusException:
            pass
        check("activation would have been noticed", os.path.exists(bus.activated))
    finally:
        Bus.tearDownClass()
        bus.end()
    finish()


main()
