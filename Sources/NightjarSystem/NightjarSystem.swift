// The C library of the system. Files import this module instead of a C library, so that the choice is made in one place.
#if canImport(Glibc)
@_exported import Glibc
#elseif canImport(Musl)
@_exported import Musl
#else
@_exported import Darwin
#endif

#if canImport(Glibc)
/// The type of stream sockets as a number, which getaddrinfo and socketpair use.
package let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
/// The type of stream sockets as a number, which getaddrinfo and socketpair use.
package let streamSocket = SOCK_STREAM
#endif

#if canImport(Darwin)
extension stat {
    /// The time of the last modification, with the name that Linux uses.
    package var st_mtim: timespec { st_mtimespec }
    /// The time of the last change of the status, with the name that Linux uses.
    package var st_ctim: timespec { st_ctimespec }
}
#endif
