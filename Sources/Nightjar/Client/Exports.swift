// `import Nightjar` is sufficient for users: requests, responses, headers, errors, bodies and token stores are
// re-exported.
@_exported import NightjarHTTP
@_exported import NightjarTransport

@_exported import struct NIOCore.ByteBuffer
@_exported import struct NightjarStorage.EncryptionKey
@_exported import struct NightjarStorage.FileTokenStore
@_exported import class NightjarStorage.MemoryTokenStore
@_exported import struct NightjarStorage.SQLiteTokenStore
@_exported import struct NightjarStorage.SecretServiceTokenStore
@_exported import protocol NightjarStorage.TokenLock
@_exported import protocol NightjarStorage.TokenStore
