#!/usr/bin/env python3
"""A host that cannot create threads, or has few descriptors: Tests/Faults/resources.py NIGHTJAR"""

import os
import subprocess
import tempfile

from demo import ENVIRONMENT, NIGHTJAR, Demo, check, finish

HERE = os.path.dirname(os.path.realpath(__file__))
PREFIX = os.path.dirname(os.path.dirname(NIGHTJAR))
CASES = ["no_client", "no_look_up", "no_disk_cache", "few_descriptors", "close_on_exec", "freed_clients"]

def build(folder):
    program = os.path.join(folder, "resources")
    subprocess.run(["cc", "-O1", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{PREFIX}/include",
                    f"{HERE}/resources.c", "-o", program, f"-L{PREFIX}/lib", "-lnightjar",
                    f"-Wl,-rpath,{PREFIX}/lib", "-pthread"], check=True)
    return program


def run(command, name, environment):
    try:
        result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=60)
        check(name, result.returncode == 0 and result.stderr == "", result.returncode, result.stdout, result.stderr)
    except subprocess.TimeoutExpired as error:
        check(name, False, "does not end", error.stdout)


with tempfile.TemporaryDirectory() as folder, Demo() as demo:
    os.chmod(folder, 0o777)
    program = build(folder)
    environment = ENVIRONMENT | {"NIGHTJAR_DEMO_ADDRESS": f"{demo.url}/v1/articles/1", "NIGHTJAR_DEMO_ORIGIN": demo.url}
    for case in CASES:
        run([program, case, f"http://localhost:{demo.port}", folder], case, environment)

finish()
