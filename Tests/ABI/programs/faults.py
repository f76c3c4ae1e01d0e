"""Faults of servers, systems and threads, tested through the shared library. Each case is a fixed bug."""

import ctypes as C
import os
import resource
import socket
import struct
import sys
import threading
import time

library = C.CDLL(os.environ["NIGHTJAR_LIBRARY"])
handle, text, size = C.c_void_p, C.c_char_p, C.c_size_t
Done = C.CFUNCTYPE(None, handle, handle, handle, handle)
Read = C.CFUNCTYPE(C.c_int64, handle, handle, handle, size)
Body = C.CFUNCTYPE(None, handle, handle, handle, size)
Log = C.CFUNCTYPE(None, handle, C.c_int, text)


def function(name, result, *arguments):
    found = getattr(library, "nj_" + name)
    found.restype, found.argtypes = result, arguments
    return found


config_new = function("config_new", handle)
config_free = function("config_free", None, handle)
config_json = function("config_merge_json", C.c_int, handle, text, size, C.POINTER(handle))
config_log = function("config_set_log", C.c_int, handle, C.c_int, handle, Log, handle)
client_new = function("client_new", handle, handle, C.POINTER(handle))
client_free = function("client_free", None, handle)
send = function("client_send", handle, handle, handle, C.POINTER(handle))
start = function("client_start", handle, handle, handle, handle, Done, handle, C.POINTER(handle))
request_new = function("request_new", handle, text, text)
set_body = function("request_set_body", C.c_int, handle, handle, size)
set_stream = function("request_set_body_stream", C.c_int, handle, C.c_int64, Read, handle)
on_body = function("request_on_body", C.c_int, handle, Body, handle)
status = function("response_status", C.c_int, handle)
kind = function("error_kind", C.c_int, handle)
message = function("error_message", text, handle)
may_have_been_processed = function("error_may_have_been_processed", C.c_bool, handle)
status_name = function("status_name", text, C.c_int)
queue_new = function("queue_new", handle)
queue_free = function("queue_free", None, handle)
poll = function("queue_poll", size, handle, C.c_double)
cancel = function("task_cancel", None, handle)
task_release = function("task_release", None, handle)


def client(options="{}", log=None):
    config, error = config_new(), handle()
    assert config_json(config, options.encode(), len(options), C.byref(error)) == 0, message(error)
    if log:
        assert config_log(config, 4, log[0], log[1], None) == 0
    made = client_new(config, C.byref(error))
    assert made, message(error)
    config_free(config)
    return made


def name_of(error):
    return status_name(kind(error)).decode()


def outcome(made, request):
    error = handle()
    response = send(made, request, C.byref(error))
    return ("response", status(response)) if response else (name_of(error), may_have_been_processed(error))


def listen(backlog=64, buffer=None):
    listener = socket.socket()
    if buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    listener.bind(("127.0.0.1", 0))
    listener.listen(backlog)
    return listener, b"http://127.0.0.1:%d/" % listener.getsockname()[1]


def read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65536)
        if not part:
            return None
        head += part
    return head


def serve(body):
    threading.Thread(target=body, daemon=True).start()


def a_chunked_upload_outlasts_a_pause():
    listener, url = listen(buffer=65536)
    received = []

    def peer():
        connection, _ = listener.accept()
        time.sleep(0.5)
        count, tail = 0, b""
        while tail != b"0\r\n\r\n":
            part = connection.recv(1 << 20)
            count, tail = count + len(part), (tail + part)[-5:]
        received.append(count)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    left = [20 << 20]

    def fill(_, __, buffer, capacity):  # uses the whole buffer
        count = min(capacity, left[0])
        left[0] -= count
        C.memset(buffer, 120, count)
        return count

    serve(peer)
    source, made, request = Read(fill), client('{"timeout":{"idle":4}}'), request_new(b"POST", url)
    set_stream(request, -1, source, None)
    assert outcome(made, request) == ("response", 200)
    assert received[0] > 20 << 20
    client_free(made)


def a_late_cancel_never_passes_half_an_answer_off_as_whole():
    listener, url = listen()

    def peer():
        connection, _ = listener.accept()
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + b"a" * 20000)
        for _ in range(2):
            time.sleep(0.05)
            connection.sendall(b"b" * 20000)

    def take(_, task, __, count):
        delivered[0] += count
        cancel(task)

    serve(peer)
    made, queue, delivered, ends = client(), queue_new(), [0], []
    request, part = request_new(b"GET", url), Body(take)
    on_body(request, part, None)
    done = Done(lambda _, __, response, error: ends.append("response" if response else name_of(error)))
    task = start(made, request, queue, done, None, None)
    time.sleep(0.5)  # everything has been received before the first poll
    while not ends:
        poll(queue, 1.0)
    assert (ends[0] == "cancelled") == (delivered[0] < 60000), (ends, delivered)
    task_release(task)
    client_free(made)
    queue_free(queue)


def closing_says_that_a_write_may_have_happened():
    listener, url = listen()
    seen = threading.Event()

    def peer():
        connection, _ = listener.accept()
        read_head(connection)
        seen.set()
        connection.recv(1)

    serve(peer)
    made, queue, ends = client(), queue_new(), []
    done = Done(lambda _, __, ___, error: ends.append((name_of(error), may_have_been_processed(error))))
    task_release(start(made, request_new(b"POST", url), queue, done, None, None))
    seen.wait()
    client_free(made)
    while not ends:
        poll(queue, 1.0)
    assert ends == [("cancelled", True)], ends
    queue_free(queue)


def a_replaced_request_is_not_forgotten():
    listener, url = listen()

    def peer():
        connection, _ = listener.accept()
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        listener.close()
        read_head(connection)
        connection.close()

    serve(peer)
    made = client()
    assert outcome(made, request_new(b"GET", url)) == ("response", 200)
    assert outcome(made, request_new(b"DELETE", url)) == ("connect", True)
    client_free(made)


def each_failed_attempt_tells_somebody():
    limit, waiting = 8, 24
    listener, url = listen(0)
    made, queue, ends = client('{"timeout":{"connect":0.5,"total":100},"max_connections_per_host":8}'), queue_new(), []
    done = Done(lambda *_: ends.append(time.monotonic()))
    for _ in range(limit + waiting):
        task_release(start(made, request_new(b"POST", url), queue, done, None, None))
    connections = [listener.accept()[0] for _ in range(limit)]
    for connection in connections:
        read_head(connection)
    others = [socket.socket() for _ in range(4)]  # fill the backlog, so that further connections wait
    for other in others:
        other.setblocking(False)
        other.connect_ex(listener.getsockname())
    time.sleep(0.2)
    started = time.monotonic()
    for connection in connections:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    while len(ends) < limit + waiting:
        poll(queue, 1.0)
    assert ends[-1] - started < 4, ends[-1] - started
    client_free(made)
    queue_free(queue)


def a_long_line_fails_without_a_deep_stack():
    count, ends = 20000, [0]
    listener, url = listen()
    made, queue = client('{"max_connections_per_host":1}'), queue_new()

    def end(*_):
        ends[0] += 1

    done, request = Done(end), request_new(b"GET", url)
    for _ in range(count):
        task_release(start(made, request, queue, done, None, None))
    connection, _ = listener.accept()
    read_head(connection)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))  # no socket can be created any more
    connection.close()
    while ends[0] < count:
        assert poll(queue, 10.0) > 0, ends
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    client_free(made)
    queue_free(queue)


def a_body_beyond_a_buffer_is_refused():
    body = C.create_string_buffer(1)
    assert set_body(request_new(b"PUT", b"http://127.0.0.1/"), body, 5 << 30) == 1
    assert set_body(request_new(b"PUT", b"http://127.0.0.1/"), body, (1 << 64) - 1) == 1


def a_log_that_nobody_can_ask_for_is_not_kept():
    listener, url = listen()

    def peer():
        connection, _ = listener.accept()
        while read_head(connection):
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    serve(peer)
    queue, write = queue_new(), Log(lambda *_: None)
    made, request = client(log=(queue, write)), request_new(b"GET", url + b"?" + b"x" * 16000)
    queue_free(queue)
    release = function("response_release", None, handle)
    for _ in range(500):
        release(send(made, request, None))
    before = resident()
    for _ in range(2000):
        release(send(made, request, None))
    assert resident() - before < 16 << 20, resident() - before
    client_free(made)


def an_upload_that_moves_is_not_idle():
    listener, url = listen(buffer=4096)

    def peer():
        connection, _ = listener.accept()
        while connection.recv(4096):
            time.sleep(0.01)

    serve(peer)
    made, body = client('{"timeout":{"idle":0.6,"total":60}}'), b"x" * (600 << 10)
    request = request_new(b"PUT", url)
    set_body(request, body, len(body))
    started = time.monotonic()
    assert outcome(made, request) == ("timeout", True)  # the peer never responds
    taken = time.monotonic() - started
    assert 1.5 < taken < 10, taken
    client_free(made)


def a_forked_child_cancels_nothing_and_waits_for_nothing():
    listener, url = listen()
    serve(lambda: listener.accept()[0].recv(1 << 20) and time.sleep(60))
    made, queue = client(), queue_new()
    done = Done(lambda *_: None)
    tasks = [start(made, request_new(b"GET", url), queue, done, None, None) for _ in range(8)]
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            for task in tasks:
                cancel(task)

    thread = threading.Thread(target=busy)
    thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            for task in tasks:
                cancel(task)
            os._exit(0 if send(made, request_new(b"GET", url), None) is None else 1)
        deadline = time.monotonic() + 10
        while True:
            ended, result = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > deadline:
                os.kill(child, 9)
                os.waitpid(child, 0)
                raise AssertionError("the child hangs")
            time.sleep(0.001)
        assert result == 0, result
    stop.set()
    thread.join()
    client_free(made)
    queue_free(queue)


cases = [value for name, value in list(globals().items()) if name.startswith(("a_", "an_", "each_", "closing_"))]
for case in cases:
    case()
    print("ok", case.__name__)
sys.stdout.flush()
