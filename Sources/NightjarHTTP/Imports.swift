// Declarations of these targets are part of the interface of this target.
@_exported import NightjarBase
@_exported import NightjarJSON
