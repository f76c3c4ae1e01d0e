// In every file of this module, and part of its interface: errors, texts and moments.
@_exported import NightjarBase
