// The interface of this target uses declarations of NightjarHTTP and of the targets below it.
@_exported import NightjarHTTP
