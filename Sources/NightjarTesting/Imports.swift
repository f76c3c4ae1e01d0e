// In every file of this module, and part of its interface: requests, responses and what is below them.
@_exported import NightjarHTTP
