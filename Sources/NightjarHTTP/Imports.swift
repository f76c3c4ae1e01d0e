// In every file of this module, and part of its interface: errors, texts, moments and JSON.
@_exported import NightjarBase
@_exported import NightjarJSON
