// `import Nightjar` is sufficient for programs. Access control chooses what they see: declarations for programs are
// `public`, those for other targets of this package are `package`.
@_exported import NightjarAPI
@_exported import NightjarHTTP
@_exported import NightjarStorage
@_exported import NightjarTesting
@_exported import NightjarTransport

@_exported import struct NIOCore.ByteBuffer
