import Glibc

/// Runs `body` while allocations of 16 KiB and more fail. 512 KiB remain for smaller allocations. Only for exit tests,
/// because other threads of the process get no more memory either.
public func withoutMemory<Result>(_ body: () throws -> Result) rethrows -> Result {
    // Every second block is freed later. The other blocks keep the free blocks apart.
    let reserve = (0..<128).map { _ in malloc(8 * 1024) }
    let addressSpace = __rlimit_resource_t(9)  // RLIMIT_AS, which is an enumeration constant in C
    var limit = rlimit()
    getrlimit(addressSpace, &limit)
    var none = limit
    none.rlim_cur = 0
    setrlimit(addressSpace, &none)
    // Takes the free parts of the heap. Each block contains the address of the previous one.
    var last: UnsafeMutableRawPointer?
    while let block = malloc(16 * 1024) {
        block.storeBytes(of: last, as: UnsafeMutableRawPointer?.self)
        last = block
    }
    for block in reserve.indices where block.isMultiple(of: 2) { free(reserve[block]) }
    defer {
        while let block = last {
            last = block.load(as: UnsafeMutableRawPointer?.self)
            free(block)
        }
        for block in reserve.indices where !block.isMultiple(of: 2) { free(reserve[block]) }
        setrlimit(addressSpace, &limit)
    }
    return try body()
}
