import Glibc

/// Whether the descriptor becomes readable within `milliseconds`.
func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) == 1
}
