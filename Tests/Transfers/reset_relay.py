"""Forwards connections on loopback, and resets some of them. Run by the tests of uploads:

    reset_relay.py PORT [POSITION...]

PORT is the port of the server. The relay prints its own port. The positions count the bytes of all clients. The connection
that carries the byte at a position is reset on both sides, and the relay prints "reset".
"""

import asyncio
import socket
import struct
import sys

TARGET, POSITIONS = int(sys.argv[1]), [int(argument) for argument in sys.argv[2:]]
# Larger buffers would hold bytes that are lost by a reset.
BUFFER = 64 * 1024


class Relay:
    def __init__(self):
        self.count = 0
        self.positions = sorted(POSITIONS)

    async def accept(self, client, to_client):
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", TARGET, limit=BUFFER)
        except OSError:
            to_client.transport.abort()
            return
        writers = (to_client, to_server)
        for writer in writers:
            one = writer.get_extra_info("socket")
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            writer.transport.set_write_buffer_limits(BUFFER)
        await asyncio.gather(self.forward(client, to_server, writers, True), self.forward(server, to_client, writers, False))

    async def forward(self, reader, writer, writers, counts):
        try:
            while data := await reader.read(BUFFER):
                if counts and self.is_due(len(data)):
                    self.reset(writers)
                    return
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            for one in writers:
                one.transport.abort()

    def is_due(self, length):
        self.count += length
        if not self.positions or self.count < self.positions[0]:
            return False
        self.positions.pop(0)
        return True

    def reset(self, writers):
        print("reset", flush=True)
        for writer in writers:
            # A socket that is closed with this option sends a reset.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


async def main():
    server = await asyncio.start_server(Relay().accept, "127.0.0.1", 0, limit=BUFFER)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
