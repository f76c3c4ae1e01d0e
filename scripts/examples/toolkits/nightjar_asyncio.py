"""Runs the callbacks of a queue in an asyncio event loop, and observes resources. Needs nightjar.py of ../python.

    with Queue() as queue:
        async for snapshot in changes(resource): ...

Ownership: Queue owns the nj_queue; `with` frees it. The caller owns the resource and keeps it until the loop has ended.
Thread:    the callbacks run on the thread of the event loop, which was running when Queue was created.
Removal:   the end of the loop over changes frees the observer, which cancels the load in progress.
"""

import asyncio
import ctypes

from nightjar import Observer, Snapshot, lib, raise_owned


class Queue:
    """A queue whose callbacks run in the running event loop."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.handle = lib.nj_queue_new()
        self.loop.add_reader(lib.nj_queue_fd(self.handle), lib.nj_queue_poll, self.handle, 0.0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.remove_reader(lib.nj_queue_fd(self.handle))
        lib.nj_queue_free(self.handle)


async def changes(resource):
    """Observes a resource of a Queue: the present snapshot, and then the newest one after each change."""
    newest = asyncio.Queue(maxsize=1)

    def changed(_, snapshot):
        if newest.full():
            newest.get_nowait()  # the reader is slower than the changes
        newest.put_nowait(Snapshot(snapshot))

    callback, error = Observer(changed), ctypes.c_void_p()  # the callback must live as long as the observer
    observer = lib.nj_resource_observe(resource, callback, None, ctypes.byref(error)) or raise_owned(error)
    try:
        while True:
            yield await newest.get()
    finally:
        lib.nj_resource_observer_free(observer)
