#!/usr/bin/env python3
"""The version of IP, the local address and the interface of connections, in network namespaces:
Tests/Network/addresses.py NIGHTJAR

Requires root. Without the right to create namespaces, the program prints so and succeeds.
"""

from namespaces import CLIENT4, CLIENT6, PORT, SERVER4, SERVER6, Network, Script, check, finish

SECOND = "10.77.0.9"
SCRIPT = f"""
local function get(name, options, host)
  options.retry, options.timeout = false, {{ connect = 2 }}
  local api <close> = nightjar.client(options)
  local res, err = nightjar.try(api.get, api, ("http://%s:{PORT}/"):format(host or "server.test"))
  print(name, res and res.text:match "%S+" or err.kind)
end
get("ipv4", {{ ip_family = "ipv4" }})
get("ipv6", {{ ip_family = "ipv6" }})
get("local4", {{ local_address = "{SECOND}" }})
get("local6", {{ local_address = "{CLIENT6}" }})
get("interface", {{ interface = "c0" }}, "{SERVER4}")
get("both", {{ interface = "c0", local_address = "{SECOND}" }})
get("wrong", {{ interface = "lo" }}, "{SERVER4}")
get("resolve", {{ resolve = {{ "a.test:{PORT}:[{SERVER6}]" }} }}, "a.test")
get("private", {{ address_filter = "public" }})
get("allowed", {{ address_filter = {{ allow = {{ "10.77.0.0/16" }} }} }})
"""
EXPECTED = {
    "ipv4": [CLIENT4], "ipv6": [CLIENT6], "local4": [SECOND], "local6": [CLIENT6], "interface": [CLIENT4], "both": [SECOND],
    "wrong": ["connect", "offline", "timeout"], "resolve": [CLIENT6], "private": ["invalid_request"], "allowed": [CLIENT4],
}

with Network() as network:
    network.connect()
    network.client_ip(f"addr add {SECOND}/24 dev c0")
    script = Script(network, SCRIPT)
    for name, expected in EXPECTED.items():
        line = script.line()
        shown, _, value = line.partition("\t")
        check(name, shown == name and value in expected, line)
    script.end()
finish()
