// `import Nightjar` is sufficient for programs.
@_exported import NightjarAPI
@_exported import NightjarHTTP
@_exported import NightjarStorage
@_exported import NightjarTesting
@_exported import NightjarTransport

@_exported import struct NIOCore.ByteBuffer
