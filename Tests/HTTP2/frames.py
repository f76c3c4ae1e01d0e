"""Frames of HTTP/2 (RFC 9113) and their parsing, for the servers of the tests."""
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, payload=b"", flags=0, stream=0):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A field without compression (RFC 7541 section 6.2.2)."""
    return b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))


def head(*fields, flags=END_HEADERS, status="200", stream=1):
    block = field(":status", status) + b"".join(field(*pair) for pair in fields)
    return frame(HEADERS, block, flags, stream)


class Frames:
    """The frames of a client, which arrive in parts. Yields (kind, flags, stream, payload)."""

    def __init__(self):
        self.data, self.has_preface = b"", False

    def add(self, data):
        self.data += data
        if not self.has_preface and len(self.data) >= len(PREFACE):
            assert self.data.startswith(PREFACE)
            self.data, self.has_preface = self.data[len(PREFACE):], True
        while self.has_preface and len(self.data) >= 9:
            length = int.from_bytes(self.data[:3], "big")
            if len(self.data) < 9 + length:
                return
            kind, flags, stream = self.data[3], self.data[4], int.from_bytes(self.data[5:9], "big")
            payload, self.data = self.data[9:9 + length], self.data[9 + length:]
            yield kind, flags, stream, payload
