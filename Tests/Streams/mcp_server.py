#!/usr/bin/env python3
"""An MCP server (Model Context Protocol, Streamable HTTP) for tests: Tests/Streams/mcp_server.py [OPTION...]

  --versions LIST         the supported revisions, by default 2025-11-25,2026-07-28
  --session-requests N    a session of 2025-11-25 ends after N requests; by default it does not end

Listens on a free loopback port and prints the URL of the MCP endpoint. GET /seen returns the requests that the endpoint has
received, as a JSON array in order. The server rejects each request that violates its revision.

Tools:
  echo    returns its argument `text`, as JSON. In 2026-07-28, the argument is also the header Mcp-Param-Text.
  slow    sends a progress notification for each step, as events. 2025-11-25: each connection breaks or ends after some
          events, and the stream continues on a GET with Last-Event-ID. 2026-07-28: the first request with the same
          arguments breaks.
"""
import argparse
import base64
import http.server
import json
import secrets
import threading
import time

LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "mcp_server.py", "version": "1.0"}
RETRY = 0.3  # seconds that a client must wait before it resumes a stream

ECHO = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}, "required": ["text"]},
}
SLOW = {"name": "slow", "inputSchema": {"type": "object", "properties": {"steps": {"type": "integer"}}}}

options = None
lock = threading.Lock()
seen = []
sessions = {}  # the sessions by id
broken = set()  # the arguments of the slow calls of 2026-07-28 that were broken once
used_ids = set()  # the request ids of 2026-07-28, which are unique here because one client runs at a time


def error(code, message, request_id=None, **data):
    detail = {"code": code, "message": message} | ({"data": data} if data else {})
    return {"jsonrpc": "2.0", "id": request_id, "error": detail}


def content(text):
    return {"content": [{"type": "text", "text": text}]}


def notification(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


class Stream:
    """A resumable event stream of 2025-11-25.

    `parts` are lists of messages. Connection N sends the messages up to the end of part N, except those before Last-Event-ID, and
    has the ending N: `end` (normally), `break` (in the middle of an event) or `hold` (when the client or the session ends).
    """

    def __init__(self, name, parts, endings):
        self.name = name
        self.parts = parts
        self.endings = endings
        self.connections = 0
        self.ended_at = None  # when the last connection ended


class Session:
    def __init__(self):
        self.id = secrets.token_urlsafe(16)
        self.requests = 0
        self.is_open = True
        self.streams = {}

    def add(self, parts, endings):
        stream = Stream(f"{self.id[:6]}.{len(self.streams)}", parts, endings)
        self.streams[stream.name] = stream
        return stream


class Rejected(Exception):
    def __init__(self, status, body=None):
        self.status = status
        self.body = body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    record = None

    def log_message(self, *_):
        pass

    # --- Responses ---

    def reply(self, status, body=None, **fields):
        data = b"" if body is None else json.dumps(body).encode()
        self.record["status"] = status
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", "application/json")
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_events(self):
        self.record["status"], self.record["events"] = 200, True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def write(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, message, event_id=None):
        data = "" if message is None else json.dumps(message)
        self.write((f"id: {event_id}\n" if event_id else "") + f"data: {data}\n\n")
        time.sleep(0.02)

    def end_events(self, ending):
        """Ends the response (`end`), or closes the connection in the middle of an event (`break`)."""
        self.record["ending"] = ending
        if ending == "end":
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.write('id: incomplete\ndata: {"jsonrpc":')
            self.close_connection = True

    def hold(self, is_open):
        """Keeps an event stream open until the client closes it, or until `is_open` returns False."""
        try:
            while is_open():
                self.write(": keep-alive\n\n")
                time.sleep(0.05)
            self.end_events("end")
        except OSError:
            self.record["ending"] = "client"
            self.close_connection = True

    # --- Requests ---

    def handle_request(self):
        if self.path == "/seen":
            self.record = {}
            with lock:
                return self.reply(200, list(seen))
        self.record = {
            "http": self.command, "version": self.headers["MCP-Protocol-Version"], "session": self.headers["MCP-Session-Id"],
            "last_event_id": self.headers["Last-Event-ID"], "at": time.monotonic(),
        }
        with lock:
            seen.append(self.record)
        try:
            if self.path != "/mcp":
                raise Rejected(404)
            if self.headers["Origin"]:
                raise Rejected(403)
            if self.command == "POST":
                self.post()
            elif LEGACY not in options.versions:
                raise Rejected(405)
            else:
                self.get() if self.command == "GET" else self.delete()
        except Rejected as rejected:
            self.reply(rejected.status, rejected.body)
        except OSError:
            self.record["ending"] = "client"
            self.close_connection = True

    do_GET = do_POST = do_DELETE = handle_request

    def accepts(self, *types):
        accepted = [part.split(";")[0].strip() for part in (self.headers["Accept"] or "").split(",")]
        if not all(each in accepted for each in types):
            raise Rejected(406)

    def post(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Type"] != "application/json":
            raise Rejected(415)
        self.accepts("application/json", "text/event-stream")
        message = json.loads(text)
        params = message.get("params", {})
        meta = params.get("_meta", {})
        self.record |= {"rpc": message.get("method"), "id": message.get("id"), "name": params.get("name")}
        if "method" not in message:
            self.record["result"] = message.get("result", message.get("error"))
        if META + "protocolVersion" in meta and MODERN in options.versions:
            self.modern(message, params, meta)
        elif LEGACY in options.versions:
            self.legacy(message, params, meta)
        else:
            raise Rejected(400, error(-32022, "Unsupported protocol version", message.get("id"), supported=options.versions))

    # --- 2025-11-25 ---

    def session(self):
        name = self.headers["MCP-Session-Id"]
        if name is None:
            raise Rejected(400, error(-32000, "Bad Request: no session"))
        session = sessions.get(name)
        if session is None:
            raise Rejected(404, error(-32001, "Session not found"))
        if self.headers["MCP-Protocol-Version"] != LEGACY:
            raise Rejected(400, error(-32000, "Bad Request: unsupported protocol version"))
        return session

    def legacy(self, message, params, meta):
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize":
            if self.headers["MCP-Session-Id"]:
                raise Rejected(400, error(-32600, "initialize has a session", request_id))
            session = Session()
            sessions[session.id] = session
            result = {"protocolVersion": LEGACY, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": INFO}
            return self.reply(200, {"jsonrpc": "2.0", "id": request_id, "result": result}, MCP_Session_Id=session.id)
        session = self.session()
        if method is None or request_id is None:
            return self.reply(202)
        session.requests += 1
        if options.session_requests and session.requests > options.session_requests:
            session.is_open = False
            del sessions[session.id]
            raise Rejected(404, error(-32001, "Session not found"))
        if method == "tools/call" and params["name"] == "slow":
            return self.slow(session, request_id, params, meta)
        if method == "tools/list":
            result = {"tools": [ECHO, SLOW]}
        elif method == "tools/call" and params["name"] == "echo":
            result = content(params["arguments"]["text"])
        else:
            return self.reply(200, error(-32601, "Method not found", request_id))
        self.reply(200, {"jsonrpc": "2.0", "id": request_id, "result": result})

    def slow(self, session, request_id, params, meta):
        steps = params["arguments"]["steps"]
        messages = [
            notification("notifications/progress", progressToken=meta["progressToken"], progress=step, total=steps)
            for step in range(1, steps + 1)
        ]
        messages.append({"jsonrpc": "2.0", "id": request_id, "result": content(f"{steps} steps")})
        # The first connection breaks, the second one ends without an event and the third one ends after an event.
        parts = [messages[:2], [], messages[2:3], messages[3:4], messages[4:]]
        self.send(session, session.add(parts, ["break", "end", "end", "break", "end"]), 0)

    def get(self):
        self.accepts("text/event-stream")
        session = self.session()
        last = self.headers["Last-Event-ID"]
        if last is None:
            changed = notification("notifications/tools/list_changed")
            ping = {"jsonrpc": "2.0", "id": "server-1", "method": "ping"}
            news = notification("notifications/resources/list_changed")
            return self.send(session, session.add([[changed, ping], [news]], ["end", "hold"]), 0)
        name, _, position = last.rpartition("-")
        stream = session.streams.get(name)
        if stream is None or not position.isdigit():
            raise Rejected(400, error(-32000, "Bad Request: unknown Last-Event-ID"))
        self.record["waited"] = time.monotonic() - stream.ended_at
        self.send(session, stream, int(position))

    def send(self, session, stream, position):
        """Sends the messages of the next connection of a stream, without the first `position` messages of the stream."""
        part = min(stream.connections, len(stream.parts) - 1)
        stream.connections += 1
        messages = [message for each in stream.parts[:part + 1] for message in each]
        self.begin_events()
        if part == 0:
            self.write(f"id: {stream.name}-0\ndata:\n\n")
        for number, message in enumerate(messages[position:], position + 1):
            self.event(message, f"{stream.name}-{number}")
        ending = stream.endings[part]
        if ending == "hold":
            return self.hold(lambda: session.is_open)
        if part < len(stream.parts) - 1:
            self.write(f"retry: {int(RETRY * 1000)}\n\n")
        stream.ended_at = time.monotonic()
        self.end_events(ending)

    def delete(self):
        session = self.session()
        session.is_open = False
        del sessions[session.id]
        self.reply(204)

    # --- 2026-07-28 ---

    def decoded(self, name):
        value = self.headers[name]
        if value and value.startswith("=?base64?") and value.endswith("?="):
            return base64.b64decode(value[9:-2], validate=True).decode()
        return value

    def modern(self, message, params, meta):
        method, request_id = message["method"], message.get("id")
        version = meta[META + "protocolVersion"]

        def require(name, found, expected):
            if found != expected:
                raise Rejected(400, error(-32020, f"Header mismatch: {name} is {found!r}, not {expected!r}", request_id))

        require("MCP-Protocol-Version", self.headers["MCP-Protocol-Version"], version)
        if version not in options.versions:
            unsupported = {"supported": options.versions, "requested": version}
            raise Rejected(400, error(-32022, "Unsupported protocol version", request_id, **unsupported))
        if META + "clientCapabilities" not in meta:
            raise Rejected(400, error(-32602, "clientCapabilities is missing", request_id))
        require("Mcp-Method", self.headers["Mcp-Method"], method)
        require("Mcp-Name", self.decoded("Mcp-Name"), params.get("name", params.get("uri")))
        if request_id is None or request_id in used_ids:
            raise Rejected(400, error(-32600, "the id of the request is missing or was used before", request_id))
        used_ids.add(request_id)

        def result(body):
            body |= {"resultType": "complete", "_meta": {META + "serverInfo": INFO}}
            return {"jsonrpc": "2.0", "id": request_id, "result": body}

        cached = {"ttlMs": 60000, "cacheScope": "public"}
        if method == "server/discover":
            capabilities = {"tools": {"listChanged": True}}
            self.reply(200, result({"supportedVersions": options.versions, "capabilities": capabilities} | cached))
        elif method == "tools/list":
            self.reply(200, result({"tools": [ECHO, SLOW]} | cached))
        elif method == "tools/call" and params["name"] == "echo":
            require("Mcp-Param-Text", self.decoded("Mcp-Param-Text"), params["arguments"]["text"])
            self.reply(200, result(content(params["arguments"]["text"])))
        elif method == "tools/call" and params["name"] == "slow":
            key, steps = json.dumps(params["arguments"]), params["arguments"]["steps"]
            breaks = key not in broken
            broken.add(key)
            self.begin_events()
            for step in range(1, 3 if breaks else steps + 1):
                self.event(notification(
                    "notifications/progress", progressToken=meta["progressToken"], progress=step, total=steps))
            if not breaks:
                self.event(result(content(f"{steps} steps")))
            self.end_events("break" if breaks else "end")
        elif method == "subscriptions/listen":
            own = {META + "subscriptionId": request_id}
            requested = params["notifications"]
            self.begin_events()
            self.event(notification("notifications/subscriptions/acknowledged", _meta=own, notifications=requested))
            if requested.get("toolsListChanged"):
                self.event(notification("notifications/tools/list_changed", _meta=own))
            if requested.get("resourcesListChanged"):
                self.event(notification("notifications/resources/list_changed", _meta=own))
            self.hold(lambda: True)
        else:
            raise Rejected(404, error(-32601, "Method not found", request_id))


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--versions", type=lambda text: text.split(","), default=[LEGACY, MODERN])
    parser.add_argument("--session-requests", type=int)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
