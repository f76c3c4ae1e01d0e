// Declarations of NightjarBase are part of the interface of this target.
@_exported import NightjarBase
