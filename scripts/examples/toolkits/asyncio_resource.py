"""Shows an article in the event loop of asyncio: loads it, loads it again after a sleep of asyncio, and exits.

PYTHONPATH=scripts/examples/python python3 scripts/examples/toolkits/asyncio_resource.py http://127.0.0.1:8080/v1 /articles/1
"""

import asyncio
import contextlib
import ctypes
import json
import sys

from nightjar import lib, raise_last, raise_owned
from nightjar_asyncio import Queue, changes


async def show(article, client):
    """Prints the title when the article is loaded, and loads it again once. The end of the loop frees the observer."""
    is_first = True
    async with contextlib.aclosing(changes(article)) as snapshots:
        async for snapshot in snapshots:
            if snapshot.error:
                raise snapshot.error
            if snapshot.phase != "loaded" or snapshot.is_stale:
                continue
            print("loaded:" if is_first else "reloaded:", json.loads(snapshot.data)["title"])
            if not is_first:
                return
            is_first = False
            await asyncio.sleep(0.05)
            lib.nj_client_invalidate(client, b"articles")


async def main(base_url, path):
    error = ctypes.c_void_p()
    options = b'{"tags": ["articles"]}'
    config = lib.nj_config_new()
    if lib.nj_config_set_base_url(config, base_url.encode()) != 0:
        raise_last()
    client = lib.nj_client_new(config, ctypes.byref(error)) or raise_owned(error)
    request = lib.nj_request_new(b"GET", path.encode()) or raise_last()
    with Queue() as queue:
        article = lib.nj_resource_new(client, request, options, len(options), queue.handle, ctypes.byref(error))
        try:
            if not article:
                raise_owned(error)
            await show(article, client)
        finally:
            lib.nj_resource_free(article)
            lib.nj_request_free(request)
            lib.nj_client_free(client)
            lib.nj_config_free(config)


asyncio.run(main(*sys.argv[1:]))
