// Declarations of NightjarHTTP, and of the targets below it, are part of the interface of this target.
@_exported import NightjarHTTP
