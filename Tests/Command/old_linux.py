#!/usr/bin/env python3
"""Processes on a Linux before 5.3, which has no pidfd: Tests/Command/old_linux.py NIGHTJAR

A seccomp filter makes pidfd_open and pidfd_send_signal fail with ENOSYS in this process and its children."""

import ctypes
import os
import struct
import subprocess
import sys

NIGHTJAR = os.path.realpath(sys.argv[1])
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))

# linux/filter.h, linux/seccomp.h
LOAD, IS, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PIDFD_SEND_SIGNAL, PIDFD_OPEN, ENOSYS = 424, 434, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38


def refuse():
    """Installs the filter. Returns False if the kernel does not allow it."""
    program = b"".join(struct.pack("HBBI", *step) for step in [
        (LOAD, 0, 0, 0), (IS, 2, 0, PIDFD_OPEN), (IS, 1, 0, PIDFD_SEND_SIGNAL), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | ENOSYS)])
    steps = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    system = ctypes.CDLL(None, use_errno=True)
    filter = Program(len(program) // 8, ctypes.addressof(steps))
    number = ctypes.c_ulong
    return (system.prctl(PR_SET_NO_NEW_PRIVS, number(1), number(0), number(0), number(0)) == 0
            and system.prctl(PR_SET_SECCOMP, number(SECCOMP_MODE_FILTER), ctypes.byref(filter), number(0), number(0)) == 0)


if not refuse():
    print("skipped: system calls cannot be filtered here")
    sys.exit(0)
try:
    os.pidfd_open(os.getpid())
    sys.exit("pidfd_open works despite the filter")
except OSError as error:
    assert error.errno == ENOSYS, error

environment = {**os.environ, "LUA_PATH": os.path.join(ROOT, "Tests/Lua/?.lua")}
failed = 0


def check(name, *words):
    global failed
    ended = subprocess.run([NIGHTJAR, *words], env=environment, capture_output=True, text=True, timeout=120)
    if ended.returncode == 0:
        print("ok     ", name)
    else:
        failed += 1
        print(f"NOT OK  {name} (status {ended.returncode}): {ended.stdout}{ended.stderr}")


check("nightjar.process", os.path.join(ROOT, "Tests/Lua/process.lua"))
check("the end of a process is reported immediately, also with a test clock", "-e", """
    local nightjar = require "nightjar"
    local process = nightjar.process
    local clock <close> = nightjar.testing.clock()
    for i = 1, 20 do assert(process.run { "true" }.ok) end
    assert(nightjar.timeout(1, process.run, { "sh", "-c", "sleep 0.05; exit 3" }).status == 3)
    local child <close> = process.spawn { "sleep", 100 }
    local waits = { nightjar.spawn(function() return child:wait() end), nightjar.spawn(function() return child:wait() end) }
    for _ = 1, 10 do nightjar.spawn(function() end):join() end
    assert(child:kill "KILL")
    for _, task in ipairs(waits) do assert(task:join().signal == "KILL") end
    assert(child:kill "TERM" == false)""")
check("many concurrent processes leave no descriptors and no zombies", "-e", """
    local nightjar = require "nightjar"
    local before = #nightjar.fs.list "/proc/self/fd"
    nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function()
      for i = 1, 20 do nightjar.process.run { "true" } end
    end, { concurrency = 8 })
    collectgarbage()
    collectgarbage()
    nightjar.sleep(0.1)
    assert(#nightjar.fs.list "/proc/self/fd" <= before + 3)
    local zombies = nightjar.process.run { "ps", "-o", "stat=", "--ppid", tostring(io.open "/proc/self/stat":read "n") }
    assert(not zombies.stdout:find "Z", zombies.stdout)""")
sys.exit(1 if failed else 0)
