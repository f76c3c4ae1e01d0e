"""Relays connections to a server and delays each direction by 25 ms. Argument: the origin. Prints its port.

netem is not available everywhere, so that the delay is that of a process. A connection has at most 256 KiB in flight in each
direction, as with a small window.
"""

import asyncio
import sys
import urllib.parse

DELAY, WINDOW = 0.025, 256 * 1024
TARGET = urllib.parse.urlsplit(sys.argv[1])


async def forward(reader, writer):
    """Passes bytes on after the delay. Reads no more while the window is full."""
    held, room = asyncio.Queue(), asyncio.Semaphore(WINDOW // 65536)
    loop = asyncio.get_running_loop()

    async def send():
        while True:
            due, data = await held.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            if not data:
                return writer.close()
            writer.write(data)
            await writer.drain()
            room.release()

    task = asyncio.create_task(send())
    try:
        while True:
            await room.acquire()
            data = await reader.read(65536)
            held.put_nowait((loop.time() + DELAY, data))
            if not data:
                break
        await task
    except OSError:
        task.cancel()
        writer.close()


async def connected(reader, writer):
    other = await asyncio.open_connection(TARGET.hostname, TARGET.port)
    await asyncio.gather(forward(reader, other[1]), forward(other[0], writer), return_exceptions=True)


async def main():
    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
