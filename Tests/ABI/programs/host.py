"""Tests the ABI from Python. Threads share a client, each has its own queue, and callbacks run on the polling thread."""

import ctypes
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../scripts/examples/python"))
from nightjar import Done, NightjarError, body, lib, raise_owned  # noqa: E402

url = sys.argv[1]
client = lib.nj_client_new(None, None)


def raises_with_a_reason():
    error = ctypes.c_void_p()
    request = lib.nj_request_new(b"GET", b"no scheme")
    try:
        lib.nj_client_send(client, request, ctypes.byref(error)) or raise_owned(error)
        raise AssertionError("sent")
    except NightjarError as failure:
        assert failure.kind == "invalid_url", failure
    finally:
        lib.nj_request_free(request)


def polls_on_its_own_thread(results):
    queue = lib.nj_queue_new()
    me = threading.get_ident()
    seen = []

    def done(context, task, response, error):
        assert threading.get_ident() == me
        assert (response is None) != (error is None)
        seen.append((context, lib.nj_response_status(response), len(body(response))))

    callback = Done(done)
    request = lib.nj_request_new(b"GET", f"{url}/v1/articles/1".encode())
    for index in range(1, 101):
        lib.nj_task_release(lib.nj_client_start(client, request, queue, callback, index, None))
    while len(seen) < 100:
        lib.nj_queue_poll(queue, -1.0)
    lib.nj_request_free(request)
    lib.nj_queue_free(queue)
    results.append(sorted(seen))


raises_with_a_reason()
results = []
threads = [threading.Thread(target=polls_on_its_own_thread, args=(results,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(results) == 4
for seen in results:
    assert [context for context, _, _ in seen] == list(range(1, 101))
    assert {status for _, status, _ in seen} == {200}
lib.nj_client_free(client)
