// Lists the types of other targets that are part of the Swift API: `import Nightjar` is sufficient for programs.
@_exported import struct NIOCore.ByteBuffer

@_exported import struct NightjarAPI.Arguments
@_exported import struct NightjarAPI.Catalog
@_exported import enum NightjarAPI.NextPage
@_exported import struct NightjarAPI.Pagination

@_exported import enum NightjarBase.ErrorKind
@_exported import enum NightjarBase.ErrorPhase
@_exported import struct NightjarBase.ExactDictionary
@_exported import struct NightjarBase.NightjarError
@_exported import struct NightjarBase.Timestamp

@_exported import struct NightjarHTTP.APIKey
@_exported import enum NightjarHTTP.CachePolicy
@_exported import struct NightjarHTTP.CircuitBreaker
@_exported import class NightjarHTTP.ConnectionRecord
@_exported import struct NightjarHTTP.Cookie
@_exported import enum NightjarHTTP.CookiePolicy
@_exported import enum NightjarHTTP.CookieRefusal
@_exported import enum NightjarHTTP.CookiesText
@_exported import struct NightjarHTTP.Decision
@_exported import struct NightjarHTTP.ErrorBody
@_exported import struct NightjarHTTP.Headers
@_exported import struct NightjarHTTP.IdempotencyKey
@_exported import struct NightjarHTTP.LoginCall
@_exported import enum NightjarHTTP.LoginCookies
@_exported import struct NightjarHTTP.LoginVersion
@_exported import struct NightjarHTTP.Method
@_exported import struct NightjarHTTP.MultipartForm
@_exported import struct NightjarHTTP.NetworkStatus
@_exported import struct NightjarHTTP.OAuthRequest
@_exported import struct NightjarHTTP.ProposedRedirect
@_exported import struct NightjarHTTP.ProxyAddress
@_exported import struct NightjarHTTP.ProxySettings
@_exported import struct NightjarHTTP.RateLimiter
@_exported import struct NightjarHTTP.RedirectSettings
@_exported import struct NightjarHTTP.RefreshCall
@_exported import struct NightjarHTTP.Request
@_exported import enum NightjarHTTP.RequestBody
@_exported import struct NightjarHTTP.RequestRecord
@_exported import struct NightjarHTTP.RequestURL
@_exported import class NightjarHTTP.Response
@_exported import struct NightjarHTTP.ResponseHead
@_exported import enum NightjarHTTP.ResponseSource
@_exported import enum NightjarHTTP.ResponseValidation
@_exported import struct NightjarHTTP.RetryBudget
@_exported import struct NightjarHTTP.RetryChanges
@_exported import struct NightjarHTTP.RetryPolicy
@_exported import struct NightjarHTTP.RetrySettings
@_exported import struct NightjarHTTP.StatusRange
@_exported import struct NightjarHTTP.StoredLogin
@_exported import struct NightjarHTTP.Timeouts
@_exported import struct NightjarHTTP.Timing
@_exported import struct NightjarHTTP.Token
@_exported import struct NightjarHTTP.TokenPointers
@_exported import struct NightjarHTTP.TokenRefresh
@_exported import struct NightjarHTTP.UnixSocket
@_exported import struct NightjarHTTP.VisitedURL

@_exported import struct NightjarJSON.Empty
@_exported import struct NightjarJSON.JSONDecodingOptions
@_exported import struct NightjarJSON.JSONEncodingOptions
@_exported import struct NightjarJSON.JSONPointer
@_exported import struct NightjarJSON.JSONSchema
@_exported import enum NightjarJSON.JSONValue
@_exported import struct NightjarJSON.Null

@_exported import struct NightjarStorage.EncryptionKey
@_exported import struct NightjarStorage.FileTokenStore
@_exported import class NightjarStorage.MemoryTokenStore
@_exported import struct NightjarStorage.SQLiteTokenStore
@_exported import struct NightjarStorage.SecretServiceTokenStore
@_exported import protocol NightjarStorage.TokenLock
@_exported import protocol NightjarStorage.TokenStore

@_exported import struct NightjarTesting.ArrivedRequest
@_exported import struct NightjarTesting.CassetteComparison
@_exported import struct NightjarTesting.CassetteSecrets
@_exported import struct NightjarTesting.MockFault
@_exported import struct NightjarTesting.MockResponse
@_exported import struct NightjarTesting.MockRoute
@_exported import struct NightjarTesting.NetworkProfile
@_exported import struct NightjarTesting.RequestPattern

@_exported import struct NightjarTransport.TransportConfiguration
