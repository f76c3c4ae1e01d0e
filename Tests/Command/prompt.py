#!/usr/bin/env python3
"""The prompt as a person meets it, on a terminal of tmux: Tests/Command/prompt.py NIGHTJAR URL

What is typed is typed, and screens are compared; nothing sleeps for a while and hopes. URL is the demo API's."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

NIGHTJAR, URL = os.path.realpath(sys.argv[1]), sys.argv[2]
passed, failed = 0, 0


def check(name, claim, *evidence):
    global passed, failed
    if claim:
        passed += 1
        print(f"ok      {name}")
    else:
        failed += 1
        print(f"NOT OK  {name}")
        for item in evidence:
            print("  | " + str(item).replace("\n", "\n  | "))


class Terminal:
    """The command in a terminal of its own, 80 columns wide and 40 lines high."""

    count = 0

    def __init__(self, *words, state, environment=(), columns=80):
        Terminal.count += 1
        self.socket = os.path.join(state, f"tmux{Terminal.count}")
        variables = {"XDG_STATE_HOME": state, "HOME": state, "TERM": "screen-256color", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        variables.update(environment)
        words = ["env", "-u", "LUA_INIT"] + [f"{name}={value}" for name, value in variables.items()] + [NIGHTJAR, *words]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "40", *words)
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def tmux(self, *words):
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, env=environment).stdout

    def screen(self, escapes=False):
        text = self.tmux("capture-pane", "-p", "-J", *(["-e"] if escapes else []))
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def wait_for(self, pattern, seconds=20, escapes=False):
        deadline = time.monotonic() + seconds
        while True:
            screen = self.screen(escapes)
            if re.search(pattern, screen, re.M):
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def enter(self, text):
        self.type(text)
        self.keys("Enter")

    def clear(self):
        """An empty screen with a prompt: what is waited for next is new."""
        self.keys("C-l")
        assert self.wait_for(r"\A(?:>> |> ?)\S*.*\Z"), self.screen()

    def is_dead(self):
        return self.tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}").strip()

    def end(self):
        self.tmux("kill-server")

    def expect(self, name, pattern, seconds=20, escapes=False):
        check(name, self.wait_for(pattern, seconds, escapes), "wanted: " + pattern, self.screen(escapes))


def session(state, *words, **options):
    terminal = Terminal(*words, state=state, **options)
    terminal.expect("a prompt", r"^>$")
    return terminal
