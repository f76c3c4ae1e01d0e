// The C library of the system. Files import this module instead of a C library, so that the choice is made in one place.
#if canImport(Glibc)
@_exported import Glibc
#elseif canImport(Musl)
@_exported import Musl
#else
@_exported import Darwin
#endif
