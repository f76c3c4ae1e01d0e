// `import Nightjar` is all that a user needs: requests, responses, headers and errors are part of it.
@_exported import NightjarHTTP
@_exported import NightjarTransport
