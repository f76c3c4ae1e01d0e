"""Nightjar with asyncio: the event loop watches the queue's descriptor, and each call is a future.

python3 aio.py http://127.0.0.1:8080/v1 /articles/1 /articles/2
"""

import asyncio
import ctypes
import sys

from nightjar import Done, Drained, NightjarError, body, lib, raise_last, raise_owned


class Client:
    """A client whose calls are awaited on one event loop."""

    def __init__(self, base_url):
        self.loop = asyncio.get_running_loop()
        self.pending = {}
        error = ctypes.c_void_p()
        config = lib.nj_config_new()
        try:
            if lib.nj_config_set_base_url(config, base_url.encode()) != 0:
                raise_last()
            self.client = lib.nj_client_new(config, ctypes.byref(error)) or raise_owned(error)
        finally:
            lib.nj_config_free(config)
        self.queue = lib.nj_queue_new()
        self.done = Done(self._done)  # kept alive while calls run
        self.loop.add_reader(lib.nj_queue_fd(self.queue), lib.nj_queue_poll, self.queue, 0.0)

    def _done(self, context, task, response, error):
        future = self.pending.pop(context)
        if future.cancelled():
            return
        if response:
            future.set_result((lib.nj_response_status(response), body(response)))
        else:
            future.set_exception(NightjarError(error))

    async def get(self, path):
        request = lib.nj_request_new(b"GET", path.encode()) or raise_last()
        future = self.loop.create_future()
        key = id(future)
        self.pending[key] = future
        error = ctypes.c_void_p()
        task = lib.nj_client_start(self.client, request, self.queue, self.done, key, ctypes.byref(error))
        lib.nj_request_free(request)
        if not task:
            del self.pending[key]
            raise_owned(error)
        try:
            return await future
        except asyncio.CancelledError:
            lib.nj_task_cancel(task)
            raise
        finally:
            lib.nj_task_release(task)

    async def close(self):
        """Waits until the calls in flight have ended, at most 30 seconds. New calls fail."""
        drained = self.loop.create_future()
        error = ctypes.c_void_p()
        self.drained = Drained(lambda *_: drained.done() or drained.set_result(None))  # kept alive while the drain runs
        task = lib.nj_client_start_drain(self.client, 30.0, self.queue, self.drained, None, ctypes.byref(error))
        lib.nj_task_release(task or raise_owned(error))
        await drained
        self.loop.remove_reader(lib.nj_queue_fd(self.queue))
        lib.nj_client_free(self.client)
        lib.nj_queue_free(self.queue)


async def main(base_url, paths):
    client = Client(base_url)
    try:
        for status, content in await asyncio.gather(*(client.get(path) for path in paths)):
            print(status, len(content), "bytes")
    finally:
        await client.close()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
