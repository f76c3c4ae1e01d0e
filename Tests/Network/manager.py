#!/usr/bin/python3
"""Metered and captive networks as NetworkManager reports them, on a private bus: Tests/Network/manager.py NIGHTJAR

Uses Debian's python3, because python3-dbusmock is installed for it.
"""

import os
import subprocess
import sys

from namespaces import ENVIRONMENT, Script, check, clock, finish

try:
    import dbus
    import dbusmock
except ImportError:
    print("skipped: python3-dbusmock is not installed; run scripts/setup --tests")
    sys.exit(0)

NAME, PATH = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"

SCRIPT = """
for status in nightjar.network.changes() do
  print(tostring(status.metered), tostring(status.captive), tostring(status.kind))
end
"""


class Bus(dbusmock.DBusTestCase):
    """A private system bus with a mock of NetworkManager."""

    def begin(self):
        self.start_system_bus()
        self.connection = self.get_dbus(system_bus=True)

    def start(self):
        self.mock = self.spawn_server(NAME, PATH, NAME, system_bus=True, stdout=subprocess.DEVNULL)
        self.manager = dbus.Interface(self.connection.get_object(NAME, PATH), dbusmock.MOCK_IFACE)
        self.manager.AddProperties(NAME, dbus.Dictionary({
            "Metered": dbus.UInt32(0), "Connectivity": dbus.UInt32(0), "PrimaryConnectionType": ""}, signature="sv"))

    def change(self, **properties):
        self.manager.UpdateProperties(NAME, dbus.Dictionary(properties, signature="sv"))

    def stop(self):
        self.mock.terminate()
        self.mock.wait()


def main():
    Bus.setUpClass()
    bus = Bus()
    bus.begin()
    environment = ENVIRONMENT | {"DBUS_SYSTEM_BUS_ADDRESS": os.environ["DBUS_SYSTEM_BUS_ADDRESS"]}
    try:
        script = Script(None, SCRIPT, environment=environment)
        check("without the service, the state is unknown", (line := script.line()) == "nil\tnil\tnil", line)
        bus.start()
        bus.change(Metered=dbus.UInt32(1), Connectivity=dbus.UInt32(4), PrimaryConnectionType="802-11-wireless")
        check("the service is found when it starts", (line := script.line()) == "true\tfalse\twifi", line)
        bus.change(Metered=dbus.UInt32(4), Connectivity=dbus.UInt32(2))
        check("changes are reported", (line := script.line()) == "false\ttrue\twifi", line)
        bus.change(Metered=dbus.UInt32(0), Connectivity=dbus.UInt32(0), PrimaryConnectionType="")
        check("an unknown state is nil", (line := script.line()) == "nil\tnil\tnil", line)
        bus.change(Metered=dbus.UInt32(3))
        check("a guess counts", (line := script.line()) == "true\tnil\tnil", line)

        restricted = Script(None, """
          local api = nightjar.client { allow_metered = false, retry = false, timeout = 5 }
          local ok, err = pcall(api.get, api, "http://192.0.2.1/")
          print(ok, err.kind, err.reason)
          print(select(2, pcall(api.get, api, "http://127.0.0.1:9/")).kind)
          print(nightjar.network.status().metered)
        """, environment=environment)
        check("a metered network is refused", (line := restricted.line()) == "false\toffline\tmetered", line)
        check("a loopback host is not refused", (line := restricted.line()) == "connect", line)
        check("the status is metered", (line := restricted.line()) == "true", line)
        restricted.end()

        bus.stop()
        check("the state is unknown when the service ends", (line := script.line()) == "nil\tnil\tnil", line)
        script.end()
    finally:
        Bus.tearDownClass()

    script = Script(None, "print(tostring(nightjar.network.status().metered))")
    line, seconds = clock(script.line)
    check("a machine without a bus has an unknown state", line == "nil" and seconds < 3, line, seconds)
    script.end()
    finish()


main()
