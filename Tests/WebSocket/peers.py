#!/usr/bin/env python3
"""WebSocket servers of the Python libraries websockets and aiohttp, for Tests/WebSocket/run.

    peers.py PORTS RECORDS CERTIFICATE KEY

Listens on free loopback ports and writes them to the file PORTS, one line NAME=PORT for each server. Then appends one line
of JSON to the file RECORDS for each connection that has ended and for each rejected handshake. Runs until SIGTERM.

The path of a request selects the conversation, and its query item `id` names the connection in the records:

    /echo           sends each message back
    /fragments      sends each message back in fragments, with Pings between them (websockets only)
    /ping           sends three Pings, each followed by a text after its Pong, then behaves like /echo
    /close          waits for a message, then closes with the query items `code` and `reason`; 0 sends no code, 1006 closes
                    the connection without a Close frame
    /count          sends `n` texts, then closes with 1000
    /burst          like /count, but the handshake, the texts and the Close frame arrive in one TCP segment
    /greet          sends "hello N" on the N-th connection with this id, waits for a message, then closes with 1012
    /cookie         sets the cookie flavor=oat, and sends the Cookie field of the request
    /private        rejects requests without the token "secret" with 401, then behaves like /echo
    /redirect       redirects to /echo (aiohttp only)
"""

import asyncio
import collections
import glob
import http
import json
import os
import signal
import socket
import ssl
import sys
import urllib.parse

import aiohttp
from aiohttp import web
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import Close, Opcode
from websockets.legacy.server import WebSocketServerProtocol, serve

PROTOCOLS = ["v2", "v1"]
COOKIE = "flavor=oat; Path=/"
TOKEN = "Bearer secret"
FRAGMENT = 1000

# The servers of the library websockets by name: the parameters of permessage-deflate. None: no compression.
WEBSOCKETS = {
    "plain": None,
    "takeover": {},
    "no_takeover": {"server_no_context_takeover": True, "client_no_context_takeover": True},
    "server_no_takeover": {"server_no_context_takeover": True},
    "client_no_takeover": {"client_no_context_takeover": True},
    "window_9": {"server_max_window_bits": 9, "client_max_window_bits": 9},
    "window_15": {"server_max_window_bits": 15, "client_max_window_bits": 15},
    "client_window_8": {"client_max_window_bits": 8},
    "client_window_8_no_takeover": {"client_max_window_bits": 8, "client_no_context_takeover": True},
}

records = None
connections = collections.Counter()


def client_process(client, server):
    """Returns the name of the process at the client's end of a loopback connection. Empty if it was not found."""
    ends = [f"0100007F:{port:04X}" for port in (client[1], server[1])]
    # The kernel's table and the folders of the processes can change while they are read, so an entry may be missed.
    for _ in range(20):
        with open("/proc/net/tcp", encoding="ascii") as table:
            inodes = [fields[9] for fields in map(str.split, table) if fields[1:3] == ends]
        for link in glob.iglob("/proc/[0-9]*/fd/*") if inodes else ():
            try:
                if os.readlink(link) == f"socket:[{inodes[0]}]":
                    with open(f"/proc/{link.split('/')[2]}/comm", encoding="utf-8") as name:
                        return name.read().strip()
            except OSError:
                pass
    return ""


class Record(dict):
    """The facts of one connection, which Tests/WebSocket/seen.py compares with expectations."""

    def __init__(self, library, target, headers, transport):
        parts = urllib.parse.urlsplit(target)
        self.path = parts.path
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        secure = transport.get_extra_info("ssl_object")
        super().__init__(
            id=self.query.get("id", ""), library=library, path=parts.path, status=101, messages=0, texts=0, bytes=0,
            compressed=0, pings=0, pongs=0, subprotocol="", extensions="", close_code=1006, close_reason="",
            tls=secure.version() if secure else "",
            process=client_process(transport.get_extra_info("peername"), transport.get_extra_info("sockname")))
        for name, value in headers.items():
            self["header:" + name.lower()] = value

    def note(self, message):
        self["messages"] += 1
        self["texts"] += isinstance(message, str)
        self["bytes"] += len(message.encode() if isinstance(message, str) else message)

    def write(self):
        records.write(json.dumps(self) + "\n")
        records.flush()


# -------------------------------------------------------------------------------------------------- conversations ---

def cork(transport, is_corked):
    """Holds back the bytes of a TCP connection until this function is called again with False, at most 200 ms."""
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, is_corked)


async def converse(peer, record):
    """Carries out the conversation that the path selects. `peer` is one of the classes below."""
    if record.path == "/ping":
        for number in range(1, 4):
            await peer.ping(f"payload {number}".encode())
            record["pongs"] += 1
            await peer.send(f"pong {number}")
    elif record.path == "/close":
        await peer.receive()
        return await peer.close(int(record.query["code"]), record.query.get("reason", ""))
    elif record.path == "/count":
        for number in range(int(record.query["n"])):
            await peer.send(f"message {number}")
        return await peer.close(1000, "")
    elif record.path == "/burst":
        for number in range(int(record.query["n"])):
            await peer.send(f"message {number}")
        close = asyncio.ensure_future(peer.close(1000, ""))
        while not peer.has_written_close():
            await asyncio.sleep(0)
        cork(peer.transport(), False)
        return await close
    elif record.path == "/greet":
        connections[record["id"]] += 1
        await peer.send(f"hello {connections[record['id']]}")
        if await peer.receive() is not None:
            await peer.close(1012, "restart")
        return None
    elif record.path == "/cookie":
        await peer.send(record.get("header:cookie", ""))
    send = peer.send_fragments if record.path == "/fragments" else peer.send
    while (message := await peer.receive()) is not None:
        await send(message)


# ----------------------------------------------------------------------------------------------------- websockets ---

class CountedDeflate:
    """permessage-deflate that counts the compressed messages of the client."""

    def __init__(self, extension):
        self.name, self.encode, self.extension, self.count = extension.name, extension.encode, extension, 0

    def decode(self, frame, *, max_size=None):
        self.count += frame.rsv1
        return self.extension.decode(frame, max_size=max_size)


class CountedDeflateFactory(ServerPerMessageDeflateFactory):
    def process_request_params(self, *arguments):
        parameters, extension = super().process_request_params(*arguments)
        return parameters, CountedDeflate(extension)


class WebSocketsPeer(WebSocketServerProtocol):
    record = None

    async def process_request(self, path, request_headers):
        self.record = Record("websockets", path, request_headers, self.transport)
        if self.record.path == "/private" and request_headers.get("Authorization") != TOKEN:
            self.record["status"] = 401
            self.record.write()
            return http.HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": "Bearer"}, b"no token\n"
        if self.record.path == "/burst":
            cork(self.transport, True)
        return None

    async def pong(self, data=b""):
        # The library calls this function for each Ping of the client.
        self.record["pings"] += 1
        await super().pong(data)

    async def converse(self):
        self.record["subprotocol"] = self.subprotocol or ""
        self.record["extensions"] = self.response_headers.get("Sec-WebSocket-Extensions", "")
        try:
            await converse(WebSocketsConversation(self, self.record), self.record)
        except ConnectionClosed:
            pass
        await self.wait_closed()
        if self.close_rcvd:
            self.record.update(close_code=self.close_rcvd.code, close_reason=self.close_rcvd.reason)
        self.record["compressed"] = sum(extension.count for extension in self.extensions)
        self.record.write()


class WebSocketsConversation:
    def __init__(self, connection, record):
        self.connection, self.record = connection, record

    async def receive(self):
        """Returns the next message. Returns None at the end."""
        try:
            message = await self.connection.recv()
        except ConnectionClosed:
            return None
        self.record.note(message)
        return message

    async def send(self, message):
        await self.connection.send(message)

    async def send_fragments(self, message):
        """Sends an empty fragment, fragments of FRAGMENT bytes, which split characters, and an empty last fragment."""
        data = message.encode() if isinstance(message, str) else message
        parts = [b"", *(data[at:at + FRAGMENT] for at in range(0, len(data), FRAGMENT)), b""]
        pongs = []
        opcode = Opcode.TEXT if isinstance(message, str) else Opcode.BINARY
        for index, part in enumerate(parts):
            await self.connection.write_frame(index == len(parts) - 1, opcode, part)
            opcode = Opcode.CONT
            # The client need not respond to a Ping after the last fragment, because it may close before.
            if index < min(3, len(parts) - 1):
                pongs.append(await self.connection.ping())
        for pong in pongs:
            await pong
            self.record["pongs"] += 1

    async def ping(self, payload):
        await (await self.connection.ping(payload))

    async def close(self, code, reason):
        if code == 1006:
            self.connection.transport.abort()
        elif code == 0:
            await self.connection.write_close_frame(Close(1005, ""), b"")
        else:
            await self.connection.close(code, reason)

    def has_written_close(self):
        return self.connection.close_sent is not None

    def transport(self):
        return self.connection.transport


def response_fields(path, _):
    return {"Set-Cookie": COOKIE} if urllib.parse.urlsplit(path).path == "/cookie" else {}


async def serve_websockets(parameters, secure=None):
    """Starts a server and returns its port."""
    extensions = [] if parameters is None else [CountedDeflateFactory(**parameters)]
    server = await serve(
        WebSocketsPeer.converse, "127.0.0.1", 0, create_protocol=WebSocketsPeer, compression=None, extensions=extensions,
        subprotocols=PROTOCOLS, extra_headers=response_fields, max_size=None, ping_interval=None, ssl=secure)
    return server.sockets[0].getsockname()[1]


# -------------------------------------------------------------------------------------------------------- aiohttp ---

class AiohttpConversation:
    def __init__(self, connection, request, record):
        self.connection, self.request, self.record = connection, request, record
        self.last_pong = None

    async def receive(self, until_pong=False):
        """Returns the next message. Returns None at the end, and after a Pong if `until_pong` is true."""
        while True:
            message = await self.connection.receive()
            if message.type == aiohttp.WSMsgType.PING:
                self.record["pings"] += 1
                await self.connection.pong(message.data)
            elif message.type == aiohttp.WSMsgType.PONG:
                self.last_pong = bytes(message.data)
                if until_pong:
                    return None
            elif message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                self.record.note(message.data)
                return message.data
            else:
                if message.type == aiohttp.WSMsgType.CLOSE:
                    self.record.update(close_code=message.data or 1005, close_reason=message.extra or "")
                return None

    async def send(self, message):
        await (self.connection.send_str if isinstance(message, str) else self.connection.send_bytes)(message)

    async def ping(self, payload):
        await self.connection.ping(payload)
        await self.receive(until_pong=True)
        if self.last_pong != payload:
            raise RuntimeError(f"the payload of the Pong is {self.last_pong!r}, expected {payload!r}")

    async def close(self, code, reason):
        if code == 1006:
            self.request.transport.abort()
        else:
            # aiohttp sends a Close frame with a code in any case.
            await self.connection.close(code=code, message=reason.encode())
            self.record["close_code"] = self.connection.close_code or 1005

    def has_written_close(self):
        return self.connection.closed

    def transport(self):
        return self.request.transport


async def handle(request):
    record = Record("aiohttp", request.raw_path, request.headers, request.transport)
    if record.path == "/redirect":
        return web.HTTPFound("/echo?" + request.query_string)
    if record.path == "/private" and request.headers.get("Authorization") != TOKEN:
        record["status"] = 401
        record.write()
        return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"}, text="no token\n")
    response = web.WebSocketResponse(
        autoping=False, protocols=PROTOCOLS, compress=request.app["compress"], max_msg_size=0)
    if record.path == "/cookie":
        response.headers["Set-Cookie"] = COOKIE
    if record.path == "/burst":
        cork(request.transport, True)
    await response.prepare(request)
    record["subprotocol"] = response.ws_protocol or ""
    record["extensions"] = response.headers.get("Sec-WebSocket-Extensions", "")
    try:
        await converse(AiohttpConversation(response, request, record), record)
    except ConnectionError:
        pass
    finally:
        record.write()
    return response


async def serve_aiohttp(compress, secure=None):
    """Starts a server and returns its port."""
    app = web.Application()
    app["compress"] = compress
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=secure)
    await site.start()
    return runner.addresses[0][1]


# ----------------------------------------------------------------------------------------------------------- main ---

async def main(ports_file, certificate, key):
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)
    ports = {name: await serve_websockets(parameters) for name, parameters in WEBSOCKETS.items()}
    ports["tls"] = await serve_websockets({}, secure)
    ports["aiohttp_plain"] = await serve_aiohttp(False)
    ports["aiohttp"] = await serve_aiohttp(True)
    ports["aiohttp_tls"] = await serve_aiohttp(True, secure)
    # The rename makes the file appear complete.
    with open(ports_file + ".new", "w", encoding="ascii") as file:
        file.writelines(f"{name}={port}\n" for name, port in ports.items())
    os.rename(ports_file + ".new", ports_file)
    await stopped.wait()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: peers.py PORTS RECORDS CERTIFICATE KEY")
    with open(sys.argv[2], "a", encoding="utf-8") as records:
        asyncio.run(main(sys.argv[1], *sys.argv[3:]))
