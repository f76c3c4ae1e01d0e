// Lists the types of other targets that are part of the Swift API: `import Nightjar` is sufficient for programs.
@_exported import struct NIOCore.ByteBuffer

@_exported import struct NightjarAPI.Arguments
@_exported import struct NightjarAPI.Catalog
@_exported import struct NightjarAPI.Pagination

@_exported import struct NightjarBase.ExactDictionary
@_exported import struct NightjarBase.NightjarError
@_exported import struct NightjarBase.Timestamp

@_exported import struct NightjarHTTP.APIKey
@_exported import enum NightjarHTTP.CachePolicy
@_exported import struct NightjarHTTP.Checksum
@_exported import struct NightjarHTTP.Cookie
@_exported import struct NightjarHTTP.Headers
@_exported import struct NightjarHTTP.LoginCall
@_exported import struct NightjarHTTP.Method
@_exported import struct NightjarHTTP.MultipartForm
@_exported import struct NightjarHTTP.NetworkStatus
@_exported import struct NightjarHTTP.ProxySettings
@_exported import struct NightjarHTTP.RedirectSettings
@_exported import struct NightjarHTTP.RefreshCall
@_exported import struct NightjarHTTP.Request
@_exported import struct NightjarHTTP.RequestURL
@_exported import class NightjarHTTP.Response
@_exported import struct NightjarHTTP.RetrySettings
@_exported import struct NightjarHTTP.StoredLogin
@_exported import struct NightjarHTTP.Timeouts
@_exported import struct NightjarHTTP.Token
@_exported import struct NightjarHTTP.UnixSocket

@_exported import struct NightjarJSON.Empty
@_exported import struct NightjarJSON.JSONDecodingOptions
@_exported import struct NightjarJSON.JSONEncodingOptions
@_exported import struct NightjarJSON.JSONPointer
@_exported import struct NightjarJSON.JSONSchema
@_exported import enum NightjarJSON.JSONValue
@_exported import struct NightjarJSON.Null

@_exported import struct NightjarStorage.EncryptionKey
@_exported import protocol NightjarStorage.TokenLock
@_exported import protocol NightjarStorage.TokenStore

@_exported import struct NightjarTransport.TransportConfiguration
